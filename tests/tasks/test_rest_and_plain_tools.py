"""Tasks for clients that do not know the extension: REST, and four plain tools."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.contract.output import parse_call
from dogubako.gate.api_keys import KeyStore
from tests.doors.asgi import Client
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until

from .boxes import McpClient, served, toolbox
from .slow_tools import TOOLS

JSON = {"content-type": "application/json"}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[McpClient]:
    async with served(toolbox(tmp_path), {"elicitation": {"form": {}}}) as client:
        yield client


async def _started(http: Client, name: str, **parameters: Any) -> str:
    body = {"name": name, "parameters": parameters, "options": {"task": True}}
    visit = await http.post("/v1/tools/call", body)
    assert visit.status == 202
    assert visit.headers["location"] == f"/v1/tasks/{visit.json['taskId']}"
    return visit.headers["location"]


async def _ended(http: Client, location: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    for _ in range(round(PATIENCE / 0.01)):
        found = (await http.get(location)).json
        if found["status"] != "working":
            return found
        await anyio.sleep(0.01)
    raise AssertionError(found)


async def test_a_rest_call_becomes_a_task_that_is_fetched_later(client: McpClient) -> None:
    location = await _started(client.http, "many_lines", count=2)
    task = await _ended(client.http, location)

    assert (task["status"], task["tool"]) == ("completed", "many_lines")
    assert task["result"]["data"] == ["line 0 of a long answer", "line 1 of a long answer"]
    listed = (await client.http.get("/v1/tasks")).json["tasks"]
    assert [one["taskId"] for one in listed] == [task["taskId"]]
    assert "result" not in listed[0]


async def test_a_tool_that_failed_says_it_in_the_words_of_a_call(client: McpClient) -> None:
    task = await _ended(client.http, await _started(client.http, "fail_slowly"))

    assert task["status"] == "completed"
    assert (task["error"]["error"], task["error"]["code"]) == ("The service refused.", "API_ERROR")


async def test_a_task_is_cancelled_by_deleting_it(client: McpClient, tmp_path: Path) -> None:
    location = await _started(client.http, "write_slowly", marks=str(tmp_path / "marks"))
    await until((tmp_path / "marks" / "run-1").exists, "the tool runs")
    deleted = await client.http.request("DELETE", location)

    assert (deleted.status, deleted.json["status"]) == (200, "cancelled")


async def test_what_is_not_there_is_not_found(client: McpClient) -> None:
    for method, path in (("GET", "/v1/tasks/x"), ("DELETE", "/v1/tasks/x"), ("POST", "/v1/tasks/x/update")):
        visit = await client.http.request(method, path, headers=JSON, body={"inputResponses": {}})
        assert (visit.status, visit.json["code"]) == (404, "NOT_FOUND")


async def test_a_tool_that_needs_a_task_says_how_over_rest(client: McpClient) -> None:
    visit = await client.http.post("/v1/tools/call", {"name": "only_as_task"})

    assert (visit.status, visit.json["code"]) == (400, "CAPABILITY_REQUIRED")
    assert "options.task" in visit.json["hint"]


async def test_a_question_of_a_task_is_answered_over_rest(tmp_path: Path) -> None:
    async with served(toolbox(tmp_path)) as client:
        task_id = (await client.call("ask_at_once"))["result"]["taskId"]
        await client.until(task_id, "input_required")
        path = f"/v1/tasks/{task_id}"
        asked = (await client.http.get(path)).json["inputRequests"]
        answers = {key: {"action": "accept", "content": {"name": key}} for key in asked}
        visit = await client.http.post(f"{path}/update", {"inputResponses": answers})
        assert visit.status == 200
        assert (await _ended(client.http, path))["result"] == "one other"


async def test_callers_do_not_see_each_other(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    (ann, _), (bob, _) = keys.create("ann", ("read",)), keys.create("bob", ("read", "write"))
    async with served(toolbox(tmp_path, auth="keys")) as client:
        body = {"name": "whoami", "options": {"task": True}}
        created = await client.http.post("/v1/tools/call", body, {**JSON, "x-api-key": ann})
        path = created.headers["location"]

        assert (await client.http.get(path, **{"x-api-key": bob})).status == 404
        assert (await client.http.get("/v1/tasks", **{"x-api-key": bob})).json == {"tasks": []}
        assert (await client.http.get(path, **{"x-api-key": ann})).status == 200


async def test_who_has_used_up_its_calls_can_look_at_a_task_and_stop_it(tmp_path: Path) -> None:
    async with served(toolbox(tmp_path, audit=True, rate_limit_max=3, rate_limit_window=3600)) as client:
        location = await _started(client.http, "ask_twice")
        assert [(await client.http.get("/v1/tasks")).status for _ in range(3)] == [200, 200, 429]
        answer = await client.http.post(f"{location}/update", {"inputResponses": {}}, JSON)
        assert answer.json["code"] == "RATE_LIMIT_EXCEEDED"
        assert [(await client.http.get(location)).status for _ in range(5)] == [200] * 5
        assert (await client.http.request("DELETE", location)).status == 200
        assert (await client.http.get(location)).json["status"] == "cancelled"

    recorded = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert ("tasks/cancel", "rest", "OK") in [(one["tool"], one["door"], one["code"]) for one in recorded]


async def _text(client: McpClient, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = (await client.call(tool, arguments))["result"]
    return dict(json.loads(result["content"][0]["text"]))


async def test_the_plain_tools_start_show_and_fetch(client: McpClient, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    begun = await _text(client, "start_task", name="read_slowly", arguments={"marks": str(marks)})
    name, arguments = parse_call(begun["data"]["_guidance"]["example"])
    await until((marks / "run-1").exists, "the tool runs")

    status = await _text(client, "task_status", id=begun["data"]["taskId"])
    assert (status["data"]["status"], status["data"]["progress"]) == ("working", {"done": 1, "total": 2})
    early = await _text(client, name, **arguments, wait=0)
    assert early["data"]["status"] == "working"

    (marks / "go").touch()
    answer = (await client.call(name, arguments))["result"]
    assert answer["content"][0]["text"] == "run 1 went to the end"


async def test_a_plain_tool_cancels(client: McpClient, tmp_path: Path) -> None:
    begun = await _text(client, "start_task", name="write_slowly", arguments={"marks": str(tmp_path / "marks")})
    ended = await _text(client, "cancel_task", id=begun["data"]["taskId"])

    assert ended["data"]["status"] == "cancelled"


async def test_the_result_of_a_task_fits_the_budget_and_is_read_on(client: McpClient) -> None:
    begun = await _text(client, "start_task", name="many_lines", arguments={"count": 20_000})
    result = (await client.call("task_result", {"id": begun["data"]["taskId"]}))["result"]
    cut = json.loads(result["content"][0]["text"])

    name, arguments = parse_call(cut["_truncated"]["next"])
    assert (name, arguments["tool"]) == ("read_more", "many_lines")
    more = (await client.call(name, arguments))["result"]
    assert more["isError"] is False


async def test_the_user_is_asked_where_the_result_is_fetched(client: McpClient) -> None:
    begun = await _text(client, "start_task", name="ask_at_once")
    fetch = {"id": begun["data"]["taskId"]}
    asked = (await client.call("task_result", fetch))["result"]
    assert sorted(asked["inputRequests"]) == ["one", "other"]

    answers = {key: {"action": "accept", "content": {"name": key}} for key in asked["inputRequests"]}
    done = await client.call("task_result", fetch, inputResponses=answers, requestState=asked["requestState"])
    assert done["result"]["content"][0]["text"] == "one other"


async def test_a_failed_tool_fails_where_its_result_is_fetched(client: McpClient) -> None:
    begun = await _text(client, "start_task", name="fail_slowly")
    result = (await client.call("task_result", {"id": begun["data"]["taskId"]}))["result"]

    assert result["isError"] and result["_meta"]["code"] == "API_ERROR"
    assert result["content"][0]["text"] == "The service refused."


async def test_a_task_of_the_tool_that_starts_tasks_makes_no_sense(client: McpClient) -> None:
    for name in ("start_task", "call_tool"):
        result = (await client.call("start_task", {"name": name, "arguments": {"name": "start_task"}}))["result"]
        assert result["isError"]


async def test_python_code_runs_a_long_tool_while_it_waits(tmp_path: Path) -> None:
    async with toolbox(tmp_path).running() as box:
        assert (await box.call("only_as_task")).text == "done"


async def test_the_tools_for_tasks_are_listed_only_where_a_tool_takes_long(client: McpClient) -> None:
    async def listed() -> set[str]:
        page = (await client.ask("tools/list", {}, None))["result"]
        return {one["name"] for one in page["tools"]} & {"start_task", "task_status", "task_result", "cancel_task"}

    assert len(await listed()) == 4
    for tool in TOOLS:
        if tool.long_running:
            client.inside.registry.unregister(tool.name)
    assert await listed() == set()
    assert (await _text(client, "start_task", name="whoami"))["success"]
