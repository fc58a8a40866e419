"""Runs through every kind of trigger."""

import json
from typing import Any, Final
from uuid import uuid4

import anyio
import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.facts import proves
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually
from tests.n8n_contract.test_workflow_changes import writable

CHAT: Final = "@n8n/n8n-nodes-langchain.chatTrigger"
ECHO: Final = {
    "name": "Echo",
    "type": "n8n-nodes-base.set",
    "typeVersion": 3.4,
    "position": [220, 0],
    "parameters": {
        "assignments": {"assignments": [{"id": "a", "name": "got", "value": "={{ $json }}", "type": "object"}]},
        "options": {},
    },
}


def trigger(name: str, kind: str, version: float, **parameters: Any) -> JsonObject:
    full = kind if "." in kind else f"n8n-nodes-base.{kind}"
    return {
        "name": name,
        "type": full,
        "typeVersion": version,
        "position": [0, 0],
        "parameters": parameters,
        "webhookId": str(uuid4()),
    }


def hook(name: str = "Hook", **parameters: Any) -> JsonObject:
    return trigger(name, "webhook", 2, path=uuid4().hex, responseMode="lastNode", options={}, **parameters)


async def workflow_of(place: Place, *triggers: JsonObject, published: bool = True, **more: Any) -> str:
    last = more.pop("last", ECHO)
    links = {one["name"]: {"main": [[{"node": last["name"], "type": "main", "index": 0}]]} for one in triggers}
    settings = more.pop("settings", {})
    body = {"name": f"Triggers {uuid4().hex[:8]}", "nodes": [*triggers, last], "connections": links}
    made = await place.n8n.told("POST", "workflows", body | {"settings": settings} | more)
    if published:
        await place.n8n.told("POST", f"workflows/{made['id']}/publish", {})
    return str(made["id"])


async def got(place: Place, ran: JsonObject) -> JsonObject:
    """What the trigger gave to the next node."""
    told = await place.details(ran["execution"]["id"])
    runs: JsonObject = told["data"]["resultData"]["runData"]
    item: JsonObject = runs[ran["trigger"]][0]["data"]["main"][0][0]["json"]
    return item


@only_where_there_is("any-trigger")
@proves("get-webhook", "path-parameters")
async def test_data_of_a_get_goes_into_the_query_and_the_path_is_filled(place: Place) -> None:
    parameters = {"path": "orders/:order/lines/:line", "responseMode": "lastNode", "options": {}}
    workflow_id = await workflow_of(place, trigger("Hook", "webhook", 2, **parameters))
    filled = {"order": "注文 7", "line": "a?b&c"}

    slash = await place.refused("run_workflow", id=workflow_id, pathParameters={"order": "7", "line": "a/b"})
    missing = await place.refused("run_workflow", id=workflow_id, pathParameters={"order": "7"})
    surplus = await place.refused("run_workflow", id=workflow_id, pathParameters={**filled, "lines": "2"})
    header = await place.refused("run_workflow", id=workflow_id, pathParameters=filled, headers={"X-A": "a\r\nX-B: b"})
    ran = await place.call("run_workflow", id=workflow_id, data={"a": "b", "n": 1}, pathParameters=filled)

    assert "slash" in slash.message
    assert "the path needs order, line" in missing.message
    assert "it has no lines" in surplus.message
    assert "the value of 'X-A' is none that HTTP can carry" in header.message
    assert ran["execution"]["status"] == "success"
    assert ((await got(place, ran))["query"], (await got(place, ran))["params"]) == ({"a": "b", "n": "1"}, filled)


@only_where_there_is("any-trigger")
async def test_a_call_that_would_be_wrong_is_refused_and_says_why(place: Place) -> None:
    computed = hook("Computed", httpMethod="POST")
    computed["parameters"]["path"] = f"={{{{ '{uuid4().hex}' }}}}"
    by_expression = await workflow_of(place, computed)
    get = await workflow_of(place, hook(httpMethod="GET"))
    quiet = await workflow_of(place, hook(httpMethod="POST"), settings={"saveDataSuccessExecution": "none"})

    expression = await place.refused("run_workflow", id=by_expression)
    twice = await place.refused("run_workflow", id=get, data={"a": 1}, query={"a": 2})
    unstored = await place.box.call("run_workflow", {"id": quiet, "waitSeconds": 2})

    assert "the path of 'Computed' is an expression" in expression.message
    assert "a GET sends it as the query, which has a already" in twice.message
    assert "stores no successful executions" in str(unstored.content)


