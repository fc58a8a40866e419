"""Workflows and executions as resources, and the prompt that leads through a failed execution, over MCP."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dogubako.response.tokens import count_tokens
from tests.sandbox.n8n_client import workflow_id

from .agent import Agent, Era, speaking
from .wired import Wire, box_on

DRAFT: Final = workflow_id("r-manual")
FAILED: Final = "3"
PROMPT: Final = "investigate_execution"


@pytest.fixture(params=["handshake", "modern"])
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    era: Era = request.param
    async with speaking(box_on(Wire(), tmp_path), era) as agent:
        yield agent


async def read(agent: Agent, uri: str) -> dict[str, Any]:
    return await agent.ask("resources/read", {"uri": uri}, uri)


async def prompted(agent: Agent, **arguments: str) -> str:
    response = await agent.ask("prompts/get", {"name": PROMPT, "arguments": arguments}, PROMPT)
    [message] = response["result"]["messages"]
    assert message["role"] == "user"
    return str(message["content"]["text"])


async def completed(agent: Agent, reference: dict[str, str], typed: str) -> list[str]:
    params = {"ref": reference, "argument": {"name": "id", "value": typed}}
    response = await agent.ask("completion/complete", params)
    return list(response["result"]["completion"]["values"])


async def failed_ids(agent: Agent) -> list[str]:
    answer = await agent.call("list_executions", {"status": "error", "limit": 50})
    return [row["id"] for row in answer.envelope["data"]["executions"]]


async def test_both_families_and_the_prompt_are_listed(agent: Agent) -> None:
    templates = (await agent.ask("resources/templates/list", {}))["result"]["resourceTemplates"]
    prompts = (await agent.ask("prompts/list", {}))["result"]["prompts"]

    assert [one["uriTemplate"] for one in templates] == ["n8n://executions/{id}", "n8n://workflows/{id}"]
    assert {one["mimeType"] for one in templates} == {"application/json"}
    assert [(one["name"], one["arguments"][0]["name"]) for one in prompts] == [(PROMPT, "id")]
    assert not prompts[0]["arguments"][0].get("required")


async def test_a_workflow_is_read_as_its_tool_shows_it(agent: Agent) -> None:
    [contents] = (await read(agent, f"n8n://workflows/{DRAFT}"))["result"]["contents"]
    shown = (await agent.call("get_workflow", {"id": DRAFT})).envelope["data"]
    shown.pop("_guidance")

    assert contents["mimeType"] == "application/json"
    assert json.loads(contents["text"]) == shown


async def test_an_execution_is_read_in_short(agent: Agent) -> None:
    [contents] = (await read(agent, f"n8n://executions/{FAILED}"))["result"]["contents"]
    shown = (await agent.call("get_execution", {"id": FAILED})).envelope["data"]
    shown.pop("_guidance")

    assert json.loads(contents["text"]) == shown
    assert count_tokens(contents["text"]) <= 1_000


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        pytest.param("n8n://workflows/abc123", "Workflow 'abc123' not found", id="workflow"),
        pytest.param("n8n://executions/abc", "Execution 'abc' not found", id="execution"),
        pytest.param("n8n://executions/..%2Fworkflows", "Execution '../workflows' not found", id="a path as id"),
        pytest.param("n8n://users/1", "Resource not found: n8n://users/1", id="no such family"),
    ],
)
async def test_what_is_not_there_is_named(agent: Agent, uri: str, message: str) -> None:
    error = (await read(agent, uri))["error"]

    assert error["message"] == message


async def test_workflows_are_completed_by_the_beginning_of_their_id(agent: Agent) -> None:
    family = {"type": "ref/resource", "uri": "n8n://workflows/{id}"}

    assert DRAFT in await completed(agent, family, "")
    assert await completed(agent, family, DRAFT[:6]) == [DRAFT]
    assert await completed(agent, family, "nothing begins so") == []


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param({"type": "ref/resource", "uri": "n8n://executions/{id}"}, id="of the resource"),
        pytest.param({"type": "ref/prompt", "name": PROMPT}, id="of the prompt"),
    ],
)
async def test_executions_are_completed_with_those_that_failed(agent: Agent, reference: dict[str, str]) -> None:
    failed = await failed_ids(agent)

    assert await completed(agent, reference, "") == failed
    assert await completed(agent, reference, FAILED) == [one for one in failed if one.startswith(FAILED)]


async def test_the_prompt_brings_the_summary_of_the_execution_with_it(agent: Agent) -> None:
    text = await prompted(agent, id=FAILED)
    [contents] = (await read(agent, f"n8n://executions/{FAILED}"))["result"]["contents"]

    assert text.startswith(f"Find out why execution {FAILED} went wrong")
    assert contents["text"] in text
    assert f"diagnose_execution(id: '{FAILED}')" in text


@pytest.mark.parametrize("arguments", [pytest.param({}, id="without"), pytest.param({"id": ""}, id="empty")])
async def test_without_an_id_it_is_about_the_last_failure(agent: Agent, arguments: dict[str, str]) -> None:
    newest = (await failed_ids(agent))[0]

    assert (await prompted(agent, **arguments)).startswith(f"Find out why execution {newest} went wrong")


async def test_an_unknown_execution_makes_no_prompt(agent: Agent) -> None:
    response = await agent.ask("prompts/get", {"name": PROMPT, "arguments": {"id": "99999"}}, PROMPT)

    assert response["error"]["message"] == "Execution '99999' not found"


async def test_where_nothing_has_failed_the_prompt_says_so(tmp_path: Path) -> None:
    wire = Wire(lambda _: httpx2.Response(200, json={"data": [], "nextCursor": None}))
    async with speaking(box_on(wire, tmp_path), "modern") as agent:
        assert await prompted(agent) == "No execution of this n8n has failed. Say so, and stop."


async def test_trouble_with_n8n_is_told_without_its_secrets(tmp_path: Path) -> None:
    wire = Wire(lambda _: httpx2.Response(500, html="<html>Error at /usr/lib/node_modules</html>"))
    async with speaking(box_on(wire, tmp_path), "modern") as agent:
        response = await read(agent, f"n8n://workflows/{DRAFT}")

    assert response["error"]["message"] == "Failed to get workflow: n8n answered with status 500"
    assert "node_modules" not in json.dumps(response)
