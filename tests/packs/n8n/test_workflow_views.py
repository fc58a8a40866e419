"""Workflows as an agent reads them, and what is said about changes."""

from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.packs.n8n.formatters.changes import differences, unrequested
from dogubako.packs.n8n.formatters.workflow import connections, line, overview, row
from dogubako_sandbox.n8n.replay import seed_id
from dogubako_sandbox.n8n.workflows import WORKFLOWS

from .recorded import data_of


def workflow_id(key: str) -> str:
    return seed_id(WORKFLOWS[key].name)


async def read(box: Toolbox, tool: str, key: str, **more: Any) -> dict[str, Any]:
    return data_of(await box.call(tool, {"id": workflow_id(key), **more}))


async def test_an_overview_shows_nodes_without_parameters_and_connections_as_lines(box: Toolbox) -> None:
    data = await read(box, "get_workflow", "d-loop")

    assert (data["id"], data["name"], data["active"]) == (workflow_id("d-loop"), "D loop", True)
    assert [set(one) for one in data["nodes"]] == [{"name", "type"}] * 5
    assert set(data["connections"]) == {
        "Webhook → Make 25",
        "Make 25 → Loop Over Items",
        "Loop Over Items → After Loop",
        "Loop Over Items[1] → Body",
        "Body → Loop Over Items",
    }


async def test_an_overview_marks_what_is_notable_about_a_node(box: Toolbox) -> None:
    switched_off = {one["name"]: one for one in (await read(box, "get_workflow", "p-disabled"))["nodes"]}
    soft = {one["name"]: one for one in (await read(box, "get_workflow", "f-onerror"))["nodes"]}

    assert switched_off["Off"]["disabled"] is True
    assert "disabled" not in switched_off["End"]
    assert soft["Err out"]["onError"] == "continueErrorOutput"


async def test_the_next_step_of_an_overview_is_one_of_its_nodes(box: Toolbox) -> None:
    data = await read(box, "get_workflow", "e-merge")

    wanted = f"get_workflow_node(id: '{data['id']}', nodeName: '{data['nodes'][-1]['name']}')"
    assert data["_guidance"]["example"] == wanted


async def test_a_node_is_shown_whole_with_its_neighbours(box: Toolbox) -> None:
    data = await read(box, "get_workflow_node", "c-if-branch", nodeName="IF even")

    assert data["node"]["parameters"]["conditions"]["conditions"][0]["leftValue"] == "={{ $json.even }}"
    assert [one["from"] for one in data["receivesFrom"]] == ["Make 10"]
    assert [(one["output"], one["to"]) for one in data["leadsTo"]] == [(0, "Yes"), (1, "No")]


async def test_an_unknown_node_is_named_with_the_nearest_ones(box: Toolbox) -> None:
    number = workflow_id("c-if-branch")
    result = await box.call("get_workflow_node", {"id": number, "nodeName": "If Even"})

    assert result.error is not None
    assert result.error.message == f"Node 'If Even' not found in workflow '{number}'"
    assert "'IF even'" in str(result.error.hint)


async def test_every_connection_names_output_and_input(box: Toolbox) -> None:
    data = await read(box, "get_workflow_connections", "e-merge")

    assert {"from": "Right", "output": 0, "to": "Merge", "input": 1, "type": "main"} in data["connections"]
    assert len(data["connections"]) == 5
    assert data["unconnectedNodes"] == []


async def test_a_node_without_any_connection_is_listed(box: Toolbox) -> None:
    data = await read(box, "get_workflow_connections", "o-no-trigger")

    assert (data["connections"], data["unconnectedNodes"]) == ([], ["Only set"])


@pytest.mark.parametrize("tool", ["get_workflow", "get_workflow_connections"])
async def test_raw_is_what_n8n_said(box: Toolbox, tool: str) -> None:
    data = await read(box, tool, "e-merge", raw=True)

    whole = data if tool == "get_workflow" else {"connections": data}
    assert whole["connections"] == WORKFLOWS["e-merge"].body["connections"]


