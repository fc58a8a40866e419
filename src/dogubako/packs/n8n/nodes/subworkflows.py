"""Check that the workflows which nodes call exist and are published. n8n saves others, and does not publish them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dogubako.contract.errors import DogubakoError, NotFoundError
from dogubako.contract.output import example_call
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.nodes.channels import LANGCHAIN
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, quoted

JsonObject = Mapping[str, Any]

_STEP: Final = "n8n-nodes-base.executeWorkflow"
_CALLING: Final = (_STEP, f"{LANGCHAIN}toolWorkflow")
_PATH: Final = "workflowId"
_LISTED: Final = "list_workflows has the ids."
# Every one is a request.
_MOST: Final = 20


async def check_called(workflow: JsonObject, workflows: WorkflowsApi, known: Collection[str] = ()) -> list[Problem]:
    """A problem for each node that calls a workflow which is not there, or not published.

    `known` ones are not looked up, and a workflow that calls itself is there.
    """
    called = list(_called(workflow.get("nodes")))
    wanted = dict.fromkeys(one.id for one in called if one.id not in known and one.id != workflow.get("id"))
    found = {one: await _looked_up(one, workflows) for one in list(wanted)[:_MOST]}
    problems = [_problem(one, found[one.id]) for one in called if one.id in found]
    return [one for one in problems if one is not None]


def called_ids(workflow: JsonObject) -> set[str]:
    return {one.id for one in _called(workflow.get("nodes"))}


class _Call(NamedTuple):
    """A node, and the id of the workflow that it calls."""

    node: str
    type: str
    id: str


def _called(nodes: Any) -> Iterator[_Call]:
    """The calls of workflows. What an expression gives is not known."""
    for node in nodes if isinstance(nodes, Sequence) else ():
        if not isinstance(node, Mapping) or node.get("type") not in _CALLING or node.get("disabled"):
            continue
        parameters = node.get("parameters")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        locator = parameters.get(_PATH)
        called_id = locator.get("value") if isinstance(locator, Mapping) else locator
        # Whatever its mode is, n8n takes the value for an id.
        stored = parameters.get("source", "database") == "database"
        if stored and isinstance(called_id, str) and called_id and not is_expression(called_id):
            yield _Call(str(node.get("name")), str(node["type"]), called_id)


async def _looked_up(workflow_id: str, workflows: WorkflowsApi) -> JsonObject | None:
    """The workflow; None if there is none, and an empty one where that cannot be said."""
    try:
        return await workflows.get(workflow_id, "find called workflow")
    except NotFoundError:
        return None
    except DogubakoError:
        return {}


def _problem(call: _Call, found: JsonObject | None) -> Problem | None:
    if found is None:
        message = (
            f"There is no workflow with the id {quoted(call.id)} that our key can see. list_workflows has the ids."
        )
        return Problem(kind="unknownWorkflow", node=call.node, path=_PATH, message=message, certain=False)
    # n8n before 2.0 has no such fact, and takes workflows that are not published. A tool may always call them.
    if call.type != _STEP or found.get("active") or found.get("activeVersionId", "") is not None:
        return None
    first = example_call("activate_workflow", id=call.id)
    message = f"The workflow {quoted(call.id)} is not published, and n8n does not publish this one before it: {first}."
    return Problem(kind="unpublishedWorkflow", node=call.node, path=_PATH, message=message, certain=False)
