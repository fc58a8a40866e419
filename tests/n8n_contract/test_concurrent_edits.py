"""Nothing is lost: several agents, and a person in the editor, change one workflow at the same moment."""

from typing import Any

import anyio
import pytest

from dogubako.contract.errors import ConflictError
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako_sandbox.n8n.workflow_parts import pass_on
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place, eventually
from tests.n8n_contract.test_workflow_changes import node_of, writable

AGENTS = 36


async def many_nodes(place: Place, count: int) -> str:
    nodes = [{**pass_on(f"Node {number}"), "position": [number, 0]} for number in range(count)]
    made = await place.n8n.told(
        "POST", "workflows", {"name": "Many", "nodes": nodes, "connections": {}, "settings": {}}
    )
    return str(made["id"])


def note(name: str, text: str) -> list[dict[str, Any]]:
    return [{"nodeName": name, "notes": text}]


async def person_saves(place: Place, workflow_id: str, node_name: str, **fields: Any) -> None:
    """The editor saves the draft that it has just read, with one node changed."""
    now = await place.workflow(workflow_id)
    nodes = [{**node, **fields} if node["name"] == node_name else node for node in now["nodes"]]
    body = writable(now, nodes=nodes)
    await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params={"publishIfActive": "false"})


def save_in_between(place: Place, monkeypatch: pytest.MonkeyPatch, workflow_id: str, name: str, **fields: Any) -> None:
    """A person saves after our next read and before our next write."""
    update, waiting = WorkflowsApi.update, [True]

    async def update_after_somebody_else(self: WorkflowsApi, *args: Any) -> Any:
        if waiting:
            waiting.clear()
            await person_saves(place, workflow_id, name, **fields)
        return await update(self, *args)

    monkeypatch.setattr(WorkflowsApi, "update", update_after_somebody_else)


@pytest.mark.parametrize("expecting", [False, True], ids=["without an expectation", "all expect the same version"])
async def test_of_36_parallel_edits_none_is_lost(place: Place, expecting: bool) -> None:
    workflow_id = await many_nodes(place, AGENTS)
    expected = {"expectedVersionId": (await place.workflow(workflow_id))["versionId"]} if expecting else {}
    answers: list[dict[str, Any]] = []

    async def edit(number: int) -> None:
        change = {"id": workflow_id, "updateNodes": note(f"Node {number}", f"by agent {number}"), **expected}
        # A slow machine may ask some of them to come again; whoever is told so has lost nothing.
        result = await eventually(lambda: place.box.call("update_workflow", change), lambda one: one.code != "BUSY")
        assert result.error is None, result.content
        answers.append(result.value["data"])

    async with anyio.create_task_group() as tasks:
        for number in range(AGENTS):
            tasks.start_soon(edit, number)

    after = await place.workflow(workflow_id)
    assert [node.get("notes") for node in after["nodes"]] == [f"by agent {number}" for number in range(AGENTS)]
    assert all(answer["differences"] == [] for answer in answers)
    assert len({answer["backup"] for answer in answers}) == AGENTS


@proves("history")
async def test_an_expected_version_is_merged_where_the_changes_do_not_touch(place: Place) -> None:
    workflow_id = await many_nodes(place, 3)
    read = await place.workflow(workflow_id)
    await person_saves(place, workflow_id, "Node 0", notes="by a person")

    outcome = await place.call(
        "update_workflow", id=workflow_id, updateNodes=note("Node 1", "by us"), expectedVersionId=read["versionId"]
    )

    after = await place.workflow(workflow_id)
    assert [node.get("notes") for node in after["nodes"]] == ["by a person", "by us", None]
    assert outcome["mergedWith"] == ["nodes.Node 0.notes"]


async def test_a_change_of_the_same_place_is_a_conflict_that_shows_the_other_side(place: Place) -> None:
    workflow_id = await many_nodes(place, 3)
    read = await place.workflow(workflow_id)
    await person_saves(place, workflow_id, "Node 0", notes="by a person")
    theirs = await place.workflow(workflow_id)

    error = await place.refused(
        "update_workflow", id=workflow_id, updateNodes=note("Node 0", "by us"), expectedVersionId=read["versionId"]
    )

    assert isinstance(error, ConflictError)
    assert "nodes.Node 0.notes is now 'by a person'" in error.message
    assert error.hint is not None
    assert theirs["versionId"] in error.hint
    assert await place.workflow(workflow_id) == theirs
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


