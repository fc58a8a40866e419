"""Compare a workflow before the change, as requested, and as n8n has it now."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.formatters.truncation import small_json
from dogubako.packs.n8n.merging import by_name, is_list_of_objects, is_same

JsonObject = dict[str, Any]

# Fields that n8n changes by itself with every update.
_BOOKKEEPING: Final = frozenset(
    {
        "updatedAt",
        "createdAt",
        "versionId",
        "versionCounter",
        "activeVersionId",
        "activeVersion",
        "triggerCount",
        # A trigger writes into it, for example when it is published for the first time.
        "staticData",
        "shared",
        "id",
        "sourceWorkflowId",
        "parentFolder",
    }
)
_MOST: Final = 30
_ABSENT: Final = object()
# n8n gives these to nodes that come without them.
_GIVEN_IDS: Final = ("id", "webhookId")


def differences(meant: Mapping[str, Any], got: Mapping[str, Any]) -> list[JsonObject]:
    """Differences between the requested workflow and n8n's. Nodes are compared by name."""
    differing = [
        {"path": path, "sent": shown_value(sent), "got": shown_value(now)}
        for path, sent, now in compare("", _named(_with_ids_of(got, meant)), _named(got))
    ]
    return _counted(differing)


def changed_paths(before: Mapping[str, Any], got: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Paths that changed, and those of them that are gone."""
    changed = list(compare("", _named(before), _named(got)))
    gone = [path for path, _, now in changed if now is _ABSENT]
    return [path for path, _, _ in changed], gone


def unrequested(before: Mapping[str, Any], got: Mapping[str, Any], requested: Mapping[str, Any]) -> list[JsonObject]:
    """Changes that were not requested."""
    keys = [key for key in {**before, **got} if key not in _BOOKKEEPING and key not in requested]
    was, now = ({key: one[key] for key in keys if key in one} for one in (before, got))
    changed = [
        {"path": path, "before": shown_value(old), "now": shown_value(new)}
        for path, old, new in compare("", _named(was), _named(now))
    ]
    return _counted(changed)


def _counted(entries: list[JsonObject]) -> list[JsonObject]:
    """The first differences, and the number of the others."""
    return entries if len(entries) <= _MOST else [*entries[:_MOST], {"path": f"… [{len(entries) - _MOST} more]"}]


def compare(path: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every path with different values. Lists of different lengths differ as a whole."""
    # Most of two versions is the same.
    if is_same(left, right):
        return
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in {**left, **right}:
            yield from compare(f"{path}.{key}" if path else str(key), left.get(key, _ABSENT), right.get(key, _ABSENT))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from compare(f"{path}[{index}]", one, other)
    elif not (_empty(left) and _empty(right)):
        yield path, left, right


def _named(workflow: Mapping[str, Any]) -> JsonObject:
    """Nodes by name, so that their order does not matter."""
    nodes = workflow.get("nodes")
    if not isinstance(nodes, list):
        return dict(workflow)
    return {**workflow, "nodes": by_name(node for node in nodes if isinstance(node, Mapping))}


def _with_ids_of(got: Mapping[str, Any], meant: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was sent, with the ids that n8n made: they are no difference."""
    nodes = meant.get("nodes")
    if not is_list_of_objects(nodes):
        return meant
    made = by_name(got.get("nodes") or [])
    return {**meant, "nodes": [{**_ids(made.get(str(node.get("name")))), **node} for node in nodes]}


def _ids(node: Mapping[str, Any] | None) -> JsonObject:
    return {key: node[key] for key in _GIVEN_IDS if key in node} if node else {}


def _empty(value: Any) -> bool:
    """Whether a value is empty: n8n uses a missing key, null and {} alike."""
    return value is _ABSENT or value is None or value in ({}, [])


def shown_value(value: Any) -> Any:
    """A value in short; None if it is not there."""
    return None if value is _ABSENT else small_json(value)
