"""The REST API as SPEC writes it: routes, bodies, texts and statuses."""

import re
from typing import Any

import pytest

from dogubako import __version__
from dogubako.app import build
from dogubako.contract import errors
from dogubako.contract.errors import DogubakoError
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp

from .asgi import opened
from .described import DescribedClient
from .processes import WORKBENCH
from .test_same_answers import failure_kinds

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_INFO = {"name", "title", "description", "parameters", "version", "category", "tags", "examples", "enabled", "effect"}
_INFO |= {"inputSchema"}
_DETAIL = _INFO | {"registeredAt", "dependencies", "versions"}


async def test_the_front_page_says_that_it_runs(rest: DescribedClient) -> None:
    visit = await rest.get("/")

    assert visit.status == 200
    assert visit.json.keys() == {"status", "message", "version", "uptime", "timestamp"}
    assert visit.json["status"] == "ok" and visit.json["message"] == "MCP Server is running"
    assert visit.json["version"] == __version__ and visit.json["uptime"] >= 0
    assert _TIMESTAMP.fullmatch(visit.json["timestamp"])


async def test_health_and_readiness_are_for_operators(rest: DescribedClient) -> None:
    health, ready = await rest.get("/healthz"), await rest.get("/readyz")

    assert (health.status, health.json) == (200, {"status": "ok"})
    # A pack that is not configured is no reason not to serve the others.
    assert (ready.status, ready.json["ready"]) == (200, True)
    assert {
        "ok": False,
        "subject": "closed",
        "message": "The closed service is not configured.",
        "advice": "Set CLOSED_URL.",
    } in ready.json["checks"]


async def test_a_list_holds_all_tools_also_those_that_cannot_be_called(rest: DescribedClient) -> None:
    listed = (await rest.get("/v1/tools?category=workbench")).json
    pages = [(await rest.get(f"/v1/tools?page={page}")).json for page in (1, 2, 3)]
    by_name = {one["name"]: one for page in pages for one in page["tools"]}

    assert listed.keys() == {"tools", "pagination"}
    assert {"ask", "big", "echo", "fail", "picture", "slow", "locked"} <= by_name.keys()
    assert listed["pagination"] == {"page": 1, "limit": 50, "total": len(listed["tools"]), "totalPages": 1}
    assert pages[0]["pagination"] == {"page": 1, "limit": 50, "total": len(by_name), "totalPages": 3}
    assert by_name["echo"].keys() == _INFO and by_name["echo"]["enabled"] is True
    assert by_name["locked"].keys() == _INFO | {"reason"} and by_name["locked"]["enabled"] is False
    assert by_name["locked"]["reason"] == "The closed service is not configured. Set CLOSED_URL."
    assert by_name["echo"]["parameters"] == [
        {"name": "text", "type": "string", "description": "What to say back.", "required": True}
    ]


