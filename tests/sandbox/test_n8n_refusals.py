"""What n8n refuses, with the status and the very words of the real server."""

from typing import Any

import pytest

from dogubako_sandbox.n8n.app import NO_SCOPE_KEY
from tests.sandbox.n8n_client import N8n, body_of, workflow_id

PUBLISHED = workflow_id("a-success-100")
DRAFT = workflow_id("o-no-trigger")
NO_TRIGGER = (
    "Workflow cannot be activated because it has no trigger node. "
    "At least one trigger, webhook, or polling node is required."
)
STATUSES = "'canceled' | 'crashed' | 'error' | 'new' | 'running' | 'success' | 'unknown' | 'waiting'"


def permission(act: str) -> str:
    return f"You do not have permission to {act} this workflow. Ask the owner to share it with you."


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"X-N8N-API-KEY": ""}, id="no key"),
        pytest.param({"X-N8N-API-KEY": "wrong"}, id="a wrong key"),
        pytest.param({"X-N8N-API-KEY": "", "Authorization": "Bearer sandbox-key"}, id="the key as a bearer"),
    ],
)
async def test_without_the_key_nothing_is_shown(n8n: N8n, headers: dict[str, str]) -> None:
    assert await n8n.message("GET", "workflows", headers=headers) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "executions", id="executions"),
        pytest.param("GET", "executions/abc", id="before the id is looked at"),
        pytest.param("POST", "workflows", id="writing"),
        pytest.param("GET", "tags", id="tags"),
    ],
)
async def test_a_key_without_the_scope_is_forbidden(n8n: N8n, method: str, path: str) -> None:
    assert await n8n.message(method, path, headers={"X-N8N-API-KEY": NO_SCOPE_KEY}) == (403, "Forbidden")


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        pytest.param("GET", "workflows/nope", 404, "Not Found", id="workflow"),
        pytest.param("GET", "executions/999999", 404, "Not Found", id="execution"),
        pytest.param(
            "GET",
            "executions/abc",
            400,
            "request/params/executionId must be a positive integer",
            id="execution without a number",
        ),
        pytest.param("GET", "nope", 404, "not found", id="no such path"),
        pytest.param("GET", "source-control", 404, "not found", id="half a path"),
        pytest.param("PATCH", "workflows", 405, "PATCH method not allowed", id="no such method"),
        pytest.param("POST", f"workflows/{PUBLISHED}/execute", 405, "POST method not allowed", id="execute"),
        pytest.param("POST", f"workflows/{PUBLISHED}/run", 405, "POST method not allowed", id="run"),
        pytest.param("POST", "executions", 405, "POST method not allowed", id="new execution"),
        pytest.param("POST", "workflows/nope/activate", 404, permission("activate"), id="activate"),
        pytest.param("POST", "workflows/nope/publish", 404, permission("activate"), id="publish"),
        pytest.param("POST", "workflows/nope/deactivate", 404, permission("deactivate"), id="deactivate"),
        pytest.param("POST", "workflows/nope/unpublish", 404, permission("deactivate"), id="unpublish"),
        pytest.param("POST", "workflows/nope/archive", 404, "Workflow not found", id="archive"),
        pytest.param("DELETE", "workflows/nope", 404, "Not Found", id="delete workflow"),
        pytest.param("GET", "workflows/nope/tags", 404, "Not Found", id="tags of no workflow"),
        pytest.param("GET", f"workflows/{PUBLISHED}/nope", 404, "Version not found", id="version"),
        pytest.param(
            "DELETE",
            f"workflows/{PUBLISHED}",
            409,
            "Cannot delete a published workflow. Unpublish it before deleting.",
            id="delete published",
        ),
        pytest.param("POST", f"workflows/{DRAFT}/publish", 400, NO_TRIGGER, id="publish without trigger"),
        pytest.param("DELETE", "executions/999999", 404, "Not Found", id="delete execution"),
        pytest.param("POST", "executions/999999/stop", 404, "Failed to find execution to stop", id="stop"),
        pytest.param(
            "POST", "executions/9999/retry", 404, 'The execution with the ID "9999" does not exist.', id="retry"
        ),
        pytest.param(
            "GET",
            "executions?limit=abc",
            400,
            "request/query/limit Param `limit` must be a valid integer",
            id="limit is a word",
        ),
        pytest.param(
            "GET",
            "workflows?limit=-1",
            400,
            "request/query/limit Param `limit` must be a non-negative integer",
            id="limit below nothing",
        ),
        pytest.param("GET", "executions?cursor=garbage", 400, "An invalid cursor was provided", id="cursor"),
        pytest.param(
            "GET",
            "executions?status=foo",
            400,
            f"request/query/status Invalid enum value. Expected {STATUSES}, received 'foo'",
            id="status",
        ),
        pytest.param(
            "GET",
            "workflows?active=foo",
            400,
            "request/query/active Invalid enum value. Expected 'true' | 'false', received 'foo'",
            id="active",
        ),
        pytest.param(
            "GET", "executions?startedAfter=foo", 400, "request/query/startedAfter Invalid datetime", id="moment"
        ),
        pytest.param("GET", "credentials/schema/nope", 404, "Not Found", id="credential type"),
        pytest.param(
            "GET",
            "variables",
            403,
            "Your license does not allow for feat:variables. "
            "To enable feat:variables, please upgrade to a license that supports this feature.",
            id="no licence",
        ),
    ],
)
async def test_what_is_not_there_or_not_allowed(n8n: N8n, method: str, path: str, status: int, message: str) -> None:
    assert await n8n.message(method, path) == (status, message)


