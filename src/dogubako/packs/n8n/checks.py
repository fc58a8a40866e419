"""Checks of a workflow before it is written. Every write of every tool comes through here."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zoneinfo import available_timezones

from dogubako.contract.errors import NotFoundError, ValidationError, ValidationErrorContext
from dogubako.contract.offload import offload, offload_if_large
from dogubako.packs.n8n.api.workflows import REMOVED_BY
from dogubako.packs.n8n.merging import edges
from dogubako.packs.n8n.nodes.node_shape import check_new_nodes
from dogubako.packs.n8n.nodes.problems import Problem as NodeProblem

if TYPE_CHECKING:
    from dogubako.packs.n8n.client import N8nClient

_MOST_NAMED: Final = 10
# A new name or setting makes no node wrong.
_CHECKED: Final = ("nodes", "connections")
_LONGEST_NAME: Final = 100
# What n8n takes for the setting of the instance.
_DEFAULT: Final = "DEFAULT"
_ORDERS: Final = ("v0", "v1")


class Problem(NamedTuple):
    """Why a workflow should not be saved."""

    path: str
    message: str


async def check_before_write(client: "N8nClient", before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Problem]:
    """The problems of `after`, which shall replace `before` (empty for a new workflow)."""
    return await offload_if_large(after, lambda: list(structure_problems(after)))


async def refuse_problems(
    client: "N8nClient", before: Mapping[str, Any], after: Mapping[str, Any], *, allow_invalid: bool = False
) -> list[dict[str, Any]]:
    """Raise a ValidationError that names the problems of a change, if they are certain; return the doubtful ones.

    Only what the change makes worse counts: a workflow that was wrong before can still be repaired step by step.
    """
    structure = await check_before_write(client, before, after)
    if structure:
        raise _refusal([(one.path, one.message) for one in structure], "")
    if not allow_invalid and (settings := [one async for one in _settings_problems(client, before, after)]):
        raise _refusal([(one.path, one.message) for one in settings], "")
    if all(before.get(part) == after.get(part) for part in _CHECKED):
        return []
    validation = await client.nodes.validate_change(before, after)
    if validation is None:
        return []
    if not before:
        validation = validation.with_more(list(check_new_nodes(after.get("nodes") or ())))
    if validation.errors and not allow_invalid:
        found = [
            (f"nodes.{one.node}.{one.path}" if one.node else str(one.path), _said(one)) for one in validation.errors
        ]
        saved = all(one.kind != "notSaved" for one in validation.errors)
        advice = " allowInvalid: true would save it all the same." if saved else ""
        raise _refusal(found, f"{advice} Source: {validation.source}.")
    return [one.shown() for one in (*validation.errors, *validation.warnings)][:_MOST_NAMED]


async def _settings_problems(
    client: "N8nClient", before: Mapping[str, Any], after: Mapping[str, Any]
) -> AsyncIterator[Problem]:
    """A name without letters, and new settings that n8n saves and cannot use, or cannot take away."""
    if after.get("name") != before.get("name") and not str(after.get("name") or "").strip():
        yield Problem("name", "The name is empty")
    was, settings = before.get("settings") or {}, after.get("settings")
    named = settings.items() if isinstance(settings, Mapping) else ()
    changed = {key: value for key, value in named if was.get(key, _DEFAULT) != value}
    for key in was:
        if isinstance(settings, Mapping) and key not in settings and key not in REMOVED_BY:
            yield Problem(f"settings.{key}", f"n8n does not remove this setting: give {_short(key)} another value")
    zone = changed.get("timezone")
    zones = await offload(available_timezones) if isinstance(zone, str) else set()
    if isinstance(zone, str) and zones and zone not in zones and zone != _DEFAULT:
        near = get_close_matches(zone[:_LONGEST_NAME], zones, n=3, cutoff=0.5)
        advice = f" Did you mean {' or '.join(near)}?" if near else ""
        yield Problem("settings.timezone", f"There is no time zone '{_short(zone)}'.{advice}")
    order = changed.get("executionOrder", _ORDERS[0])
    if order not in _ORDERS:
        yield Problem(
            "settings.executionOrder", f"n8n knows no such order of execution. It has {' and '.join(_ORDERS)}"
        )
    handler = changed.get("errorWorkflow")
    if isinstance(handler, str) and handler:
        try:
            await client.workflows.get(handler, "find error workflow")
        except NotFoundError:
            yield Problem("settings.errorWorkflow", f"There is no workflow with the id '{_short(handler)}'")


def _refusal(problems: Sequence[tuple[str, str]], advice: str) -> ValidationError:
    named = [ValidationErrorContext(field=path, message=message) for path, message in problems[:_MOST_NAMED]]
    more = f" There are {len(problems) - _MOST_NAMED} more problems." if len(problems) > _MOST_NAMED else ""
    return ValidationError(named, hint=f"Nothing was saved.{more}{advice}")


def _said(problem: NodeProblem) -> str:
    near = f" Did you mean {' or '.join(problem.near)}?" if problem.near else ""
    return (f"{problem.node}: " if problem.node else "") + problem.message + near


def structure_problems(workflow: Mapping[str, Any]) -> Iterator[Problem]:
    """Nodes without a name, names that two nodes have, and connections to nodes that do not exist."""
    nodes = workflow.get("nodes") or []
    names = Counter[str]()
    for number, node in enumerate(nodes):
        name = node.get("name") if isinstance(node, Mapping) else None
        if not isinstance(name, str) or not name:
            yield Problem(f"nodes[{number}]", f"nodes[{number}] has no name")
        else:
            names[name] += 1
    for name, count in names.items():
        if count > 1:
            yield Problem(f"nodes.{_short(name)}", f"{count} nodes have the name '{_short(name)}'")
    yield from _loose_ends(workflow.get("connections") or {}, names)


def _loose_ends(connections: Any, names: Mapping[str, int]) -> Iterator[Problem]:
    if not isinstance(connections, Mapping):
        yield Problem("connections", "The connections are no object")
        return
    for source in connections:
        if source not in names:
            yield Problem("connections", f"A connection starts at '{_short(source)}', and there is no such node")
    for target in dict.fromkeys(edge.target for edge in edges(connections)):
        if target not in names:
            yield Problem("connections", f"A connection leads to '{_short(target)}', and there is no such node")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