@only_where_there_is("any-trigger")
async def test_of_several_webhooks_one_has_to_be_named(place: Place) -> None:
    workflow_id = await workflow_of(place, hook("One", httpMethod="POST"), hook("Two", httpMethod="POST"))

    open_question = await place.refused("run_workflow", id=workflow_id)
    ran = await place.call("run_workflow", id=workflow_id, trigger="Two", data={"a": 1}, query={"q": "x"})

    assert "'One' (webhook), 'Two' (webhook)" in open_question.message
    assert (ran["trigger"], ran["response"]["status"]) == ("Two", 200)
    received = await got(place, ran)
    assert (received["body"], received["query"]) == ({"a": 1}, {"q": "x"})


@only_where_there_is("any-trigger")
@proves("form-trigger")
async def test_a_form_is_filled_in_by_the_labels_of_its_fields(place: Place) -> None:
    rows = [{"fieldLabel": "お名前"}, {"fieldLabel": "Age", "fieldType": "number"}]
    form = trigger("Form", "formTrigger", 2.2, formTitle="T", formFields={"values": rows}, options={})
    workflow_id = await workflow_of(place, form)

    wrong = await place.refused("run_workflow", id=workflow_id, data={"Name": "Ann"})
    ran = await place.call("run_workflow", id=workflow_id, data={"お名前": "花子", "Age": 5})

    assert "the form's fields are お名前, Age" in wrong.message
    received = await got(place, ran)
    assert (received["お名前"], received["Age"]) == ("花子", 5)


@only_where_there_is("any-trigger")
async def test_a_form_is_not_sent_as_its_page_would_not_send_it(place: Place) -> None:
    size = {"values": [{"option": "大"}, {"option": "小"}]}
    rows = [
        {"fieldLabel": "お名前", "requiredField": True},
        {"fieldLabel": "Size", "fieldType": "dropdown", "fieldOptions": size},
        {"fieldLabel": "歳", "fieldType": "number"},
    ]
    form = trigger("Form", "formTrigger", 2.2, formTitle="T", formFields={"values": rows}, options={})
    workflow_id = await workflow_of(place, form)

    missing = await place.refused("run_workflow", id=workflow_id, data={"お名前": "", "Size": "大"})
    unknown = await place.refused("run_workflow", id=workflow_id, data={"お名前": "花子", "Size": "中"})
    number = await place.refused("run_workflow", id=workflow_id, data={"お名前": "花子", "歳": "abc"})
    ran = await place.call("run_workflow", id=workflow_id, data={"お名前": "花子", "Size": "小", "歳": "5"})

    assert "'歳' has to be a number" in number.message
    assert "The form needs 'お名前'" in missing.message
    assert "'Size' may be 大, 小" in unknown.message
    assert (await got(place, ran))["Size"] == "小"


@only_where_there_is("any-trigger")
@proves("chat-trigger")
async def test_a_public_chat_gets_a_message(place: Place) -> None:
    workflow_id = await workflow_of(place, trigger("Chat", CHAT, 1.1, public=True, mode="webhook", options={}))

    ran = await place.call("run_workflow", id=workflow_id, data={"chatInput": "こんにちは"})

    assert (await got(place, ran))["chatInput"] == "こんにちは"


@only_where_there_is("any-trigger")
@proves("answered-4xx")
async def test_a_run_that_answers_with_an_error_is_still_found(place: Place) -> None:
    options = {"respondWith": "json", "responseBody": '{"no": 1}', "options": {"responseCode": 404}}
    respond = {**ECHO, "name": "Answer", "type": "n8n-nodes-base.respondToWebhook", "typeVersion": 1.1}
    hooked = hook(httpMethod="POST")
    hooked["parameters"]["responseMode"] = "responseNode"
    workflow_id = await workflow_of(place, hooked, last={**respond, "parameters": options})

    ran = await place.call("run_workflow", id=workflow_id)

    assert ran["response"] == {"status": 404, "body": {"no": 1}}
    assert ran["execution"]["status"] == "success"


