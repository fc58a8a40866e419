"""What is asked again when n8n stumbles, and what never is."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dogubako.packs.n8n.api import workflows
from dogubako.tools import ExecutionOptions
from tests.sandbox.n8n_client import body_of, workflow_id

from .wired import bench, first, told

DRAFT: Final = workflow_id("r-manual")
JSON: Final = {"content-type": "application/json"}
AGAIN: Final = ExecutionOptions(retry=2, retry_delay=1)


def refused(status: int, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"message": "not now"}, headers=headers)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda: refused(502), id="bad gateway"),
        pytest.param(lambda: refused(503), id="unavailable"),
        pytest.param(lambda: refused(429, **{"retry-after": "0"}), id="asked to wait"),
        pytest.param(lambda: httpx2.ConnectError("refused"), id="nobody listens"),
        pytest.param(lambda: httpx2.Response(200, text="n8n is starting up"), id="starting up"),
        pytest.param(lambda: httpx2.Response(200, headers=JSON), id="an empty body"),
    ],
)
async def test_passing_trouble_is_waited_out_when_reading(
    tmp_path: Path, trouble: Callable[[], httpx2.Response | Exception]
) -> None:
    async with bench(tmp_path, first(trouble())) as n8n:
        result = await n8n.call("get_workflow", AGAIN, id=DRAFT)

        assert result.code == "OK"
        assert len(n8n.wire.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 409, 429, 500])
async def test_a_refusal_is_not_asked_again(tmp_path: Path, status: int) -> None:
    async with bench(tmp_path, first(refused(status))) as n8n:
        result = await n8n.call("get_workflow", AGAIN, id=DRAFT)

        assert told(result) == ("API_ERROR", "Failed to get workflow: not now")
        assert len(n8n.wire.requests) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "method"),
    [
        pytest.param("create_workflow", body_of("r-manual", name="New"), "POST", id="create"),
        pytest.param("delete_workflow", {"id": DRAFT, "confirm": True}, "DELETE", id="delete"),
        pytest.param("retry_execution", {"id": "3"}, "POST", id="retry"),
        pytest.param("delete_execution", {"id": "3", "confirm": True}, "DELETE", id="delete execution"),
        pytest.param("run_workflow", {"id": workflow_id("a-success-100")}, "POST", id="run"),
    ],
)
async def test_a_write_is_never_sent_twice(
    tmp_path: Path, tool: str, arguments: dict[str, object], method: str
) -> None:
    async with bench(tmp_path, first(httpx2.RemoteProtocolError("eof"), method)) as n8n:
        result = await n8n.call(tool, AGAIN, **arguments)

        assert told(result)[1].endswith("n8n broke off the connection")
        assert len(n8n.wire.sent(method)) == 1


async def test_a_deleted_workflow_is_brought_back_once_even_when_n8n_stumbles(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        await n8n.data("delete_workflow", id=DRAFT, confirm=True)

        def stumble_after_the_write(request: httpx2.Request) -> httpx2.Response | None:
            return refused(502) if request.method == "GET" and "/api/v1/workflows" in n8n.wire.sent("POST") else None

        n8n.wire.answers = stumble_after_the_write
        told(await n8n.call("restore_workflow", AGAIN, id=DRAFT))

        assert n8n.wire.sent("POST") == [f"/api/v1/workflows/{DRAFT}/archive", "/api/v1/workflows"]


async def test_a_workflow_that_answers_not_found_has_run_and_is_not_run_again(tmp_path: Path) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response | None:
        own = httpx2.Response(404, json={"error": "no such customer"})
        return own if request.url.path.startswith("/webhook/") else None

    async with bench(tmp_path, answer) as n8n:
        told_back = await n8n.data("run_workflow", id=workflow_id("a-success-100"))

        assert told_back["response"] == {"status": 404, "body": {"error": "no such customer"}}
        assert len(n8n.wire.sent("POST")) == 1


@pytest.mark.parametrize("status", [409, 500])
async def test_a_deletion_waits_until_n8n_has_unpublished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(workflows, "_PAUSE_SECONDS", 0)
    not_yet = iter([refused(status), refused(status)])

    async with bench(tmp_path, lambda request: next(not_yet, None) if request.method == "DELETE" else None) as n8n:
        gone = await n8n.data("delete_workflow", id=DRAFT, confirm=True)
        after = await n8n.call("get_workflow", id=DRAFT)

    assert gone["deleted"] is True
    assert len(n8n.wire.sent("DELETE")) == 3
    assert told(after) == ("NOT_FOUND", f"Workflow '{DRAFT}' not found")


async def test_a_deletion_that_n8n_goes_on_refusing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflows, "UNPUBLISH_SECONDS", 0.05)
    monkeypatch.setattr(workflows, "_PAUSE_SECONDS", 0.01)

    async with bench(tmp_path, lambda request: refused(409) if request.method == "DELETE" else None) as n8n:
        result = await n8n.call("delete_workflow", id=DRAFT, confirm=True)
        still = await n8n.call("get_workflow", id=DRAFT)

    assert told(result) == ("API_ERROR", "Failed to delete workflow: not now")
    assert still.code == "OK"
