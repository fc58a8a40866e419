"""Every call that an answer proposes can be read, made, and answers something."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.contract.call import ToolResult
from dogubako.contract.output import example_call, parse_call
from dogubako_sandbox.n8n.replay import seed_id
from dogubako_sandbox.n8n.workflows import WORKFLOWS

from .recorded import data_of, execution_ids, sandbox

Call = tuple[str, Mapping[str, Any]]

_MOST_CALLS = 300


def examples_in(result: ToolResult) -> Iterator[str]:
    """The next step, and the ways to what did not fit."""
    answer = result.value
    data = answer["data"] if isinstance(answer["data"], dict) else {}
    if "_guidance" in data:
        yield data["_guidance"]["example"]
    if "allParameters" in data:
        yield data["allParameters"]
    if "next" in answer.get("_truncated", {}):
        yield answer["_truncated"]["next"]


async def follow(box: Toolbox, first: Sequence[Call]) -> list[str]:
    """Make these calls, and every call that their answers propose, and what those propose, each once."""
    made: dict[str, None] = {}
    waiting = deque(first)
    while waiting:
        name, arguments = waiting.popleft()
        written = example_call(name, **arguments)
        if written in made:
            continue
        made[written] = None
        assert len(made) <= _MOST_CALLS, "the examples do not end"
        result = await box.call(name, arguments)
        assert not result.is_error, (written, result.content)
        waiting.extend(parse_call(example) for example in examples_in(result))
    return list(made)


async def calls_about(box: Toolbox, number: str) -> list[Call]:
    """Every reading call about an execution that an agent may begin with."""
    summary = data_of(await box.call("get_execution", {"id": number}))
    about: list[Call] = [(tool, {"id": number}) for tool in ("get_execution", "diagnose_execution")]
    for name in (one["nodeName"] for one in summary["availableNodes"]):
        chosen = {"id": number, "nodeName": name}
        about += [("get_execution_by_node", chosen), ("get_execution_by_node", {**chosen, "itemLimit": 40})]
    return about


async def test_every_example_about_every_recorded_execution_works(box: Toolbox) -> None:
    for number in execution_ids().values():
        first = await calls_about(box, number)
        assert len(await follow(box, first)) >= len(first)


async def test_every_example_about_a_workflow_works(box: Toolbox) -> None:
    first: list[Call] = [("get_workflow", {"id": seed_id(one.name)}) for one in WORKFLOWS.values()]

    made = await follow(box, first)
    assert len([one for one in made if one.startswith("get_workflow_node(")]) == len(first)


@pytest.mark.parametrize(
    ("tool", "arguments", "proposes"),
    [
        pytest.param("list_executions", {}, "get_execution(", id="executions"),
        pytest.param("list_executions", {"status": "error", "limit": 2}, "get_execution(", id="failed executions"),
        pytest.param("list_executions", {"status": "running"}, "get_execution(", id="running executions"),
        pytest.param("list_workflows", {"active": True, "limit": 3}, "get_workflow(", id="workflows"),
    ],
)
async def test_every_example_of_a_list_works(
    box: Toolbox, tool: str, arguments: Mapping[str, Any], proposes: str
) -> None:
    made = await follow(box, [(tool, arguments)])

    assert made[1].startswith(proposes)


@pytest.mark.parametrize("tool", ["list_executions", "list_workflows"])
async def test_an_empty_list_proposes_nothing_that_is_not_there(box: Toolbox, tool: str) -> None:
    arguments = {"list_executions": {"workflowId": seed_id("O no trigger")}, "list_workflows": {"name": "none"}}[tool]

    assert len(await follow(box, [(tool, arguments)])) == 1


async def test_the_example_of_a_backup_brings_it_back(box: Toolbox) -> None:
    number = seed_id(WORKFLOWS["o-no-trigger"].name)
    await box.call("update_workflow", {"id": number, "name": "Renamed"})

    backups = await box.call("list_workflow_backups", {"id": number})
    name, arguments = parse_call(data_of(backups)["_guidance"]["example"])
    await box.call(name, arguments)

    assert data_of(await box.call("get_workflow", {"id": number}))["name"] == "O no trigger"


async def test_the_rest_of_an_answer_that_was_cut_can_be_read_on(tmp_path: Path) -> None:
    number = execution_ids()["a-success-100"]
    async with sandbox(tmp_path, DOGUBAKO_MAX_RESPONSE_TOKENS="6000").running() as box:
        made = await follow(box, [("get_execution", {"id": number, "raw": True})])

    assert len(made) > 1
    assert all(one.startswith("read_more(") for one in made[1:])
