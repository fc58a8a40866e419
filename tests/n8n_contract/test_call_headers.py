"""Headers of a webhook's call: sent once, refused where HTTP cannot carry them, and not shown where they are logins."""

import base64
import json
from typing import Any, Final

import pytest

from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_triggers import ECHO, hook, trigger, workflow_of

TOKEN: Final = "my-own-token-4711"


def set_node(name: str, **fields: str) -> dict[str, Any]:
    rows = [{"id": key, "name": key, "value": value, "type": "string"} for key, value in fields.items()]
    return {**ECHO, "name": name, "parameters": {"assignments": {"assignments": rows}, "options": {}}}


async def hooked(place: Place, **options: Any) -> str:
    start = hook(httpMethod="POST")
    start["parameters"]["options"] = options
    return await workflow_of(place, start)


@only_where_there_is("any-trigger")
async def test_a_login_of_the_caller_is_shown_in_no_view_of_its_execution(place: Place) -> None:
    copied = set_node("Copy", token="={{ $json.headers.authorization.split(' ')[1] }}", shop="={{ $json.body.shop }}")
    workflow_id = await workflow_of(place, hook(httpMethod="POST"), last=copied)
    headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": "sid=0a1b2c3d4e", "X-Api-Key": "k1", "X-Shop": "tokyo"}

    ran = await place.call("run_workflow", id=workflow_id, headers=headers, data={"shop": "tokyo"})
    number = ran["execution"]["id"]
    asked: dict[str, dict[str, Any]] = {"get_execution_by_node": {"nodeName": "Hook"}, "get_execution": {}}
    views = [
        await place.call(tool, id=number, raw=raw, **more) for tool, more in asked.items() for raw in (False, True)
    ]
    views += [await place.call("get_execution_by_node", id=number, nodeName="Copy")]
    views += [await place.call("diagnose_execution", id=number, raw=raw) for raw in (False, True)]

    assert ran["response"]["body"] == {"token": "***", "shop": "tokyo"}
    shown = views[0]["output"]["items"][0]["json"]["headers"]
    assert (shown["authorization"], shown["cookie"], shown["x-api-key"], shown["x-shop"]) == ("***",) * 3 + ("tokyo",)
    assert views[4]["output"]["items"][0]["json"] == {"token": "***", "shop": "tokyo"}
    for view in views:
        assert not [one for one in (TOKEN, "0a1b2c3d4e") if one in json.dumps(view)]


@only_where_there_is("any-trigger")
async def test_the_header_that_a_webhook_asks_for_is_shown_in_no_view(place: Place) -> None:
    data = {"name": "X-Schluessel", "value": TOKEN}
    made = await place.n8n.told("POST", "credentials", {"name": "Header login", "type": "httpHeaderAuth", "data": data})
    start = hook(httpMethod="POST", authentication="headerAuth")
    start["credentials"] = {"httpHeaderAuth": {"id": made["id"], "name": made["name"]}}
    copied = set_node("Copy", key="={{ $json.headers['x-schluessel'] }}", shop="={{ $json.body.shop }}")
    workflow_id = await workflow_of(place, start, last=copied)

    ran = await place.call("run_workflow", id=workflow_id, headers={"X-Schluessel": TOKEN}, data={"shop": "tokyo"})
    number = ran["execution"]["id"]
    node = await place.call("get_execution_by_node", id=number, nodeName="Hook")
    views = [await place.call("get_execution_by_node", id=number, nodeName="Copy"), ran]
    views += [await place.call("get_execution", id=number, raw=raw) for raw in (False, True)]
    views += [await place.call("diagnose_execution", id=number, raw=raw) for raw in (False, True)]

    shown = node["output"]["items"][0]["json"]["headers"]
    assert (shown["x-schluessel"], shown["content-type"], "***" in shown["host"]) == ("***", "application/json", False)
    assert [key for key, value in shown.items() if value == "***"] == ["x-schluessel"]
    assert views[0]["output"]["items"][0]["json"] == {"key": "***", "shop": "tokyo"}
    for view in (node, *views):
        assert TOKEN not in json.dumps(view)


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("word", ["true", "order", "tokyo-shop", "application/json", "monday"])
async def test_an_everyday_word_in_a_header_hides_nothing_of_the_answer(place: Place, word: str) -> None:
    workflow_id = await workflow_of(place, hook(httpMethod="POST"), last=set_node("Say", say=f"it is {word}"))
    headers = {"X-Flag": word, "X-Auth": word} if word != "tokyo-shop" else {"X-Flag": word}

    ran = await place.call("run_workflow", id=workflow_id, headers=headers)

    assert ran["response"]["body"] == {"say": f"it is {word}"}


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("name", ["Content-Type", "content-type", "CONTENT-TYPE"])
async def test_the_content_type_is_that_of_the_caller(place: Place, name: str) -> None:
    workflow_id = await hooked(place)
    data = {"a": "x y", "n": 1}

    bodies: dict[str, Any] = {}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"):
        ran = await place.call("run_workflow", id=workflow_id, data=data, headers={name: kind})
        received = ran["response"]["body"]["got"]
        assert received["headers"]["content-type"].startswith(kind)
        bodies[kind] = received["body"]

    assert json.loads(bodies["text/plain"]) == data
    assert bodies["application/x-www-form-urlencoded"] == bodies["multipart/form-data"] == {"a": "x y", "n": "1"}
    assert bodies["application/json"] == data


