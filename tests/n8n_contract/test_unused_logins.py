"""Credentials that a node has and n8n does not use, because its authentication is none."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually

CREDENTIALS: Final = {
    "httpBasicAuth": {"user": "anna", "password": "a-password-of-anna"},
    "httpHeaderAuth": {"name": "X-N8N-API-KEY", "value": "to be filled in"},
}


def node(kind: str, version: float, credential: JsonObject | None, **parameters: Any) -> JsonObject:
    made: JsonObject = {"name": kind, "type": f"n8n-nodes-base.{kind}", "typeVersion": version, "position": [0, 0]}
    if credential:
        made["credentials"] = {credential["type"]: {"id": credential["id"], "name": credential["name"]}}
    return {**made, "parameters": parameters}


def hook(credential: JsonObject | None, **parameters: Any) -> JsonObject:
    settings = {"path": uuid4().hex, "httpMethod": "POST", "responseMode": "lastNode", "options": {}, **parameters}
    return {**node("webhook", 2, credential, **settings), "webhookId": str(uuid4())}


async def new_credential(place: Place, kind: str, **fields: str) -> JsonObject:
    data = {**CREDENTIALS[kind], **fields}
    made: JsonObject = await place.call("create_credential", name=f"login {uuid4().hex[:6]}", type=kind, data=data)
    return made


async def warned(place: Place, *nodes: JsonObject) -> list[str]:
    connections = {"webhook": {"main": [[{"node": one["name"], "type": "main", "index": 0} for one in nodes[1:]]]}}
    found = await place.call("validate_workflow", nodes=list(nodes), connections=connections)
    return [one["message"] for one in found["warnings"] if one["problem"] == "ignoredCredential"]


async def test_a_login_that_n8n_ignores_is_told(place: Place) -> None:
    basic = await new_credential(place, "httpBasicAuth")
    url = {"url": "https://example.com", "options": {}}
    general = {"authentication": "genericCredentialType", "genericAuthType": "httpBasicAuth"}

    assert await warned(place, hook(basic)) == [
        "Anybody can call it: n8n ignores the credential until 'authentication' is 'basicAuth'."
    ]
    assert await warned(place, hook(basic, authentication="basicAuth")) == []
    assert await warned(place, hook(None)) == []
    assert await warned(place, hook(None), node("httpRequest", 4.2, basic, **url)) == [
        "The request has no login: n8n ignores the credential until 'authentication' is 'genericCredentialType' "
        "and 'genericAuthType' 'httpBasicAuth'."
    ]
    assert await warned(place, hook(None), node("httpRequest", 4.2, basic, **url, **general)) == []


async def answered(place: Place, *nodes: JsonObject) -> tuple[int, Any]:
    """What a new workflow answers to a call without a login."""
    connections = {"webhook": {"main": [[{"node": one["name"], "type": "main", "index": 0} for one in nodes[1:]]]}}
    made = await place.call("create_workflow", name="Logins", nodes=list(nodes), connections=connections)
    await place.call("activate_workflow", id=made["id"])
    path = f"/webhook/{nodes[0]['parameters']['path']}"
    return await eventually(lambda: place.n8n.ask("POST", path, {}), lambda answer: answer[0] != 404)


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("authentication", ["none", "basicAuth"])
async def test_a_webhook_with_a_credential_and_no_authentication_is_open(place: Place, authentication: str) -> None:
    basic = await new_credential(place, "httpBasicAuth")

    status, _ = await answered(place, hook(basic, authentication=authentication), node("noOp", 1, None))

    assert status == (200 if authentication == "none" else 401)


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("authentication", ["none", "genericCredentialType"])
async def test_a_request_with_a_credential_and_no_authentication_has_no_login(
    place: Place, authentication: str
) -> None:
    client = place.n8n.client
    header = await new_credential(place, "httpHeaderAuth", value=client.headers["X-N8N-API-KEY"])
    chosen = {"authentication": authentication, "genericAuthType": "httpHeaderAuth"}
    address = str(client.base_url).rstrip("/") + "/api/v1/tags"
    request = node("httpRequest", 4.2, header, url=address, options={}, **chosen)

    status, _ = await answered(place, hook(None), request)

    assert status == (500 if authentication == "none" else 200)