async def test_an_expected_version_that_n8n_does_not_have_is_a_conflict(place: Place) -> None:
    workflow_id = await many_nodes(place, 1)

    error = await place.refused("update_workflow", id=workflow_id, name="New", expectedVersionId="no-such-version")

    assert isinstance(error, ConflictError)
    assert (await place.workflow(workflow_id))["name"] == "Many"


@pytest.mark.parametrize("kind", ["noOp", "webhook"])
async def test_a_node_that_we_add_is_not_taken_for_a_conflict_with_ourselves(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """n8n gives new nodes ids, so our version looked like that of another, and a person's was put away for it."""
    workflow_id = await many_nodes(place, 2)
    await save_behind(place, monkeypatch, workflow_id)
    add = {"op": "addNode", "name": "New", "type": kind}
    outcome = await place.call("edit_workflow", id=workflow_id, operations=[add], allowInvalid=True)

    after = await place.workflow(workflow_id)
    assert node_of(after, "Node 0")["notes"] == "by a person"
    assert node_of(after, "New")["type"] == f"n8n-nodes-base.{kind}"
    assert outcome["mergedWith"] == ["nodes.Node 0.notes"]
    assert "savedSince" not in outcome


NOTES = {"op": "setNodeSettings", "node": "Node 0", "settings": {"notes": "by us"}}


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        ("edit_workflow", {"operations": [{"op": "setName", "name": "Ours"}, NOTES]}),
        ("update_workflow", {"name": "Ours", "updateNodes": note("Node 0", "by us")}),
    ],
)
async def test_the_message_says_that_somebody_saved_right_behind_us(
    place: Place, monkeypatch: pytest.MonkeyPatch, tool: str, change: dict[str, Any]
) -> None:
    workflow_id = await many_nodes(place, 2)
    await save_behind(place, monkeypatch, workflow_id)

    result = await place.box.call(tool, {"id": workflow_id, "allowInvalid": True, **change})

    assert "savedSince" in result.value["message"]


@proves("counter")
async def test_what_somebody_saved_between_our_read_and_our_write_is_merged(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 3)
    save_in_between(place, monkeypatch, workflow_id, "Node 2", notes="by a person")

    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=note("Node 1", "by us"))

    after = await place.workflow(workflow_id)
    assert [node.get("notes") for node in after["nodes"]] == [None, "by us", "by a person"]
    assert outcome["differences"] == []
    assert outcome["mergedWith"] == ["nodes.Node 2.notes"]


async def test_a_rename_does_not_undo_what_somebody_saved_at_the_same_moment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 2)
    save_in_between(place, monkeypatch, workflow_id, "Node 0", notes="by a person")

    await place.call("update_workflow", id=workflow_id, name="Renamed")

    after = await place.workflow(workflow_id)
    assert (after["name"], node_of(after, "Node 0")["notes"]) == ("Renamed", "by a person")


async def test_what_somebody_saved_in_the_same_place_stays_and_we_get_a_conflict(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 2)
    save_in_between(place, monkeypatch, workflow_id, "Node 1", notes="by a person")

    change = {"name": "Ours", "updateNodes": note("Node 1", "by us")}
    error = await place.refused("update_workflow", id=workflow_id, **change)

    assert isinstance(error, ConflictError)
    assert "nodes.Node 1.notes is now 'by a person'" in error.message
    after = await place.workflow(workflow_id)
    assert (after["name"], node_of(after, "Node 1")["notes"]) == ("Many", "by a person")
    assert (await place.call("list_workflow_backups", id=workflow_id))["backups"] == []


