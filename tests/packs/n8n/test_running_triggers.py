"""Which address a trigger is called at, and what is said of triggers that nobody can call."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import pytest

from dogubako.packs.n8n import trigger_calls

from .wired import Answers, bench

CHAT = "@n8n/n8n-nodes-langchain.chatTrigger"


def node(name: str, kind: str, version: float = 1, **parameters: Any) -> dict[str, Any]:
    full = kind if "." in kind else f"n8n-nodes-base.{kind}"
    return {"name": name, "type": full, "typeVersion": version, "parameters": parameters, "webhookId": "f0e1"}


def workflow(*nodes: dict[str, Any], published: bool = True) -> dict[str, Any]:
    live = {"nodes": list(nodes), "connections": {}} if published else None
    facts = {"id": "w1", "name": "W", "active": published, "versionId": "v1", "activeVersion": live}
    return {**facts, "nodes": list(nodes), "connections": {}, "settings": {}}


def having(found: dict[str, Any]) -> Answers:
    """An n8n with this workflow, that answers every call of it, and every call of its MCP endpoint."""
    started = {"executionId": "7", "status": "started"}
    brief = {"id": "7", "status": "success", "startedAt": "2026-11-15T12:00:00.000Z", "workflowId": "w1"}

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        path = request.url.path
        if path == "/api/v1/workflows/w1":
            return httpx2.Response(200, json=found)
        if path == "/api/v1/executions":
            return httpx2.Response(200, json={"data": [], "nextCursor": None})
        if path == "/api/v1/executions/7":
            return httpx2.Response(200, json=brief)
        if path == "/mcp-server/http":
            result = {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": started, "content": []}}
            return httpx2.Response(200, json=result)
        return httpx2.Response(200, json={"status": 200}) if path.startswith(("/webhook/", "/form/")) else None

    return answers


@pytest.mark.parametrize(
    ("version", "parameters", "path"),
    [
        pytest.param(1, {"path": "f1/ä"}, f"/webhook/f1/{quote('ä')}/n8n-form", id="the first version"),
        pytest.param(2, {"path": "f2"}, "/form/f2", id="the second version"),
        pytest.param(2.2, {"options": {"path": "/own/"}}, "/form/own", id="a path of its own"),
        pytest.param(2.2, {}, "/form/f0e1", id="no path"),
    ],
)
async def test_a_form_is_sent_to_the_address_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: float, parameters: dict[str, Any], path: str
) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 0.1)
    fields = {"formFields": {"values": [{"fieldLabel": "Ad"}]}}
    form = node("Form", "formTrigger", version, **fields, **parameters)

    async with bench(tmp_path, having(workflow(form))) as on:
        ran = await on.data("run_workflow", id="w1", data={"Ad": "A"})
        (sent,) = [one for one in on.wire.requests if one.method == "POST"]

    assert sent.url.raw_path.decode() == path
    assert b'name="field-0"\r\n\r\nA' in sent.content
    assert ran["response"]["status"] == 200


@pytest.mark.parametrize("published", [True, False])
async def test_a_chat_that_is_not_public_runs_over_the_mcp_endpoint(tmp_path: Path, published: bool) -> None:
    found = workflow(node("Chat", CHAT, 1.1, options={}), published=published)

    async with bench(tmp_path, having(found), N8N_MCP_TOKEN="mcp-token-nobody-sees") as on:
        ran = await on.data("run_workflow", id="w1", data={"chatInput": "x"})
        (sent,) = [one for one in on.wire.requests if one.method == "POST"]

    asked = msgspec.json.decode(sent.content)["params"]["arguments"]
    assert (sent.url.path, asked["triggerNodeName"]) == ("/mcp-server/http", "Chat")
    assert asked["inputs"] == {"chatInput": "x"}
    assert (ran["execution"]["id"], ran["ran"]) == ("7", "draft")


async def test_a_chat_that_is_not_public_needs_the_token_and_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path, having(workflow(node("Chat", CHAT, 1.1, options={})))) as on:
        refused = (await on.call("run_workflow", id="w1", data={"chatInput": "x"})).error

    assert refused is not None
    assert refused.message == "Invalid value for parameter trigger: the chat of 'Chat' is not public"
    assert "N8N_MCP_TOKEN" in str(refused.hint)


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        pytest.param([node("Daily", "scheduleTrigger")], "nobody start its trigger 'Daily'", id="beside a schedule"),
        pytest.param([], "all its triggers are disabled", id="alone"),
    ],
)
async def test_a_webhook_that_is_there_and_disabled_is_to_be_switched_on(
    tmp_path: Path, others: list[dict[str, Any]], reason: str
) -> None:
    hook = node("Hook", "webhook", 2, path="h") | {"disabled": True}

    async with bench(tmp_path, having(workflow(hook, *others))) as on:
        refused = (await on.call("run_workflow", id="w1")).error

    assert refused is not None
    assert reason in refused.message
    assert "Its webhook 'Hook' is disabled. Switch it on with update_workflow(" in str(refused.hint)
    assert "Add a Webhook" not in str(refused.hint)


@pytest.mark.parametrize("others", [[node("Daily", "scheduleTrigger")], []])
async def test_where_there_is_none_a_webhook_is_to_be_added(tmp_path: Path, others: list[dict[str, Any]]) -> None:
    async with bench(tmp_path, having(workflow(*others, node("Set", "set")))) as on:
        refused = (await on.call("run_workflow", id="w1")).error

    assert refused is not None
    assert "Add a Webhook node as its trigger." in str(refused.hint)
