"""Nodes that are added with little said about them: the version, and the connection of a tool to an agent."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually

LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
BASE: Final = "n8n-nodes-base."
URL: Final = "http://127.0.0.1:9"


def node(name: str, kind: str, version: float = 1, **more: Any) -> JsonObject:
    kind = kind if "." in kind else BASE + kind
    return {"name": name, "type": kind, "typeVersion": version, "position": [0, 0], "parameters": {}, **more}


def link(source: str, target: str, kind: str = "main") -> JsonObject:
    return {source: {kind: [[{"node": target, "type": kind, "index": 0}]]}}


def hook() -> JsonObject:
    parameters = {"path": uuid4().hex, "httpMethod": "POST", "responseMode": "lastNode", "options": {}}
    return node("Webhook", "webhook", 2, parameters=parameters, webhookId=str(uuid4()))


def agent() -> JsonObject:
    return node("Agent", LANGCHAIN + "agent", 2.2, parameters={"promptType": "define", "text": "hi", "options": {}})


async def made(place: Place, *nodes: JsonObject, connections: JsonObject | None = None) -> str:
    body = {"name": "New nodes", "nodes": list(nodes), "connections": connections or {}, "settings": {}}
    return str((await place.n8n.told("POST", "workflows", body))["id"])


async def added(place: Place, kind: str) -> JsonObject:
    """The node that is saved when nothing but its type is given."""
    workflow_id = await made(place, node("Start", "manualTrigger"))
    operation = {"op": "addNode", "name": "New", "type": kind}
    await place.call("edit_workflow", id=workflow_id, operations=[operation], allowInvalid=True)
    nodes: list[JsonObject] = (await place.workflow(workflow_id))["nodes"]
    return next(one for one in nodes if one["name"] == "New")


@pytest.mark.parametrize("kind", ["set", "httpRequest", "merge", "httpRequestTool", LANGCHAIN + "chatTrigger", "noOp"])
async def test_a_node_gets_the_version_that_is_described(place: Place, kind: str) -> None:
    described = await place.call("describe_node", type=kind)

    assert (await added(place, kind))["typeVersion"] == described["version"]


@only_where_there_is("all-node-types")
@pytest.mark.parametrize(
    ("kind", "version"),
    [
        (LANGCHAIN + "agent", 3.1),
        (LANGCHAIN + "agentTool", 3),
        (LANGCHAIN + "chainLlm", 1.9),
        ("emailSend", 2.1),
        ("discord", 2),
        ("gmailTool", 2.2),
        ("dateTimeTool", 2),
        ("dataTableTool", 1.1),
    ],
)
async def test_other_types_get_their_newest_version_as_well(place: Place, kind: str, version: float) -> None:
    assert (await added(place, kind))["typeVersion"] == version


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_tool_is_connected_as_one(place: Place, at_once: bool) -> None:
    workflow_id = await made(place, hook(), agent(), connections=link("Webhook", "Agent"))
    tool = {"op": "addNode", "name": "Ask", "type": "httpRequestTool", "parameters": {"url": URL}}
    connected = {"op": "addConnection", "from": "Ask", "to": "Agent"}
    operations = [tool | {"to": "Agent"}] if at_once else [tool, connected]

    await place.call("edit_workflow", id=workflow_id, operations=operations)
    found = await place.call("validate_workflow", id=workflow_id)

    assert (await place.workflow(workflow_id))["connections"]["Ask"] == link("Ask", "Agent", "ai_tool")["Ask"]
    assert [one for one in (*found["errors"], *found["warnings"]) if one["node"] == "Ask"] == []


async def test_a_tool_takes_no_items(place: Place) -> None:
    workflow_id = await made(place, hook(), agent(), connections=link("Webhook", "Agent"))
    tool = {"op": "addNode", "name": "Ask", "type": "httpRequestTool", "from": "Webhook", "to": "Agent"}

    refused = await place.refused("edit_workflow", id=workflow_id, operations=[tool])

    assert "serves another one as ai_tool" in refused.message


async def test_a_tool_that_is_connected_as_a_step_is_told(place: Place) -> None:
    ask = node("Ask", "httpRequestTool", 4.2, parameters={"url": URL, "options": {}})
    links = {**link("Webhook", "Agent"), **link("Ask", "Agent")}

    found = await place.call("validate_workflow", nodes=[hook(), agent(), ask], connections=links)

    told = {one["problem"]: one["message"] for one in (*found["errors"], *found["warnings"]) if one["node"] == "Ask"}
    assert "connected as main: no agent can use it" in told["unknownOutput"]


async def test_a_node_that_is_no_tool_is_told(place: Place) -> None:
    wrong = [node("None", "setTool", 3.4), node("Step", "httpRequest", 4.2, parameters={"url": URL, "options": {}})]
    links = {**link("Webhook", "Agent"), **link("None", "Agent", "ai_tool"), **link("Step", "Agent", "ai_tool")}

    found = await place.call("validate_workflow", nodes=[hook(), agent(), *wrong], connections=links)

    errors = {one["node"]: one["message"] for one in found["errors"]}
    warnings = {one["node"]: one["message"] for one in found["warnings"]}
    assert "cannot use n8n-nodes-base.set as a tool" in errors["None"]
    assert "Its variant for agents has the type n8n-nodes-base.httpRequestTool" in warnings["Step"]


@only_where_there_is("all-node-types")
@pytest.mark.parametrize(("kind", "version"), [("setTool", 3.4), ("httpRequestTool", 1), ("dateTimeTool", 1)])
async def test_n8n_does_not_publish_what_is_no_tool(place: Place, kind: str, version: float) -> None:
    tool = node("Tool", kind, version)
    links = {**link("Webhook", "Agent"), **link("Tool", "Agent", "ai_tool")}
    workflow_id = await made(place, hook(), agent(), tool, connections=links)

    status, message = await place.n8n.message("POST", f"workflows/{workflow_id}/publish", {})
    found = await place.call("validate_workflow", id=workflow_id)

    assert (status, message) == (400, "Node cannot be used as a tool")
    assert "Tool" in [one["node"] for one in found["errors"]]


def going_on(on_error: str) -> tuple[list[JsonObject], JsonObject]:
    stop = node("Stop", "stopAndError", parameters={"errorMessage": "x"}, onError=on_error)
    reached = {"id": "1", "name": "reached", "type": "string", "value": "yes"}
    then = node("Next", "set", 3.4, parameters={"assignments": {"assignments": [reached]}, "options": {}})
    return [hook(), stop, then], {**link("Webhook", "Stop"), **link("Stop", "Next")}


@pytest.mark.parametrize("on_error", ["continueRegularOutput", "continueErrorOutput", "stopWorkflow"])
async def test_stop_and_error_has_an_output_when_it_goes_on(place: Place, on_error: str) -> None:
    nodes, connections = going_on(on_error)

    found = await place.call("validate_workflow", nodes=nodes, connections=connections)

    assert found["valid"] is (on_error != "stopWorkflow")


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("on_error", ["continueRegularOutput", "continueErrorOutput"])
async def test_n8n_follows_that_output(place: Place, on_error: str) -> None:
    nodes, connections = going_on(on_error)
    workflow_id = await made(place, *nodes, connections=connections)
    await place.n8n.told("POST", f"workflows/{workflow_id}/publish", {})
    path = nodes[0]["parameters"]["path"]

    status, body = await eventually(lambda: place.n8n.ask("POST", f"/webhook/{path}", {}), lambda one: one[0] != 404)

    assert (status, body) == (200, {"reached": "yes"})