@only_where_there_is("any-trigger")
async def test_a_refusal_is_told_in_the_words_of_n8n(place: Place) -> None:
    address = await place.refused("run_workflow", id=await hooked(place, ipWhitelist="10.0.0.1"))
    robots = await hooked(place, ignoreBots=True)
    robot = await place.refused("run_workflow", id=robots)
    person = await place.call("run_workflow", id=robots, headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64)"})
    fields = {"formTitle": "T", "formFields": {"values": [{"fieldLabel": "A"}]}, "options": {"ipWhitelist": "10.0.0.1"}}
    form = await place.refused("run_workflow", id=await workflow_of(place, trigger("F", "formTrigger", 2.2, **fields)))

    assert "refused the call with status 403 (IP is not allowed to access the webhook!)" in address.message
    assert "ipWhitelist" in str(address.hint)
    assert "login" not in f"{address.message} {address.hint} {robot.message} {robot.hint} {form.hint}"
    assert "refused the call with status 403" in robot.message
    assert "ignoreBots" in str(robot.hint)
    assert person["execution"]["status"] == "success"
    assert "IP is not allowed to access this form!" in form.message


@only_where_there_is("any-trigger")
async def test_a_workflow_that_answers_403_and_stores_nothing_has_refused_no_login(place: Place) -> None:
    answer = {"respondWith": "json", "responseBody": '{"no": 1}', "options": {"responseCode": 403}}
    respond = {
        **ECHO,
        "name": "No",
        "type": "n8n-nodes-base.respondToWebhook",
        "typeVersion": 1.1,
        "parameters": answer,
    }
    start = hook(httpMethod="POST")
    start["parameters"]["responseMode"] = "responseNode"
    quiet = {"saveDataSuccessExecution": "none"}

    ran = await place.call("run_workflow", id=await workflow_of(place, start, last=respond, settings=quiet))

    assert (ran["response"], ran["execution"]) == ({"status": 403, "body": {"no": 1}}, None)


@only_where_there_is("any-trigger")
async def test_headers_that_cannot_be_sent_are_refused_before_the_call(place: Place) -> None:
    workflow_id = await hooked(place)
    reserved = ("Content-Length", "host", "Transfer-Encoding", "Connection", "Accept-Encoding", "x-dogubako-call")
    wrong: list[dict[str, str]] = [{name: "1"} for name in reserved]
    wrong += [{"X-A": value} for value in ("日本", "é", "a\r\nX-B: c", "\x01", "\x7f", " a", "a ")]
    wrong += [{"": "x"}, {"X A": "x"}, {"X-A": "1", "x-a": "2"}]

    for headers in wrong:
        error = await place.refused("run_workflow", id=workflow_id, headers=headers)
        assert (error.code, error.message.split(":")[0]) == ("VALIDATION_ERROR", "Invalid value for parameter headers")
    sent = {"X-Empty": "", "X-Tab": "a\tb", "X-All": "!#~ {}"}
    ran = await place.call("run_workflow", id=workflow_id, headers=sent)

    listed = await place.n8n.told("GET", "executions", params={"workflowId": workflow_id})
    assert len(listed["data"]) == 1
    received = ran["response"]["body"]["got"]["headers"]
    assert {name: received[name.lower()] for name in sent} == sent


@only_where_there_is("any-trigger")
async def test_a_login_given_in_any_case_is_sent_once(place: Place) -> None:
    data = {"user": "ann", "password": "of-the-caller-1"}
    made = await place.n8n.told("POST", "credentials", {"name": "Own login", "type": "httpBasicAuth", "data": data})
    start = hook(httpMethod="POST", authentication="basicAuth")
    start["credentials"] = {"httpBasicAuth": {"id": made["id"], "name": made["name"]}}
    workflow_id = await workflow_of(place, start)
    login = base64.b64encode(b"ann:of-the-caller-1").decode()

    ran = await place.call("run_workflow", id=workflow_id, headers={"AUTHORIZATION": f"Basic {login}"})

    assert ran["execution"]["status"] == "success"
    assert ran["response"]["body"]["got"]["headers"]["authorization"] == "***"


@only_where_there_is("any-trigger")
async def test_a_header_that_the_named_login_gives_as_well_is_refused(mcp_place: Place, place: Place) -> None:
    workflow_id = await hooked(place)
    both = {"authentication": "Hook login", "headers": {"authorization": f"Bearer {TOKEN}"}}

    error = await mcp_place.refused("run_workflow", id=workflow_id, **both)

    assert (error.code, "authentication gives the same header" in error.message) == ("VALIDATION_ERROR", True)
