"""What an operation leaves out is filled in: type names, versions, positions, and the type of a connection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

JsonObject = dict[str, Any]

_BASE: Final = "n8n-nodes-base."
_LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
# Versions that every n8n since 2.0 knows. Other types are version 1 unless the workflow has one of them.
_VERSIONS: Final[Mapping[str, float]] = {
    "code": 2,
    "compareDatasets": 2.3,
    "convertToFile": 1.1,
    "dateTime": 2,
    "executeWorkflow": 1.2,
    "executeWorkflowTrigger": 1.1,
    "filter": 2.2,
    "formTrigger": 2.2,
    "gmail": 2.1,
    "googleSheets": 4.5,
    "html": 1.2,
    "httpRequest": 4.2,
    "if": 2.2,
    "merge": 3,
    "postgres": 2.5,
    "removeDuplicates": 2,
    "respondToWebhook": 1.1,
    "scheduleTrigger": 1.2,
    "set": 3.4,
    "slack": 2.2,
    "splitInBatches": 3,
    "switch": 3.2,
    "telegram": 1.2,
    "wait": 1.1,
    "webhook": 2,
}
# Sub-nodes of language models offer something else than items.
_OFFERS: Final[Sequence[tuple[str, str]]] = (
    ("lm", "ai_languageModel"),
    ("memory", "ai_memory"),
    ("tool", "ai_tool"),
    ("mcpClientTool", "ai_tool"),
    ("embeddings", "ai_embedding"),
    ("outputParser", "ai_outputParser"),
    ("textSplitter", "ai_textSplitter"),
    ("document", "ai_document"),
    ("retriever", "ai_retriever"),
    ("reranker", "ai_reranker"),
)
_STEP: Final = (220.0, 160.0)
_NEAR: Final = (180.0, 110.0)
_MOST_TRIES: Final = 200


def full_type(kind: str) -> str:
    """`set` is `n8n-nodes-base.set`."""
    return kind if "." in kind else _BASE + kind


def type_version(kind: str, nodes: Sequence[Mapping[str, Any]]) -> float:
    """The newest version of the type in this workflow, else a usual one."""
    used = [node["typeVersion"] for node in nodes if node.get("type") == kind and _is_number(node.get("typeVersion"))]
    return max(used) if used else _VERSIONS.get(kind.removeprefix(_BASE), 1)


def link_type(source: Mapping[str, Any]) -> str:
    """`main`, or what a sub-node of a language model offers."""
    kind = str(source.get("type", ""))
    if not kind.startswith(_LANGCHAIN):
        return "main"
    name = kind.removeprefix(_LANGCHAIN)
    return next((offer for prefix, offer in _OFFERS if name.startswith(prefix)), "main")


def free_position(nodes: Sequence[Mapping[str, Any]], after: Mapping[str, Any] | None) -> list[float]:
    """A place to the right of a node, or of all nodes, where no other is."""
    taken = [place for node in nodes if (place := _position(node)) is not None]
    base = _position(after) if after is not None else max(taken, default=None)
    if base is None:
        return [0, 0]
    x, y = base[0] + _STEP[0], base[1]
    column = [other[1] for other in taken if abs(x - other[0]) < _NEAR[0]]
    for _ in range(_MOST_TRIES):
        if not any(abs(y - other) < _NEAR[1] for other in column):
            break
        y += _STEP[1]
    return [x, y]


def _position(node: Mapping[str, Any]) -> tuple[float, float] | None:
    position = node.get("position")
    if not isinstance(position, list | tuple) or len(position) != 2 or not all(map(_is_number, position)):
        return None
    return position[0], position[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