@only_where_there_is("any-trigger")
async def test_a_slow_answer_is_not_waited_for_longer_than_asked(place: Place) -> None:
    slow = {**ECHO, "name": "Slow", "type": "n8n-nodes-base.wait", "typeVersion": 1.1}
    workflow_id = await workflow_of(
        place, hook(httpMethod="POST"), last={**slow, "parameters": {"amount": 20, "unit": "seconds"}}
    )
    await place.call("run_workflow", id=workflow_id, wait=False, data={"n": 0})

    for arguments in ({"wait": False}, {"waitSeconds": 1}):
        ran = await place.call("run_workflow", id=workflow_id, data=arguments, **arguments)

        assert ran["response"] is None
        assert ran["execution"]["status"] in ("running", "waiting")
        received = await place.details(ran["execution"]["id"])
        assert received["workflowId"] == workflow_id
        stopped = await place.call("stop_execution", id=ran["execution"]["id"])
        assert stopped["status"] == "canceled"


@only_where_there_is("any-trigger")
async def test_forms_that_were_sent_at_the_same_time_are_told_apart_by_their_fields(place: Place) -> None:
    rows = [{"fieldLabel": "Name"}]
    workflow_id = await workflow_of(
        place, trigger("Form", "formTrigger", 2.2, formTitle="T", formFields={"values": rows}, options={})
    )
    await place.call("run_workflow", id=workflow_id, data={"Name": "first"})
    ran: dict[str, JsonObject] = {}

    async def one(key: str, name: str) -> None:
        ran[key] = await place.call("run_workflow", id=workflow_id, data={"Name": name})

    async with anyio.create_task_group() as tasks:
        for key, name in {"a": "Ann", "b": "Ben", "c": "twin", "d": "twin"}.items():
            tasks.start_soon(one, key, name)

    for key, name in {"a": "Ann", "b": "Ben"}.items():
        assert (await got(place, ran[key]))["Name"] == name
    for key in ("c", "d"):
        told = ran[key]
        assert told["execution"] is None or (await got(place, told))["Name"] == "twin"
    twins = {ran[key]["execution"]["id"] for key in ("c", "d") if ran[key]["execution"]}
    assert len(twins) in (0, 2)


@only_where_there_is("any-trigger")
@proves("webhook-login")
async def test_a_login_of_the_settings_opens_a_webhook_and_is_not_shown(mcp_place: Place, place: Place) -> None:
    data = {"user": "ann", "password": "only-for-webhooks"}
    body = {"name": "Hook login", "type": "httpBasicAuth", "data": data}
    made = await place.n8n.told("POST", "credentials", body)
    hooked = hook(httpMethod="POST", authentication="basicAuth")
    hooked["credentials"] = {"httpBasicAuth": {"id": made["id"], "name": made["name"]}}
    workflow_id = await workflow_of(place, hooked)

    without = await place.refused("run_workflow", id=workflow_id)
    wrong = await place.refused("run_workflow", id=workflow_id, headers={"Authorization": "Basic d3Jvbmc6cHc="})
    ran = await mcp_place.call("run_workflow", id=workflow_id, data={"a": 1})

    assert "asks for credentials (basicAuth)" in without.message
    assert "refused the login with status 401 (Authentication data is wrong!)" in wrong.message
    assert ran["execution"]["status"] == "success"
    assert ran["response"]["body"]["got"]["headers"]["authorization"] == "***"


@only_where_there_is("any-trigger")
@proves("mcp-run")
async def test_manual_and_schedule_triggers_run_over_the_mcp_endpoint(mcp_place: Place, place: Place) -> None:
    manual = await workflow_of(place, trigger("Go", "manualTrigger", 1), published=False)
    interval = {"interval": [{"field": "days"}]}
    allowed = {"availableInMCP": True}
    schedule = trigger("Daily", "scheduleTrigger", 1.2, rule=interval)
    scheduled = await workflow_of(place, schedule, published=False, settings=allowed)

    refused = await mcp_place.refused("run_workflow", id=manual)
    await mcp_place.call("update_workflow", id=manual, settings=allowed)
    first = await mcp_place.call("run_workflow", id=manual)
    second = await mcp_place.call("run_workflow", id=scheduled)

    assert "availableInMCP" in str(refused.hint)
    assert (first["execution"]["status"], first["ran"]) == ("success", "draft")
    assert "timestamp" in await got(place, second)


