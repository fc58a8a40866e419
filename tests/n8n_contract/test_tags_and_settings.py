"""Tags and settings of workflows: created only where they are of use, undone, or said to stay."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError
from dogubako.packs.n8n.api.service import LookupsApi
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_saves_at_the_same_moment import TOOL, live

WEBHOOK = {"path": "the-same-path", "httpMethod": "GET"}


async def names_of_tags(place: Place) -> set[str]:
    return {one["name"] for one in (await place.call("list_tags"))["tags"]}


def with_webhook(name: str) -> dict[str, Any]:
    node = {"name": "Hook", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "position": [0, 0]}
    return {"name": name, "nodes": [{**node, "parameters": WEBHOOK}], "connections": {}, "settings": {}}


async def test_the_undo_of_a_change_that_could_not_be_published_takes_back_its_tags(place: Place) -> None:
    for name in ("was there", "is new"):
        if name not in await names_of_tags(place):
            await place.n8n.told("POST", "tags", {"name": name})
    first, second = [(await place.call("create_workflow", **with_webhook(name)))["id"] for name in ("One", "Two")]
    await place.call("activate_workflow", id=first)
    await place.call("set_workflow_tags", id=second, tags=["was there"])
    operations = [{"op": "setTags", "tags": ["is new"]}, {"op": "setName", "name": "Renamed"}]

    refused = await place.refused(TOOL, id=second, operations=operations, publish=True)
    assert refused.hint is not None
    backup = refused.hint.partition("backup: '")[2].partition("'")[0]
    version = (await place.workflow(second))["versionId"]
    await place.call("restore_workflow", id=second, backup=backup, draftOnly=True, expectedVersionId=version)

    after = await place.workflow(second)
    assert "in force at once: name, tags" in refused.hint
    assert ([one["name"] for one in after["tags"]], after["name"], after["active"]) == (["was there"], "Two", False)


async def test_no_tag_is_created_for_a_workflow_that_is_not_there(place: Place) -> None:
    refused = await place.refused("set_workflow_tags", id="nobody", tags=["left behind"], createMissing=True)

    assert refused.code == "NOT_FOUND"
    assert "left behind" not in await names_of_tags(place)


async def test_a_tag_that_somebody_creates_at_the_same_moment_is_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id, _, _ = await live(place)
    create, left = LookupsApi.create_tag, [True]

    async def created(self: LookupsApi, name: str) -> dict[str, Any]:
        if left:
            left.clear()
            await place.n8n.told("POST", "tags", {"name": name})
        return await create(self, name)

    monkeypatch.setattr(LookupsApi, "create_tag", created)
    outcome = await place.call("set_workflow_tags", id=workflow_id, tags=["  raced "], createMissing=True)

    assert outcome["tags"] == ["raced"]


async def test_an_error_workflow_is_removed_and_comes_back(place: Place) -> None:
    workflow_id, _, _ = await live(place)
    handler, _, _ = await live(place)
    made = [{"op": "setWorkflowSettings", "settings": {"errorWorkflow": handler}}]
    await place.call(TOOL, id=workflow_id, operations=made)

    gone = [{"op": "setWorkflowSettings", "settings": {"errorWorkflow": None}}]
    outcome = await place.call(TOOL, id=workflow_id, operations=gone)

    assert outcome.get("differences", []) == []
    assert "errorWorkflow" not in (await place.workflow(workflow_id))["settings"]


async def test_the_undo_of_a_setting_that_n8n_never_forgets_is_not_promised(place: Place) -> None:
    workflow_id, _, _ = await live(place)
    settings = {"callerPolicy": "any", "timezone": "Asia/Tokyo"}
    if "callerPolicy" in (await place.workflow(workflow_id))["settings"]:
        raise AssertionError("the workflow has it already")

    result = await place.box.call(
        TOOL, {"id": workflow_id, "operations": [{"op": "setWorkflowSettings", "settings": settings}]}
    )

    told = result.value["data"]["_guidance"]["message"]
    assert told.startswith("This would undo it, but for callerPolicy: n8n does not forget a setting")


async def test_a_tag_that_n8n_refuses_is_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow_id, _, _ = await live(place)

    async def refused(self: LookupsApi, name: str) -> dict[str, Any]:
        raise ApiError("Failed to create tag: no", status_code=409, context=None)

    monkeypatch.setattr(LookupsApi, "create_tag", refused)
    error = await place.refused("set_workflow_tags", id=workflow_id, tags=["never made"], createMissing=True)

    assert error.message == "Failed to create tag: no"
