"""Values that n8n saves and publishes, and on which it fails when it runs the node, whatever the data is."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually

BASE: Final = "n8n-nodes-base."


def node(name: str, kind: str, version: float, **parameters: Any) -> JsonObject:
    return {"name": name, "type": BASE + kind, "typeVersion": version, "position": [0, 0], "parameters": parameters}


def hook() -> JsonObject:
    made = node("Hook", "webhook", 2, path=uuid4().hex, httpMethod="POST", responseMode="lastNode", options={})
    return {**made, "webhookId": str(uuid4())}


def condition(kind: str, operation: str, left: Any, right: Any, *, loose: bool = False, **operator: Any) -> JsonObject:
    options = {"version": 2, "caseSensitive": True, "typeValidation": "loose" if loose else "strict", "leftValue": ""}
    row = {"id": "1", "leftValue": left, "rightValue": right}
    row["operator"] = {"type": kind, "operation": operation, **operator}
    return node("It", "if", 2.2, conditions={"options": options, "combinator": "and", "conditions": [row]}, options={})


def field(kind: str, value: Any, **options: Any) -> JsonObject:
    rows = [{"id": "1", "name": "n", "type": kind, "value": value}]
    return node("It", "set", 3.4, assignments={"assignments": rows}, options=options)


def request(url: str, version: float = 4.2, **parameters: Any) -> JsonObject:
    return node("It", "httpRequest", version, url=url, **parameters, options={})


def code(text: str, mode: str = "runOnceForAllItems") -> JsonObject:
    return node("It", "code", 2, jsCode=text, mode=mode)


EACH: Final = "runOnceForEachItem"
BASIC: Final[JsonObject] = {"authentication": "genericCredentialType", "genericAuthType": "httpBasicAuth"}
CHOSEN: Final[JsonObject] = {"authentication": "predefinedCredentialType", "nodeCredentialType": "slackApi"}
# The node, and the place of its mistake.
WRONG: Final[dict[str, tuple[JsonObject, str]]] = {
    "unary without singleValue": (condition("boolean", "true", "={{ true }}", ""), "rightValue"),
    "existence of a number": (condition("number", "exists", "={{ 1 }}", ""), "rightValue"),
    "empty list, converted": (condition("array", "notEmpty", "={{ [1] }}", "", loose=True), "rightValue"),
    "existence of a date": (condition("dateTime", "exists", "={{ $now }}", ""), "rightValue"),
    "length without rightType": (condition("array", "lengthGt", "={{ [1] }}", 0), "rightValue"),
    "contains without rightType": (condition("array", "contains", "={{ ['a'] }}", "a"), "rightValue"),
    "text for a number": (condition("number", "equals", "={{ 5 }}", "abc"), "rightValue"),
    "text for a number, converted": (condition("number", "equals", "={{ 5 }}", "abc", loose=True), "rightValue"),
    "number as a text": (condition("number", "equals", "={{ 5 }}", "5"), "rightValue"),
    "left side": (condition("number", "equals", "abc", 5), "leftValue"),
    "number for a text": (condition("string", "equals", "={{ '5' }}", 5), "rightValue"),
    "field of type number": (field("number", "abc"), "value"),
    "field of type number, decimal comma": (field("number", "1,5"), "value"),
    "field of type boolean": (field("boolean", "yes"), "value"),
    "field of type boolean, empty": (field("boolean", ""), "value"),
    "field of type array": (field("array", "a, b"), "value"),
    "field of type object": (field("object", "[1]"), "value"),
    "no scheme": (request("example.com/a"), "url"),
    "no scheme before an expression": (request("=example.com/{{ 1 }}"), "url"),
    "other scheme": (request("ftp://127.0.0.1"), "url"),
    "output that a switch does not have": (
        node("It", "switch", 3.2, mode="expression", numberOutputs=2, output="={{ 3 }}"),
        "output",
    ),
    "output behind the last": (node("It", "switch", 3, mode="expression", numberOutputs=2, output=2), "output"),
    "code with a list as json": (code("return [{ json: [1, 2] }];"), "jsCode"),
    "code with a text as json": (code("return { json: 'text' };"), "jsCode"),
    "code with a module": (code("const fs = require('fs');\nreturn [];"), "jsCode"),
    "code with items in each mode": (code("return { json: { n: items.length } };", EACH), "jsCode"),
    "code with a name that is not there": (code("return [{ json: { a: body.x } }];"), "jsCode"),
    "login without a credential": (request("http://127.0.0.1:9", **BASIC), "credentials"),
    "chosen login without a credential": (request("http://127.0.0.1:9", 4.4, **CHOSEN), "credentials"),
}
GOOD: Final[dict[str, JsonObject]] = {
    "unary": condition("boolean", "true", "={{ true }}", "", singleValue=True),
    "unary without a right side": condition("boolean", "true", "={{ true }}", None),
    "unary of a text": condition("string", "notEmpty", "={{ 'a' }}", ""),
    "unary, converted": condition("boolean", "true", "={{ true }}", "", loose=True),
    "length": condition("array", "lengthGt", "={{ [1] }}", 0, rightType="number"),
    "contains": condition("array", "contains", "={{ ['a'] }}", "a", rightType="any"),
    "number as a text, converted": condition("number", "equals", "={{ 5 }}", "5", loose=True),
    "number for a text, converted": condition("string", "equals", "={{ '5' }}", 5, loose=True),
    "number with spaces": field("number", " 12 "),
    "hexadecimal number": field("number", "0x1f"),
    "empty number": field("number", ""),
    "boolean as a text": field("boolean", "TRUE"),
    "boolean as a number": field("boolean", 1),
    "list in other quotation marks": field("array", "['a']"),
    "object that is no JSON": field("object", "{a: 1}"),
    "no object": field("object", "null"),
    "output that a switch has": node("It", "switch", 3.2, mode="expression", numberOutputs=2, output="={{ 0 }}"),
    "code with an object as json": code("return [{ json: { json: [1] } }];"),
    "code with its item": code("return { json: { a: item.json } };", EACH),
    "conversion that is not needed": field("number", "abc", ignoreConversionErrors=True),
}


def workflow(it: JsonObject) -> tuple[list[JsonObject], JsonObject]:
    return [hook(), it], {"Hook": {"main": [[{"node": "It", "type": "main", "index": 0}]]}}


async def told(place: Place, it: JsonObject) -> list[str]:
    nodes, connections = workflow(it)
    found = await place.call("validate_workflow", nodes=nodes, connections=connections)
    return [str(one["path"]).rpartition(".")[2] for one in (*found["errors"], *found["warnings"])]


async def outcome(place: Place, it: JsonObject) -> int:
    """The status of the webhook's answer."""
    nodes, connections = workflow(it)
    body = {"name": "A beginner's", "nodes": nodes, "connections": connections, "settings": {"executionOrder": "v1"}}
    made = await place.n8n.told("POST", "workflows", body)
    await place.n8n.told("POST", f"workflows/{made['id']}/publish", {})
    path = f"/webhook/{nodes[0]['parameters']['path']}"
    status, _ = await eventually(lambda: place.n8n.ask("POST", path, {}), lambda answer: answer[0] != 404)
    return status


