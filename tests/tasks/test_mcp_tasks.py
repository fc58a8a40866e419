"""The tasks extension over MCP, beyond what the conformance suite asks."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.doors import messages
from tests.doors.asgi import Visit
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until

from .boxes import EXTENSION, TAKES_TASKS, McpClient, served, toolbox

YES = {"action": "accept", "content": {"name": "Ann"}}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[McpClient]:
    async with served(toolbox(tmp_path)) as client:
        yield client


def without_tasks(client: McpClient) -> McpClient:
    return McpClient(client.http, {"elicitation": {"form": {}}}, client.inside)


async def _started(client: McpClient, name: str, **arguments: Any) -> str:
    created = (await client.call(name, arguments))["result"]
    assert created["resultType"] == "task"
    return str(created["taskId"])


async def test_a_client_without_the_extension_waits_for_the_answer(client: McpClient, tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks" / "go").touch()
    answer = (await without_tasks(client).call("read_slowly", {"marks": str(tmp_path / "marks")}))["result"]

    assert answer["resultType"] == "complete"
    assert answer["content"][0]["text"] == "run 1 went to the end"


async def test_a_tool_that_needs_a_task_names_the_extension(client: McpClient) -> None:
    error = (await without_tasks(client).call("only_as_task"))["error"]

    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}
    assert "start_task" in error["data"]["hint"]


async def test_the_extension_is_named_to_clients_of_its_revision_only(client: McpClient) -> None:
    found = (await client.ask("server/discover", {}, None))["result"]
    assert EXTENSION in found["capabilities"]["extensions"]

    handshake = messages.request("initialize", messages.initialize())
    older = (await client.http.post("/mcp", handshake, messages.legacy_headers())).response["result"]
    assert EXTENSION not in older["capabilities"].get("extensions", {})


async def test_a_client_that_goes_away_does_not_cancel_its_task(client: McpClient, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    task_id = await _started(client, "write_slowly", marks=str(marks))
    await until((marks / "run-1").exists, "the tool runs after its request has ended")
    (marks / "go").touch()

    task = await client.until(task_id, "completed")
    assert task["result"]["content"][0]["text"] == "run 1 went to the end"
    assert task["result"]["isError"] is False


async def test_questions_of_several_rounds_are_answered_by_updates(client: McpClient) -> None:
    task_id = await _started(client, "ask_twice")
    first = (await client.until(task_id, "input_required"))["inputRequests"]
    [(key, question)] = first.items()
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Your first name?")

    wrong = await client.task("update", task_id, inputResponses={key: {"action": "accept", "content": {"name": 1}}})
    assert wrong["result"]["resultType"] == "complete"
    assert list((await client.until(task_id, "input_required"))["inputRequests"]) == [key]

    await client.task("update", task_id, inputResponses={key: YES})
    await until_other(client, task_id, key)
    [other] = (await client.until(task_id, "input_required"))["inputRequests"]
    await client.task("update", task_id, inputResponses={other: {"action": "accept", "content": {"name": "Lee"}}})

    task = await client.until(task_id, "completed")
    assert task["result"]["content"][0]["text"] == "Ann Lee"


async def until_other(client: McpClient, task_id: str, key: str) -> None:
    """Wait until the task asks something else."""
    with anyio.fail_after(PATIENCE):
        while key in (found := (await client.task("get", task_id))["result"]).get("inputRequests", {key: {}}):
            assert found["status"] in ("working", "input_required")
            await anyio.sleep(0.01)


async def test_an_answer_before_the_task_is_known_in_the_task(client: McpClient) -> None:
    asked = (await client.call("ask_then_work"))["result"]
    assert asked["resultType"] == "input_required"
    created = (await client.call("ask_then_work", inputResponses={"input_1": YES}, requestState=asked["requestState"]))[
        "result"
    ]
    assert created["resultType"] == "task"

    task = await client.until(created["taskId"], "completed")
    assert task["result"]["content"][0]["text"] == "worked for Ann"


async def test_a_client_without_the_extension_goes_on_waiting(client: McpClient) -> None:
    other = without_tasks(client)
    asked = (await other.call("ask_then_work"))["result"]
    done = await other.call("ask_then_work", inputResponses={"input_1": YES}, requestState=asked["requestState"])

    assert done["result"]["content"][0]["text"] == "worked for Ann"


async def test_a_destructive_task_asks_and_a_decline_ends_it(client: McpClient, tmp_path: Path) -> None:
    options = {"dogubako/options": {"task": True}}
    created = await client.call("shred", {"marks": str(tmp_path / "papers")}, _meta=options)
    task_id = created["result"]["taskId"]
    [key] = (await client.until(task_id, "input_required"))["inputRequests"]
    await client.task("update", task_id, inputResponses={key: {"action": "decline"}})

    task = await client.until(task_id, "completed")
    assert task["result"]["isError"] and task["result"]["_meta"]["code"] == "CONFIRMATION_REQUIRED"
    assert not (tmp_path / "papers").exists()


@pytest.mark.parametrize("method", ["get", "update", "cancel"])
async def test_ids_that_nobody_was_given_are_unknown(client: McpClient, method: str) -> None:
    answer = await client.task(method, "guessed", inputResponses={})

    assert answer["error"]["code"] == -32602


async def test_the_header_must_name_the_task(client: McpClient) -> None:
    visit = await client.visit("tasks/get", {"taskId": "one"}, "other")
    missing = await client.visit("tasks/get", {"taskId": "one"}, None)

    assert [one.response["error"]["code"] for one in (visit, missing)] == [-32020, -32020]
    assert visit.status == 400


async def test_a_server_without_tasks_has_no_such_methods(tmp_path: Path) -> None:
    async with served(toolbox(tmp_path, tasks="off")) as client:
        found = (await client.ask("server/discover", {}, None))["result"]
        assert EXTENSION not in (found["capabilities"].get("extensions") or {})
        assert (await client.task("get", "one"))["error"]["code"] == -32601
        # The tool is called as it would be without the extension.
        (tmp_path / "go").touch()
        answer = (await client.call("read_slowly", {"marks": str(tmp_path)}))["result"]
        assert answer["resultType"] == "complete"


class Stream:
    """A client that listens."""

    def __init__(self, client: McpClient, *task_ids: str) -> None:
        self._visit = Visit()
        wanted = {"notifications": {"taskIds": list(task_ids)}, "_meta": messages.envelope(TAKES_TASKS)}
        body = json.dumps(messages.request("subscriptions/listen", wanted, request_id="news")).encode()
        self._visit.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self._client = client

    async def run(self) -> None:
        await self._client.http.run(self._visit, "POST", "/mcp", messages.modern_headers("subscriptions/listen"))

    @property
    def heard(self) -> list[dict[str, Any]]:
        return messages.events(self._visit.body) if self._visit.answered else []

    def statuses(self) -> list[str]:
        return [one["params"]["status"] for one in self.heard if one.get("method") == "notifications/tasks"]


async def test_a_stream_tells_what_becomes_of_the_tasks_that_it_names(client: McpClient, tmp_path: Path) -> None:
    """The scenario `tasks-status-notifications`, which the conformance suite skips."""
    ready = await _started(client, "fail_slowly")
    await client.until(ready, "completed")
    asking, other = await _started(client, "ask_twice"), await _started(client, "ask_at_once")
    await client.until(asking, "input_required")
    stream = Stream(client, asking, ready)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.run)
        await until(lambda: "completed" in stream.statuses(), "what has ended is told at once")
        acknowledged = stream.heard[0]
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"]["taskIds"] == [asking, ready]

        await client.task("cancel", other)
        await client.task("cancel", asking)
        await until(lambda: "cancelled" in stream.statuses(), "the cancellation is told")
        tasks.cancel_scope.cancel()

    told = [one["params"] for one in stream.heard if one.get("method") == "notifications/tasks"]
    assert {one["taskId"] for one in told} == {asking, ready}
    assert all(one["_meta"]["io.modelcontextprotocol/subscriptionId"] == "news" for one in told)


async def test_nobody_hears_of_the_tasks_of_others(client: McpClient) -> None:
    wanted = {"notifications": {"taskIds": ["guessed"]}}
    answer = await client.ask("subscriptions/listen", wanted, None)

    assert answer["error"]["code"] == -32602