async def test_pages_follow_each_other_without_gap_or_overlap(rest: DescribedClient) -> None:
    halves = [(await rest.get(f"/v1/tools?limit=100&page={page}")).json["tools"] for page in (1, 2)]
    everything = [one["name"] for half in halves for one in half]
    count = -(-len(everything) // 3)
    pages = [(await rest.get(f"/v1/tools?limit=3&page={page}")).json for page in range(1, count + 2)]

    assert [one["name"] for page in pages for one in page["tools"]] == everything
    assert pages[0]["pagination"] == {"page": 1, "limit": 3, "total": len(everything), "totalPages": count}
    assert pages[count]["tools"] == []


async def test_a_list_may_hold_five_hundred_tools_with_their_schemas(rest: DescribedClient) -> None:
    listed = (await rest.get("/v1/tools?limit=500")).json

    assert (listed["pagination"]["limit"], len(listed["tools"])) == (500, listed["pagination"]["total"])
    assert all(one["inputSchema"]["type"] == "object" for one in listed["tools"])


async def test_a_tool_has_a_route_of_its_own_whose_body_is_its_arguments(rest: DescribedClient) -> None:
    said = await rest.post("/v1/tools/echo/call", {"text": "hello"})
    wrong = await rest.post("/v1/tools/echo/call", {"words": "hello"})
    nothing = await rest.post("/v1/tools/nothing/call", {})

    assert (said.status, said.json["result"]) == (200, "hello")
    assert (wrong.status, wrong.json["code"]) == (400, "VALIDATION_ERROR")
    assert (nothing.status, nothing.json["code"]) == (404, "TOOL_NOT_FOUND")


FILTERS = [
    pytest.param("category=closed", {"locked"}, id="category"),
    pytest.param("category=nothing", set(), id="unknown category"),
    pytest.param("tag=nothing", set(), id="unknown tag"),
    pytest.param("category=closed&enabled=false", {"locked"}, id="disabled"),
    pytest.param("category=closed&enabled=true", set(), id="enabled"),
    pytest.param(
        "category=workbench&enabled=true", {"ask", "big", "echo", "fail", "picture", "slow"}, id="two filters"
    ),
]


@pytest.mark.parametrize(("query", "names"), FILTERS)
async def test_a_list_can_be_filtered(rest: DescribedClient, query: str, names: set[str]) -> None:
    assert {one["name"] for one in (await rest.get(f"/v1/tools?{query}")).json["tools"]} == names


async def test_one_tool_is_shown_with_everything(rest: DescribedClient) -> None:
    shown = (await rest.get("/v1/tools/big")).json

    assert shown.keys() == _DETAIL
    assert (shown["version"], shown["versions"], shown["dependencies"]) == ("1.0.0", ["1.0.0"], [])
    assert shown["inputSchema"]["properties"]["items"]["maximum"] == 1_000_000
    assert shown["inputSchema"]["required"] == ["items"]
    assert _TIMESTAMP.fullmatch(shown["registeredAt"])


RESULTS: list[Any] = [
    pytest.param("echo", {"text": "hello"}, "hello", id="text as text"),
    pytest.param("echo", {"text": '{"a": 1}'}, '{"a": 1}', id="text that looks like JSON stays text"),
    pytest.param(
        "big",
        {"items": 1},
        {
            "success": True,
            "message": "Items made",
            "data": {"total": 1, "offset": 0, "items": [{"id": 0, "name": "Item 0", "note": "x" * 40}]},
        },
        id="JSON as its envelope",
    ),
]


@pytest.mark.parametrize(("name", "parameters", "result"), RESULTS)
async def test_a_result_has_the_form_of_its_tool(
    rest: DescribedClient, name: str, parameters: dict[str, Any], result: Any
) -> None:
    visit = await rest.post("/v1/tools/call", {"name": name, "parameters": parameters})

    assert visit.status == 200
    assert visit.json.keys() == {"success", "result", "executionTime", "timestamp"}
    assert visit.json["success"] is True and visit.json["result"] == result
    assert isinstance(visit.json["executionTime"], int) and _TIMESTAMP.fullmatch(visit.json["timestamp"])


async def test_anything_else_comes_as_content_blocks(rest: DescribedClient) -> None:
    [picture] = (await rest.post("/v1/tools/call", {"name": "picture"})).json["result"]

    assert picture.keys() == {"type", "data", "mimeType"} and picture["mimeType"] == "image/png"


def _statuses() -> dict[str, int]:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DogubakoError)]
    return {one.code: one.http_status for one in classes} | {"unexpected": 500}


# A tool may raise even this, but no call is answered with 405, so it is not described either.
_NOT_DESCRIBED = "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize("kind", [kind for kind in failure_kinds() if kind != _NOT_DESCRIBED])
async def test_a_failure_has_the_body_and_the_status_of_the_table(rest: DescribedClient, kind: str) -> None:
    visit = await rest.post("/v1/tools/call", {"name": "fail", "parameters": {"kind": kind}})
    always = {"success", "error", "code", "retryable", "details", "executionTime", "timestamp"}

    assert visit.status == _statuses()[kind]
    assert always <= visit.json.keys() <= always | {"hint", "errorId", "retryAfter"}
    assert visit.json["success"] is False
    assert visit.json["code"] == ("TOOL_EXECUTION_ERROR" if kind == "unexpected" else kind)


async def test_who_is_too_fast_hears_how_long_to_wait(rest: DescribedClient) -> None:
    visit = await rest.post("/v1/tools/call", {"name": "fail", "parameters": {"kind": "RATE_LIMIT_EXCEEDED"}})

    assert (visit.status, visit.headers["retry-after"], visit.json["retryAfter"]) == (429, "7", 7)


