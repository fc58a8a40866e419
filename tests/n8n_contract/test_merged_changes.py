"""Two sides change one workflow: what touches is a conflict that says so, and what was added can be taken away."""

from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako.contract.errors import ConflictError
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_workflow_changes import writable

DRAFT: Final = {"publishIfActive": "false"}
Graph = dict[str, Any]


def links(*pairs: str) -> Graph:
    """`A>B` leads from A to B."""
    made: Graph = {}
    for source, target in (pair.split(">") for pair in pairs):
        outputs = made.setdefault(source, {"main": [[]]})["main"]
        outputs[0].append({"node": target, "type": "main", "index": 0})
    return made


def step(name: str) -> Graph:
    return {
        "id": str(uuid4()),
        "name": name,
        "type": "n8n-nodes-base.noOp",
        "typeVersion": 1,
        "position": [0, 0],
        "parameters": {},
    }


async def chain(place: Place) -> str:
    start = {**step("受信"), "type": "n8n-nodes-base.manualTrigger"}
    body = {"name": "Chain", "nodes": [start, *map(step, "甲乙C")], "settings": {}}
    made = await place.n8n.told("POST", "workflows", {**body, "connections": links("受信>甲", "甲>乙", "乙>C")})
    return str(made["id"])


async def person(place: Place, workflow_id: str, change: Callable[[Graph], Graph]) -> None:
    now = await place.workflow(workflow_id)
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(now, **change(now)), params=DRAFT)


def without(now: Graph, name: str, *pairs: str) -> Graph:
    return {"nodes": [one for one in now["nodes"] if one["name"] != name], "connections": links(*pairs)}


def renamed(now: Graph, old: str, new: str, *pairs: str) -> Graph:
    nodes = [{**one, "name": new} if one["name"] == old else one for one in now["nodes"]]
    return {"nodes": nodes, "connections": links(*pairs)}


def inserted(now: Graph, name: str, *pairs: str) -> Graph:
    return {"nodes": [*now["nodes"], step(name)], "connections": links(*pairs)}


BETWEEN: Final = {"op": "addNode", "name": "道具の間", "type": "n8n-nodes-base.noOp"}
CASES: Final[dict[str, tuple[Callable[[Graph], Graph], dict[str, Any], str]]] = {
    "a rename of a node that is gone": (
        lambda now: without(now, "C", "受信>甲", "甲>乙"),
        {"op": "renameNode", "node": "C", "name": "C二"},
        "nodes.C was removed or renamed",
    ),
    "two renames": (
        lambda now: renamed(now, "C", "X", "受信>甲", "甲>乙", "乙>X"),
        {"op": "renameNode", "node": "C", "name": "Y"},
        "nodes.C.name is now 'X'",
    ),
    "a removal of a node that was renamed": (
        lambda now: renamed(now, "C", "X", "受信>甲", "甲>乙", "乙>X"),
        {"op": "removeNode", "node": "C"},
        "nodes.C.name is now 'X'",
    ),
    "two nodes in one place": (
        lambda now: inserted(now, "人の間", "受信>人の間", "人の間>甲", "甲>乙", "乙>C"),
        {**BETWEEN, "from": "受信", "to": "甲"},
        "connections.受信 → 甲 is now ['人の間']",
    ),
    "a node in a connection that was cut": (
        lambda now: {"connections": links("受信>甲", "乙>C")},
        {**BETWEEN, "from": "甲", "to": "乙"},
        "connections.甲 → 乙 was removed",
    ),
    "a connection to a node that is gone": (
        lambda now: without(now, "C", "受信>甲", "甲>乙"),
        {"op": "addConnection", "from": "甲", "to": "C"},
        "nodes.C was removed or renamed",
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_changes_that_touch_are_a_conflict(place: Place, case: str) -> None:
    theirs, ours, told = CASES[case]
    workflow_id = await chain(place)
    read = await place.workflow(workflow_id)
    await person(place, workflow_id, theirs)
    after = await place.workflow(workflow_id)

    error = await place.refused("edit_workflow", id=workflow_id, operations=[ours], expectedVersionId=read["versionId"])

    assert isinstance(error, ConflictError), error.message
    assert told in error.message
    assert await place.workflow(workflow_id) == after


async def test_changes_that_do_not_touch_are_merged(place: Place) -> None:
    workflow_id = await chain(place)
    read = await place.workflow(workflow_id)
    await person(place, workflow_id, lambda now: inserted(now, "人の間", "受信>人の間", "人の間>甲", "甲>乙", "乙>C"))
    ours = [{"op": "renameNode", "node": "C", "name": "C二"}, {**BETWEEN, "from": "甲", "to": "乙"}]

    outcome = await place.call("edit_workflow", id=workflow_id, operations=ours, expectedVersionId=read["versionId"])

    after = await place.workflow(workflow_id)
    flow = {source: [one["node"] for one in channels["main"][0]] for source, channels in after["connections"].items()}
    assert flow == {"受信": ["人の間"], "人の間": ["甲"], "甲": ["道具の間"], "道具の間": ["乙"], "乙": ["C二"]}
    assert outcome["mergedWith"]


@proves("settings-forgotten")
async def test_a_setting_that_was_added_is_taken_away_by_the_undo(place: Place) -> None:
    workflow_id = await chain(place)
    settings = {"timezone": "Asia/Tokyo", "executionTimeout": 77}

    added = await place.call("update_workflow", id=workflow_id, settings=settings)
    undone = await place.call("restore_workflow", id=workflow_id, backup=added["backup"], draftOnly=True)
    again = await place.call("update_workflow", id=workflow_id, settings=settings)
    removed = await place.call("update_workflow", id=workflow_id, settings={"timezone": None})
    await place.call("update_workflow", id=workflow_id, settings={"saveManualExecutions": True})
    kept = await place.refused("update_workflow", id=workflow_id, settings={"saveManualExecutions": None})

    after = (await place.workflow(workflow_id))["settings"]
    assert undone["differences"] == again["differences"] == removed["differences"] == []
    assert "timezone" not in after
    assert after["executionTimeout"] == 77
    assert "n8n does not remove this setting: give saveManualExecutions another value" in kept.message


@pytest.mark.parametrize(
    "connections",
    [{"受信": "甲"}, {"受信": ["甲"]}, {"受信": {"main": {"0": []}}}, {"受信": {"main": [[{"node": None}]]}}],
)
async def test_connections_of_another_shape_are_refused(place: Place, connections: Any) -> None:
    workflow_id = await chain(place)

    found = await place.call("validate_workflow", nodes=[step("受信"), step("甲")], connections=connections)
    refused = await place.refused("update_workflow", id=workflow_id, connections=connections)

    assert "'connections' has to be like" in found["errors"][0]["message"]
    assert "Tool execution failed" not in refused.message


async def test_nodes_in_a_circle_and_broken_json_are_told(place: Place) -> None:
    start = {**step("受信"), "type": "n8n-nodes-base.manualTrigger"}
    raw = {**step("S"), "type": "n8n-nodes-base.set", "typeVersion": 3.4}
    raw["parameters"] = {"mode": "raw", "jsonOutput": '{"a": }', "options": {}}
    connections = links("受信>S", "x>y", "y>x")

    found = await place.call("validate_workflow", nodes=[start, raw, step("x"), step("y")], connections=connections)

    told = {(one["problem"], one.get("node")) for one in found["warnings"]}
    assert told == {("brokenJson", "S"), ("unconnectedNode", "x"), ("unconnectedNode", "y")}