def test_a_workflow_with_everything_is_told_in_short() -> None:
    workflow = {
        "id": "w",
        "name": "All",
        "active": False,
        "tags": [{"id": "1", "name": "prod"}],
        "nodes": [{"name": "Mail", "type": "t", "credentials": {"smtp": {"id": "9", "name": "secret name"}}}],
        "connections": {"Model": {"ai_languageModel": [[{"node": "Agent", "type": "ai_languageModel", "index": 0}]]}},
        "pinData": {"Mail": [{"json": {}}]},
        "isArchived": True,
    }

    shown = overview(workflow)
    assert shown["nodes"] == [{"name": "Mail", "type": "t", "credentials": ["smtp"]}]
    assert shown["connections"] == ["Model → Agent (ai_languageModel)"]
    assert (shown["tags"], shown["pinnedNodes"], shown["archived"]) == (["prod"], ["Mail"], True)
    assert row(workflow)["nodes"] == 1


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({"A": {"main": [None, [{"node": "B", "type": "main", "index": 2}]]}}, id="an output of nothing"),
        pytest.param({"A": {"main": [[], [{"node": "B", "index": 2}]], "ai_tool": None}}, id="a channel of nothing"),
    ],
)
def test_odd_connections_are_read_all_the_same(written: dict[str, Any]) -> None:
    assert [line(one) for one in connections({"connections": written})] == ["A[1] → B[2]"]


def node(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


@pytest.mark.parametrize(
    ("meant", "got", "found"),
    [
        pytest.param({"name": "a"}, {"name": "a"}, [], id="the same"),
        pytest.param({"nodes": [node("A"), node("B")]}, {"nodes": [node("B"), node("A")]}, [], id="another order"),
        pytest.param({"settings": {"x": None, "y": {}}}, {"settings": {}}, [], id="nothing in other words"),
        pytest.param({"settings": {"x": False}}, {"settings": {}}, [("settings.x", False, None)], id="false is a word"),
        pytest.param(
            {"nodes": [node("A", code="1")]},
            {"nodes": [node("A", code="2")]},
            [("nodes.A.parameters.code", "1", "2")],
            id="a parameter",
        ),
        pytest.param(
            {"nodes": [node("A", list=[1, 2])]},
            {"nodes": [node("A", list=[1, 3])]},
            [("nodes.A.parameters.list[1]", 2, 3)],
            id="a place in a list",
        ),
        pytest.param(
            {"nodes": [node("A", list=[1])]},
            {"nodes": [node("A", list=[1, 3])]},
            [("nodes.A.parameters.list", [1], [1, 3])],
            id="a list that grew",
        ),
        pytest.param(
            {"nodes": [node("A")]}, {"nodes": []}, [("nodes.A", {"name": "A", "parameters": {}}, None)], id="a node"
        ),
    ],
)
def test_what_n8n_made_otherwise_is_found_by_its_path(
    meant: dict[str, Any], got: dict[str, Any], found: list[tuple[str, Any, Any]]
) -> None:
    assert [(one["path"], one["sent"], one["got"]) for one in differences(meant, got)] == found


def test_what_changed_unasked_is_told_and_bookkeeping_is_not() -> None:
    before = {"name": "a", "active": True, "updatedAt": "1", "versionId": "x", "settings": {"tz": "Asia/Tokyo"}}
    now = {"name": "b", "active": False, "updatedAt": "2", "versionId": "y", "settings": {"tz": "Asia/Tokyo"}}

    assert unrequested(before, now, {"name": "b"}) == [{"path": "active", "before": True, "now": False}]


def test_long_values_are_shortened_and_very_many_differences_are_counted() -> None:
    meant = {"settings": {f"key{number}": "x" * 5_000 for number in range(100)}}

    found = differences(meant, {"settings": {}})
    assert len(found) == 31
    assert found[-1] == {"path": "… [70 more]"}
    assert all(len(one["sent"]) < 300 for one in found[:-1])


async def test_a_change_reports_only_what_was_asked_for(box: Toolbox) -> None:
    number = workflow_id("o-no-trigger")
    data = data_of(await box.call("update_workflow", {"id": number, "name": "Renamed"}))

    assert (data["name"], data["changed"]) == ("Renamed", ["name"])
    assert (data["differences"], data["unrequested"]) == ([], [])
    undo = f"restore_workflow(id: '{number}', backup: '{data['backup']}', draftOnly: true, expectedVersionId: "
    assert data["_guidance"]["example"] == f"{undo}'{data['versionId']}')"
