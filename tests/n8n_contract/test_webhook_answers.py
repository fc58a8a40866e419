"""Answers of webhooks that are no plain JSON, and queries with lists in them."""

from typing import Any, Final

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_triggers import ECHO, got, hook, trigger, workflow_of

RESPOND: Final = {**ECHO, "name": "Answer", "type": "n8n-nodes-base.respondToWebhook", "typeVersion": 1.1}
PICTURE: Final = """return [{json: {}, binary: {data: {
  data: Buffer.from([137, 80, 78, 71, 13, 10, 26, 10, 0, 1]).toString('base64'),
  mimeType: 'image/png', fileName: 'a.png'}}}];"""


def responding() -> JsonObject:
    made = hook(httpMethod="POST")
    made["parameters"]["responseMode"] = "responseNode"
    return made


@only_where_there_is("any-trigger")
@pytest.mark.parametrize(("code", "status"), [("201", 500), (422, 422), (201, 201)])
async def test_what_the_webhook_answered_is_in_the_message(place: Place, code: Any, status: int) -> None:
    options = {"respondWith": "json", "responseBody": '{"a": 1}', "options": {"responseCode": code}}
    workflow_id = await workflow_of(place, responding(), last={**RESPOND, "parameters": options})

    result = await place.box.call("run_workflow", {"id": workflow_id})

    ran = result.value["data"]
    told = f"Execution {ran['execution']['id']} is success"
    assert (ran["response"]["status"], ran["execution"]["status"]) == (status, "success")
    assert result.value["message"] == (told if status < 400 else f"{told}, and the webhook answered {status}")


@only_where_there_is("any-trigger")
async def test_a_picture_is_described_and_not_shown(place: Place) -> None:
    code = {**ECHO, "type": "n8n-nodes-base.code", "typeVersion": 2, "parameters": {"jsCode": PICTURE}}
    start, answer = responding(), {**RESPOND, "parameters": {"respondWith": "binary", "options": {}}}
    links = {
        "Hook": {"main": [[{"node": "Echo", "type": "main", "index": 0}]]},
        "Echo": {"main": [[{"node": "Answer", "type": "main", "index": 0}]]},
    }
    made = await place.call("create_workflow", name="Picture", nodes=[start, code, answer], connections=links)
    workflow_id = made["id"]
    await place.call("activate_workflow", id=workflow_id)

    ran = await place.call("run_workflow", id=workflow_id)

    assert ran["response"] == {"status": 200, "body": "[a file, image/png, 10 bytes]"}


@only_where_there_is("any-trigger")
async def test_lists_repeat_their_names_in_a_query_and_null_is_left_out(place: Place) -> None:
    workflow_id = await workflow_of(place, hook())

    ran = await place.call("run_workflow", id=workflow_id, data={"a": [1, 2], "b": None}, query={"c": {"d": 1}})

    assert (await got(place, ran))["query"] == {"a": ["1", "2"], "c": '{"d":1}'}


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", ["executeWorkflowTrigger", "errorTrigger"])
async def test_n8n_starts_neither_of_these_for_anybody(mcp_place: Place, place: Place, kind: str) -> None:
    workflow_id = await workflow_of(place, trigger("Go", kind, 1), published=False, settings={"availableInMCP": True})

    refused = await mcp_place.refused("run_workflow", id=workflow_id)

    assert "started only by" in refused.message


@only_where_there_is("any-trigger")
async def test_a_draft_gets_the_query_too(mcp_place: Place, place: Place) -> None:
    allowed = {"availableInMCP": True}
    workflow_id = await workflow_of(place, hook(), published=False, settings=allowed)

    ran = await mcp_place.call("run_workflow", id=workflow_id, query={"a": [1, 2], "b": None, "c": {"d": 1}, "e": "x"})

    assert (await got(place, ran))["query"] == {"a": ["1", "2"], "c": '{"d":1}', "e": "x"}
