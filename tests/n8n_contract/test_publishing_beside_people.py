"""A person publishes or unpublishes while a tool does: theirs stays, and the answer says what is published."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dogubako.packs.n8n.api.workflows import WorkflowsApi
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_concurrent_edits import person_saves

Person = Callable[[], Awaitable[Any]]


def before_read(monkeypatch: pytest.MonkeyPatch, number: int, person: Person) -> None:
    """Have a person act once, right before a read of ours: the first is number 1."""
    get, reads = WorkflowsApi.get, [0]

    async def read(self: WorkflowsApi, *args: Any) -> Any:
        reads[0] += 1
        if reads[0] == number:
            await person()
        return await get(self, *args)

    monkeypatch.setattr(WorkflowsApi, "get", read)


def before_write(monkeypatch: pytest.MonkeyPatch, person: Person) -> None:
    """Have a person act once, right before our next write of the draft."""
    update, left = WorkflowsApi.update, [True]

    async def write(self: WorkflowsApi, *args: Any) -> Any:
        if left:
            left.clear()
            await person()
        return await update(self, *args)

    monkeypatch.setattr(WorkflowsApi, "update", write)


async def two_versions(place: Place) -> tuple[str, str, str]:
    """A published workflow with a draft beside it: its id, and the ids of its two versions."""
    workflow_id = await place.copy_of("m-empty", published=True)
    await person_saves(place, workflow_id, "None", notes="draft")
    now = await place.workflow(workflow_id)
    return workflow_id, str(now["activeVersionId"]), str(now["versionId"])


def publishes(place: Place, workflow_id: str) -> Person:
    """Save a version, and publish it."""

    async def person() -> None:
        await person_saves(place, workflow_id, "None", notes="by a person")
        draft = (await place.workflow(workflow_id))["versionId"]
        await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {"versionId": draft})

    return person


def unpublishes(place: Place, workflow_id: str) -> Person:
    async def person() -> None:
        await place.n8n.told("POST", f"workflows/{workflow_id}/unpublish", {})

    return person


async def test_a_version_that_a_person_publishes_meanwhile_stays_live(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    before_write(monkeypatch, publishes(place, workflow_id))
    change = {"op": "setNodeSettings", "node": "Webhook", "settings": {"notes": "by us"}}

    refused = await place.refused("edit_workflow", id=workflow_id, operations=[change], publish=True)

    after = await place.workflow(workflow_id)
    live = {one["name"]: one.get("notes") for one in after["activeVersion"]["nodes"]}
    draft = {one["name"]: one.get("notes") for one in after["nodes"]}
    assert refused.code == "CONFLICT"
    assert refused.hint is not None
    assert "The change was saved as a draft" in refused.hint
    assert (live["Webhook"], live["None"]) == (None, "by a person")
    assert (draft["Webhook"], draft["None"]) == ("by us", "by a person")


@pytest.mark.parametrize("tool", ["activate_workflow", "publish_version"])
async def test_a_draft_does_not_take_off_what_a_person_has_just_published(
    place: Place, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    workflow_id, _, second = await two_versions(place)
    before_read(monkeypatch, 2, publishes(place, workflow_id))
    version = {"versionId": second} if tool == "publish_version" else {}

    refused = await place.refused(tool, id=workflow_id, **version)

    after = await place.workflow(workflow_id)
    live = {one["name"]: one.get("notes") for one in after["activeVersion"]["nodes"]}
    assert (refused.code, live["None"]) == ("CONFLICT", "by a person")
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


async def test_the_answer_says_that_another_version_was_published_right_after(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, _, second = await two_versions(place)
    before_read(monkeypatch, 3, publishes(place, workflow_id))

    result = await place.box.call("publish_version", {"id": workflow_id, "versionId": second})

    assert "somebody published another version right after" in result.value["message"]
    assert result.value["data"]["publishedVersionId"] != second


@pytest.mark.parametrize("number", [2, 3, 4])
async def test_a_restoration_leaves_a_workflow_that_a_person_unpublishes_unpublished(
    place: Place, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    await place.call("edit_workflow", id=workflow_id, operations=[{"op": "removeNode", "node": "None"}], publish=True)
    before_read(monkeypatch, number, unpublishes(place, workflow_id))

    refused = await place.refused("restore_workflow", id=workflow_id)

    after = await place.workflow(workflow_id)
    assert (refused.code, after["active"]) == ("CONFLICT", False)
    assert refused.hint is not None
    assert "The draft is restored" in refused.hint


async def test_an_edit_that_somebody_unpublishes_does_not_say_that_it_is_published(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    change = {"op": "setNodeSettings", "node": "Webhook", "settings": {"notes": "by us"}}
    publish = WorkflowsApi.publish

    async def published_for_a_moment(self: WorkflowsApi, *args: Any) -> None:
        await publish(self, *args)
        await unpublishes(place, workflow_id)()

    monkeypatch.setattr(WorkflowsApi, "publish", published_for_a_moment)
    result = await place.box.call("edit_workflow", {"id": workflow_id, "operations": [change], "publish": True})

    assert "somebody unpublished it right after" in result.value["message"]
    assert result.value["data"]["active"] is False


@pytest.mark.parametrize("kind", ["o-no-trigger", "archived"])
async def test_a_refused_publication_leaves_no_backup(place: Place, kind: str) -> None:
    workflow_id = await place.copy_of("m-empty" if kind == "archived" else kind)
    if kind == "archived":
        await place.call("archive_workflow", id=workflow_id)

    await place.refused("activate_workflow", id=workflow_id)

    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


async def test_a_refused_restoration_leaves_no_backup(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    change = await place.call("update_workflow", id=workflow_id, name="New")
    await place.call("archive_workflow", id=workflow_id)

    await place.refused("restore_workflow", id=workflow_id)

    backups = (await place.call("list_workflow_backups", id=workflow_id))["backups"]
    assert [one["backup"] for one in backups] == [change["backup"]]


async def test_tags_that_somebody_sets_right_after_are_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow_id = await place.copy_of("m-empty")
    set_tags = WorkflowsApi.set_tags

    async def set_and_replaced(self: WorkflowsApi, *args: Any) -> Any:
        answer = await set_tags(self, *args)
        await place.n8n.told("PUT", f"workflows/{workflow_id}/tags", [])
        return answer

    monkeypatch.setattr(WorkflowsApi, "set_tags", set_and_replaced)
    result = await place.box.call("set_workflow_tags", {"id": workflow_id, "tags": ["beside"], "createMissing": True})

    assert result.value["data"]["tags"] == []
    assert result.value["message"] == "Somebody set other tags right after"


async def test_a_version_that_a_person_publishes_between_our_look_and_our_publication_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    person, publish, left = publishes(place, workflow_id), WorkflowsApi.publish, [True]

    async def published(self: WorkflowsApi, *args: Any) -> None:
        if left:
            left.clear()
            await person()
        await publish(self, *args)

    monkeypatch.setattr(WorkflowsApi, "publish", published)
    change = {"op": "setNodeSettings", "node": "Webhook", "settings": {"notes": "by us"}}
    result = await place.box.call("edit_workflow", {"id": workflow_id, "operations": [change], "publish": True})

    after = await place.workflow(workflow_id)
    assert "perhaps over a version that somebody published" in result.value["message"]
    assert result.value["data"]["mayHaveBeenLive"] == after["versionId"] != after["activeVersionId"]


async def test_nothing_may_have_been_live_beside_a_publication_alone(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    change = {"op": "setNodeSettings", "node": "Webhook", "settings": {"notes": "by us"}}

    outcome = await place.call("edit_workflow", id=workflow_id, operations=[change], publish=True)

    assert "mayHaveBeenLive" not in outcome