@only_where_there_is("any-trigger")
async def test_a_published_chat_that_is_not_public_runs_over_the_mcp_endpoint(mcp_place: Place, place: Place) -> None:
    chat = trigger("Chat", CHAT, 1.1, options={})
    workflow_id = await workflow_of(place, chat, settings={"availableInMCP": True})

    ran = await mcp_place.call("run_workflow", id=workflow_id, data={"chatInput": "こんにちは"})

    assert (ran["execution"]["status"], (await got(place, ran))["chatInput"]) == ("success", "こんにちは")


@only_where_there_is("any-trigger")
@proves("mcp-pinned")
async def test_a_draft_is_tested_with_pinned_data(mcp_place: Place, place: Place) -> None:
    allowed = {"availableInMCP": True}
    workflow_id = await workflow_of(place, hook(httpMethod="POST"), published=False, settings=allowed)

    ran = await mcp_place.call("run_workflow", id=workflow_id, pinData={"Hook": [{"body": {"a": "pinned"}}]})
    drafted = await mcp_place.call("run_workflow", id=workflow_id, data={"a": "sent"})

    assert (await got(place, ran))["body"] == {"a": "pinned"}
    assert (await got(place, drafted))["body"] == {"a": "sent"}


@only_where_there_is("any-trigger")
async def test_a_workflow_that_answers_in_the_words_of_n8n_runs_once(place: Place) -> None:
    answer = {"code": 404, "message": 'The requested webhook "POST other" is not registered.'}
    reply = {
        "name": "Reply",
        "type": "n8n-nodes-base.respondToWebhook",
        "typeVersion": 1.1,
        "position": [220, 0],
        "parameters": {"respondWith": "json", "responseBody": json.dumps(answer), "options": {"responseCode": 404}},
    }
    start = hook(httpMethod="POST") | {}
    start["parameters"] = {**start["parameters"], "responseMode": "responseNode"}
    workflow_id = await workflow_of(place, start, last=reply)

    await place.box.call("run_workflow", {"id": workflow_id, "data": {"a": 1}})

    listed = await place.n8n.told("GET", "executions", params={"workflowId": workflow_id})
    assert len(listed["data"]) == 1


@pytest.mark.parametrize("value", ["", ".", "..", "a/b"])
async def test_a_path_parameter_leads_to_no_other_workflow(place: Place, value: str) -> None:
    start = hook(httpMethod="POST")
    start["parameters"] = {**start["parameters"], "path": f"{uuid4().hex}/:a"}
    workflow_id = await workflow_of(place, start)

    error = await place.refused("run_workflow", id=workflow_id, data={}, pathParameters={"a": value})

    assert error.code == "VALIDATION_ERROR"


@only_where_there_is("any-trigger")
async def test_an_answer_that_redirects_is_an_answer(place: Place) -> None:
    reply = {
        "name": "Reply",
        "type": "n8n-nodes-base.respondToWebhook",
        "typeVersion": 1.1,
        "position": [220, 0],
        "parameters": {"respondWith": "redirect", "redirectURL": "https://example.com/thanks", "options": {}},
    }
    start = hook(httpMethod="POST")
    start["parameters"] = {**start["parameters"], "responseMode": "responseNode"}
    workflow_id = await workflow_of(place, start, last=reply)

    outcome = await place.call("run_workflow", id=workflow_id, data={"a": 1})

    assert outcome["response"]["status"] in (302, 307)
    assert outcome["response"]["location"] == "https://example.com/thanks"
    assert outcome["execution"]["status"] == "success"


@only_where_there_is("any-trigger")
async def test_a_webhook_for_several_methods_shows_which_execution_is_ours(place: Place) -> None:
    start = hook(multipleMethods=True, httpMethod=["GET", "POST"])
    workflow_id = await workflow_of(place, start)
    made = await place.workflow(workflow_id)
    links = {start["name"]: {"main": [[{"node": "Echo", "type": "main", "index": 0}]] * 2}}
    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(made, connections=links))

    outcome = await eventually(
        lambda: place.call("run_workflow", id=workflow_id, data={"a": 1}, method="POST"),
        lambda one: one.get("execution") is not None,
    )

    assert outcome["execution"]["status"] == "success"
