"""Changes to nodes as `update_workflow` takes them: named fields change, everything else stays."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.n8n.formatters.workflow import find_node
from dogubako.packs.n8n.merging import by_name
from dogubako.packs.n8n.paths import PathError, merged, parse_path, unset_at

JsonObject = dict[str, Any]


def with_node_changes(workflow: Mapping[str, Any], updates: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """The workflow's nodes with updates applied: `parameters` are merged by path, other fields are replaced."""
    nodes = [dict(node) for node in workflow.get("nodes") or []]
    for number, update in enumerate(updates):
        name = str(update["nodeName"])
        find_node(workflow, name)
        nodes = [_updated(node, update, number) if node.get("name") == name else node for node in nodes]
    return nodes


def _updated(node: JsonObject, update: Mapping[str, Any], number: int) -> JsonObject:
    changes = {key: value for key, value in update.items() if key != "nodeName" and value is not None}
    removed, given = changes.pop("removeParameters", ()), changes.pop("parameters", None)
    parameters = merged(deepcopy(node.get("parameters") or {}), given or {})
    paths = []
    for path in removed:
        try:
            paths.append(parse_path(path))
        except PathError as error:
            field = f"updateNodes[{number}].removeParameters"
            raise ValidationError.of(field, f"Invalid value for parameter {field}: {error}") from error
    # The last index of a list goes first: all paths are meant in the node as it was.
    for segments in sorted(dict.fromkeys(paths), key=_place_in_lists, reverse=True):
        # The tool is idempotent: what is already gone is no error.
        with suppress(PathError):
            unset_at(parameters, segments)
    return {**node, **changes, "parameters": parameters}


def _place_in_lists(path: tuple[str | int, ...]) -> list[tuple[int, str]]:
    return [(one, "") if isinstance(one, int) else (-1, one) for one in path]


def groups_of(workflow: Mapping[str, Any], nodes: Sequence[Any]) -> JsonObject:
    """The groups without nodes that are gone: n8n refuses a group that names them, and one without members."""
    groups = workflow.get("nodeGroups")
    if not isinstance(groups, list) or not groups:
        return {}
    ids = {one.get("id") for one in nodes if isinstance(one, Mapping)}
    left = [{**one, "nodeIds": [each for each in one.get("nodeIds") or () if each in ids]} for one in groups]
    return {"nodeGroups": [one for one in left if one["nodeIds"]]}


# What even a whole new definition of a node does not bring along.
OF_THE_INSTANCE: Final = frozenset({"id", "webhookId", "type", "typeVersion", "position", "credentials"})


def carried_nodes(
    nodes: Sequence[Any], before: Mapping[str, Any], fields: Collection[str] | None = None
) -> tuple[list[Any], dict[str, list[str]]]:
    """New nodes with the fields of their predecessors that they do not mention, and which fields these are.

    n8n would drop credentials and error handling, and would switch a disabled node on. A null removes a field.
    Only `fields` are kept, if they are given.
    """
    named = by_name(before.get("nodes") or [])
    # A node that is sent under another name is known by its id.
    known = {one["id"]: one for one in named.values() if isinstance(one.get("id"), str)}
    kept: dict[str, list[str]] = {}
    return [_carried(node, named, known, fields, kept) for node in nodes], kept


def _carried(
    node: Any,
    named: Mapping[str, JsonObject],
    known: Mapping[str, JsonObject],
    fields: Collection[str] | None,
    kept: dict[str, list[str]],
) -> Any:
    if not isinstance(node, Mapping):
        return node
    name, number = str(node.get("name")), node.get("id")
    old = (known.get(number) if isinstance(number, str) else None) or named.get(name, {})
    missing = {key: old[key] for key in old if key not in node and (fields is None or key in fields)}
    if telling := [key for key in missing if key == "credentials" or key not in OF_THE_INSTANCE]:
        kept[name] = telling
    return {key: value for key, value in {**missing, **node}.items() if value is not None}