async def save_behind(place: Place, monkeypatch: pytest.MonkeyPatch, workflow_id: str) -> None:
    """A person saves what was read before our next write right behind it, and n8n's answer names that version."""
    read, update, waiting = await place.workflow(workflow_id), WorkflowsApi.update, [True]

    async def update_before_somebody_else(self: WorkflowsApi, *args: Any) -> Any:
        answer = await update(self, *args)
        if not waiting:
            return answer
        waiting.clear()
        nodes = [{**node, "notes": "by a person"} if node["name"] == "Node 0" else node for node in read["nodes"]]
        body = writable(read, nodes=nodes)
        await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params={"publishIfActive": "false"})
        return await place.workflow(workflow_id)

    monkeypatch.setattr(WorkflowsApi, "update", update_before_somebody_else)


async def test_what_somebody_saved_right_behind_our_write_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of the other was taken for ours and overwritten. Theirs lacked our change, which was lost then."""
    workflow_id = await many_nodes(place, 2)
    before = (await place.workflow(workflow_id))["nodes"]
    await save_behind(place, monkeypatch, workflow_id)
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=note("Node 1", "by us"))

    after = await place.workflow(workflow_id)
    assert [node.get("notes") for node in after["nodes"]] == ["by a person", "by us"]
    assert outcome["mergedWith"] == ["nodes.Node 0.notes"]
    assert (outcome["differences"], outcome["unrequested"]) == ([], [])
    await place.call("restore_workflow", id=workflow_id)
    undone = (await place.workflow(workflow_id))["nodes"]
    assert undone == [{**before[0], "notes": "by a person"}, before[1]]


async def test_a_place_that_somebody_changes_right_behind_us_is_theirs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 2)
    await save_behind(place, monkeypatch, workflow_id)
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=note("Node 0", "by us"))

    after = await place.workflow(workflow_id)
    assert node_of(after, "Node 0")["notes"] == "by a person"
    assert outcome["savedSince"] == after["versionId"] != outcome["versionId"]
    assert "mergedWith" not in outcome


async def test_a_draft_that_goes_live_with_a_change_is_named(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    name = (await place.workflow(workflow_id))["nodes"][-1]["name"]
    await person_saves(place, workflow_id, name, notes="half done")
    draft = (await place.workflow(workflow_id))["versionId"]
    preview = await place.call(
        "edit_workflow", id=workflow_id, operations=[{"op": "setName", "name": "x"}], publish=True, dryRun=True
    )
    outcome = await place.call(
        "update_workflow", id=workflow_id, name="New name", publish=True, expectedVersionId=draft
    )
    await place.call("deactivate_workflow", id=workflow_id)

    assert preview["wouldAlsoPublish"]["versionId"] == draft
    assert "has a draft that is not published" in preview["wouldBeRefused"][0]
    assert outcome["alsoPublished"]["versionId"] == draft


async def test_parameters_are_merged_by_path_and_removal_is_asked_for(place: Place) -> None:
    options = {"timeout": 1000, "redirect": {"redirect": {"followRedirects": False}}}
    workflow_id = await place.copy_of("b1-http-econnrefused")
    name = "Call closed port"
    await place.call(
        "update_workflow", id=workflow_id, updateNodes=[{"nodeName": name, "parameters": {"options": options}}]
    )

    change = {"nodeName": name, "parameters": {"options": {"timeout": 5}}}
    await place.call("update_workflow", id=workflow_id, updateNodes=[change])
    merged = node_of(await place.workflow(workflow_id), name)["parameters"]["options"]
    change = {"nodeName": name, "removeParameters": ["options.redirect"]}
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=[change])

    assert merged == {**options, "timeout": 5}
    assert node_of(await place.workflow(workflow_id), name)["parameters"]["options"] == {"timeout": 5}
    assert outcome["removed"] == [f"nodes.{name}.parameters.options.redirect"]


async def test_new_nodes_keep_what_they_do_not_mention(place: Place) -> None:
    workflow_id = await many_nodes(place, 1)
    kept = {"onError": "continueRegularOutput", "retryOnFail": True, "maxTries": 4, "notes": "mind", "disabled": True}
    await person_saves(place, workflow_id, "Node 0", **kept)
    plain = {"name": "Node 0", "type": "n8n-nodes-base.noOp", "typeVersion": 1, "position": [0, 0], "parameters": {}}

    outcome = await place.call("update_workflow", id=workflow_id, nodes=[{**plain, "position": [40, 40]}])
    first = node_of(await place.workflow(workflow_id), "Node 0")
    await place.call("update_workflow", id=workflow_id, nodes=[{**plain, "disabled": None, "notes": "new"}])
    second = node_of(await place.workflow(workflow_id), "Node 0")

    assert {name: first[name] for name in kept} == kept
    assert first["position"] == [40, 40]
    assert set(outcome["kept"]["Node 0"]) == set(kept)
    assert "disabled" not in second
    assert second["notes"] == "new"


async def test_ids_that_n8n_makes_are_no_differences(place: Place) -> None:
    hook = {"name": "Hook", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "position": [0, 0], "parameters": {}}
    created = await place.call("create_workflow", name="Ids", nodes=[hook])
    added = {**pass_on("Second"), "position": [1, 1]}

    updated = await place.call("update_workflow", id=created["id"], nodes=[hook, added])

    assert (created["differences"], updated["differences"], updated["unrequested"]) == ([], [], [])


async def test_only_our_version_is_published_although_somebody_saves_after_us(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    publish = WorkflowsApi.publish

    async def publish_after_somebody_else(self: WorkflowsApi, *args: Any) -> Any:
        await person_saves(place, workflow_id, "None", notes="half done")
        return await publish(self, *args)

    monkeypatch.setattr(WorkflowsApi, "publish", publish_after_somebody_else)
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=note("Webhook", "ready"), publish=True)

    after = await place.workflow(workflow_id)
    live = after["activeVersion"]
    assert after["activeVersionId"] == outcome["versionId"] != after["versionId"]
    assert (node_of(live, "Webhook")["notes"], "notes" in node_of(live, "None")) == ("ready", False)
    assert node_of(after, "None")["notes"] == "half done"
    assert (outcome["differences"], outcome["unrequested"]) == ([], [])
    assert outcome["unpublishedDraft"]["versionId"] == after["versionId"]


async def test_who_saves_twice_without_having_seen_our_change_does_not_take_it_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 3)
    known = (await place.workflow(workflow_id))["nodes"]
    update, saves = WorkflowsApi.update, [("Node 0", "first"), ("Node 2", "second")]

    async def update_after_the_editor(self: WorkflowsApi, *args: Any) -> Any:
        """The editor holds its own copy of the nodes, and saves all of them."""
        if saves:
            name, text = saves.pop(0)
            known[:] = [{**node, "notes": text} if node["name"] == name else node for node in known]
            body = writable(await place.workflow(workflow_id), nodes=known)
            await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params={"publishIfActive": "false"})
        return await update(self, *args)

    monkeypatch.setattr(WorkflowsApi, "update", update_after_the_editor)
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=note("Node 1", "by us"))

    after = await place.workflow(workflow_id)
    assert [node.get("notes") for node in after["nodes"]] == ["first", "by us", "second"]
    assert outcome["differences"] == []
    assert sorted(outcome["mergedWith"]) == ["nodes.Node 0.notes", "nodes.Node 2.notes"]


@pytest.mark.parametrize("tool", ["edit_workflow", "update_workflow"])
async def test_a_draft_that_the_caller_has_not_seen_is_not_published(place: Place, tool: str) -> None:
    workflow_id = await many_nodes(place, 2)
    seen = (await place.workflow(workflow_id))["versionId"]
    await person_saves(place, workflow_id, "Node 0", notes="half done")
    changes: dict[str, Any] = {
        "edit_workflow": {"operations": [{"op": "setNodeSettings", "node": "Node 1", "settings": {"notes": "by us"}}]},
        "update_workflow": {"updateNodes": note("Node 1", "by us")},
    }

    error = await place.refused(tool, id=workflow_id, expectedVersionId=seen, publish=True, **changes[tool])

    assert error.code == "CONFLICT"
    assert "this would publish that" in error.message
    assert "notes" not in (await place.workflow(workflow_id))["nodes"][1]
