"""Nothing goes live unasked: drafts beside published versions, in what we write, tell and bring back."""

from typing import Any

from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_workflow_changes import node_of, with_credentials, writable

DRAFT = {"publishIfActive": "false"}


async def with_draft(place: Place, key: str = "m-empty") -> tuple[str, dict[str, Any]]:
    """A published workflow in which somebody has left an unfinished draft, and what n8n says of it."""
    workflow_id = await place.copy_of(key, published=True)
    before = await place.workflow(workflow_id)
    nodes = [{**before["nodes"][0], "notes": "half done"}, *before["nodes"][1:]]
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(before, nodes=nodes), params=DRAFT)
    return workflow_id, await place.workflow(workflow_id)


@proves("draft-beside-published", "history")
async def test_n8n_keeps_a_draft_beside_the_published_version(place: Place) -> None:
    workflow_id, drafted = await with_draft(place)
    rows = (await place.n8n.told("GET", f"workflows/{workflow_id}/history"))["data"]
    renamed = await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(drafted, name="Other"), params=DRAFT)
    live = await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(drafted))

    assert drafted["active"] and drafted["versionId"] != drafted["activeVersionId"]
    assert [row["versionId"] for row in rows] == [drafted["versionId"], drafted["activeVersionId"]]
    assert {"authors", "createdAt"} <= set(rows[0])
    assert "nodes" not in rows[0]
    assert renamed["versionId"] == drafted["versionId"]
    assert live["activeVersionId"] == live["versionId"] == drafted["versionId"]


