"""n8n's own MCP server: what is sent to it, what is made of its answers, and what happens when it fails."""

from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest
import structlog.testing

from .wired import Answers, bench

TOKEN: Final = "mcp-token-nobody-sees"
SECRET: Final = "s3cret-value-nobody-sees"
FOUND: Final = """## "mail"
Found 1 nodes:

- n8n-nodes-base.emailSend
  Display Name: Send Email
  Version: 2.1
  Description: Sends an email
  Discriminators:
    operation:
      - send
      - sendAndWait
"""


def answering(result: Any, *, status: int = 200, stream: bool = True) -> Answers:
    """The MCP server answers every call with this result; all else goes to the sandbox."""

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/mcp-server/http":
            return None
        message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})
        body = b"event: message\ndata: " + message + b"\n\n" if stream else message
        kind = "text/event-stream" if stream else "application/json"
        return httpx2.Response(status, content=body, headers={"content-type": kind})

    return answer


def structured(**content: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "x"}], "structuredContent": content}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_asks_the_instance_with_the_token(tmp_path: Path, stream: bool) -> None:
    async with bench(tmp_path, answering(structured(results=FOUND), stream=stream), N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("search_nodes", query="mail")

        asked = next(one for one in n8n.wire.requests if one.url.path == "/mcp-server/http")
        assert asked.headers["authorization"] == f"Bearer {TOKEN}"
        assert "x-n8n-api-key" not in asked.headers
        row = {"type": "n8n-nodes-base.emailSend", "title": "Send Email", "description": "Sends an email"}
        assert found["nodes"] == [row | {"version": 2.1, "operations": ["send", "sendAndWait"]}]
        assert found["source"] == "n8n's own MCP endpoint"


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(answering({}, status=401), id="a wrong token"),
        pytest.param(answering({"isError": True, "content": []}), id="a failure"),
        pytest.param(answering("nonsense"), id="nonsense"),
    ],
)
async def test_where_it_fails_the_next_source_answers_and_nothing_secret_is_logged(
    tmp_path: Path, answers: Answers
) -> None:
    with structlog.testing.capture_logs() as logged:
        async with bench(tmp_path, answers, N8N_MCP_TOKEN=TOKEN) as n8n:
            found = await n8n.data("search_nodes", query="code")

    assert found["source"].startswith("the nodes in this instance's own workflows")
    assert found["nodes"][0]["type"] == "n8n-nodes-base.code"
    assert TOKEN not in str(logged)


async def test_a_run_that_the_workflow_does_not_allow_says_how_to_allow_it(tmp_path: Path) -> None:
    reason = "Workflow is not available in MCP. Enable MCP access."
    answers = answering(structured(executionId=None, status="error", error=reason))
    async with bench(tmp_path, answers, N8N_MCP_TOKEN=TOKEN) as n8n:
        rows = (await n8n.data("list_workflows", limit=250))["workflows"]
        manual = next(one["id"] for one in rows if one["name"].startswith("R "))
        refused = await n8n.call("run_workflow", id=manual)

    assert refused.error is not None
    assert refused.error.message == f"Failed to run workflow: {reason}"
    assert "availableInMCP" in str(refused.error.hint)


async def test_pinned_data_needs_the_token(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        rows = (await n8n.data("list_workflows", limit=1))["workflows"]
        refused = await n8n.call("run_workflow", id=rows[0]["id"], pinData={})

    assert refused.error is not None
    assert refused.error.hint == "An operator has to set N8N_MCP_TOKEN."


async def test_secrets_of_a_credential_are_neither_logged_nor_answered(tmp_path: Path) -> None:
    def repeats(request: httpx2.Request) -> httpx2.Response | None:
        if request.method == "POST" and request.url.path.endswith("/credentials") and b"slackApi" in request.content:
            return httpx2.Response(400, json={"message": f"accessToken {SECRET} is wrong"})
        return None

    with structlog.testing.capture_logs() as logged:
        async with bench(tmp_path, repeats) as n8n:
            header = {"name": "X", "value": SECRET}
            made = await n8n.call("create_credential", name="a", type="httpHeaderAuth", data=header)
            refused = await n8n.call("create_credential", name="a", type="slackApi", data={"accessToken": SECRET})

    assert made.code == "OK"
    assert refused.error is not None
    assert refused.error.message == "Failed to create credential: accessToken *** is wrong"
    assert SECRET not in f"{made.content} {refused.content} {refused.error.hint} {logged}"
