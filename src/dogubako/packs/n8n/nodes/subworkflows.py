"""Check that the workflows which nodes call exist. n8n saves other ids, and does not publish them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import DogubakoError, NotFoundError
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.nodes.channels import LANGCHAIN
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, quoted

JsonObject = Mapping[str, Any]

_CALLING: Final = ("n8n-nodes-base.executeWorkflow", f"{LANGCHAIN}toolWorkflow")
_PATH: Final = "workflowId"
# Every one is a request.
_MOST: Final = 20


async def check_called(workflow: JsonObject, workflows: WorkflowsApi, known: Collection[str] = ()) -> list[Problem]:
    """A problem for each node that calls a workflow which is not there. `known` ones are not looked up."""
    called = list(_called(workflow.get("nodes")))
    wanted = dict.fromkeys(called_id for _, called_id in called if called_id not in known)
    missing = [one for one in list(wanted)[:_MOST] if await _is_missing(one, workflows)]
    return [_problem(name, called_id) for name, called_id in called if called_id in missing]


def called_ids(workflow: JsonObject) -> set[str]:
    return {called_id for _, called_id in _called(workflow.get("nodes"))}


def _called(nodes: Any) -> Iterator[tuple[str, str]]:
    """The names of nodes, and the ids of workflows that they call. What an expression gives is not known."""
    for node in nodes if isinstance(nodes, Sequence) else ():
        if not isinstance(node, Mapping) or node.get("type") not in _CALLING or node.get("disabled"):
            continue
        parameters = node.get("parameters")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        locator = parameters.get(_PATH)
        called_id = locator.get("value") if isinstance(locator, Mapping) else locator
        by_id = not isinstance(locator, Mapping) or locator.get("mode", "id") in ("id", "list")
        stored = by_id and parameters.get("source", "database") == "database"
        if stored and isinstance(called_id, str) and called_id and not is_expression(called_id):
            yield str(node.get("name")), called_id


async def _is_missing(workflow_id: str, workflows: WorkflowsApi) -> bool:
    try:
        await workflows.get(workflow_id, "find called workflow")
    except NotFoundError:
        return True
    except DogubakoError:
        # Whether it exists cannot be said; the other checks still can be made.
        return False
    return False


def _problem(name: str, called_id: str) -> Problem:
    message = f"There is no workflow with the id {quoted(called_id)} that our key can see. list_workflows has the ids."
    return Problem(kind="unknownWorkflow", node=name, path=_PATH, message=message, certain=False)
