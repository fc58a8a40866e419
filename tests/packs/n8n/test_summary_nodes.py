"""`get_execution` tells what every node received and gave out, page by page, and what did not run."""

from itertools import pairwise
from typing import Any

import pytest

from .made import JsonObject, box_with, failed_run, items, made, node, run, wires
from .recorded import Told, sandbox


async def summary(execution: JsonObject, **arguments: Any) -> dict[str, Any]:
    async with box_with(execution).running() as box:
        result = await box.call("get_execution", {"id": "1", **arguments})
    assert not result.is_error, result.content
    data: dict[str, Any] = result.value["data"]
    return data


def chain_of(count: int) -> JsonObject:
    """Nodes in a row, of which the last fails."""
    names = [f"Step number {number}" for number in range(count)]
    steps = {name: [run(items({"a": 1}), after=[before])] for before, name in pairwise(names[:-1])}
    runs = {names[0]: [run(items({"a": 1}))], **steps, names[-1]: [failed_run("no", after=names[-2])]}
    execution = made(runs)
    execution["workflowData"]["connections"] = wires(*names)
    return execution


def test_every_node_has_its_items_in_and_out(told: Told) -> None:
    nodes = {one["nodeName"]: one for one in told.summary("empty-branch")["availableNodes"]}

    assert (nodes["Webhook"]["itemsIn"], nodes["Webhook"]["itemsOut"]) == (0, 1)
    assert (nodes["Read orders"]["itemsIn"], nodes["Read orders"]["itemsOut"]) == (1, 3)
    assert nodes["Only paid"]["itemsIn"] == 3


def test_items_of_all_inputs_and_runs_are_counted(told: Told) -> None:
    merged = next(one for one in told.summary("e-merge")["availableNodes"] if "merge" in one["nodeType"])
    looped = next(one for one in told.summary("d-loop")["availableNodes"] if one.get("runs", 0) > 1)

    assert merged["itemsIn"] >= merged["itemsOut"] > 1
    assert looped["itemsIn"] > looped["runs"]


def test_nodes_that_did_not_run_are_named(told: Told) -> None:
    assert told.summary("empty-branch")["nodesNotRun"] == ["Write receipt", "Send receipt"]
    assert "nodesNotRun" not in told.summary("a-success-100")


async def test_notes_and_disabled_nodes_are_not_among_those_that_did_not_run() -> None:
    runs = {"Start": [run(items({"a": 1}))]}
    others = [node("Off", disabled=True), node("Note", type="n8n-nodes-base.stickyNote"), node("Later")]

    assert (await summary(made(runs, *others, status="success")))["nodesNotRun"] == ["Later"]


@pytest.mark.parametrize("kind", ["l-slow-running", "l-slow-canceled"])
def test_what_n8n_keeps_no_data_of_is_not_said_to_be_idle(told: Told, kind: str) -> None:
    summary = told.summary(kind)

    assert summary["statistics"] == {"totalNodes": 3}
    assert "nodesNotRun" not in summary
    assert "which nodes ran is not known, and they may have done something." in summary["notes"][-1]


@pytest.mark.parametrize("status", ["running", "canceled"])
async def test_data_of_some_nodes_say_nothing_of_the_others(status: str) -> None:
    execution = made({"Start": [run(items({"a": 1}))]}, node("Slow"), status=status)

    shown = await summary(execution)

    assert (shown["statistics"]["executedNodes"], "nodesNotRun" in shown) == (1, False)
    assert "which other nodes ran is not known" in shown["notes"][0]


def test_an_execution_that_was_canceled_while_it_waited_has_all_data(told: Told) -> None:
    summary = told.summary("h-wait-canceled")

    assert summary["nodesNotRun"] == ["After"]
    assert "notes" not in summary


async def test_the_neighbours_of_a_failure_come_right_behind_it() -> None:
    names = [one["nodeName"] for one in (await summary(chain_of(60)))["availableNodes"]]

    assert names[:3] == ["Step number 59", "Step number 58", "Step number 0"]


async def test_all_nodes_can_be_read_page_by_page() -> None:
    execution, names, offset = chain_of(60), [], 0
    for _ in range(60):
        page = await summary(execution, nodeOffset=offset)
        names += [one["nodeName"] for one in page["availableNodes"]]
        if "nextNodeOffset" not in page:
            break
        assert page["nextNodeOffset"] > offset
        offset = page["nextNodeOffset"]

    assert len(names) == len(set(names)) == 60


async def test_an_offset_behind_the_last_node_shows_none() -> None:
    page = await summary(chain_of(3), nodeOffset=99)

    assert page["availableNodes"] == []
    assert "nextNodeOffset" not in page


async def test_the_version_that_ran_is_compared_with_the_present_one(tmp_path: Any) -> None:
    async with sandbox(tmp_path).running() as box:
        plain = (await box.call("get_execution", {"id": "1"})).value["data"]["workflowVersion"]
        compared = (await box.call("get_execution", {"id": "1", "compareVersions": True})).value["data"]

    assert list(plain) == ["ran"]
    assert compared["workflowVersion"]["ran"] == plain["ran"]
    present = compared["workflowVersion"]["published"] or compared["workflowVersion"]["draft"]
    assert compared["workflowVersion"]["changedSince"] is (plain["ran"] != present)
