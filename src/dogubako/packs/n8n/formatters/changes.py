"""What really changed: the workflow as it was meant, as it was, and as n8n has it now."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.formatters.shortening import small_json

Json = dict[str, Any]

# What n8n counts up or writes by itself with every change.
_BOOKKEEPING: Final = frozenset(
    {
        "updatedAt",
        "createdAt",
        "versionId",
        "versionCounter",
        "activeVersionId",
        "activeVersion",
        "triggerCount",
        "shared",
        "id",
        "sourceWorkflowId",
        "parentFolder",
    }
)
_MOST: Final = 30
_ABSENT: Final = object()


def differences(meant: Mapping[str, Any], got: Mapping[str, Any]) -> list[Json]:
    """Where n8n's workflow is not what was sent. Nodes are compared by name."""
    found = [
        {"path": path, "sent": _said(sent), "got": _said(now)}
        for path, sent, now in _compare("", _named(meant), _named(got))
    ]
    return _counted(found)


def unrequested(before: Mapping[str, Any], got: Mapping[str, Any], asked: Mapping[str, Any]) -> list[Json]:
    """What changed although nobody asked for it."""
    keys = [key for key in {**before, **got} if key not in _BOOKKEEPING and key not in asked]
    was, now = ({key: one[key] for key in keys if key in one} for one in (before, got))
    found = [
        {"path": path, "before": _said(old), "now": _said(new)}
        for path, old, new in _compare("", _named(was), _named(now))
    ]
    return _counted(found)


def _counted(found: list[Json]) -> list[Json]:
    """Not more than anybody reads, and how many more there are."""
    return found if len(found) <= _MOST else [*found[:_MOST], {"path": f"… [{len(found) - _MOST} more]"}]


def _compare(path: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in {**left, **right}:
            yield from _compare(f"{path}.{key}" if path else str(key), left.get(key, _ABSENT), right.get(key, _ABSENT))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _compare(f"{path}[{index}]", one, other)
    elif left != right and not (_empty(left) and _empty(right)):
        yield path, left, right


def _named(workflow: Mapping[str, Any]) -> Json:
    """Nodes by name, so that their order does not matter."""
    nodes = workflow.get("nodes")
    if not isinstance(nodes, list):
        return dict(workflow)
    return {**workflow, "nodes": {str(node.get("name")): node for node in nodes if isinstance(node, Mapping)}}


def _empty(value: Any) -> bool:
    """n8n writes nothing, null and {} for the same."""
    return value is _ABSENT or value is None or value in ({}, [])


def _said(value: Any) -> Any:
    return None if value is _ABSENT else small_json(value)
