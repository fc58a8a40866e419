"""In which version a node is added, by what is known about its type."""

from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest

from dogubako.packs.n8n.edits.defaults import type_version
from dogubako.packs.n8n.edits.operations import WrongOperation
from dogubako.packs.n8n.nodes.channels import offered_channel
from dogubako.packs.n8n.nodes.descriptions import NewVersions, NodeDescription, newest_version

from .wired import Answers, bench

HTTP: Final = "n8n-nodes-base.httpRequest"
LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
EVERYTHING: Final = NewVersions(instance={HTTP: 4.5}, used={HTTP: 4.1}, other={HTTP: 4.9})


@pytest.mark.parametrize(
    ("known", "version"),
    [
        (EVERYTHING, 4.5),
        (NewVersions(used={HTTP: 4.1}, other={HTTP: 4.9}), 4.1),
        (NewVersions(other={HTTP: 4.9}), 4.2),
        (NewVersions(), 4.2),
    ],
)
def test_what_the_instance_has_counts_before_what_is_usual(known: NewVersions, version: float) -> None:
    assert type_version(HTTP, [], known) == version


def test_what_the_workflow_uses_counts_where_the_instance_tells_nothing() -> None:
    nodes = [{"type": HTTP, "typeVersion": 4}, {"type": HTTP, "typeVersion": 3}]

    assert type_version(HTTP, nodes, NewVersions(used={HTTP: 4.4})) == 4
    assert type_version(HTTP, nodes, EVERYTHING) == 4.5


def test_a_tool_has_the_usual_version_of_its_node() -> None:
    assert type_version(HTTP + "Tool", [], NewVersions()) == 4.2


def test_a_version_is_never_guessed() -> None:
    with pytest.raises(WrongOperation, match="give typeVersion"):
        type_version("n8n-nodes-community.thing", [], NewVersions())


def test_the_newest_version_is_that_of_the_editor() -> None:
    old, new = (NodeDescription(type="a", versions=one, default_version=2) for one in ([1.0], [2.0, 3.0]))

    assert newest_version([old, new]) == 2
    assert newest_version([old]) == 1
    assert newest_version([NodeDescription(type="a", versions=[1.0, 1.1])]) == 1.1
    assert newest_version([NodeDescription(type="a", complete=False)]) is None
    assert newest_version([]) is None


@pytest.mark.parametrize(
    ("kind", "parameters", "channel"),
    [
        ("n8n-nodes-base.set", {}, "main"),
        ("n8n-nodes-base.gmailTool", {}, "ai_tool"),
        ("n8n-nodes-base.gmailHitlTool", {}, "ai_tool"),
        ("n8n-nodes-community.thingTool", {}, "ai_tool"),
        (LANGCHAIN + "agent", {}, "main"),
        (LANGCHAIN + "agentTool", {}, "ai_tool"),
        (LANGCHAIN + "toolCode", {}, "ai_tool"),
        (LANGCHAIN + "toolVectorStore", {}, "ai_tool"),
        (LANGCHAIN + "toolExecutor", {}, "main"),
        (LANGCHAIN + "memoryBufferWindow", {}, "ai_memory"),
        (LANGCHAIN + "memoryManager", {}, "main"),
        (LANGCHAIN + "modelSelector", {}, "ai_languageModel"),
        (LANGCHAIN + "retrieverVectorStore", {}, "ai_retriever"),
        (LANGCHAIN + "vectorStoreInMemory", {}, "ai_vectorStore"),
        (LANGCHAIN + "vectorStoreInMemory", {"mode": "retrieve-as-tool"}, "ai_tool"),
        (LANGCHAIN + "vectorStoreInMemory", {"mode": "insert"}, "main"),
        (LANGCHAIN + "vectorStorePineconeLoad", {}, "ai_vectorStore"),
        (LANGCHAIN + "vectorStorePineconeInsert", {}, "main"),
    ],
)
def test_a_node_offers_what_n8n_says(kind: str, parameters: dict[str, Any], channel: str) -> None:
    assert offered_channel({"type": kind, "parameters": parameters}) == channel


DEFINITIONS: Final = """# TypeScript Type Definitions

## n8n-nodes-base.emailSend (v21)

```typescript
/**
 * Send Email Node - Version 2.1
 */
```

# Errors

Error: Node 'n8n-nodes-base.gmail' requires resource and operation discriminators.
Node type 'n8n-nodes-base.xyz' not found. Use search_node to find the correct node ID."""
FOUND: Final = "- n8n-nodes-base.gmail\n  Display Name: Gmail\n  Version: 2.2\n"


def instance(request: httpx2.Request) -> httpx2.Response | None:
    """The instance defines one type, and finds another."""
    if request.url.path != "/mcp-server/http":
        return None
    asked = msgspec.json.decode(request.content)["params"]["name"]
    told: dict[str, Any] = {"get_node_types": {"definitions": DEFINITIONS}, "search_nodes": {"results": FOUND}}.get(
        asked, {"results": []}
    )
    result: dict[str, Any] = {"content": [], "structuredContent": told}
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})
    return httpx2.Response(200, content=message, headers={"content-type": "application/json"})


async def test_the_instance_is_asked_where_there_are_no_node_types(tmp_path: Path) -> None:
    answers: Answers = instance
    async with bench(tmp_path, answers, N8N_MCP_TOKEN="only-for-tests") as n8n:
        workflow_id = (await n8n.data("list_workflows"))["workflows"][0]["id"]
        added = [{"op": "addNode", "name": one, "type": one} for one in ("emailSend", "gmail")]
        answer = await n8n.data("edit_workflow", id=workflow_id, operations=added, dryRun=True)
        misspelt = {"op": "addNode", "name": "xyz", "type": "xyz"}
        told = await n8n.data("edit_workflow", id=workflow_id, operations=[misspelt], dryRun=True)

    assert [one["typeVersion"] for one in answer["diff"]["nodes"]["added"]] == [2.1, 2.2]
    assert "xyz: There is no node type 'n8n-nodes-base.xyz' in this instance." in told["wouldBeRefused"]
