"""What is overwritten or deleted can be brought back."""

from typing import Any

from dogubako.contract.errors import ConfirmationRequiredError
from dogubako.packs.n8n.backups import KEPT
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place, eventually

CONTENT = ("name", "nodes", "connections", "settings", "pinData")


def content(workflow: dict[str, Any]) -> dict[str, Any]:
    """What a person made; n8n writes nothing and an empty object for the same."""
    return {name: workflow[name] or None for name in CONTENT}


@proves("delete-published")
async def test_a_published_workflow_is_not_deleted(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)

    raw = await place.n8n.message("DELETE", f"workflows/{workflow_id}")
    error = await place.refused("delete_workflow", id=workflow_id, confirm=True)

    assert raw == (409, "Cannot delete a published workflow. Unpublish it before deleting.")
    assert error.message == "Failed to delete workflow: it is published"
    assert error.hint == f"Unpublish it first: deactivate_workflow(id: '{workflow_id}')"


@proves("unpublishing-takes-time")
async def test_what_was_just_unpublished_can_be_deleted_in_the_end(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    await place.n8n.told("POST", f"workflows/{workflow_id}/unpublish", {})

    async def delete() -> tuple[int, Any]:
        return await place.n8n.ask("DELETE", f"workflows/{workflow_id}")

    status, _ = await eventually(delete, lambda answer: answer[0] not in (409, 500))
    assert status == 200


@proves("unpublishing-takes-time")
async def test_our_delete_waits_until_it_is_unpublished(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    await place.call("deactivate_workflow", id=workflow_id)

    assert isinstance(await place.refused("delete_workflow", id=workflow_id), ConfirmationRequiredError)
    deleted = await place.call("delete_workflow", id=workflow_id, confirm=True)

    assert deleted["deleted"] is True
    assert await place.n8n.message("GET", f"workflows/{workflow_id}") == (404, "Not Found")


async def test_a_deleted_workflow_comes_back_with_tags_and_published(place: Place) -> None:
    workflow_id = await place.copy_of("p-disabled", published=True, pinData={"End": [{"json": {"a": 1}}]})
    await place.call("set_workflow_tags", id=workflow_id, tags=["kept"], createMissing=True)
    before = await place.workflow(workflow_id)
    changed = await place.call("update_workflow", id=workflow_id, name="Other")
    await place.call("deactivate_workflow", id=workflow_id)
    await place.call("delete_workflow", id=workflow_id, confirm=True)

    restored = await place.call("restore_workflow", id=workflow_id, backup=changed["backup"])

    after = await place.workflow(restored["newId"])
    assert restored["differences"] == []
    assert restored["newId"] not in (workflow_id, None)
    assert content(after) == content(before)
    assert (after["active"], [tag["name"] for tag in after["tags"]]) == (True, ["kept"])


async def test_a_deleted_draft_comes_back_as_a_draft(place: Place) -> None:
    workflow_id = await place.copy_of("c-if-branch")
    before = await place.workflow(workflow_id)
    await place.call("delete_workflow", id=workflow_id, confirm=True)

    restored = await place.call("restore_workflow", id=workflow_id)

    after = await place.workflow(restored["newId"])
    assert (content(after), after["active"], after["tags"]) == (content(before), False, [])


@proves("draft-saved")
async def test_a_draft_that_cannot_be_published_is_undone(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    before = await place.workflow(workflow_id)
    await place.refused("update_workflow", id=workflow_id, nodes=before["nodes"][1:2], connections={}, publish=True)

    restored = await place.call("restore_workflow", id=workflow_id)

    after = await place.workflow(workflow_id)
    assert (restored["differences"], content(after), after["active"]) == ([], content(before), True)


async def test_the_newest_backups_are_kept(place: Place) -> None:
    workflow_id = await place.copy_of("o-no-trigger", name="Name 0")
    for number in range(1, KEPT + 3):
        await place.call("update_workflow", id=workflow_id, name=f"Name {number}")

    backups = (await place.call("list_workflow_backups", id=workflow_id))["backups"]
    await place.call("restore_workflow", id=workflow_id, backup=backups[-1]["backup"])

    assert KEPT == 20
    assert [one["name"] for one in backups] == [f"Name {number}" for number in range(KEPT + 1, 1, -1)]
    assert (await place.workflow(workflow_id))["name"] == "Name 2"


async def test_a_backup_that_nobody_made_is_not_found(place: Place) -> None:
    workflow_id = await place.copy_of("o-no-trigger")

    error = await place.refused("restore_workflow", id=workflow_id)

    assert error.message == f"A backup of workflow '{workflow_id}' not found"
