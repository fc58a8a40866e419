"""Every patch operation, saved by n8n as it was meant, all of them or none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.packs.n8n.edits.operations import FIELDS
from dogubako.packs.n8n.formatters.workflow import connections, line
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_drafts import with_draft
from tests.n8n_contract.test_workflow_changes import node_of

Operation = dict[str, Any]


def lines(workflow: Mapping[str, Any]) -> set[str]:
    return {line(one) for one in connections(workflow)}


async def edited(place: Place, workflow_id: str, *operations: Operation, **more: Any) -> dict[str, Any]:
    """What the tool answers; n8n has to have saved exactly what was asked for."""
    answer = await place.call("edit_workflow", id=workflow_id, operations=list(operations), **more)
    assert "differences" not in answer, answer
    assert "unrequested" not in answer, answer
    return answer


async def test_a_node_is_added_with_everything_that_was_left_out(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)

    answer = await edited(
        place,
        workflow_id,
        {"op": "addNode", "name": "整形", "type": "set", "from": "Webhook", "to": "None"},
        {"op": "addNode", "name": "Far", "type": "n8n-nodes-base.noOp", "settings": {"disabled": True, "notes": "x"}},
    )

    after = await place.workflow(workflow_id)
    new = node_of(after, "整形")
    assert (new["type"], new["typeVersion"], new["parameters"]) == ("n8n-nodes-base.set", 3.5, {})
    assert new["position"] not in [node["position"] for node in before["nodes"]]
    assert lines(after) == {"Webhook → 整形", "整形 → None", "None → Not reached"}
    assert (node_of(after, "Far")["disabled"], node_of(after, "Far")["notes"]) == (True, "x")
    assert [one["name"] for one in answer["diff"]["nodes"]["added"]] == ["整形", "Far"]
    assert answer["diff"]["connections"] == {"added": ["Webhook → 整形", "整形 → None"], "removed": ["Webhook → None"]}


async def test_an_added_node_is_wired_to_the_named_output_and_input(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    join = {"op": "addNode", "name": "Join", "type": "merge", "typeVersion": 3.1, "from": "Webhook", "input": 1}
    fork = {"op": "addNode", "name": "Fork", "type": "if", "typeVersion": 2.2, "to": "Join", "output": 1, "input": 0}

    await edited(place, workflow_id, join, fork)

    assert lines(await place.workflow(workflow_id)) >= {"Webhook → Join[1]", "Fork[1] → Join"}


async def test_a_connection_of_an_output_or_input_that_does_not_exist_is_refused(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)
    wrong: list[tuple[Operation, str]] = [
        ({"op": "addConnection", "from": "None", "to": "Not reached", "output": 3}, "output 3 of 'None'"),
        ({"op": "addConnection", "from": "None", "to": "Not reached", "input": 1}, "input 1 of 'Not reached'"),
        ({"op": "addConnection", "from": "None", "to": "Webhook"}, "input 0 of 'Webhook'"),
    ]

    for operation, reason in wrong:
        error = await place.refused("edit_workflow", id=workflow_id, operations=[operation])
        assert reason in error.message, operation
    handled = {"op": "setNodeSettings", "node": "None", "settings": {"onError": "continueErrorOutput"}}
    await edited(place, workflow_id, handled, {"op": "addConnection", "from": "None", "to": "Not reached", "output": 1})

    assert lines(await place.workflow(workflow_id)) == {*lines(before), "None[1] → Not reached"}


async def test_a_removed_node_leaves_no_gap_unless_that_is_wanted(place: Place) -> None:
    pins = {"None": [{"json": {}}], "Webhook": [{"json": {"a": 1}}]}
    workflow_id = await place.copy_of("m-empty", pinData=pins)
    other = await place.copy_of("m-empty")

    await edited(place, workflow_id, {"op": "removeNode", "node": "None"})
    await edited(place, other, {"op": "removeNode", "node": "None", "rewire": False})

    after = await place.workflow(workflow_id)
    assert lines(after) == {"Webhook → Not reached"}
    assert list(after["pinData"]) == ["Webhook"]
    assert lines(await place.workflow(other)) == set()


async def test_a_renamed_node_is_renamed_wherever_it_is_named(place: Place) -> None:
    workflow_id = await place.copy_of("a-success-100", pinData={"Make 100": [{"json": {"id": 1}}]})
    texts = {
        "a": "={{ $('Make 100').item.json.id }} and $('Make 100')",
        "b": '={{ $node["Make 100"].json.id + $items("Make 100").length }}',
        "c": "the text $('Make 100') is no expression",
    }
    assignments = [{"id": key, "name": key, "type": "string", "value": text} for key, text in texts.items()]
    path = {"op": "setParameter", "node": "Edit Fields", "path": "assignments.assignments", "value": assignments}
    await edited(place, workflow_id, path)

    await edited(place, workflow_id, {"op": "renameNode", "node": "Make 100", "name": "It's 「百」"})

    after = await place.workflow(workflow_id)
    values = [one["value"] for one in node_of(after, "Edit Fields")["parameters"]["assignments"]["assignments"]]
    assert values == [
        "={{ $('It\\'s 「百」').item.json.id }} and $('It\\'s 「百」')",
        '={{ $node["It\'s 「百」"].json.id + $items("It\'s 「百」").length }}',
        texts["c"],
    ]
    assert lines(after) == {"Webhook → It's 「百」", "It's 「百」 → Edit Fields", "Edit Fields → Done"}
    assert list(after["pinData"]) == ["It's 「百」"]


async def test_parameters_are_set_and_removed_by_path(place: Place) -> None:
    workflow_id = await place.copy_of("b1-http-econnrefused")
    name = "Call closed port"

    answer = await edited(
        place,
        workflow_id,
        {"op": "setParameter", "node": name, "path": "options.timeout", "value": 5},
        {
            "op": "setParameter",
            "node": name,
            "path": "headerParameters.parameters[0]",
            "value": {"name": "X", "value": "y"},
        },
        {"op": "setParameter", "node": name, "path": "options.redirect.redirect.maxRedirects", "value": 3},
        {"op": "unsetParameter", "node": name, "path": "options.redirect"},
    )

    parameters = node_of(await place.workflow(workflow_id), name)["parameters"]
    assert parameters["options"] == {"timeout": 5}
    assert parameters["headerParameters"] == {"parameters": [{"name": "X", "value": "y"}]}
    assert parameters["url"].startswith("http")
    assert {one["path"] for one in answer["diff"]["nodes"]["changed"]} == {
        "parameters.options.timeout",
        "parameters.headerParameters",
    }


async def test_settings_of_a_node_are_set_and_removed(place: Place) -> None:
    workflow_id = await place.copy_of("k-retry")
    settings = {
        "onError": "continueErrorOutput",
        "retryOnFail": False,
        "maxTries": None,
        "waitBetweenTries": 500,
        "alwaysOutputData": True,
        "executeOnce": True,
        "disabled": True,
        "notes": "気をつけて",
    }

    await edited(place, workflow_id, {"op": "setNodeSettings", "node": "Flaky", "settings": settings})

    after = node_of(await place.workflow(workflow_id), "Flaky")
    assert "maxTries" not in after
    assert {key: after[key] for key in settings if key != "maxTries"} == {
        key: value for key, value in settings.items() if key != "maxTries"
    }


async def test_a_credential_is_set_by_name_and_removed(place: Place) -> None:
    workflow_id = await place.copy_of("b1-http-econnrefused")
    name = f"Key of {workflow_id}"
    secret = {"user": "u", "password": "p"}
    made = await place.n8n.told("POST", "credentials", {"name": name, "type": "httpBasicAuth", "data": secret})
    operation = {"op": "setCredential", "node": "Call closed port", "type": "httpBasicAuth"}

    await edited(place, workflow_id, {**operation, "value": name})
    used = node_of(await place.workflow(workflow_id), "Call closed port")["credentials"]
    other = {**operation, "type": "httpHeaderAuth", "value": name}
    wrong = await place.refused("edit_workflow", id=workflow_id, operations=[other])
    unknown = await place.refused("edit_workflow", id=workflow_id, operations=[{**operation, "value": "no such one"}])
    await edited(place, workflow_id, {**operation, "value": None})

    assert used == {"httpBasicAuth": {"id": made["id"], "name": name}}
    assert "this credential has the type httpBasicAuth" in wrong.message
    assert "there is no such credential" in unknown.message
    assert "credentials" not in node_of(await place.workflow(workflow_id), "Call closed port")


async def test_nodes_are_moved(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    await edited(place, workflow_id, {"op": "moveNode", "node": "None", "position": [40, -80]})

    assert node_of(await place.workflow(workflow_id), "None")["position"] == [40, -80]


async def test_connections_are_added_removed_and_replaced(place: Place) -> None:
    workflow_id = await place.copy_of("c-if-branch")

    await edited(
        place,
        workflow_id,
        {"op": "addConnection", "from": "Make 10", "to": "No"},
        {"op": "removeConnection", "from": "IF even", "to": "Yes"},
        {"op": "replaceConnection", "from": "IF even", "to": "No", "value": {"to": "Yes", "output": 0}},
        {"op": "addConnection", "from": "IF even", "to": "No", "output": 1},
    )

    assert lines(await place.workflow(workflow_id)) == {
        "Webhook → Make 10",
        "Make 10 → IF even",
        "Make 10 → No",
        "IF even → Yes",
        "IF even[1] → No",
    }


async def test_pinned_data_is_set_and_removed(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    await edited(place, workflow_id, {"op": "setPinData", "node": "None", "value": [{"a": 1}, {"json": {"b": 2}}]})
    pinned = (await place.workflow(workflow_id))["pinData"]
    await edited(place, workflow_id, {"op": "setPinData", "node": "None", "value": None})

    assert pinned == {"None": [{"json": {"a": 1}}, {"json": {"b": 2}}]}
    assert not (await place.workflow(workflow_id))["pinData"]


async def test_name_settings_and_tags_of_the_workflow_are_set(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    await place.n8n.ask("POST", "tags", {"name": "edited"})

    answer = await edited(
        place,
        workflow_id,
        {"op": "setName", "name": "注文 ✓"},
        {"op": "setWorkflowSettings", "settings": {"timezone": "Asia/Tokyo"}},
        {"op": "setTags", "tags": ["edited"]},
    )

    after = await place.workflow(workflow_id)
    assert (after["name"], after["settings"]["timezone"]) == ("注文 ✓", "Asia/Tokyo")
    assert [tag["name"] for tag in after["tags"]] == ["edited"]
    assert answer["diff"]["tags"] == {"before": [], "after": ["edited"]}


async def test_a_preview_shows_the_difference_and_saves_nothing(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)
    operations = [{"op": "addNode", "name": "New", "type": "noOp", "from": "None"}, {"op": "setName", "name": "N"}]

    preview = await place.call("edit_workflow", id=workflow_id, operations=operations, dryRun=True)
    unchanged = await place.workflow(workflow_id)
    saved = await edited(place, workflow_id, *operations)

    assert unchanged == before
    assert "backup" not in preview
    assert preview["diff"] == saved["diff"]


async def test_of_wrong_operations_nothing_is_saved(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)
    good = {"op": "setName", "name": "Never"}
    wrong: list[tuple[Operation, str]] = [
        ({"op": "removeNode", "node": "Nome"}, "Node 'Nome' not found"),
        ({"op": "addNode", "name": "None", "type": "set"}, "another node has this name"),
        ({"op": "unsetParameter", "node": "None", "path": "no.such"}, "there is nothing at this path"),
        ({"op": "setParameter", "node": "None", "path": "jsCode[7]", "value": 1}, "an index where there is no list"),
        ({"op": "addConnection", "from": "Webhook", "to": "None"}, "already connected"),
        ({"op": "removeConnection", "from": "None", "to": "Webhook"}, "no such connection"),
        ({"op": "setNodeSettings", "node": "None", "settings": {"onError": "zzz"}}, "onError is one of"),
        ({"op": "setTags", "tags": ["nobody-made-this"]}, "there is no tag"),
        ({"op": "renameNode", "node": "None", "name": "Webhook"}, "another node has this name"),
        ({"op": "addNode", "name": "X"}, "Required parameter missing: operations[1].type"),
        ({"op": "setName", "name": "X", "node": "None"}, "Unknown parameter: operations[1].node"),
    ]

    for operation, reason in wrong:
        error = await place.refused("edit_workflow", id=workflow_id, operations=[good, operation])
        assert isinstance(error, ValidationError | NotFoundError), operation
        assert reason in error.message, operation

    assert await place.workflow(workflow_id) == before
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


@proves("draft-beside-published")
async def test_an_edit_stays_a_draft_until_somebody_publishes_it(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    answer = await edited(place, workflow_id, {"op": "setNodeSettings", "node": "None", "settings": {"notes": "n"}})
    drafted = await place.workflow(workflow_id)
    await edited(
        place, workflow_id, {"op": "setName", "name": "Live"}, publish=True, expectedVersionId=drafted["versionId"]
    )

    after = await place.workflow(workflow_id)
    assert drafted["activeVersionId"] == before["activeVersionId"]
    assert answer["unpublishedDraft"]["versionId"] == drafted["versionId"]
    assert after["activeVersionId"] == after["versionId"]


async def test_an_edit_expects_the_version_that_was_read(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    read = await place.workflow(workflow_id)
    await edited(place, workflow_id, {"op": "setParameter", "node": "None", "path": "jsCode", "value": "return [1];"})
    expected = {"expectedVersionId": read["versionId"]}

    merged = await edited(place, workflow_id, {"op": "moveNode", "node": "Webhook", "position": [9, 9]}, **expected)
    change = {"op": "setParameter", "node": "None", "path": "jsCode", "value": "return [2];"}
    error = await place.refused("edit_workflow", id=workflow_id, operations=[change], **expected)

    assert merged["mergedWith"] == ["nodes.None.parameters.jsCode"]
    assert error.code == "CONFLICT"
    assert "return [1];" in error.message


async def test_names_of_javascript_objects_survive(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    await edited(
        place,
        workflow_id,
        {"op": "addNode", "name": "__proto__", "type": "noOp", "from": "Not reached"},
        {"op": "addNode", "name": "constructor", "type": "noOp", "from": "__proto__"},
        {"op": "setParameter", "node": "None", "path": "constructor.prototype", "value": 1},
        {"op": "renameNode", "node": "Not reached", "name": "toString"},
        allowInvalid=True,
    )

    after = await place.workflow(workflow_id)
    assert {"toString → __proto__", "__proto__ → constructor"} <= lines(after)
    assert node_of(after, "None")["parameters"]["constructor"] == {"prototype": 1}


@pytest.mark.parametrize("count", [1_000])
async def test_a_workflow_of_a_thousand_nodes_is_edited(place: Place, count: int) -> None:
    nodes = [
        {
            "name": f"N{number}",
            "type": "n8n-nodes-base.noOp",
            "typeVersion": 1,
            "position": [number, 0],
            "parameters": {},
        }
        for number in range(count)
    ]
    made = await place.n8n.told(
        "POST", "workflows", {"name": "Huge", "nodes": nodes, "connections": {}, "settings": {}}
    )
    operations = [{"op": "renameNode", "node": f"N{number}", "name": f"M{number}"} for number in range(99)]

    answer = await edited(place, made["id"], *operations, {"op": "addNode", "name": "New", "type": "set"})

    after = await place.workflow(made["id"])
    assert [node["name"] for node in after["nodes"][:2]] == ["M0", "M1"]
    assert len(after["nodes"]) == count + 1
    assert answer["diff"]["nodes"]["renamed"][-1] == "… [69 more]"


def test_every_operation_has_a_case_here() -> None:
    here = Path(__file__).read_text()

    assert [op for op in FIELDS if f'"op": "{op}"' not in here] == []
