"""Name the parameters that n8n ignored: an execution holds only those that the node types know."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.contract.offload import offload
from dogubako.packs.n8n.api.executions import ExecutionsApi
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.models import Execution

JsonObject = dict[str, Any]

_DEEPEST: Final = 8
_MOST: Final = 30
_MOST_REMEMBERED: Final = 1_000


async def ignored_parameters(
    executions: ExecutionsApi, workflows: WorkflowsApi, execution: Execution
) -> list[JsonObject]:
    """`{node, parameters}` for each node of the version that ran. Needs nothing but the API key.

    It is empty if the version is not known, or is gone, or may not be read: then nothing may be claimed.
    """
    workflow_id, version_id = execution.workflow_id, execution.workflow_version_id
    if workflow_id is None or version_id is None or not execution.ended or not execution.workflow.nodes:
        return []

    # An execution that has ended never changes, so it is compared once.
    known = executions.ignored.get(str(execution.id))
    if known is None:
        try:
            workflow = await workflows.get(workflow_id)
        except DogubakoError:
            return []
        known = await offload(compare_parameters, _nodes_of(workflow, version_id), execution)
        if len(executions.ignored) >= _MOST_REMEMBERED:
            executions.ignored.clear()
        executions.ignored[str(execution.id)] = known
    return known


def told_ignored(execution: Execution) -> JsonObject:
    """The part of an answer that names ignored parameters: nothing if there are none."""
    return {"n8nIgnored": execution.ignored} if execution.ignored else {}


def compare_parameters(nodes: Sequence[Mapping[str, Any]], execution: Execution) -> list[JsonObject]:
    """The parameters of the saved nodes that the nodes of the execution do not have."""
    found: list[JsonObject] = []
    for saved in nodes:
        ran = execution.workflow.node(str(saved.get("name")))
        parameters = saved.get("parameters")
        if ran is None or ran.type != saved.get("type") or not isinstance(parameters, Mapping) or not parameters:
            continue
        understood = ran.settings
        # A type that the instance does not know is not understood at all, and none of it is dropped.
        missing = list(_missing(parameters, understood, "", 0))
        if missing:
            found.append({"node": ran.name, "parameters": missing[:_MOST]})
    return found[:_MOST]


def _nodes_of(workflow: Mapping[str, Any], version_id: str) -> Sequence[Mapping[str, Any]]:
    """The nodes of the version that ran, if it is the draft or the published one."""
    published = workflow.get("activeVersion")
    if workflow.get("versionId") == version_id:
        return workflow.get("nodes") or ()
    if isinstance(published, Mapping) and published.get("versionId") == version_id:
        return [one for one in published.get("nodes") or () if isinstance(one, Mapping)]
    return ()


def _missing(saved: Mapping[str, Any], ran: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
    for key, value in saved.items():
        place = f"{path}.{key}" if path else str(key)
        if key not in ran:
            # n8n drops empty parts that it does know.
            if value not in ({}, [], "", None):
                yield place
        elif isinstance(value, Mapping) and isinstance(ran[key], Mapping) and depth < _DEEPEST:
            yield from _missing(value, ran[key], place, depth + 1)
        elif isinstance(value, list) and isinstance(ran[key], list) and len(value) == len(ran[key]):
            for index, (one, other) in enumerate(zip(value, ran[key], strict=True)):
                if isinstance(one, Mapping) and isinstance(other, Mapping) and depth < _DEEPEST:
                    yield from _missing(one, other, f"{place}[{index}]", depth + 1)
