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


SWITCH: Final = """# TypeScript Type Definitions

```typescript
// No mode discriminator was given — definitions for all 2 modes of 'n8n-nodes-base.switch' follow.

// ── mode: expression ──
/** Write an expression */
export type SwitchV34ExpressionParams = {
  mode: 'expression';
    numberOutputs?: number;
};

// ── mode: all_rules ──
/** Build rules */
export type SwitchV34AllRulesParams = {
  /**
   * <patterns> how to build it </patterns>
   */
  mode: 'allRules';
/**
 * Routing Rules
 */
    rules?: string;
};
```
"""
CHOICES: Final = (
    "# Errors\n\nError: Node 'n8n-nodes-base.slack' requires resource and operation discriminators. "
    "Available resource (operations): message (post, send_and_wait); user_group (get_all)."
)


@pytest.mark.parametrize("parameter", [None, "rules"])
async def test_all_modes_of_a_node_are_described(tmp_path: Path, parameter: str | None) -> None:
    async with bench(tmp_path, answering(structured(definitions=SWITCH)), N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("describe_node", type="switch", parameter=parameter)

    assert "rules?: string" in found["definition"]
    assert "patterns" not in found["definition"]
    if parameter is None:
        assert found["definition"].startswith("// The node has 2 modes: expression, allRules")


AGENT: Final = """# TypeScript Type Definitions

```typescript
export interface AgentV3Params {
  text?: string;
}

export interface AgentV3SubnodeConfig {
  model: LanguageModelInstance | LanguageModelInstance[];
  memory?: MemoryInstance;
  /**
   * @displayOptions.show { hasOutputParser: [true] }
   */
  outputParser?: OutputParserInstance;
  /**
   * @displayOptions.show { mode: ["insert"] }
   */
  documentLoader: DocumentLoaderInstance;
  retriever: RetrieverInstance;
}
```
"""


async def test_the_sub_nodes_that_the_instance_requires_are_named(tmp_path: Path) -> None:
    async with bench(tmp_path, answering(structured(definitions=AGENT)), N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("describe_node", type="agent")

    assert found["needsConnected"] == ["ai_languageModel", 'ai_document [mode: ["insert"]]', "ai_retriever"]


async def test_resources_and_operations_have_the_names_that_a_workflow_needs(tmp_path: Path) -> None:
    async with bench(tmp_path, answering(structured(definitions=CHOICES)), N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("describe_node", type="slack")
        of_one = await n8n.data("describe_node", type="slack", resource="userGroup")

    assert found["resources"] == {"message": ["post", "sendAndWait"], "userGroup": ["getAll"]}
    assert of_one["operations"] == ["getAll"]


@pytest.mark.parametrize(
    ("answer", "asked", "said"),
    [
        (CHOICES, {"resource": "nachricht"}, "resource: it may be message, userGroup"),
        (
            "# Errors\n\nError: Invalid operation 'sendd' for resource 'message'. Available: post, send_and_wait",
            {"resource": "message", "operation": "sendd"},
            "operation: it may be post, sendAndWait",
        ),
        ("# Errors\n\nVersion '99' not found for node 'n8n-nodes-base.switch'", {"version": 99}, "no such version"),
        (SWITCH, {"parameter": "rule"}, "Did you mean rules?"),
        (SWITCH, {"operation": "send"}, "operation: the node type has none"),
    ],
)
async def test_what_the_instance_does_not_have_is_an_error(
    tmp_path: Path, answer: str, asked: dict[str, Any], said: str
) -> None:
    async with bench(tmp_path, answering(structured(definitions=answer)), N8N_MCP_TOKEN=TOKEN) as n8n:
        refused = await n8n.call("describe_node", type="switch", **asked)

    assert refused.error is not None
    assert said in refused.error.message


async def test_a_search_without_words_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path, answering(structured(results=FOUND)), N8N_MCP_TOKEN=TOKEN) as n8n:
        refused = await n8n.call("search_nodes", query="   ")

    assert refused.error is not None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('Required field "subnodes" is missing. Expected object.', None),
        ('Required field "config" is missing.', None),
        ('Field "parameters.useDataOfInput" has wrong type: expected string, got number.', None),
        (
            'Field "parameters.assignments.assignments.0.id" has wrong type: expected string, got undefined.',
            None,
        ),
        ('Field "parameters.maxItems": Must be an n8n expression (={{...}})', None),
        ('Field "parameters.method": Must be an n8n expression (={{...}})', "does not take the value of 'method'"),
        ('Validation failed: "parameters.methods" must be "DELETE".', "does not take the value of 'methods'"),
        ('Required field "parameters.url" is missing. Expected string.', "n8n says: Required field"),
    ],
)
async def test_what_its_check_says_of_good_nodes_is_left_out(tmp_path: Path, message: str, said: str | None) -> None:
    errors = [{"path": "", "message": message}]
    answers = answering(structured(definitions="", results=[{"name": "N", "errors": errors}]))
    node = {"name": "N", "type": "n8n-nodes-base.x", "typeVersion": 1, "position": [0, 0]}
    node["parameters"] = {"maxItems": "2", "method": "FETCH", "methods": ["GET", "POST"]}
    async with bench(tmp_path, answers, N8N_MCP_TOKEN=TOKEN) as n8n:
        found = await n8n.data("validate_workflow", nodes=[node])

    told = [one["message"] for one in (*found["errors"], *found["warnings"]) if "path" in one and one.get("node")]
    assert [one for one in told if "never runs" not in one] == ([] if said is None else told[:1])
    assert said is None or said in told[0]
