"""Executions are not run, they are replayed: from the recording of a workflow that does the same."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.sandbox.n8n.asking import RefusedError
from dogubako.sandbox.n8n.essence import essence
from dogubako.sandbox.n8n.recordings import Recording, recordings
from dogubako.sandbox.n8n.retelling import Retelling, end_of
from dogubako.sandbox.n8n.store import Store
from dogubako.sandbox.n8n.workflow_parts import Json, Workflow, stable_id
from dogubako.sandbox.n8n.workflows import WORKFLOWS

_NO_RECORDING: Final = "The sandbox cannot run this workflow: it has no recording of it."


def cannot_run() -> RefusedError:
    """The one thing a real n8n would not say."""
    return RefusedError(501, _NO_RECORDING)


def recording_of(workflow: Mapping[str, Any]) -> Recording:
    """How a call of this workflow went on a real server."""
    wanted = essence(workflow)
    for each in recordings():
        if each.shows_a_call and essence(_as_saved(each)) == wanted:
            return each
    raise cannot_run()


def replay(
    store: Store, recording: Recording, workflow: Json, *, ends: int, linked: Mapping[str, str] | None = None
) -> Json:
    """Add the recorded execution, and those of its sub-workflows, as if `workflow` had made it and it ended then."""
    numbers = {each["id"]: store.next_execution_id() for each in recording.all_executions}
    homes = {each["workflowId"]: seed_id(each["workflowData"]["name"]) for each in recording.children}
    retelling = Retelling(
        executions={**(linked or {}), **numbers},
        workflows={**homes, recording.execution["workflowId"]: workflow["id"]},
        shift=ends - end_of(recording.execution),
    )
    for each in recording.all_executions:
        told = retelling.of(each)
        _belongs_to(told, workflow if each is recording.execution else store.workflows.get(told["workflowId"]))
        store.add_execution(told, recording)
    return store.executions[int(numbers[recording.execution["id"]])]


def seed_id(workflow_name: str) -> str:
    """The id of a workflow that is there from the start; it is the same every time."""
    return stable_id("workflow", workflow_name).replace("-", "")[:16]


def seed_body(definition: Workflow) -> Mapping[str, Any]:
    """What is saved at the start, calling the sub-workflow of this server."""
    if definition.calls is None:
        return definition.body
    return definition.body_calling(seed_id(WORKFLOWS[definition.calls].name))


def _as_saved(recording: Recording) -> Mapping[str, Any]:
    """The workflow before n8n filled in all defaults, which it does for every execution."""
    executed: Mapping[str, Any] = recording.execution["workflowData"]
    saved = (seed_body(each) for each in WORKFLOWS.values() if each.name == executed["name"])
    return next(saved, executed)


def _belongs_to(execution: Json, workflow: Json | None) -> None:
    """Name, version and node ids are those of the workflow here; the defaults are those of the recording."""
    if workflow is None:
        return
    recorded = {node["name"]: node for node in execution["workflowData"]["nodes"]}
    nodes = [_executed(node, recorded.get(node["name"], {})) for node in workflow["nodes"]]
    execution["workflowData"] |= {"name": workflow["name"], "nodes": nodes}
    execution["workflowVersionId"] = workflow["versionId"]


def _executed(node: Json, recorded: Json) -> Json:
    return {**recorded, **node, "parameters": {**recorded.get("parameters", {}), **node.get("parameters", {})}}