@pytest.mark.parametrize("kind", WRONG)
async def test_a_value_on_which_n8n_fails_is_told(place: Place, kind: str) -> None:
    it, path = WRONG[kind]

    assert await told(place, it) == [path]
    assert await told(place, {**it, "disabled": True}) == []


@pytest.mark.parametrize("kind", GOOD)
async def test_a_value_that_n8n_takes_is_not(place: Place, kind: str) -> None:
    assert await told(place, GOOD[kind]) == []


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", WRONG)
async def test_n8n_fails_on_it(place: Place, kind: str) -> None:
    assert await outcome(place, WRONG[kind][0]) == 500


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", GOOD)
async def test_n8n_takes_it(place: Place, kind: str) -> None:
    assert await outcome(place, GOOD[kind]) == 200


@pytest.mark.parametrize("source", ["id", "list", None])
async def test_a_called_workflow_that_does_not_exist_is_told(place: Place, source: str | None) -> None:
    def calling(called_id: str) -> JsonObject:
        locator = {"__rl": True, "mode": source, "value": called_id} if source else called_id
        return node("It", "executeWorkflow", 1.2 if source else 1, workflowId=locator, options={})

    assert await told(place, calling("nobody")) == ["workflowId"]
    assert await told(place, calling(place.workflows["m-empty"])) == []
    assert await told(place, calling("={{ $json.id }}")) == []


async def test_an_edit_tells_only_of_a_call_that_it_makes(place: Place) -> None:
    call = node("It", "executeWorkflow", 1.2, workflowId={"__rl": True, "mode": "id", "value": "nobody"}, options={})
    nodes, connections = workflow(call)
    body = {"name": "Calls nobody", "nodes": nodes, "connections": connections, "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)
    other = {"op": "setParameter", "node": "It", "path": "workflowId.value", "value": "nobody-else"}
    note = {"op": "setNodeSettings", "node": "It", "settings": {"notes": "x"}}

    quiet = await place.call("edit_workflow", id=made["id"], operations=[note])
    warned = await place.call("edit_workflow", id=made["id"], operations=[other], dryRun=True)

    assert "warnings" not in quiet
    assert "There is no workflow with the id 'nobody-else'" in warned["warnings"][0]


async def test_an_unknown_order_of_execution_is_refused(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    def ordered(order: str) -> list[JsonObject]:
        return [{"op": "setWorkflowSettings", "settings": {"executionOrder": order}}]

    refused = await place.refused("edit_workflow", id=workflow_id, operations=ordered("v9"))

    assert "It has v0 and v1" in refused.message
    await place.call("edit_workflow", id=workflow_id, operations=ordered("v0"))
