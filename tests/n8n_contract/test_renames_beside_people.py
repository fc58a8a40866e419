"""Names that one side changes while the other works: nobody's change is lost, and no expression names what is gone."""

from typing import Any

import pytest

from dogubako.contract.errors import ConflictError, ValidationError
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_merged_changes import DRAFT, chain, links, person, renamed, step
from tests.n8n_contract.test_saves_at_the_same_moment import MOMENTS, Moment, meanwhile
from tests.n8n_contract.test_workflow_changes import writable

READS = {
    "assignments": {
        "assignments": [{"id": "1", "name": "x", "type": "string", "value": "={{ $('甲').item.json.x }}"}],
    }
}


def reader(name: str) -> dict[str, Any]:
    """A node that names 甲 in an expression."""
    return {**step(name), "type": "n8n-nodes-base.set", "typeVersion": 3.4, "parameters": READS}


def read_by(workflow: dict[str, Any], name: str) -> str:
    [node] = [one for one in workflow["nodes"] if one["name"] == name]
    return str(node["parameters"]["assignments"]["assignments"][0]["value"])


async def add_reader(place: Place, workflow_id: str) -> None:
    def added(now: dict[str, Any]) -> dict[str, Any]:
        return {"nodes": [*now["nodes"], reader("人")], "connections": links("受信>甲", "甲>乙", "乙>C", "C>人")}

    await person(place, workflow_id, added)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_expression_that_a_person_adds_meanwhile_gets_our_new_name(
    place: Place, monkeypatch: pytest.MonkeyPatch, moment: Moment
) -> None:
    workflow_id = await chain(place)
    meanwhile(monkeypatch, moment, lambda: add_reader(place, workflow_id))

    ours = [{"op": "renameNode", "node": "甲", "name": "新しい甲"}]
    outcome = await place.call("edit_workflow", id=workflow_id, operations=ours)

    after = await place.workflow(workflow_id)
    assert read_by(after, "人") == "={{ $('新しい甲').item.json.x }}"
    assert "nodes.人" in outcome["mergedWith"]


@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_expression_that_a_person_adds_meanwhile_is_not_left_without_its_node(
    place: Place, monkeypatch: pytest.MonkeyPatch, moment: Moment
) -> None:
    workflow_id = await chain(place)
    meanwhile(monkeypatch, moment, lambda: add_reader(place, workflow_id))

    error = await place.refused("edit_workflow", id=workflow_id, operations=[{"op": "removeNode", "node": "甲"}])

    after = await place.workflow(workflow_id)
    assert isinstance(error, (ConflictError, ValidationError))
    assert [one["name"] for one in after["nodes"]] == ["受信", "甲", "乙", "C", "人"]


async def test_a_node_that_a_person_moved_can_be_renamed(place: Place) -> None:
    workflow_id = await chain(place)
    read = await place.workflow(workflow_id)

    def moved(now: dict[str, Any]) -> dict[str, Any]:
        return {"nodes": [{**one, "position": [320, 640]} if one["name"] == "C" else one for one in now["nodes"]]}

    await person(place, workflow_id, moved)
    ours = [{"op": "renameNode", "node": "C", "name": "C二"}]
    await place.call("edit_workflow", id=workflow_id, operations=ours, expectedVersionId=read["versionId"])

    [node] = [one for one in (await place.workflow(workflow_id))["nodes"] if one["name"] == "C二"]
    assert node["position"] == [320, 640]


async def test_a_change_of_a_node_that_a_person_renamed_is_made_under_the_new_name(place: Place) -> None:
    workflow_id = await chain(place)
    read = await place.workflow(workflow_id)
    await person(place, workflow_id, lambda now: renamed(now, "C", "ノード", "受信>甲", "甲>乙", "乙>ノード"))

    ours = [{"op": "setNodeSettings", "node": "C", "settings": {"notes": "by us"}}]
    outcome = await place.call("edit_workflow", id=workflow_id, operations=ours, expectedVersionId=read["versionId"])

    after = await place.workflow(workflow_id)
    assert {one["name"]: one.get("notes") for one in after["nodes"]}["ノード"] == "by us"
    assert "nodes.ノード" in outcome["mergedWith"]


async def test_a_name_that_somebody_took_meanwhile_is_not_given_twice(place: Place) -> None:
    workflow_id = await chain(place)
    read = await place.workflow(workflow_id)
    await person(place, workflow_id, lambda now: {"nodes": [*now["nodes"], step("新")]})

    ours = [{"op": "renameNode", "node": "C", "name": "新"}]
    error = await place.refused("edit_workflow", id=workflow_id, operations=ours, expectedVersionId=read["versionId"])

    assert isinstance(error, (ConflictError, ValidationError))
    assert sorted(one["name"] for one in (await place.workflow(workflow_id))["nodes"]) == sorted(
        ["受信", "甲", "乙", "C", "新"]
    )


