"""A run of a draft begins with the item that a call of the published workflow would give."""

from functools import partial
from typing import Any, Final

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually
from tests.n8n_contract.test_triggers import CHAT, ECHO, got, hook, trigger, workflow_of

ALLOWED: Final = {"availableInMCP": True}
# What only a real request has, and what tells a test from the real thing.
OF_THE_REQUEST: Final = ("host", "accept", "accept-encoding", "user-agent", "content-length", "connection")


def comparable(item: JsonObject) -> JsonObject:
    headers = {name: value for name, value in item["headers"].items() if name not in OF_THE_REQUEST}
    headers["x-dogubako-call"] = "any"
    address = item["webhookUrl"].replace("/webhook-test/", "/webhook/")
    return {**item, "headers": headers, "webhookUrl": address, "executionMode": "any"}


async def drafted(place: Place, *triggers: JsonObject, **more: Any) -> str:
    return await workflow_of(place, *triggers, published=False, settings=ALLOWED, **more)


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        pytest.param({"httpMethod": "POST"}, {"data": {"q": 1, "l": [1, None]}}, id="a body"),
        pytest.param({"httpMethod": "POST"}, {"data": {}}, id="nothing"),
        pytest.param({}, {"data": {"q": 1, "l": ["a", 2], "one": ["x"], "none": []}}, id="data of a GET"),
        pytest.param(
            {"httpMethod": "PUT", "path": ":id/lines/:line"},
            {"data": {"q": "注文"}, "pathParameters": {"id": "7", "line": "a?b"}},
            id="parameters of the path",
        ),
        pytest.param(
            {"httpMethod": "POST"},
            {"data": {"q": 1, "l": [1, 2]}, "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            id="fields",
        ),
        pytest.param(
            {"multipleMethods": True, "httpMethod": ["POST", "GET"]}, {"data": {"q": 1}}, id="the first of the methods"
        ),
    ],
)
async def test_a_draft_gets_what_its_published_webhook_would_get(
    mcp_place: Place, place: Place, parameters: JsonObject, call: JsonObject, pinned: bool
) -> None:
    start = hook(httpMethod=parameters.get("httpMethod", "GET"))
    prefix = start["parameters"]["path"]
    start["parameters"] |= {**parameters, "path": f"{prefix}/{parameters['path']}" if "path" in parameters else prefix}
    workflow_id = await drafted(mcp_place, start)
    call = {"query": {"z": "2", "n": 3}, **call, "headers": {"X-Test": "t", **call.get("headers", {})}}
    pins: JsonObject = {"pinData": {"Echo": [{"x": 7}]}} if pinned else {}

    draft = await mcp_place.call("run_workflow", id=workflow_id, **call, **pins)
    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {})
    published = await mcp_place.call("run_workflow", id=workflow_id, **call)

    assert draft["ran"] == "draft"
    assert comparable(await got(place, draft)) == comparable(await got(place, published))
    assert (await got(place, draft))["executionMode"] == "test"


@only_where_there_is("any-trigger")
async def test_the_draft_of_a_form_gets_what_its_page_would_give(mcp_place: Place, place: Place) -> None:
    rows = [
        {"fieldLabel": "Name", "fieldName": "name"},
        {"fieldLabel": "N", "fieldType": "number"},
        {"fieldLabel": "M", "fieldType": "number"},
        {"fieldLabel": "T", "fieldType": "text", "defaultValue": " d "},
        {"fieldLabel": "R", "fieldType": "radio", "fieldOptions": {"values": [{"option": "a"}, {"option": "b"}]}},
        {"fieldLabel": "C", "fieldType": "checkbox", "fieldOptions": {"values": [{"option": "a"}]}},
        {"fieldLabel": "F", "fieldType": "file"},
        {"fieldType": "html", "html": "<b>x</b>"},
    ]
    form = trigger("Form", "formTrigger", 2.5, formTitle="T", formFields={"values": rows}, options={})
    workflow_id = await drafted(mcp_place, form)
    call = {"data": {"Name": "x", "N": "2.50", "R": "b", "C": ["a"]}, "query": {"q": "1"}}

    draft = await mcp_place.call("run_workflow", id=workflow_id, **call)
    tested = await mcp_place.call("run_workflow", id=workflow_id, **call, pinData={"Echo": [{"a": 1}]})
    wrong = await mcp_place.refused("run_workflow", id=workflow_id, data={"Nome": "x"})
    file = await mcp_place.refused("run_workflow", id=workflow_id, data={"F": "x"})
    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {})
    published = await got(place, await mcp_place.call("run_workflow", id=workflow_id, **call))

    for ran in (draft, tested):
        item = await got(place, ran)
        other = dict.fromkeys(("submittedAt", "formMode"), "any")
        assert {**published, **item, **other} == {**published, **other}
        assert item.keys() >= published.keys() - {"submittedAt"}
    assert "the form's fields are" in wrong.message
    assert "'F' is made of what the page sends" in file.message


