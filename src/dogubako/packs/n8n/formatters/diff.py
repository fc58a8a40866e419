"""The difference between two versions of a workflow, in few tokens."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dogubako.packs.n8n.formatters.changes import compare, shown_value
from dogubako.packs.n8n.formatters.workflow import line, tag_names
from dogubako.packs.n8n.merging import Edge, by_name, edges

JsonObject = dict[str, Any]

# Entries of each kind; the number of the others is named.
_MOST: Final = 30
_BESIDE_THE_GRAPH: Final = ("settings", "nodeGroups", "description")
_MADE_BY_N8N: Final = ("id", "webhookId")


def workflow_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject:
    """Nodes, connections and settings that differ. Empty if nothing does."""
    parts = {
        "name": _name(before, after),
        "nodes": _nodes(before, after),
        "connections": _connections(before, after),
        **{part: _values(before.get(part) or {}, after.get(part) or {}) for part in _BESIDE_THE_GRAPH},
        "pinData": _pins(before.get("pinData") or {}, after.get("pinData") or {}),
        "tags": _tags(before, after),
    }
    return {part: value for part, value in parts.items() if value}


def _name(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject | None:
    if before.get("name") == after.get("name") or "name" not in after or "name" not in before:
        return None
    return {"before": before.get("name"), "after": after.get("name")}


def _nodes(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject:
    was, now = by_name(before.get("nodes") or []), by_name(after.get("nodes") or [])
    renamed = _renamed(was, now)
    added = [_summary(node) for name, node in now.items() if name not in was and name not in renamed.values()]
    removed = [name for name in was if name not in now and name not in renamed]
    changed = [
        {"node": name, "path": path, **_sides(old, new)}
        for name, node in now.items()
        for path, old, new in _changes(was.get(_old_name(name, renamed)), node)
    ]
    pairs = [f"{old} → {new}" for old, new in renamed.items()]
    parts: dict[str, list[Any]] = {"added": added, "removed": removed, "renamed": pairs, "changed": changed}
    return {kind: _first(entries) for kind, entries in parts.items() if entries}


def _renamed(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Old names with their new ones: a node keeps its id when it is renamed."""
    gone = {node["id"]: name for name, node in was.items() if name not in now and node.get("id")}
    return {gone[node["id"]]: name for name, node in now.items() if name not in was and node.get("id") in gone}


def _old_name(name: str, renamed: Mapping[str, str]) -> str:
    return next((old for old, new in renamed.items() if new == name), name)


def _changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Iterable[tuple[str, Any, Any]]:
    if old is None:
        return ()
    without = ("name", *_MADE_BY_N8N)
    return compare("", *({key: value for key, value in one.items() if key not in without} for one in (old, new)))


def _summary(node: Mapping[str, Any]) -> JsonObject:
    facts = {key: value for key, value in node.items() if value and key not in _MADE_BY_N8N}
    if "parameters" in facts:
        facts["parameters"] = shown_value(facts["parameters"])
    return facts


def _connections(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject:
    was, now = (dict.fromkeys(edges(one.get("connections") or {})) for one in (before, after))
    parts = {
        "added": [_line(one) for one in now if one not in was],
        "removed": [_line(one) for one in was if one not in now],
    }
    return {kind: _first(entries) for kind, entries in parts.items() if entries}


def _line(edge: Edge) -> str:
    return line({"from": edge.source, "output": edge.output, "to": edge.target, "input": edge.input, "type": edge.type})


def _values(before: Any, after: Any) -> list[Any]:
    return _first([{"path": path, **_sides(old, new)} for path, old, new in compare("", before, after)])


def _pins(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Any]:
    """Pinned items by node. A node that is pinned to no items gives out none, which is not the same as no pin."""
    found = [(path, old, new) for path, old, new in compare("", before, after)]
    empty = [name for name in {**before, **after} if (name in before) is not (name in after)]
    told = {path for path, _, _ in found}
    found += [(name, before.get(name), after.get(name)) for name in empty if name not in told]
    return _first([{"path": path, **_sides(old, new)} for path, old, new in found])


def _sides(old: Any, new: Any) -> JsonObject:
    """Both values. One that is not there is left out, which says that it was added or removed."""
    sides = {"before": shown_value(old), "after": shown_value(new)}
    return {side: value for side, value in sides.items() if value is not None}


def _tags(before: Mapping[str, Any], after: Mapping[str, Any]) -> JsonObject | None:
    if "tags" not in before or "tags" not in after:
        return None
    was, now = sorted(tag_names(before)), sorted(tag_names(after))
    return {"before": was, "after": now} if was != now else None


def _first(entries: list[Any]) -> list[Any]:
    return entries if len(entries) <= _MOST else [*entries[:_MOST], f"… [{len(entries) - _MOST} more]"]