BAD_BODIES = [
    pytest.param({}, "request/body must have required property 'name'", id="empty"),
    pytest.param(body_of("m-empty", name=None), "request/body must have required property 'name'", id="no name"),
    pytest.param(
        body_of("m-empty", settings=None), "request/body must have required property 'settings'", id="no settings"
    ),
    pytest.param([], "request/body Expected object, received array", id="a list"),
    pytest.param(body_of("m-empty", foo=1), "request/body Unrecognized key(s) in object: 'foo'", id="extra key"),
    pytest.param(
        body_of("m-empty", foo=1, bar=2), "request/body Unrecognized key(s) in object: 'foo', 'bar'", id="two extra"
    ),
    pytest.param(body_of("m-empty", active=True), "request/body/active is read-only", id="active"),
    pytest.param(body_of("m-empty", tags=[]), "request/body/tags is read-only", id="tags"),
    pytest.param(body_of("m-empty", meta={}), "request/body/meta is read-only", id="meta"),
    pytest.param({"id": "2"}, "request/body/id is read-only", id="read-only before required"),
    pytest.param(
        body_of("m-empty", settings={"bogus": 1}),
        "request/body/settings Unrecognized key(s) in object: 'bogus'",
        id="extra setting",
    ),
    pytest.param(
        body_of("m-empty", settings={"saveManualExecutions": "yes"}),
        "request/body/settings/saveManualExecutions Expected boolean, received string",
        id="setting of a wrong type",
    ),
    pytest.param(
        body_of("m-empty", settings={"binaryMode": "both"}),
        "request/body/settings/binaryMode Invalid enum value. Expected 'separate' | 'combined', received 'both'",
        id="setting with an unknown word",
    ),
    pytest.param(body_of("m-empty", name=5), "request/body/name Expected string, received number", id="name"),
    pytest.param(body_of("m-empty", name=""), "Workflow name must be 1 to 128 characters long.", id="empty name"),
    pytest.param(body_of("m-empty", nodes="x"), "request/body/nodes Expected array, received string", id="nodes"),
    pytest.param(body_of("m-empty", connections=[]), "request/body/connections must be object", id="connections"),
    pytest.param(
        body_of("m-empty", nodes=["x"]), "request/body/nodes/0 Expected object, received string", id="node is a word"
    ),
    pytest.param(
        body_of("m-empty", nodes=[{"name": "x", "foo": 1}]),
        "request/body/nodes/0 Unrecognized key(s) in object: 'foo'",
        id="extra key in a node",
    ),
    pytest.param(
        body_of("m-empty", nodes=[{"name": "x"}]),
        "Workflow structure is invalid. nodes[0].type (invalid_type): Required; "
        "nodes[0].position (invalid_type): Required",
        id="node without type",
    ),
    pytest.param(
        body_of("m-empty", nodes=[{"name": "W", "type": "n8n-nodes-base.noOp", "position": [0, 0]}] * 2),
        'Workflow structure is invalid. nodes[1].name (duplicate_node_name): Duplicate node name "W"',
        id="two nodes of one name",
    ),
    pytest.param(
        body_of("m-empty", connections={"Nope": {"main": [[{"node": "Zip", "type": "main", "index": 0}]]}}),
        "Workflow structure is invalid. connections.Nope (unknown_connection_source): "
        'Connection source "Nope" does not reference an existing node; '
        "connections.Nope.main[0][0].node (unknown_connection_target): "
        'Connection target "Zip" does not reference an existing node',
        id="connection to nowhere",
    ),
]


@pytest.mark.parametrize(("body", "message"), BAD_BODIES)
@pytest.mark.parametrize(
    ("method", "path"),
    [pytest.param("POST", "workflows", id="POST"), pytest.param("PUT", f"workflows/{PUBLISHED}", id="PUT")],
)
async def test_a_body_that_is_no_workflow(n8n: N8n, method: str, path: str, body: Any, message: str) -> None:
    assert await n8n.message(method, path, body) == (400, message)


async def test_only_an_update_takes_a_description(n8n: N8n) -> None:
    body = body_of("m-empty", description="new")

    assert (await n8n.told("PUT", f"workflows/{workflow_id('m-empty')}", body))["description"] == "new"
    refusal = "request/body Unrecognized key(s) in object: 'description'"
    assert await n8n.message("POST", "workflows", body) == (400, refusal)


async def test_what_was_just_got_cannot_be_put_back(n8n: N8n) -> None:
    got = await n8n.told("GET", f"workflows/{PUBLISHED}")

    assert await n8n.message("PUT", f"workflows/{PUBLISHED}", got) == (400, "request/body/id is read-only")


async def test_an_update_of_a_missing_workflow_speaks_of_permission(n8n: N8n) -> None:
    assert await n8n.message("PUT", "workflows/nope", body_of("m-empty")) == (404, permission("update"))


async def test_malformed_json_is_a_page_of_html(n8n: N8n) -> None:
    headers = {"content-type": "application/json", "X-N8N-API-KEY": ""}
    status, page = await n8n.ask("POST", "workflows", content=b"{oops", headers=headers)

    assert status == 500
    assert page.startswith("<!DOCTYPE html>")
    assert "Failed to parse request body" in page


@pytest.mark.parametrize(
    ("headers", "kind"),
    [pytest.param({"content-type": "text/plain"}, "text/plain", id="text"), pytest.param({}, "undefined", id="none")],
)
async def test_a_body_has_to_be_json(n8n: N8n, headers: dict[str, str], kind: str) -> None:
    answer = await n8n.message("POST", "workflows", content=b"x", headers=headers)

    assert answer == (415, f"unsupported media type {kind}")
