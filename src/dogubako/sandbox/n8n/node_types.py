"""The node types that this n8n knows. Others can be saved, as in the real one, but not published."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_BASE: Final = "n8n-nodes-base."
WEBHOOK: Final = f"{_BASE}webhook"

# What can start a published workflow.
_TRIGGERS: Final = frozenset({"webhook", "scheduleTrigger", "formTrigger", "errorTrigger", "executeWorkflowTrigger"})
_OTHERS: Final = frozenset(
    {
        "aggregate",
        "code",
        "dateTime",
        "executeWorkflow",
        "filter",
        "httpRequest",
        "if",
        "limit",
        "manualTrigger",
        "merge",
        "noOp",
        "removeDuplicates",
        "respondToWebhook",
        "set",
        "sort",
        "splitInBatches",
        "splitOut",
        "stickyNote",
        "stopAndError",
        "summarize",
        "switch",
        "wait",
    }
)


def unknown_type(nodes: Iterable[Mapping[str, Any]]) -> str | None:
    """The first type that nobody has heard of."""
    known = {_BASE + name for name in _TRIGGERS | _OTHERS}
    return next((str(node["type"]) for node in nodes if node["type"] not in known), None)


def triggers(nodes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    names = {_BASE + name for name in _TRIGGERS}
    return [node for node in nodes if node["type"] in names and not node.get("disabled")]


def webhooks(nodes: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Method and path of every address that these nodes listen on."""
    listening = [node["parameters"] for node in triggers(nodes) if node["type"] == WEBHOOK]
    return {(str(each.get("httpMethod", "GET")), str(each.get("path", ""))) for each in listening}
