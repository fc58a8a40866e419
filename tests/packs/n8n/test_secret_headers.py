"""Which headers are secrets, and that no view of an execution shows them."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.contract.errors import ApiError
from dogubako.packs.n8n.call_headers import _SECRET_ENDS, caller_secrets, is_secret_header, masked, masked_error
from tests.sandbox.n8n_client import workflow_id

from .wired import bench

TOKEN = "a7Kd-93hf-qqpz-0042"


def execution(headers: dict[str, str]) -> dict[str, Any]:
    """A webhook whose next node fails and tells the token."""
    nodes = [
        {"name": "Hook", "type": "n8n-nodes-base.webhook", "parameters": {}},
        {"name": "Ask", "type": "n8n-nodes-base.httpRequest", "parameters": {}},
    ]
    error = {"message": f"401: the key {TOKEN} is unknown", "name": "NodeApiError"}
    item = {"json": {"headers": headers, "body": {"say": "tokens are enabled"}}}
    hook = {"startTime": 1, "executionTime": 1, "source": [], "data": {"main": [[item]]}, "executionStatus": "success"}
    ask = {"startTime": 2, "executionTime": 1, "source": [{"previousNode": "Hook"}], "error": error}
    result = {"runData": {"Hook": [hook], "Ask": [ask | {"executionStatus": "error"}]}, "error": error}
    links = {"Hook": {"main": [[{"node": "Ask", "type": "main", "index": 0}]]}}
    return {
        "id": "1",
        "status": "error",
        "mode": "webhook",
        "startedAt": "2026-11-15T12:00:00.000Z",
        "stoppedAt": "2026-11-15T12:00:01.000Z",
        "workflowId": "w1",
        "workflowData": {"id": "w1", "name": "W", "nodes": nodes, "connections": links},
        "data": {"resultData": result | {"lastNodeExecuted": "Ask"}},
    }


async def test_no_view_shows_the_login_that_a_caller_sent(tmp_path: Path) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "x-auth": "enabled", "x-shop": "tokyo", "x-api-key": "k1"}
    shown = execution(headers)

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(200, json=shown) if request.url.path == "/api/v1/executions/1" else None

    async with bench(tmp_path, answers) as on:
        node = await on.data("get_execution_by_node", id="1", nodeName="Hook")
        narrow = await on.data("get_execution_by_node", id="1", nodeName="Hook", fields=["headers.authorization"])
        views = [await on.data("get_execution_by_node", id="1", nodeName="Ask")]
        views += [await on.data("get_execution", id="1", raw=raw) for raw in (False, True)]
        views += [await on.data("diagnose_execution", id="1", raw=raw) for raw in (False, True)]

    (item,) = node["output"]["items"]
    hidden = dict.fromkeys(("authorization", "x-auth", "x-api-key"), "***")
    assert item["json"] == {"headers": hidden | {"x-shop": "tokyo"}, "body": {"say": "tokens are enabled"}}
    assert narrow["output"]["items"][0]["json"] == {"headers": {"authorization": "***"}}
    for view in views:
        assert TOKEN not in json.dumps(view)
    assert "401: the key *** is unknown" in json.dumps(views[1])


PROGRAMS = {"host": "n8n.example.com", "user-agent": "python-httpx2/2", "x-forwarded-for": "10.0.0.7", "accept": "*/*"}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        pytest.param("n8n-nodes-base.webhook", {"authentication": "headerAuth"}, id="a webhook"),
        pytest.param("@n8n/n8n-nodes-langchain.mcpTrigger", {"authentication": "headerAuth"}, id="another trigger"),
        pytest.param("n8n-nodes-base.wait", {"incomingAuthentication": "headerAuth"}, id="a node that waits"),
    ],
)
async def test_any_header_of_a_webhook_with_header_auth_may_be_its_login(
    tmp_path: Path, kind: str, settings: dict[str, str]
) -> None:
    shown = execution({**PROGRAMS, "x-key": TOKEN, "x-schluessel": "kurz", "x-word": "opensesame"})
    shown["workflowData"]["nodes"][0] |= {"type": kind, "parameters": settings}
    runs = shown["data"]["resultData"]["runData"]
    copied = {
        "json": {"headers": {"X-Schluessel": "kurz", "etag": "a1"}, "say": f"it was {TOKEN}", "word": "opensesame"}
    }
    runs["Copy"] = [runs["Hook"][0] | {"source": [{"previousNode": "Hook"}], "data": {"main": [[copied]]}}]

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(200, json=shown) if request.url.path == "/api/v1/executions/1" else None

    async with bench(tmp_path, answers) as on:
        node = await on.data("get_execution_by_node", id="1", nodeName="Hook")
        copy = await on.data("get_execution_by_node", id="1", nodeName="Copy")
        views = [await on.data("get_execution_by_node", id="1", nodeName="Ask")]
        views += [await on.data("get_execution", id="1", raw=raw) for raw in (False, True)]
        views += [await on.data("diagnose_execution", id="1", raw=raw) for raw in (False, True)]

    hidden = dict.fromkeys(("x-key", "x-schluessel", "x-word"), "***")
    assert node["output"]["items"][0]["json"]["headers"] == PROGRAMS | hidden
    expected = {"headers": {"X-Schluessel": "***", "etag": "a1"}, "say": "it was ***", "word": "***"}
    assert copy["output"]["items"][0]["json"] == expected
    for view in views:
        assert not [one for one in (TOKEN, '"kurz"') if one in json.dumps(view)]


async def test_what_is_still_to_run_shows_no_login_either(tmp_path: Path) -> None:
    """n8n shows the item of a running execution as the next thing to do."""
    shown = execution({})
    shown["workflowData"]["nodes"][0]["parameters"] = {"authentication": "headerAuth"}
    item = {"json": {"headers": {"x-key": TOKEN, "host": "n8n.example.com"}}}
    stack = [{"node": {"name": "Hook"}, "data": {"main": [[item]]}}]
    shown |= {"status": "running", "data": {"resultData": {}, "executionData": {"nodeExecutionStack": stack}}}

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(200, json=shown) if request.url.path == "/api/v1/executions/1" else None

    async with bench(tmp_path, answers) as on:
        raw = await on.data("get_execution", id="1", raw=True)

    planned = raw["data"]["executionData"]["nodeExecutionStack"][0]
    assert planned["data"]["main"][0][0]["json"] == {"headers": {"x-key": "***", "host": "n8n.example.com"}}


async def test_the_diagnosis_of_a_parent_hides_what_its_child_has_received(tmp_path: Path) -> None:
    parent = execution({"x-key": TOKEN})
    parent["workflowData"]["nodes"][0]["parameters"] = {"authentication": "headerAuth"}
    parent["workflowData"]["nodes"][1]["type"] = "n8n-nodes-base.executeWorkflow"
    parent["data"]["resultData"]["runData"]["Ask"][0]["error"] |= {"executionId": "2", "workflowId": "w2"}
    shown = {"1": parent, "2": execution({"x-key": TOKEN}) | {"id": "2", "workflowId": "w2"}}

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        found = shown.get(request.url.path.removeprefix("/api/v1/executions/"))
        return httpx2.Response(200, json=found) if found else None

    async with bench(tmp_path, answers) as on:
        report = await on.data("diagnose_execution", id="1")
        assert "/api/v1/executions/2" in on.wire.sent("GET")

    assert TOKEN not in json.dumps(report)


SECRETS = (
    "Authorization Proxy-Authorization Cookie Set-Cookie X-API-Key X-Auth-Token X-Gitlab-Token X-Webhook-Secret "
    "X-Hub-Signature apikey X-Session X-Amz-Security-Token Ocp-Apim-Subscription-Key"
)


@pytest.mark.parametrize("name", SECRETS.split())
def test_a_header_with_such_a_name_is_a_secret(name: str) -> None:
    assert is_secret_header(name)
    assert is_secret_header(name.lower())
    assert any(end in f'"{name.lower()}"'.encode() for end in _SECRET_ENDS)


@pytest.mark.parametrize("name", ["Accept", "Content-Type", "X-Shop", "Idempotency-Key", "X-Author", "X-Tokens-Left"])
def test_a_header_with_another_name_is_none(name: str) -> None:
    assert not is_secret_header(name)


def test_only_what_can_be_a_secret_is_hidden() -> None:
    everyday = {"X-Flag": "true", "X-Event": "order", "X-Auth": "enabled", "Accept": "application/json"}
    ids = {"X-Request-Id": "0af7651916cd43dd8448eb211c80319c", "X-Order": "order-2024-000001"}
    broken = {"Authorization": "Bearer undefined"}

    assert caller_secrets(everyday | ids | broken) == []
    assert caller_secrets({"X-Odd": "0af7651916cd43dd8448eb211c80319c"}) == ["0af7651916cd43dd8448eb211c80319c"]
    assert caller_secrets({"X-Odd": "opensesame"}, asks_for_login=True) == ["opensesame"]
    assert caller_secrets({"authorization": "Bearer abcdef"}) == ["Bearer abcdef", "abcdef"]
    assert "s3cret-word" in caller_secrets({"Authorization": "Basic YW5uOnMzY3JldC13b3Jk"})


def test_a_login_that_was_made_of_nothing_is_shown() -> None:
    headers = {"Authorization": "Bearer undefined", "X-Token": ""}

    assert masked({"headers": headers}, []) == {"headers": headers}


def test_an_error_repeats_not_even_a_short_secret() -> None:
    error = masked_error(ApiError("the password pw12 is too short", hint="secret-word-9"), ["pw12", "secret-word-9"])

    assert (error.message, error.hint) == ("the password *** is too short", "***")


async def test_a_login_that_http_cannot_carry_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = '[n8n.webhook_logins."Odd"]\nheader = "X-Key"\nvalue = "日本語の鍵"\n'
    (tmp_path / "dogubako.toml").write_text(login, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    async with bench(tmp_path) as on:
        result = await on.call("run_workflow", id=workflow_id("a-success-100"), authentication="Odd")

    assert "the login 'Odd' of the settings has a value that HTTP cannot carry" in str(result.error)
    assert "日本語" not in str(result.content)
