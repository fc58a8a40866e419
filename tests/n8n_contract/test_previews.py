"""A preview says what the real call does: what it changes, and whether it is refused."""

from typing import Any

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.place import Place

REFUSED: dict[str, tuple[JsonObject, str]] = {
    "unknown time zone": (
        {"op": "setWorkflowSettings", "settings": {"timezone": "Mars/Base"}},
        "There is no time zone 'Mars/Base'",
    ),
    "unknown order": (
        {"op": "setWorkflowSettings", "settings": {"executionOrder": "v9"}},
        "n8n knows no such order",
    ),
    "unknown error workflow": (
        {"op": "setWorkflowSettings", "settings": {"errorWorkflow": "nobody"}},
        "There is no workflow with the id 'nobody'",
    ),
    "empty name": ({"op": "setName", "name": "   "}, "The name is empty"),
    "unknown node in an expression": (
        {"op": "setParameter", "node": "None", "path": "x", "value": "={{ $('Ghost').item.json.a }}"},
        "refers to node 'Ghost'",
    ),
}


async def preview(place: Place, workflow_id: str, *operations: JsonObject) -> Any:
    call = {"id": workflow_id, "operations": list(operations), "dryRun": True}
    return (await place.box.call("edit_workflow", call)).value


@pytest.mark.parametrize("kind", REFUSED)
async def test_a_preview_says_that_the_real_call_is_refused(place: Place, kind: str) -> None:
    operation, reason = REFUSED[kind]
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)

    shown = await preview(place, workflow_id, operation)
    refused = await place.refused("edit_workflow", id=workflow_id, operations=[operation])

    assert shown["message"] == "Preview: this change would be refused (wouldBeRefused)"
    assert any(reason in one for one in shown["data"]["wouldBeRefused"])
    assert reason in refused.message
    assert await place.workflow(workflow_id) == before


async def test_a_preview_says_that_an_archived_workflow_is_not_changed(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    await place.call("archive_workflow", id=workflow_id)

    shown = await preview(place, workflow_id, {"op": "setName", "name": "New"})

    (reason,) = shown["data"]["wouldBeRefused"]
    assert "archived" in reason


async def test_a_preview_of_what_is_saved_says_so_too(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    operation = REFUSED["unknown node in an expression"][0]

    shown = await place.box.call(
        "edit_workflow", {"id": workflow_id, "operations": [operation], "dryRun": True, "allowInvalid": True}
    )

    assert shown.value["message"] == "Preview: nothing was saved"
    assert any("Ghost" in one for one in shown.value["data"]["warnings"])


async def test_a_node_that_is_pinned_to_no_items_is_a_difference(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    pinned = await place.call(
        "edit_workflow", id=workflow_id, operations=[{"op": "setPinData", "node": "None", "value": []}]
    )
    again = await place.call(
        "edit_workflow", id=workflow_id, operations=[{"op": "setPinData", "node": "None", "value": None}]
    )

    assert pinned["diff"] == {"pinData": [{"path": "None", "after": []}]}
    assert again["diff"] == {"pinData": [{"path": "None", "before": []}]}
    assert not (await place.workflow(workflow_id)).get("pinData")


async def test_tags_that_are_named_twice_are_shown_once(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    await place.call("set_workflow_tags", id=workflow_id, tags=["twice"], createMissing=True)
    await place.call("set_workflow_tags", id=workflow_id, tags=[])

    shown = await preview(place, workflow_id, {"op": "setTags", "tags": ["twice", "twice"]})

    assert shown["data"]["diff"]["tags"] == {"before": [], "after": ["twice"]}
