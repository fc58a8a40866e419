"""Node types as this instance uses them: the fallback that needs nothing but the API key.

Only nodes that n8n has taken are witnesses: those of published versions, and those that ran. A draft may hold anything.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from dogubako.contract.errors import DogubakoError
from dogubako.packs.n8n.api.executions import ExecutionsApi
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.models import Execution
from dogubako.packs.n8n.nodes.descriptions import Match, NodeDescription, Property, Summary
from dogubako.packs.n8n.nodes.ranking import ranked
from dogubako.packs.n8n.triggers import is_trigger_name

_KEPT_SECONDS: Final = 120.0
_MOST_WORKFLOWS: Final = 100
# Executions hold all parameters that n8n knows, with defaults. A few are enough, and large ones are left out.
_MOST_EXECUTIONS: Final = 6
_LARGEST_EXECUTION: Final = 1_000_000
_MOST_TYPES: Final = 500
_MOST_PARAMETERS: Final = 60


@dataclass(slots=True)
class _Seen:
    versions: set[float] = field(default_factory=set)
    parameters: dict[str, Any] = field(default_factory=dict)
    credentials: set[str] = field(default_factory=set)
    count: int = 0


class SeenNodes:
    """Collects types, versions and parameters from workflows and from executions, and keeps them for two minutes."""

    complete = False
    certain = False

    def __init__(self, workflows: WorkflowsApi, executions: ExecutionsApi) -> None:
        self._workflows = workflows
        self._executions = executions
        self._lock = anyio.Lock()
        self._seen: dict[str, _Seen] = {}
        self._until = 0.0
        self._read = ""

    @property
    def name(self) -> str:
        """It says how much was read, as soon as something was."""
        read = self._read or "published workflows and executions"
        return f"the nodes in this instance's own {read}; other nodes and parameters may exist"

    async def search(self, query: str, limit: int) -> Sequence[Match]:
        summaries = [Summary.of(self._description(name, one)) for name, one in (await self._collected()).items()]
        return ranked(summaries, query, limit)

    async def names(self) -> Sequence[str]:
        return list(await self._collected())

    async def describe(self, node_type: str) -> Sequence[NodeDescription]:
        one = (await self._collected()).get(node_type)
        return [] if one is None else [self._description(node_type, one)]

    def _description(self, node_type: str, seen: _Seen) -> NodeDescription:
        properties = [Property(name=name, type=_kind(value), default=value) for name, value in seen.parameters.items()]
        return NodeDescription(
            type=node_type,
            title=node_type.rpartition(".")[2],
            description=f"Used {seen.count} times in this instance.",
            versions=sorted(seen.versions),
            trigger=is_trigger_name(node_type),
            properties=properties,
            complete=False,
        )

    async def _collected(self) -> dict[str, _Seen]:
        async with self._lock:
            if time.monotonic() >= self._until:
                self._seen = await self._collect()
                self._until = time.monotonic() + _KEPT_SECONDS
            return self._seen

    async def _collect(self) -> dict[str, _Seen]:
        seen: dict[str, _Seen] = {}
        page = await self._workflows.page(limit=_MOST_WORKFLOWS, excludePinnedData=True)
        executed = await self._executed()
        # n8n strips the parameters that it does not know before it runs a node, so executions come first.
        for nodes in executed:
            _add(seen, nodes)
        published = [nodes for nodes in map(_published, page["data"]) if nodes is not None]
        for live in published:
            _add(seen, live, with_new_parameters=False)
        more = ", of which there are more" if page.get("nextCursor") else ""
        self._read = (
            f"workflows ({len(published)} published ones among the {len(page['data'])} that were read{more}) "
            f"and its last executions ({len(executed)} were read)"
        )
        return seen

    async def _executed(self) -> list[list[Mapping[str, Any]]]:
        """The nodes of the newest executions of different workflows, as n8n understood them."""
        try:
            page = await self._executions.page(limit=30)
        except DogubakoError:
            return []
        newest = {str(one.get("workflowId")): str(one["id"]) for one in reversed(page["data"])}
        found = []
        for execution_id in list(newest.values())[-_MOST_EXECUTIONS:]:
            try:
                brief = await self._executions.brief(execution_id)
                if (brief.get("jsonSizeBytes") or 0) <= _LARGEST_EXECUTION:
                    execution = await self._executions.get(execution_id)
                    found.append(list(_that_ran(execution)))
            except DogubakoError:
                # One execution more or less: it may have been deleted meanwhile.
                continue
        return found


def _published(workflow: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
    """The nodes that are live. An n8n without versions has them in the workflow itself."""
    live = workflow.get("activeVersion")
    if isinstance(live, Mapping):
        return live.get("nodes") or ()
    return workflow.get("nodes") or () if workflow.get("active") and "activeVersion" not in workflow else None


def _that_ran(execution: Execution) -> Iterator[Mapping[str, Any]]:
    for one in execution.workflow.nodes:
        runs = execution.runs.get(one.name, ())
        if not one.disabled and any(not run.failed for run in runs):
            yield {"type": one.type, "typeVersion": one.type_version, "parameters": one.settings}


def _add(seen: dict[str, _Seen], nodes: Iterable[Mapping[str, Any]], *, with_new_parameters: bool = True) -> None:
    """`with_new_parameters`: also those of types that have some already."""
    known = frozenset(name for name, one in seen.items() if one.parameters) if not with_new_parameters else frozenset()
    for node in nodes:
        name = str(node.get("type"))
        if name not in seen and len(seen) >= _MOST_TYPES:
            continue
        one = seen.setdefault(name, _Seen())
        one.count += "typeVersion" in node
        if isinstance(version := node.get("typeVersion"), int | float):
            one.versions.add(float(version))
        parameters = node.get("parameters") if name not in known else None
        for key, value in (parameters if isinstance(parameters, Mapping) else {}).items():
            if len(one.parameters) < _MOST_PARAMETERS:
                one.parameters.setdefault(str(key), _example(value))


def _example(value: Any) -> Any:
    """A value to recognise the kind by. Texts are left out: they may be private to one workflow."""
    if isinstance(value, bool | int | float) or value is None:
        return value
    return {} if isinstance(value, Mapping) else [] if isinstance(value, list) else ""


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case list():
            return "list"
        case _:
            return "string"