async def test_a_node_that_is_sent_under_another_name_keeps_what_it_does_not_mention(place: Place) -> None:
    workflow_id = await chain(place)
    before = await place.workflow(workflow_id)
    kept = {"onError": "continueRegularOutput", "notes": "mind", "disabled": True}
    nodes = [{**one, **kept} if one["name"] == "C" else one for one in before["nodes"]]
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(before, nodes=nodes), params=DRAFT)
    plain = [{**one, "name": "C二"} if one["name"] == "C" else one for one in before["nodes"]]

    wired = links("受信>甲", "甲>乙", "乙>C二")
    outcome = await place.call("update_workflow", id=workflow_id, nodes=plain, connections=wired)

    [node] = [one for one in (await place.workflow(workflow_id))["nodes"] if one["name"] == "C二"]
    assert {key: node.get(key) for key in kept} == kept
    assert set(outcome["kept"]["C二"]) == set(kept)


async def test_who_saves_the_same_place_again_is_no_conflict_with_our_own_change(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await chain(place)
    update, left = WorkflowsApi.update, [1, 2, 3]

    async def write(self: WorkflowsApi, *args: Any) -> Any:
        if left and args[0] == workflow_id:
            text = f"save {left.pop(0)}"

            def noted(now: dict[str, Any]) -> dict[str, Any]:
                return {"nodes": [{**one, "notes": text} if one["name"] == "甲" else one for one in now["nodes"]]}

            await person(place, workflow_id, noted)
        return await update(self, *args)

    monkeypatch.setattr(WorkflowsApi, "update", write)
    ours = [{"op": "setNodeSettings", "node": "C", "settings": {"notes": "by us"}}]
    outcome = await place.call("edit_workflow", id=workflow_id, operations=ours)

    notes = {one["name"]: one.get("notes") for one in (await place.workflow(workflow_id))["nodes"]}
    assert (notes["甲"], notes["C"]) == ("save 3", "by us")
    assert outcome["mergedWith"] == ["nodes.甲.notes"]


async def test_a_version_that_is_not_in_our_last_write_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow_id = await chain(place)
    update, count = WorkflowsApi.update, [0]

    async def write(self: WorkflowsApi, *args: Any) -> Any:
        count[0] += 1

        def noted(now: dict[str, Any]) -> dict[str, Any]:
            return {"nodes": [{**one, "notes": f"{count[0]}"} if one["name"] == "甲" else one for one in now["nodes"]]}

        await person(place, workflow_id, noted)
        return await update(self, *args)

    monkeypatch.setattr(WorkflowsApi, "update", write)
    ours = [{"op": "setNodeSettings", "node": "C", "settings": {"notes": "by us"}}]
    outcome = await place.call("edit_workflow", id=workflow_id, operations=ours)

    version = await place.n8n.told("GET", f"workflows/{workflow_id}/{outcome['overwroteVersionId']}")
    assert {one["name"]: one.get("notes") for one in version["nodes"]}["甲"] == str(count[0])


async def test_tags_and_publishing_are_taken_back_alone(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    first = (await place.workflow(workflow_id))["nodes"][0]["name"]
    ours = [{"op": "setNodeSettings", "node": first, "settings": {"notes": "by us"}}]
    await place.call("edit_workflow", id=workflow_id, operations=ours)
    await place.call("activate_workflow", id=workflow_id)
    await place.call("set_workflow_tags", id=workflow_id, tags=["本番"], createMissing=True)
    await place.call("set_workflow_tags", id=workflow_id, tags=["emoji 🎉"], createMissing=True)

    await place.call("restore_workflow", id=workflow_id)

    after = await place.workflow(workflow_id)
    assert [tag["name"] for tag in after["tags"]] == ["本番"]
    assert (after["active"], after["nodes"][0].get("notes")) == (True, "by us")


async def test_a_publication_can_be_taken_back(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    first = (await place.workflow(workflow_id))["nodes"][0]["name"]
    ours = [{"op": "setNodeSettings", "node": first, "settings": {"notes": "by us"}}]
    await place.call("edit_workflow", id=workflow_id, operations=ours)
    published = await place.call("activate_workflow", id=workflow_id)

    await place.call("restore_workflow", id=workflow_id, backup=published["backup"])

    after = await place.workflow(workflow_id)
    assert (after["active"], after["nodes"][0].get("notes")) == (False, "by us")
