"""What a node offers to others: items (`main`), or a tool, a model, a memory and the like for an agent."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

MAIN: Final = "main"
TOOL: Final = "ai_tool"
LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
# n8n makes such variants of nodes, in every package.
TOOL_SUFFIX: Final = "Tool"
_VECTOR_STORE: Final = "ai_vectorStore"
_OFFERS: Final[Sequence[tuple[str, str]]] = (
    ("lm", "ai_languageModel"),
    ("modelSelector", "ai_languageModel"),
    ("memory", "ai_memory"),
    ("tool", TOOL),
    ("embeddings", "ai_embedding"),
    ("outputParser", "ai_outputParser"),
    ("textSplitter", "ai_textSplitter"),
    ("document", "ai_document"),
    ("retriever", "ai_retriever"),
    ("reranker", "ai_reranker"),
)
# Their names sound like sub-nodes, and they are steps.
_STEPS: Final = frozenset({"memoryManager", "memoryChatRetriever", "toolExecutor"})
# A vector store may be a step, or serve another node, as its mode says.
_STORE_MODES: Final[Mapping[str, str]] = {"retrieve": _VECTOR_STORE, "retrieve-as-tool": TOOL}


def offered_channel(node: Mapping[str, Any]) -> str:
    """`main`, or what a node offers to the one that uses it."""
    kind = str(node.get("type", ""))
    if kind.endswith(TOOL_SUFFIX):
        return TOOL
    name = kind.removeprefix(LANGCHAIN)
    if name == kind or name in _STEPS:
        return MAIN
    if name.startswith(("vectorStore", "chatHubVectorStore")):
        return _of_vector_store(name, node.get("parameters"))
    return next((offer for prefix, offer in _OFFERS if name.startswith(prefix)), MAIN)


def _of_vector_store(name: str, parameters: Any) -> str:
    if name.endswith(("Load", "Insert")):
        return _VECTOR_STORE if name.endswith("Load") else MAIN
    mode = parameters.get("mode", "retrieve") if isinstance(parameters, Mapping) else "retrieve"
    return _STORE_MODES.get(mode, MAIN) if isinstance(mode, str) else MAIN
