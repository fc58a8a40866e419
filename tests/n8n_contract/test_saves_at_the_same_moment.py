"""A person saves while an agent writes: nothing goes live unasked, and nothing is lost or undone with it."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import pytest

from dogubako.contract.errors import ApiError, ConflictError
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_concurrent_edits import note, person_saves
from tests.n8n_contract.test_workflow_changes import writable

Moment = Literal["before our second look", "between our look and our write"]
MOMENTS: Final[tuple[Moment, ...]] = ("before our second look", "between our look and our write")
DRAFT: Final = {"publishIfActive": "false"}
TOOL: Final = "edit_workflow"


def meanwhile(monkeypatch: pytest.MonkeyPatch, moment: Moment, person: Callable[[], Awaitable[None]]) -> None:
    """Have a person act once, at this moment of our next write."""
    get, update, left = WorkflowsApi.get, WorkflowsApi.update, [True]
    reads = [0]

    async def once() -> None:
        if left:
            left.clear()
            await person()

    async def second_look(self: WorkflowsApi, *args: Any) -> Any:
        reads[0] += 1
        if reads[0] == 2:
            await once()
        return await get(self, *args)

    async def write(self: WorkflowsApi, *args: Any) -> Any:
        await once()
        return await update(self, *args)

    if moment == "before our second look":
        monkeypatch.setattr(WorkflowsApi, "get", second_look)
    else:
        monkeypatch.setattr(WorkflowsApi, "update", write)


async def live(place: Place) -> tuple[str, str, str]:
    """A published workflow, and the names of two of its nodes."""
    workflow_id = await place.copy_of("m-empty", published=True)
    first, second = (node["name"] for node in (await place.workflow(workflow_id))["nodes"][:2])
    return workflow_id, str(first), str(second)


def our_note(node: str, text: str = "by us") -> list[dict[str, Any]]:
    return [{"op": "setNodeSettings", "node": node, "settings": {"notes": text}}]


def notes(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {node["name"]: node.get("notes") for node in nodes}


async def test_a_draft_of_the_same_moment_does_not_go_live_with_our_change(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    meanwhile(monkeypatch, "between our look and our write", person)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours), publish=True)

    after = await place.workflow(workflow_id)
    assert notes(after["activeVersion"]["nodes"]) == {**notes(after["nodes"]), ours: "by us", theirs: None}
    assert (notes(after["nodes"])[ours], notes(after["nodes"])[theirs]) == ("by us", "by a person")
    assert outcome["unpublishedDraft"]["versionId"] == after["versionId"]
    assert [one["node"] for one in outcome["diff"]["nodes"]["changed"]] == [ours]


@pytest.mark.parametrize("tool", ["edit_workflow", "update_workflow"])
async def test_what_was_saved_before_our_write_is_not_published(
    place: Place, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    workflow_id, ours, theirs = await live(place)
    before = await place.workflow(workflow_id)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    meanwhile(monkeypatch, "before our second look", person)
    change = {"operations": our_note(ours)} if tool == TOOL else {"updateNodes": note(ours, "by us")}
    error = await place.refused(tool, id=workflow_id, **change, publish=True, expectedVersionId=before["versionId"])

    after = await place.workflow(workflow_id)
    assert isinstance(error, ConflictError)
    assert after["activeVersionId"] == before["activeVersionId"]
    assert (notes(after["nodes"])[ours], notes(after["nodes"])[theirs]) == (None, "by a person")
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


async def test_settings_and_pins_of_the_same_moment_are_not_sent_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, ours, theirs = await live(place)
    pins = {theirs: [{"json": {"ピン": 1}}]}

    async def person() -> None:
        now = await place.workflow(workflow_id)
        nodes = [{**one, "notes": "by a person"} if one["name"] == theirs else one for one in now["nodes"]]
        settings = {**now["settings"], "executionTimeout": 77, "timezone": "Asia/Tokyo"}
        body = writable(now, nodes=nodes, settings=settings) | {"pinData": pins}
        await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params=DRAFT)

    meanwhile(monkeypatch, "between our look and our write", person)
    operations = [*our_note(ours), {"op": "setWorkflowSettings", "settings": {"saveManualExecutions": True}}]
    await place.call(TOOL, id=workflow_id, operations=operations)

    after = await place.workflow(workflow_id)
    kept = {key: after["settings"].get(key) for key in ("executionTimeout", "timezone", "saveManualExecutions")}
    assert kept == {"executionTimeout": 77, "timezone": "Asia/Tokyo", "saveManualExecutions": True}
    assert after["pinData"] == pins
    assert (notes(after["nodes"])[ours], notes(after["nodes"])[theirs]) == ("by us", "by a person")


async def test_an_undo_leaves_a_name_settings_and_pins_that_a_person_set_since(place: Place) -> None:
    workflow_id, ours, theirs = await live(place)
    change = [*our_note(ours), {"op": "setWorkflowSettings", "settings": {"executionTimeout": 5}}]
    outcome = await place.call(TOOL, id=workflow_id, operations=change)
    now = await place.workflow(workflow_id)
    pins = {theirs: [{"json": {"ピン": 1}}]}
    body = writable(now, name="人の名前", settings={**now["settings"], "timezone": "Asia/Tokyo"}) | {"pinData": pins}
    await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params=DRAFT)

    undone = await place.call(
        "restore_workflow",
        id=workflow_id,
        backup=outcome["backup"],
        draftOnly=True,
        expectedVersionId=outcome["versionId"],
    )

    after = await place.workflow(workflow_id)
    assert (after["name"], after["settings"].get("timezone"), after["pinData"]) == ("人の名前", "Asia/Tokyo", pins)
    assert "executionTimeout" not in after["settings"]
    assert notes(after["nodes"])[ours] is None
    assert undone["differences"] == []


@pytest.mark.parametrize("clash", [False, True], ids=["another node", "the same node"])
async def test_a_name_and_settings_of_the_same_moment_stay(
    place: Place, monkeypatch: pytest.MonkeyPatch, clash: bool
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        now = await place.workflow(workflow_id)
        node = ours if clash else theirs
        nodes = [{**one, "notes": "by a person"} if one["name"] == node else one for one in now["nodes"]]
        body = writable(now, nodes=nodes, name="人の名前", settings={**now["settings"], "executionTimeout": 77})
        await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params=DRAFT)

    meanwhile(monkeypatch, "before our second look", person)
    result = await place.box.call(TOOL, {"id": workflow_id, "operations": our_note(ours)})

    after = await place.workflow(workflow_id)
    assert (after["name"], after["settings"]["executionTimeout"]) == ("人の名前", 77)
    assert notes(after["nodes"])[ours] == ("by a person" if clash else "by us")
    assert (result.code == "CONFLICT") is clash, result.content


@pytest.mark.parametrize("moment", MOMENTS)
async def test_the_undo_keeps_what_a_person_saved_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch, moment: Moment
) -> None:
    workflow_id, ours, theirs = await live(place)

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    with monkeypatch.context() as patch:
        meanwhile(patch, moment, person)
        outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours))
    await place.call(
        "restore_workflow",
        id=workflow_id,
        backup=outcome["backup"],
        draftOnly=True,
        expectedVersionId=outcome["versionId"],
    )

    after = notes((await place.workflow(workflow_id))["nodes"])
    assert outcome["mergedWith"] == [f"nodes.{theirs}.notes"]
    assert [one["node"] for one in outcome["diff"]["nodes"]["changed"]] == [ours]
    assert (after[ours], after[theirs]) == (None, "by a person")
    assert len((await place.call("list_workflow_backups", id=workflow_id))["backups"]) == 2


async def test_the_undo_of_a_rename_leaves_what_a_person_published_since(place: Place) -> None:
    workflow_id, _, theirs = await live(place)
    await person_saves(place, workflow_id, theirs, notes="new")
    outcome = await place.call("update_workflow", id=workflow_id, name="Renamed")
    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {})
    published = await place.workflow(workflow_id)

    undo = outcome["_guidance"]["example"]
    undone = await place.call("restore_workflow", id=workflow_id, backup=outcome["backup"], draftOnly=True)
    whole = await place.refused(
        "restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=undone["versionId"] + "x"
    )

    after = await place.workflow(workflow_id)
    assert "draftOnly: true" in undo
    assert undone["changed"] == ["name"]
    assert after["activeVersionId"] == published["activeVersionId"]
    assert notes(after["activeVersion"]["nodes"])[theirs] == "new"
    assert isinstance(whole, ConflictError)


async def test_the_undo_of_a_publication_is_refused_when_a_person_published_since(place: Place) -> None:
    workflow_id, ours, _ = await live(place)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours), publish=True)
    version = (await place.workflow(workflow_id))["versionId"]
    await place.n8n.told("POST", f"workflows/{workflow_id}/unpublish", {})

    refused = await place.refused(
        "restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=version
    )

    after = await place.workflow(workflow_id)
    assert "What is published" in refused.message
    assert "draftOnly: true" in str(refused.hint)
    assert not after["active"]
    assert notes(after["nodes"])[ours] == "by us"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"timezone": "Mars/Phobos"}, "There is no time zone 'Mars/Phobos'"),
        ({"timezone": "Europe/Berlim"}, "Did you mean Europe/Berlin"),
        ({"errorWorkflow": "nobody"}, "There is no workflow with the id 'nobody'"),
    ],
)
async def test_settings_that_cannot_work_are_refused(place: Place, settings: dict[str, Any], told: str) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)

    refused = await place.refused("update_workflow", id=workflow_id, settings=settings)
    blank = await place.refused("update_workflow", id=workflow_id, name=" ")

    assert told in refused.message
    assert "The name is empty" in blank.message
    assert await place.workflow(workflow_id) == before


async def test_tags_are_made_only_if_all_of_them_can_be(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    tag = f"札 {workflow_id[:8]}"

    long = await place.refused("set_workflow_tags", id=workflow_id, tags=[tag, "x" * 25], createMissing=True)
    missing = [one["name"] for one in (await place.n8n.told("GET", "tags", params={"limit": "250"}))["data"]]
    twice = await place.call("set_workflow_tags", id=workflow_id, tags=[tag, tag], createMissing=True)

    assert "does not have 1 to 24 characters" in long.message
    assert tag not in missing
    assert twice["tags"] == [tag]


async def test_an_added_node_is_shown_with_its_settings(place: Place) -> None:
    workflow_id, ours, _ = await live(place)
    added = {"op": "addNode", "name": "新規", "type": "n8n-nodes-base.noOp", "from": ours}
    settings = {"disabled": True, "onError": "continueErrorOutput", "notes": "later"}

    outcome = await place.call(TOOL, id=workflow_id, operations=[{**added, "settings": settings}], dryRun=True)

    (shown,) = outcome["diff"]["nodes"]["added"]
    assert {key: shown[key] for key in settings} == settings


async def test_a_restoration_that_cannot_publish_says_what_is_there(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, ours, _ = await live(place)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours), publish=True)

    async def refused(*_: Any) -> None:
        raise ApiError("Failed to activate workflow: There is a conflict with one of the webhooks.", status_code=409)

    monkeypatch.setattr(WorkflowsApi, "publish", refused)
    error = await place.refused("restore_workflow", id=workflow_id, backup=outcome["backup"])

    assert f"The draft is restored as workflow '{workflow_id}'; only publishing failed." in str(error.hint)
    assert "It was as in backup '" in str(error.hint)


async def test_the_undo_of_tags_leaves_what_is_live_and_other_tags(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    for name in ("札 一", "札 二"):
        await place.n8n.ask("POST", "tags", {"name": name})
    outcome = await place.call(TOOL, id=workflow_id, operations=[{"op": "setTags", "tags": ["札 一"]}])
    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {})
    await place.call("set_workflow_tags", id=workflow_id, tags=["札 一", "札 二"])

    version = (await place.workflow(workflow_id))["versionId"]
    await place.call("restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=version)

    after = await place.workflow(workflow_id)
    assert after["active"]
    assert [one["name"] for one in after["tags"]] == ["札 二"]


async def test_the_undo_of_pinned_data_leaves_that_of_other_nodes(place: Place) -> None:
    workflow_id, ours, theirs = await live(place)
    pin = {"op": "setPinData", "node": ours, "value": [{"a": 1}]}
    outcome = await place.call(TOOL, id=workflow_id, operations=[pin])
    now = await place.workflow(workflow_id)
    pins = {**now["pinData"], theirs: [{"json": {"ピン": 1}}]}
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(now) | {"pinData": pins}, params=DRAFT)

    await place.call("restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=now["versionId"])

    assert (await place.workflow(workflow_id))["pinData"] == {theirs: [{"json": {"ピン": 1}}]}


@pytest.mark.parametrize("tool", ["restore_workflow", "publish_version"])
async def test_a_restoration_keeps_what_a_person_saves_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    workflow_id, ours, theirs = await live(place)
    first = await place.workflow(workflow_id)
    outcome = await place.call(TOOL, id=workflow_id, operations=our_note(ours))

    async def person() -> None:
        await person_saves(place, workflow_id, theirs, notes="by a person")

    meanwhile(monkeypatch, "before our second look", person)
    if tool == "restore_workflow":
        await place.call(tool, id=workflow_id, backup=outcome["backup"], draftOnly=True)
    else:
        await place.call(tool, id=workflow_id, versionId=first["versionId"], alsoDraft=True)

    after = notes((await place.workflow(workflow_id))["nodes"])
    assert (after[ours], after[theirs]) == (None, "by a person")


async def test_the_live_version_survives_unpublishing_and_deleting(place: Place) -> None:
    workflow_id, ours, _ = await live(place)
    await place.call(TOOL, id=workflow_id, operations=our_note(ours, "draft"))

    await place.call("deactivate_workflow", id=workflow_id)
    await place.call("delete_workflow", id=workflow_id, confirm=True)
    backups = (await place.call("list_workflow_backups", id=workflow_id))["backups"]
    unpublished = next(one for one in backups if one["reason"] == "before deactivate_workflow")
    restored = await place.call("restore_workflow", id=workflow_id, backup=unpublished["backup"])

    after = await place.workflow(restored["newId"])
    assert notes(after["nodes"])[ours] == "draft"
    assert notes(after["activeVersion"]["nodes"])[ours] is None
