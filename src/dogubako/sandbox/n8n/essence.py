"""What a workflow does, without what it is called and where it is drawn: the question that decides what is replayed."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dogubako.sandbox.n8n.node_types import WEBHOOK
from dogubako.sandbox.n8n.workflow_parts import Json

_LOOKS: Final = frozenset({"id", "name", "position", "webhookId", "notes", "notesInFlow", "color"})


def essence(workflow: Mapping[str, Any]) -> Json:
    """Equal for two workflows that do the same; on which path they listen makes no difference."""
    nodes: Iterable[Json] = workflow["nodes"]
    return {"nodes": {node["name"]: _of_node(node) for node in nodes}, "connections": workflow["connections"]}


def _of_node(node: Json) -> Json:
    kept = {name: value for name, value in node.items() if name not in _LOOKS}
    parameters = _without_ids(node.get("parameters", {}))
    if node["type"] == WEBHOOK:
        parameters.pop("path", None)
    return {**kept, "parameters": parameters}


def _without_ids(value: Any) -> Any:
    """Every assignment and condition carries an id that the editor gave it."""
    if isinstance(value, dict):
        return {name: _without_ids(each) for name, each in value.items() if name != "id"}
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    return value
