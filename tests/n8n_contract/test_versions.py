"""Versions of a workflow: history, differences, roll back, and the archive."""

from typing import Any

import pytest

from dogubako.contract.output import parse_call
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_workflow_changes import writable


@proves("archive")
async def test_an_archived_workflow_is_unpublished_and_cannot_be_changed(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    before = await place.workflow(workflow_id)

    archived = await place.n8n.told("POST", f"workflows/{workflow_id}/archive")
    refused = await place.n8n.message("PUT", f"workflows/{workflow_id}", writable(before))
    again = await place.n8n.told("POST", f"workflows/{workflow_id}/archive")
    back = await place.n8n.told("POST", f"workflows/{workflow_id}/unarchive")
    twice = await place.n8n.message("POST", f"workflows/{workflow_id}/unarchive")
    nobody = await place.n8n.message("POST", "workflows/nobody/unarchive")

    assert (archived["isArchived"], archived["active"], archived["activeVersionId"]) == (True, False, None)
    assert refused == (400, "Cannot update an archived workflow.")
    assert again["versionId"] == archived["versionId"] != before["versionId"]
    assert (back["isArchived"], back["active"]) == (False, False)
    assert back["versionId"] != archived["versionId"]
    assert twice == (400, "Workflow is not archived.")
    assert nobody == (404, "Workflow not found")
    assert sorted(back) == sorted(archived)


async def test_who_uses_an_archived_workflow_is_told_how_to_take_it_out(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    await place.call("archive_workflow", id=workflow_id)

    refused = [
        await place.refused("edit_workflow", id=workflow_id, operations=[{"op": "setName", "name": "New"}]),
        await place.refused("activate_workflow", id=workflow_id),
        await place.refused("run_workflow", id=workflow_id),
    ]

    for error in refused:
        assert f"archive_workflow(id: '{workflow_id}', unarchive: true)" in str(error.hint), error.message


@proves("publish-version", "history")
async def test_any_version_can_be_published_and_the_draft_stays(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    first = await place.workflow(workflow_id)
    nodes: list[Any] = [{**first["nodes"][0], "notes": "second"}, *first["nodes"][1:]]
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(first, nodes=nodes))
    second = await place.workflow(workflow_id)

    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {"versionId": first["versionId"]})
    rolled_back = await place.workflow(workflow_id)
    unknown = await place.n8n.message("POST", f"workflows/{workflow_id}/publish", {"versionId": "nope"})
    version = await place.n8n.told("GET", f"workflows/{workflow_id}/{first['versionId']}")
    missing = await place.n8n.message("GET", f"workflows/{workflow_id}/nope")
    nobody = await place.n8n.message("GET", "workflows/nobody/history")

    assert second["activeVersionId"] == second["versionId"]
    assert rolled_back["activeVersionId"] == first["versionId"]
    assert (rolled_back["versionId"], rolled_back["nodes"]) == (second["versionId"], second["nodes"])
    assert rolled_back["activeVersion"]["nodes"] == first["nodes"]
    assert (unknown, missing) == ((404, "Version not found"), (404, "Version not found"))
    assert nobody == (404, "Not Found")
    assert {node["name"]: node for node in version["nodes"]} == {node["name"]: node for node in first["nodes"]}


async def with_two_versions(place: Place) -> tuple[str, str, str]:
    """A workflow with a published first version and a draft, and both ids."""
    workflow_id = await place.copy_of("m-empty", published=True)
    first = (await place.workflow(workflow_id))["versionId"]
    change = [{"op": "setParameter", "node": "None", "path": "jsCode", "value": "return [2];"}]
    second = (await place.call("edit_workflow", id=workflow_id, operations=change))["versionId"]
    return workflow_id, str(first), str(second)


@proves("history")
async def test_history_names_author_time_draft_and_published(place: Place) -> None:
    workflow_id, first, second = await with_two_versions(place)
    raw = (await place.n8n.told("GET", f"workflows/{workflow_id}/history"))["data"]

    history = await place.call("workflow_history", id=workflow_id)
    page = await place.call("workflow_history", id=workflow_id, limit=1)
    rest = await place.call("workflow_history", id=workflow_id, limit=1, cursor=page["nextCursor"])
    error = await place.refused("workflow_history", id="nobody")

    newest, oldest = history["versions"]
    assert newest == {
        "versionId": second,
        "savedAt": raw[0]["createdAt"],
        "savedBy": raw[0]["authors"],
        "draft": True,
    }
    assert (oldest["versionId"], oldest["published"]) == (first, True)
    assert [page["versions"], rest["versions"]] == [[newest], [oldest]]
    assert error.message == "Workflow 'nobody' not found"


async def test_versions_drafts_and_backups_are_compared(place: Place) -> None:
    workflow_id, first, second = await with_two_versions(place)
    backup = (await place.call("list_workflow_backups", id=workflow_id))["backups"][0]["backup"]

    unpublished = await place.call("diff_workflow", id=workflow_id)
    versions = await place.call("diff_workflow", id=workflow_id, before=second, after=first)
    since = await place.call("diff_workflow", id=workflow_id, before=backup)
    same = await place.call("diff_workflow", id=workflow_id, before=second)
    missing = await place.refused("diff_workflow", id=workflow_id, before="no-such-version")
    nothing = await place.refused("diff_workflow", id=await place.copy_of("m-empty"))

    (change,) = unpublished["diff"]["nodes"]["changed"]
    assert (change["node"], change["path"], change["after"]) == ("None", "parameters.jsCode", "return [2];")
    assert versions["diff"]["nodes"]["changed"][0]["before"] == "return [2];"
    assert since["diff"] == unpublished["diff"]
    assert same["diff"] == {}
    assert missing.message == "Version 'no-such-version' not found"
    assert nothing.message == "Failed to compare: nothing is published"


@proves("publish-version")
async def test_a_version_is_published_and_rolled_back(place: Place) -> None:
    workflow_id, first, second = await with_two_versions(place)

    live = await place.call("publish_version", id=workflow_id, versionId=second)
    back = await place.call("publish_version", id=workflow_id, versionId=first)
    rolled_back = await place.workflow(workflow_id)
    await place.call("publish_version", id=workflow_id, versionId=first, alsoDraft=True)
    whole = await place.workflow(workflow_id)
    error = await place.refused("publish_version", id=workflow_id, versionId="no-such-version")

    assert (live["publishedVersionId"], live["publishedBefore"]) == (second, first)
    assert "unpublishedDraft" not in live
    assert (back["publishedVersionId"], back["unpublishedDraft"]["versionId"]) == (first, second)
    assert (rolled_back["activeVersionId"], rolled_back["versionId"]) == (first, second)
    assert whole["nodes"] == whole["activeVersion"]["nodes"]
    assert error.message == "Version 'no-such-version' not found"


async def said(place: Place, tool: str, **arguments: Any) -> str:
    result = await place.box.call(tool, arguments)
    assert result.error is None, f"{result.error} {result.error.hint}"
    return str(result.content[0]["text"])


async def test_what_was_published_or_unpublished_before_is_told(place: Place) -> None:
    workflow_id, first, second = await with_two_versions(place)
    backups = len((await place.call("list_workflow_backups", id=workflow_id))["backups"])

    again = await said(place, "publish_version", id=workflow_id, versionId=first)
    kept = len((await place.call("list_workflow_backups", id=workflow_id))["backups"])
    other = await said(place, "publish_version", id=workflow_id, versionId=second)
    twice = await said(place, "activate_workflow", id=workflow_id)
    off = await said(place, "deactivate_workflow", id=workflow_id)
    still_off = await said(place, "deactivate_workflow", id=workflow_id)
    on = await said(place, "activate_workflow", id=workflow_id)

    for text in (again, twice):
        assert "It was published already" in text
    for text in (other, on):
        assert "Workflow published" in text
    assert "Workflow unpublished" in off
    assert "It was not published" in still_off
    assert kept == backups, "nothing changed that could be brought back"


@pytest.mark.parametrize("live", ["first", "second"])
async def test_a_version_that_becomes_the_draft_tells_what_it_replaced_and_how_to_undo_it(
    place: Place, live: str
) -> None:
    workflow_id, first, second = await with_two_versions(place)
    if live == "second":
        await place.call("publish_version", id=workflow_id, versionId=second)
    before = await place.workflow(workflow_id)

    told = await place.call("publish_version", id=workflow_id, versionId=first, alsoDraft=True)
    now = await place.workflow(workflow_id)
    name, arguments = parse_call(told["_guidance"]["example"])
    undone = await place.call(name, **arguments)

    assert told["versionId"] == now["versionId"] != second
    assert told["replacedDraft"]["versionId"] == second
    assert codes(now)["draft"] == codes(now)["published"] != "return [2];"
    assert arguments == {"id": workflow_id, "backup": told["backup"], "expectedVersionId": now["versionId"]}
    assert undone["differences"] == []
    assert codes(await place.workflow(workflow_id)) == codes(before)


async def test_a_version_that_is_the_draft_already_replaces_none(place: Place) -> None:
    workflow_id, _, second = await with_two_versions(place)

    told = await place.call("publish_version", id=workflow_id, versionId=second, alsoDraft=True)

    assert (told["versionId"], told["publishedVersionId"], "replacedDraft" in told) == (second, second, False)


async def test_who_undoes_a_roll_back_publishes_nothing_that_somebody_took_off_since(place: Place) -> None:
    workflow_id, first, second = await with_two_versions(place)
    await place.call("publish_version", id=workflow_id, versionId=second)
    rolled_back = await place.call("publish_version", id=workflow_id, versionId=first, alsoDraft=True)
    await place.n8n.told("POST", f"workflows/{workflow_id}/unpublish", {})

    name, arguments = parse_call(rolled_back["_guidance"]["example"])
    refused = await place.refused(name, **arguments)

    assert refused.code == "CONFLICT"
    assert (await place.workflow(workflow_id))["active"] is False


@proves("archive")
async def test_a_workflow_is_archived_and_taken_out_again(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)

    archived = await place.call("archive_workflow", id=workflow_id)
    again = await place.call("archive_workflow", id=workflow_id)
    refused = await place.refused("update_workflow", id=workflow_id, name="New")
    back = await place.call("archive_workflow", id=workflow_id, unarchive=True)
    await place.call("archive_workflow", id=workflow_id, unarchive=True)
    nobody = await place.refused("archive_workflow", id="nobody")

    assert (archived["archived"], archived["active"]) == (again["archived"], again["active"]) == (True, False)
    assert refused.message == "Failed to update workflow: Cannot update an archived workflow."
    assert (back["archived"], (await place.workflow(workflow_id))["isArchived"]) == (False, False)
    backups = (await place.call("list_workflow_backups", id=workflow_id))["backups"]
    assert [one["backup"] for one in backups] == [archived["backup"]]
    assert "backup" not in again
    await place.call("restore_workflow", id=workflow_id)
    assert (await place.workflow(workflow_id))["active"] is True
    assert nobody.message == "Workflow 'nobody' not found"


async def test_a_restore_after_a_roll_back_brings_draft_and_published_version_back(place: Place) -> None:
    workflow_id, first, _ = await with_two_versions(place)
    change = [{"op": "setParameter", "node": "None", "path": "jsCode", "value": "return [3];"}]
    await place.call("edit_workflow", id=workflow_id, operations=change, publish=True)
    change[0]["value"] = "return [4];"
    await place.call("edit_workflow", id=workflow_id, operations=change)
    before = await place.workflow(workflow_id)

    rolled_back = await place.call("publish_version", id=workflow_id, versionId=first, alsoDraft=True)
    restored = await place.call("restore_workflow", id=workflow_id)

    after = await place.workflow(workflow_id)
    assert restored["restoredFrom"] == rolled_back["backup"]
    assert restored["differences"] == []
    assert codes(after) == codes(before) == {"draft": "return [4];", "published": "return [3];"}


def codes(workflow: Any) -> dict[str, str]:
    """The code of the node that changes, in the draft and in the published version."""
    sides = {"draft": workflow["nodes"], "published": workflow["activeVersion"]["nodes"]}
    return {
        side: node["parameters"]["jsCode"] for side, nodes in sides.items() for node in nodes if node["name"] == "None"
    }
