"""Names, settings, publications and deletions beside a person: what no version of n8n holds is not lost either."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError
from dogubako.packs.n8n import workflow_writer
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.backups import Backup, Backups
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_concurrent_edits import person_saves
from tests.n8n_contract.test_saves_at_the_same_moment import DRAFT, TOOL, live, meanwhile, notes, our_note
from tests.n8n_contract.test_workflow_changes import writable


@pytest.mark.parametrize("change", [{"name": "Renamed"}, {"settings": {"timezone": "Asia/Tokyo"}}])
async def test_what_a_person_saves_beside_a_rename_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    workflow_id, _, theirs = await live(place)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    meanwhile(monkeypatch, "between our look and our write", person)
    outcome = await place.call("update_workflow", id=workflow_id, **change)

    after = await place.workflow(workflow_id)
    assert notes(after["nodes"])[theirs] == "by a person"
    assert after["name"] == change.get("name", after["name"])
    assert outcome["mergedWith"] == [f"nodes.{theirs}.notes"]
    assert outcome["versionId"] == after["versionId"] != after["activeVersionId"]


async def test_an_undo_leaves_a_name_and_a_setting_that_somebody_gave_since(place: Place) -> None:
    workflow_id, _, _ = await live(place)
    ours = [{"op": "setName", "name": "Ours"}, {"op": "setWorkflowSettings", "settings": {"timezone": "Asia/Tokyo"}}]
    outcome = await place.call(TOOL, id=workflow_id, operations=ours)
    now = await place.workflow(workflow_id)
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(now, name="Theirs"), params=DRAFT)

    restored = await place.call(
        "restore_workflow", id=workflow_id, backup=outcome["backup"], draftOnly=True, expectedVersionId=now["versionId"]
    )

    after = await place.workflow(workflow_id)
    assert (after["name"], restored["changedSince"]) == ("Theirs", ["name"])
    assert after["settings"].get("timezone") != "Asia/Tokyo"


async def test_a_deleted_workflow_comes_back_as_a_draft_where_only_that_is_wanted(place: Place) -> None:
    workflow_id, ours, _ = await live(place)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours))
    await place.call("deactivate_workflow", id=workflow_id)
    await place.call("delete_workflow", id=workflow_id, confirm=True)
    undo = {"id": workflow_id, "backup": outcome["backup"], "draftOnly": True}

    error = await place.refused("restore_workflow", **undo, expectedVersionId=outcome["versionId"])
    restored = await place.call("restore_workflow", **undo)

    assert "was deleted since" in error.message
    assert restored["active"] is False
    assert (await place.workflow(restored["newId"]))["activeVersionId"] is None


@pytest.mark.parametrize("action", ["unpublish", "save"])
async def test_what_somebody_does_while_we_wait_for_the_publication_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        if action == "unpublish":
            await place.n8n.told("POST", f"workflows/{workflow_id}/deactivate")
        else:
            await person_saves(place, workflow_id, theirs, notes="by a person")

    monkeypatch.setattr(workflow_writer, "published_version_runs", person)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours), publish=True)

    after = await place.workflow(workflow_id)
    assert outcome["active"] is after["active"] is (action == "save")
    assert ("unpublishedDraft" in outcome) is (action == "save")


async def test_what_a_person_saves_right_before_a_deletion_is_in_its_backup(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, _, theirs = await live(place)
    await place.call("deactivate_workflow", id=workflow_id)
    save, left = Backups.save, [True]

    async def saved(self: Backups, *args: Any) -> Backup:
        backup = await save(self, *args)
        if left:
            left.clear()
            await person_saves(place, workflow_id, theirs, notes="by a person")
        return backup

    monkeypatch.setattr(Backups, "save", saved)
    deleted = await place.call("delete_workflow", id=workflow_id, confirm=True)
    restored = await place.call("restore_workflow", id=workflow_id, backup=deleted["backup"])

    assert notes((await place.workflow(restored["newId"]))["nodes"])[theirs] == "by a person"


async def test_an_undo_of_what_we_published_leaves_a_draft_that_somebody_saved(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    meanwhile(monkeypatch, "between our look and our write", person)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours), publish=True)
    before = await place.workflow(workflow_id)
    await place.call(
        "restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=outcome["versionId"]
    )

    after = await place.workflow(workflow_id)
    assert notes(before["activeVersion"]["nodes"])[ours] == "by us"
    assert notes(after["activeVersion"]["nodes"])[ours] is None
    assert (notes(after["nodes"])[ours], notes(after["nodes"])[theirs]) == (None, "by a person")


@pytest.mark.parametrize("tool", ["edit_workflow", "update_workflow"])
async def test_nodes_in_a_group_can_be_left_out(place: Place, tool: str) -> None:
    workflow_id, _, inside = await live(place)
    now = await place.workflow(workflow_id)
    groups = [{"id": "g1", "name": "G", "nodeIds": [node["id"] for node in now["nodes"] if node["name"] == inside]}]
    await place.n8n.told("PUT", f"workflows/{workflow_id}", {**writable(now), "nodeGroups": groups}, params=DRAFT)
    assert (await place.workflow(workflow_id))["nodeGroups"]
    rest = [node for node in now["nodes"] if node["name"] != inside]
    change: dict[str, Any] = {"operations": [{"op": "removeNode", "node": inside}]}
    await place.call(tool, id=workflow_id, **(change if tool == TOOL else {"nodes": rest, "connections": {}}))

    assert inside not in notes((await place.workflow(workflow_id))["nodes"])


async def test_a_write_that_fails_behind_its_first_step_keeps_its_backup(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    async def archived(*_: Any) -> Any:
        raise ApiError("Failed to get version of workflow: archived", status_code=400)

    meanwhile(monkeypatch, "between our look and our write", person)
    monkeypatch.setattr(WorkflowsApi, "version", archived)
    error = await place.refused(TOOL, id=workflow_id, operations=our_note(ours))
    backups = (await place.call("list_workflow_backups", id=workflow_id))["backups"]

    assert len(backups) == 1
    assert f"backup: '{backups[0]['backup']}', draftOnly: true" in str(error.hint)


async def test_tags_that_somebody_sets_right_behind_ours_are_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, _, _ = await live(place)
    await place.call("set_workflow_tags", id=workflow_id, tags=["ours"], createMissing=True)
    await place.call("set_workflow_tags", id=workflow_id, tags=[])
    set_tags = WorkflowsApi.set_tags

    async def set_and_lost(self: WorkflowsApi, which: str, ids: Any) -> Any:
        done = await set_tags(self, which, ids)
        await set_tags(self, which, [])
        return done

    monkeypatch.setattr(WorkflowsApi, "set_tags", set_and_lost)
    result = await place.box.call(TOOL, {"id": workflow_id, "operations": [{"op": "setTags", "tags": ["ours"]}]})

    assert result.value["message"] == "Saved, but somebody set other tags right after"


@pytest.mark.parametrize(("counted", "lost"), [(1, False), (2, True)])
async def test_a_setting_that_n8n_counted_and_does_not_have_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch, counted: int, lost: bool
) -> None:
    workflow_id, ours, _ = await live(place)
    get, left = WorkflowsApi.get, {"before": None}

    async def counting(self: WorkflowsApi, *args: Any) -> Any:
        workflow = await get(self, *args)
        first = left["before"] = left["before"] or workflow["versionId"]
        return {**workflow, "versionCounter": 1 if workflow["versionId"] == first else 1 + counted}

    monkeypatch.setattr(WorkflowsApi, "get", counting)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours))

    assert outcome.get("settingsPutBack", False) is lost