async def test_who_is_unknown_hears_how_to_introduce_oneself(rest: DescribedClient) -> None:
    visit = await rest.post("/v1/tools/call", {"name": "fail", "parameters": {"kind": "AUTHENTICATION_ERROR"}})

    assert (visit.status, visit.headers["www-authenticate"]) == (401, "Bearer")


async def test_a_search_finds_the_best_tool_first(rest: DescribedClient) -> None:
    visit = await rest.post("/v1/tools/search", {"query": "picture png", "limit": 2})

    assert visit.json.keys() == {"query", "results", "total", "nearest", "notIndexed"}
    assert visit.json["query"] == "picture png" and visit.json["total"] >= len(visit.json["results"]) >= 1
    assert visit.json["results"][0]["name"] == "picture"
    assert visit.json["results"][0].keys() == _INFO | {"score"}


@pytest.mark.parametrize("query", ["order a pizza", "transcribe this audio recording", "タクシーを呼んで"])
async def test_a_search_that_nothing_fits_has_no_results_but_the_nearest(rest: DescribedClient, query: str) -> None:
    visit = await rest.post("/v1/tools/search", {"query": query})

    assert (visit.json["results"], visit.json["total"]) == ([], 0)
    assert len(visit.json["nearest"]) == 2
    assert all(one["score"] < 0.5 for one in visit.json["nearest"])


async def test_a_search_can_be_narrowed(rest: DescribedClient) -> None:
    query = {"query": "lock open", "filters": {"category": "closed", "tags": []}}
    narrow = await rest.post("/v1/tools/search", query)
    elsewhere = await rest.post("/v1/tools/search", {**query, "filters": {"category": "workbench", "tags": ["x"]}})

    assert [one["name"] for one in narrow.json["results"]] == ["locked"]
    assert (elsewhere.json["results"], elsewhere.json["total"]) == ([], 0)


@pytest.mark.parametrize("query", ["", "   ", "\t\n"])
async def test_a_search_for_nothing_is_refused(rest: DescribedClient, query: str) -> None:
    visit = await rest.post("/v1/tools/search", {"query": query})

    assert (visit.status, visit.json["error"], visit.json["code"]) == (400, "Query is required", "VALIDATION_ERROR")


async def test_the_old_addresses_lead_to_the_new_ones(rest: DescribedClient) -> None:
    listed = await rest.get("/tools?limit=3&category=a%20b")
    called = await rest.post("/tools/call", {"name": "echo"})

    assert (listed.status, listed.headers["location"]) == (302, "/v1/tools?limit=3&category=a%20b")
    assert (called.status, called.headers["location"]) == (307, "/v1/tools/call")


async def test_a_version_can_be_asked_for(rest: DescribedClient) -> None:
    call = {"name": "echo", "parameters": {"text": "a"}}
    known = await rest.post("/v1/tools/call", {**call, "version": "1.0.0"})
    unknown = await rest.post("/v1/tools/call", {**call, "version": "9.9.9"})

    assert known.json["result"] == "a"
    assert (unknown.status, unknown.json["error"]) == (404, "Tool not found: echo 9.9.9")
    assert unknown.json["hint"] == "Known versions: 1.0.0."


async def test_a_tool_can_be_switched_off_and_on() -> None:
    box = build(Sources(overrides={"tools": (WORKBENCH,)}, environ={}, env_file=None))
    door = HttpApp(box)
    async with opened(door) as client:
        rest = DescribedClient(door, (await client.get("/openapi.json")).json)
        json = {"content-type": "application/json"}
        off = await rest.request("PATCH", "/v1/tools/echo", body={"enabled": False}, headers=json)
        refused = await rest.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "a"}})
        on = await rest.request("PATCH", "/v1/tools/echo", body={"enabled": True}, headers=json)
        answered = await rest.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "a"}})

    assert off.json.keys() == _DETAIL | {"reason"} and off.json["enabled"] is False
    assert (refused.status, refused.json["code"], refused.json["hint"]) == (403, "TOOL_DISABLED", off.json["reason"])
    assert on.json["enabled"] is True and "reason" not in on.json
    assert answered.json["result"] == "a"