@proves("draft-beside-published")
async def test_a_rename_leaves_somebodys_draft_unpublished(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    outcome = await place.call("update_workflow", id=workflow_id, name="Renamed")

    after = await place.workflow(workflow_id)
    assert after["name"] == "Renamed"
    assert after["activeVersionId"] == before["activeVersionId"] != after["versionId"]
    assert outcome["unpublishedDraft"]["versionId"] == before["versionId"]
    assert outcome["unpublishedDraft"]["publishedVersionId"] == before["activeVersionId"]
    assert (outcome["differences"], outcome["unrequested"]) == ([], [])


@proves("history")
async def test_reading_tells_who_saved_the_draft_and_when(place: Place) -> None:
    workflow_id, drafted = await with_draft(place)
    (newest, *_) = (await place.n8n.told("GET", f"workflows/{workflow_id}/history"))["data"]

    seen = await place.call("get_workflow", id=workflow_id)
    listed = await place.call("list_workflows", name=drafted["name"])
    plain = await place.call("get_workflow", id=place.workflows["m-empty"])

    draft = seen["unpublishedDraft"]
    assert (draft["savedBy"], draft["savedAt"]) == (newest["authors"], newest["createdAt"])
    assert listed["workflows"][0]["unpublishedDraft"] is True
    assert "unpublishedDraft" not in plain


async def test_publish_true_brings_the_change_live(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    outcome = await place.call(
        "update_workflow", id=workflow_id, name="Now", publish=True, expectedVersionId=before["versionId"]
    )

    after = await place.workflow(workflow_id)
    assert after["activeVersionId"] == after["versionId"] == outcome["versionId"]
    assert "unpublishedDraft" not in outcome


@proves("publish-version")
async def test_restoring_brings_back_the_draft_and_the_published_version(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    await place.call("update_workflow", id=workflow_id, name="Live", nodes=before["nodes"][:1], connections={})
    await place.call("activate_workflow", id=workflow_id)
    published = await place.workflow(workflow_id)

    backup = (await place.call("list_workflow_backups", id=workflow_id))["backups"][-1]
    restored = await place.call("restore_workflow", id=workflow_id, backup=backup["backup"])

    after = await place.workflow(workflow_id)
    assert len(published["activeVersion"]["nodes"]) == 1
    assert restored["differences"] == []
    assert (after["name"], after["nodes"], after["connections"]) == tuple(
        before[part] for part in ("name", "nodes", "connections")
    )
    assert after["activeVersion"]["nodes"] == before["activeVersion"]["nodes"]
    assert after["activeVersionId"] == before["activeVersionId"]


async def test_a_deleted_workflow_comes_back_with_its_draft_beside_it(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    saved = await place.call("update_workflow", id=workflow_id, name="Live")
    await place.call("deactivate_workflow", id=workflow_id)
    await place.call("delete_workflow", id=workflow_id, confirm=True)

    restored = await place.call("restore_workflow", id=workflow_id, backup=saved["backup"])

    after = await place.workflow(restored["newId"])
    assert (restored["differences"], after["active"]) == ([], True)
    assert after["nodes"] == before["nodes"]
    assert after["activeVersion"]["nodes"] == before["activeVersion"]["nodes"]


@proves("credentials-dropped")
async def test_restoring_removes_a_credential_that_was_added(place: Place) -> None:
    workflow_id = await place.copy_of("b1-http-econnrefused")
    _, used = await with_credentials(place)
    change = {"nodeName": "Call closed port", "credentials": used}
    await place.call("update_workflow", id=workflow_id, updateNodes=[change])

    restored = await place.call("restore_workflow", id=workflow_id)

    assert restored["differences"] == []
    assert "credentials" not in node_of(await place.workflow(workflow_id), "Call closed port")


@proves("static-kept")
async def test_static_data_stays_whatever_we_write(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", staticData={"global": {"lastId": 1}})
    first = await place.call("update_workflow", id=workflow_id, name="First")
    newer = writable(await place.workflow(workflow_id), staticData={"global": {"lastId": 2}})
    await place.n8n.told("PUT", f"workflows/{workflow_id}", newer)

    await place.call("update_workflow", id=workflow_id, name="Second")
    await place.call("restore_workflow", id=workflow_id, backup=first["backup"])
    kept = (await place.workflow(workflow_id))["staticData"]
    await place.call("delete_workflow", id=workflow_id, confirm=True)
    again = await place.call("restore_workflow", id=workflow_id)

    assert kept == {"global": {"lastId": 2}}
    assert (await place.workflow(again["newId"]))["staticData"] == {"global": {"lastId": 2}}


@proves("counter")
async def test_n8n_counts_changes_of_settings_and_nodes(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", settings={})
    now = await place.workflow(workflow_id)
    counts = [now["versionCounter"]]
    changed = [{**now["nodes"][0], "notes": "x"}, *now["nodes"][1:]]
    for change in (
        {"name": "New"},
        {"name": "New", "settings": {"timezone": "Asia/Tokyo"}},
        {"name": "New", "nodes": changed},
        {"name": "New", "nodes": changed, "pinData": {"None": [{"json": {}}]}},
        {"name": "New", "nodes": changed, "staticData": {"global": {"a": 1}}},
        {"name": "New", "nodes": changed, "connections": {}},
    ):
        answer = await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(now, **change))
        counts.append(answer["versionCounter"])

    # A change of connections alone is a new version, and is not counted.
    assert [count - counts[0] for count in counts] == [0, 0, 1, 2, 2, 2, 2]


async def test_refused_updates_leave_no_backup_and_nothing_is_written_for_nothing(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", name="Same")
    before = await place.workflow(workflow_id)

    await place.refused("update_workflow", id=workflow_id, settings={"bogus": 1})
    twice = [*before["nodes"], before["nodes"][0]]
    error = await place.refused("update_workflow", id=workflow_id, nodes=twice)
    same = await place.call("update_workflow", id=workflow_id, name="Same")

    assert error.message == "2 nodes have the name 'Webhook'"
    assert "backup" not in same
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []
    assert await place.workflow(workflow_id) == before


async def test_executions_of_an_unknown_workflow_are_an_error(place: Place) -> None:
    name = (await place.workflow(place.workflows["o-no-trigger"]))["name"]

    unknown = await place.refused("list_executions", workflowId="no-such-workflow")
    by_name = await place.refused("list_executions", workflowId=name)
    none = await place.call("list_executions", workflowId=place.workflows["o-no-trigger"])

    assert unknown.message == "Workflow 'no-such-workflow' not found"
    assert by_name.hint is not None
    assert place.workflows["o-no-trigger"] in by_name.hint
    assert none["executions"] == []


async def test_the_undo_of_a_draft_leaves_what_a_person_did_with_the_published_version(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    outcome = await place.call(
        "edit_workflow",
        id=workflow_id,
        operations=[
            {"op": "setNodeSettings", "node": before["nodes"][0]["name"], "settings": {"notes": "by an agent"}}
        ],
    )
    await place.n8n.told("POST", f"workflows/{workflow_id}/unpublish", {})

    undo = outcome["_guidance"]["example"]
    await place.call("restore_workflow", id=workflow_id, backup=outcome["backup"], draftOnly=True)

    after = await place.workflow(workflow_id)
    assert f"draftOnly: true, expectedVersionId: '{outcome['versionId']}'" in undo
    assert after["nodes"] == before["nodes"]
    assert not after["active"]


async def test_an_undo_does_not_replace_what_a_person_saved_since(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    outcome = await place.call("update_workflow", id=workflow_id, name="By an agent")
    edited = await place.workflow(workflow_id)
    nodes = [{**edited["nodes"][0], "notes": "by a person"}, *edited["nodes"][1:]]
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(edited, nodes=nodes), params=DRAFT)

    error = await place.refused(
        "restore_workflow", id=workflow_id, backup=outcome["backup"], expectedVersionId=outcome["versionId"]
    )

    assert error.code == "CONFLICT"
    assert (await place.workflow(workflow_id))["nodes"][0]["notes"] == "by a person"
    assert before["versionId"] == outcome["versionId"]


async def test_true_is_not_taken_for_one(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    name = before["nodes"][-1]["name"]

    async def put(value: object) -> None:
        operation = {"op": "setParameter", "node": name, "path": "options.flag", "value": value}
        await place.call("edit_workflow", id=workflow_id, operations=[operation], allowInvalid=True)

    seen = []
    for value in (1, True, 0, False):
        await put(value)
        seen.append((await place.workflow(workflow_id))["nodes"][-1]["parameters"]["options"]["flag"])

    assert [repr(one) for one in seen] == ["1", "True", "0", "False"]


async def test_what_was_published_is_said(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    result = await place.box.call(
        "edit_workflow",
        {
            "id": workflow_id,
            "operations": [{"op": "setName", "name": before["name"]}],
            "publish": True,
            "expectedVersionId": before["versionId"],
        },
    )
    after = await place.workflow(workflow_id)

    assert after["activeVersionId"] == before["versionId"]
    assert result.value["message"] == "Published, together with a draft that was saved before (alsoPublished)"


async def test_a_draft_of_somebody_else_does_not_go_live_with_a_change(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    error = await place.refused("update_workflow", id=workflow_id, name="Now", publish=True)

    after = await place.workflow(workflow_id)
    assert "has a draft that is not published, saved" in error.message
    assert f"expect versionId '{before['versionId']}'" in str(error.hint)
    assert (after["name"], after["activeVersionId"]) == (before["name"], before["activeVersionId"])


async def test_a_draft_of_our_own_goes_live_with_the_next_change(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    name = (await place.workflow(workflow_id))["nodes"][-1]["name"]
    await place.call("update_workflow", id=workflow_id, updateNodes=[{"nodeName": name, "notes": "first"}])

    await place.call("update_workflow", id=workflow_id, name="Second", publish=True)

    after = await place.workflow(workflow_id)
    assert after["activeVersionId"] == after["versionId"]
    assert after["nodes"][-1]["notes"] == "first"


async def test_our_own_edit_makes_no_draft_of_somebody_else_ours(place: Place) -> None:
    workflow_id, before = await with_draft(place)
    await place.call("update_workflow", id=workflow_id, name="Ours")

    error = await place.refused("update_workflow", id=workflow_id, name="Now", publish=True)

    assert "has a draft that is not published" in error.message
    assert (await place.workflow(workflow_id))["activeVersionId"] == before["activeVersionId"]


async def test_publishing_says_whose_draft_went_live(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    published = await place.call("activate_workflow", id=workflow_id)

    assert published["publishedVersionId"] == before["versionId"]
    assert "savedAt" in published["publishedDraft"]


async def test_a_draft_that_nobody_expects_is_not_published(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    refused = await place.refused("activate_workflow", id=workflow_id, expectedVersionId=before["activeVersionId"])

    assert refused.code == "CONFLICT"
    assert (await place.workflow(workflow_id))["activeVersionId"] == before["activeVersionId"]
    published = await place.call("activate_workflow", id=workflow_id, expectedVersionId=before["versionId"])
    assert published["publishedVersionId"] == before["versionId"]


async def test_the_raw_view_says_that_it_leaves_out_the_published_nodes(place: Place) -> None:
    workflow_id, before = await with_draft(place)

    raw = await place.call("get_workflow", id=workflow_id, raw=True)

    left = f"nodes and connections; diff_workflow(id: '{workflow_id}') compares them"
    assert raw["activeVersion"]["leftOut"] == left
    assert {one["name"] for one in raw["nodes"]} == {one["name"] for one in before["nodes"]}
