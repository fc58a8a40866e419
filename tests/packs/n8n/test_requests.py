"""What we send to n8n: where the key goes, what ids become, how values are written."""

import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import httpx2
import pytest

from dogubako_sandbox.n8n.app import SANDBOX_KEY
from tests.sandbox.n8n_client import body_of, workflow_id

from .wired import bench, told

DRAFT: Final = workflow_id("r-manual")
API: Final = "/api/v1/"
ODD_IDS: Final = (
    "a/b",
    "/",
    ".",
    "..",
    "...",
    "../executions/3",
    "..\\..\\x",
    "%2e%2e%2f",
    "a?active=true",
    "a#b",
    "a b",
    "a;b=c",
    "a&b",
    "http://elsewhere.example",
    "顧客",
    "🚀",
    "tab\there",
)


async def test_only_the_api_hears_the_key(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        await n8n.data("run_workflow", id=workflow_id("a-success-100"))
        await n8n.box.check()

        heard = {(one.url.path.startswith(API), one.headers.get("x-n8n-api-key")) for one in n8n.wire.requests}
        outside = {one.url.path for one in n8n.wire.requests if not one.url.path.startswith(API)}
        assert heard == {(True, SANDBOX_KEY), (False, None)}
        assert outside == {"/webhook/a-success-100", "/"}
        assert not [one for one in n8n.wire.requests if SANDBOX_KEY.encode() in one.url.raw_path + one.content]


async def test_the_key_does_not_follow_a_redirect(tmp_path: Path) -> None:
    moved = httpx2.Response(307, headers={"location": "http://elsewhere.example/api/v1/workflows"})
    async with bench(tmp_path, lambda _: moved) as n8n:
        told(await n8n.call("list_workflows"))

        assert [one.url.host for one in n8n.wire.requests] == ["n8n.test"]


@pytest.mark.parametrize(
    ("tool", "arguments", "before", "after"),
    [
        pytest.param("get_workflow", {}, "/api/v1/workflows/", "", id="workflow"),
        pytest.param("activate_workflow", {}, "/api/v1/workflows/", "", id="activate"),
        pytest.param("set_workflow_tags", {"tags": []}, "/api/v1/workflows/", "", id="tags"),
        pytest.param("get_execution", {}, "/api/v1/executions/", "?includeData=true", id="execution"),
        pytest.param("stop_execution", {}, "/api/v1/executions/", "/stop", id="stop"),
        pytest.param("delete_execution", {"confirm": True}, "/api/v1/executions/", "", id="delete execution"),
    ],
)
async def test_an_id_stays_one_segment_of_the_path(
    tmp_path: Path, tool: str, arguments: dict[str, Any], before: str, after: str
) -> None:
    refusal = httpx2.Response(404, json={"message": "Not Found"})
    async with bench(tmp_path, lambda _: refusal) as n8n:
        for odd in ODD_IDS:
            n8n.wire.requests.clear()
            code, text = told(await n8n.call(tool, id=odd, **arguments))
            sent = n8n.wire.requests[0].url.raw_path.decode("ascii")
            segment = sent.removeprefix(before).removesuffix(after)

            assert sent == before + segment + after
            assert unquote(segment) == odd
            assert not set(segment) & set("/?#\\") and segment.strip("."), odd
            assert code == "NOT_FOUND" and text.endswith("not found")


async def test_a_type_of_credential_stays_one_segment_too(tmp_path: Path) -> None:
    async with bench(tmp_path, lambda _: httpx2.Response(404, json={"message": "Not Found"})) as n8n:
        await n8n.call("get_credential_schema", type="../../users")

        assert n8n.wire.requests[0].url.raw_path == b"/api/v1/credentials/schema/..%2F..%2Fusers"


@pytest.mark.parametrize(
    ("tool", "arguments", "query"),
    [
        pytest.param(
            "list_workflows", {}, {"limit": "50", "excludePinnedData": "true"}, id="what is not asked is not sent"
        ),
        pytest.param(
            "list_workflows",
            {"active": False, "tags": ["a", "b c"], "name": "x&y=z", "projectId": "p", "limit": 5, "cursor": "c=="},
            {
                "active": "false",
                "tags": "a,b c",
                "name": "x&y=z",
                "projectId": "p",
                "limit": "5",
                "cursor": "c==",
                "excludePinnedData": "true",
            },
            id="booleans are words",
        ),
        pytest.param(
            "list_executions",
            {"status": "error", "startedAfter": "2026-11-15T09:00:00+09:00", "startedBefore": "2026-11-16T00:00:00Z"},
            {
                "status": "error",
                "startedAfter": "2026-11-15T09:00:00+09:00",
                "startedBefore": "2026-11-16T00:00:00Z",
                "limit": "20",
            },
            id="moments keep their zone",
        ),
        pytest.param("get_execution", {"id": "3"}, {"includeData": "true"}, id="data is asked for"),
        pytest.param("list_tags", {}, {"limit": "250"}, id="small lists come in large pages"),
    ],
)
async def test_questions_are_written_as_n8n_reads_them(
    tmp_path: Path, tool: str, arguments: dict[str, Any], query: dict[str, str]
) -> None:
    async with bench(tmp_path) as n8n:
        await n8n.call(tool, **arguments)

        assert dict(n8n.wire.requests[0].url.params) == query


async def test_a_moment_without_a_zone_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        result = await n8n.call("list_executions", startedAfter="2026-11-15T00:00:00")

        assert result.code == "VALIDATION_ERROR"
        assert n8n.wire.requests == []


async def test_a_write_sends_only_what_n8n_takes_back(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        await n8n.data("update_workflow", id=DRAFT, name="Renamed")

        put = next(one for one in n8n.wire.requests if one.method == "PUT")
        sent = json.loads(put.content)
        assert put.headers["content-type"] == "application/json"
        assert set(sent) == {"name", "nodes", "connections", "settings"}
        assert sent["name"] == "Renamed"
        assert sent["connections"] == body_of("r-manual")["connections"]


@pytest.mark.parametrize(
    "url", ["http://n8n.test/n8n", "http://n8n.test/n8n/", "http://n8n.test/n8n/api/v1", "http://n8n.test/n8n/api/v1/"]
)
async def test_n8n_may_live_below_a_path(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, lambda _: httpx2.Response(200, json={"data": []}), N8N_URL=url) as n8n:
        await n8n.data("list_tags")

        assert [one.url.path for one in n8n.wire.requests] == ["/n8n/api/v1/tags"]
