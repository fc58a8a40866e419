"""The conversation that two tools were made for: an execution in short, then one of its nodes; and in Japanese."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.contract.output import parse_call
from dogubako_sandbox.n8n.replay import seed_id
from dogubako_sandbox.n8n.workflows import WORKFLOWS

from .agent import Agent, Era, speaking
from .recorded import execution_ids, sandbox

ERAS: list[Era] = ["handshake", "modern"]


async def told(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await agent.call(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.envelope["success"] is True
    return answer.envelope


@pytest.mark.parametrize("era", ERAS)
async def test_a_failed_execution_is_understood_in_three_calls(tmp_path: Path, era: Era) -> None:
    async with speaking(sandbox(tmp_path), era) as agent:
        number = execution_ids()["null-upstream"]
        summary = (await told(agent, "get_execution", id=number))["data"]
        broken = summary["availableNodes"][0]
        details = (await told(agent, "get_execution_by_node", id=number, nodeName=broken["nodeName"]))["data"]
        diagnosis = (await told(agent, "diagnose_execution", id=number))["data"]

    assert (broken["nodeName"], broken["status"]) == ("Normalise email", "error")
    assert summary["error"]["node"] == broken["nodeName"]
    assert details["error"] == summary["error"]
    assert (details["executionId"], details["nodeType"]) == (number, broken["nodeType"])
    assert diagnosis["origin"]["nodeName"] == "Look up customer"


@pytest.mark.parametrize("era", ERAS)
async def test_every_available_node_of_every_kind_of_name_can_be_asked_for(tmp_path: Path, era: Era) -> None:
    async with speaking(sandbox(tmp_path), era) as agent:
        number = execution_ids()["i-unicode"]
        summary = (await told(agent, "get_execution", id=number))["data"]
        names = [one["nodeName"] for one in summary["availableNodes"]]
        found = [(await told(agent, "get_execution_by_node", id=number, nodeName=name))["data"] for name in names]

    assert [one["nodeName"] for one in found] == names
    assert sum(one["output"]["total"] for one in found) == summary["statistics"]["totalItemsProcessed"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_proposed_calls_lead_from_the_list_to_the_cause(tmp_path: Path, era: Era) -> None:
    walked = ["list_executions"]
    async with speaking(sandbox(tmp_path), era) as agent:
        workflow = seed_id(WORKFLOWS["renamed-field"].name)
        data = (await told(agent, "list_executions", workflowId=workflow, status="error"))["data"]
        while "_guidance" in data:
            name, arguments = parse_call(data["_guidance"]["example"])
            walked.append(name)
            data = (await told(agent, name, **arguments))["data"]

    tools = ["list_executions", "get_execution", "get_execution_by_node", "diagnose_execution", "get_workflow_node"]
    assert walked == tools
    assert data["node"]["name"] == "Map fields"


async def japanese(box: Toolbox, tool: str, **arguments: Any) -> str:
    result = await box.call(tool, arguments)
    assert not result.is_error, result.content
    return str(result.value["message"])


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        pytest.param("get_execution", {"id": "1"}, "実行サマリーを取得しました", id="summary"),
        pytest.param(
            "get_execution_by_node", {"id": "1", "nodeName": "Done"}, "ノード実行詳細を取得しました", id="node"
        ),
        pytest.param("diagnose_execution", {"id": "1"}, "診断結果", id="diagnosis"),
        pytest.param("list_executions", {"status": "waiting"}, "実行を1件取得しました", id="list"),
        pytest.param("get_workflow", {"id": seed_id("E merge")}, "ワークフローを取得しました", id="workflow"),
    ],
)
async def test_success_is_told_in_japanese_where_that_is_set(
    tmp_path: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with sandbox(tmp_path, DOGUBAKO_LANG="ja").running() as box:
        assert await japanese(box, tool, **arguments) == message


async def test_failures_and_data_stay_as_they_are_in_japanese(tmp_path: Path) -> None:
    async with sandbox(tmp_path, DOGUBAKO_LANG="ja").running() as box:
        missing = await box.call("get_execution_by_node", {"id": "1", "nodeName": "Nobody"})
        summary = (await box.call("get_execution", {"id": "1"})).value["data"]

    assert missing.content[0]["text"] == "Node 'Nobody' not found in execution '1'"
    assert parse_call(summary["_guidance"]["example"])[1] == {"id": "1", "nodeName": "Done"}