@only_where_there_is("any-trigger")
async def test_what_a_draft_cannot_be_given_is_refused(mcp_place: Place) -> None:
    manual = await drafted(mcp_place, trigger("Go", "manualTrigger", 1))
    chat = await drafted(mcp_place, trigger("Chat", CHAT, 1.1, options={}))
    several = hook(multipleMethods=True, httpMethod=["GET", "POST"])
    methods = await drafted(mcp_place, several)
    post = await drafted(mcp_place, hook(httpMethod="POST"))
    pins: JsonObject = {"pinData": {"Hook": [{"body": {}}]}}

    refused = mcp_place.refused
    data = await refused("run_workflow", id=manual, data={"a": 1})
    query = await refused("run_workflow", id=manual, query={"a": 1}, pinData={"Echo": [{}]})
    more = await refused("run_workflow", id=chat, data={"chatInput": "x", "user": "Ann"})
    second = await refused("run_workflow", id=methods, method="POST")
    which = await refused("run_workflow", id=methods)
    twice = await refused("run_workflow", id=post, data={"a": 1}, **pins)
    text = await refused("run_workflow", id=post, data={"a": 1}, headers={"Content-Type": "text/plain"})
    nested = await refused("run_workflow", id=post, query={"a[b]": "1"})
    login = await refused("run_workflow", id=post, authentication="Hook login")
    surplus = await refused("run_workflow", id=post, pathParameters={"id": "7"})

    assert "the manual trigger 'Go' takes nothing in a run of the draft" in data.message
    assert "pinData" in str(data.hint)
    assert "the manual trigger 'Go' takes only data in a run of the draft" in query.message
    assert "takes only chatInput" in more.message
    assert "it is GET, the first of them" in second.message
    assert "The webhook takes GET, POST" in which.message
    assert "takes nothing beside its own pinData" in twice.message
    assert "takes JSON or fields as its Content-Type" in text.message
    assert "takes 'a[b]' apart" in nested.message
    assert "asks for no login" in login.message
    assert "the path has no parameters" in surplus.message


@only_where_there_is("any-trigger")
async def test_data_are_what_a_manual_trigger_gives_beside_pinned_data(mcp_place: Place, place: Place) -> None:
    workflow_id = await drafted(mcp_place, trigger("Go", "manualTrigger", 1))

    ran = await mcp_place.call("run_workflow", id=workflow_id, data={"a": 1}, pinData={"Echo": [{"x": 7}]})

    assert await got(place, ran) == {"a": 1}


@only_where_there_is("any-trigger")
async def test_a_draft_runs_on_when_nobody_waits_for_it(mcp_place: Place, place: Place) -> None:
    slow = {**ECHO, "name": "Slow", "type": "n8n-nodes-base.wait", "typeVersion": 1.1}
    slow |= {"parameters": {"amount": 6, "unit": "seconds"}}
    workflow_id = await drafted(mcp_place, hook(httpMethod="POST"), last=slow)

    for arguments in ({"wait": False}, {"waitSeconds": 2}):
        ran = await mcp_place.call("run_workflow", id=workflow_id, data=arguments, **arguments)

        assert ran["execution"]["status"] in ("running", "waiting")
        ended = await eventually(
            partial(place.details, ran["execution"]["id"]), lambda one: bool(one["status"] == "success")
        )
        assert (await got(place, {**ran, "execution": ended}))["body"] == arguments


@only_where_there_is("any-trigger")
async def test_a_draft_whose_runs_are_not_stored_says_so(mcp_place: Place) -> None:
    unstored = {**ALLOWED, "saveManualExecutions": False}
    for start in (hook(httpMethod="POST"), trigger("Go", "manualTrigger", 1)):
        workflow_id = await workflow_of(mcp_place, start, published=False, settings=unstored)

        ran = await mcp_place.box.call("run_workflow", {"id": workflow_id, "waitSeconds": 5})

        assert "stores no runs of drafts (saveManualExecutions)" in str(ran.content)


@only_where_there_is("any-trigger")
async def test_which_trigger_ran_and_which_did_not_is_in_the_answer(mcp_place: Place) -> None:
    interval = {"interval": [{"field": "days"}]}
    others = (trigger("Daily", "scheduleTrigger", 1.2, rule=interval), trigger("Go", "manualTrigger", 1))
    workflow_id = await workflow_of(mcp_place, hook(httpMethod="POST"), *others, settings=ALLOWED)

    chosen = await mcp_place.call("run_workflow", id=workflow_id)
    named = await mcp_place.call("run_workflow", id=workflow_id, trigger="Go")

    assert (chosen["trigger"], chosen["otherTriggers"]) == ("Hook", ["Daily", "Go"])
    assert (named["trigger"], "otherTriggers" in named) == ("Go", False)


@only_where_there_is("any-trigger")
async def test_data_that_are_pinned_in_the_workflow_are_named(mcp_place: Place, place: Place) -> None:
    workflow_id = await drafted(mcp_place, hook(), pinData={"Echo": [{"json": {"saved": 1}}]})

    ran = await mcp_place.call("run_workflow", id=workflow_id)

    assert ran["pinned"] == ["Echo"]
