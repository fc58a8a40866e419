"""What an agent hears when something is not there, when n8n refuses, and when the question itself is wrong."""

from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dogubako_sandbox.n8n.app import SANDBOX_KEY
from tests.doors.answers import Answer
from tests.sandbox.n8n_client import workflow_id

from .agent import speaking_in_both_eras
from .wired import Answers, Wire, box_on

DRAFT: Final = workflow_id("r-manual")
TRACE: Final = "Error: boom\n    at WorkflowService.find (/usr/lib/node_modules/n8n/dist/workflow.service.js:12:3)"
FIND_WORKFLOWS: Final = "list_workflows shows which workflows there are."
FIND_EXECUTIONS: Final = "list_executions shows which executions there are."

Arguments = dict[str, Any]


async def answered(wire: Wire, folder: Path, tool: str, arguments: Arguments) -> Answer:
    """What agents of both eras hear, which has to be the same."""
    async with speaking_in_both_eras(box_on(wire, folder)) as (handshake, modern):
        answer = await handshake.call(tool, arguments)
        assert await modern.call(tool, arguments) == answer
    return answer


def refusing(method: str, status: int, reason: str, path: str = "") -> Answers:
    """n8n's own form of a refusal, with more in it than an agent should see."""
    body = {"code": status, "message": reason, "stacktrace": TRACE, "hint": f"key was {SANDBOX_KEY}"}

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        wanted = request.method == method and path in request.url.path
        return httpx2.Response(status, json=body) if wanted else None

    return answer


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        pytest.param("get_workflow", {"id": "abc123"}, "Workflow 'abc123' not found", FIND_WORKFLOWS, id="workflow"),
        pytest.param(
            "get_workflow_node",
            {"id": DRAFT, "nodeName": "Cod"},
            f"Node 'Cod' not found in workflow '{DRAFT}'",
            "Did you mean 'C'?",
            id="node of a workflow",
        ),
        pytest.param(
            "update_workflow", {"id": "abc123", "name": "x"}, "Workflow 'abc123' not found", FIND_WORKFLOWS, id="update"
        ),
        pytest.param(
            "delete_workflow",
            {"id": "abc123", "confirm": True},
            "Workflow 'abc123' not found",
            FIND_WORKFLOWS,
            id="delete",
        ),
        # n8n says here that there is no permission; only a look at the workflow tells the truth.
        pytest.param(
            "activate_workflow", {"id": "abc123"}, "Workflow 'abc123' not found", FIND_WORKFLOWS, id="activate"
        ),
        pytest.param(
            "deactivate_workflow", {"id": "abc123"}, "Workflow 'abc123' not found", FIND_WORKFLOWS, id="deactivate"
        ),
        # n8n calls this one a bad request.
        pytest.param("get_execution", {"id": "abc"}, "Execution 'abc' not found", FIND_EXECUTIONS, id="execution"),
        pytest.param(
            "get_execution_by_node",
            {"id": "99999", "nodeName": "Code"},
            "Execution '99999' not found",
            FIND_EXECUTIONS,
            id="node of an execution",
        ),
        pytest.param(
            "retry_execution", {"id": "99999"}, "Execution '99999' not found", FIND_EXECUTIONS, id="retry execution"
        ),
        pytest.param(
            "stop_execution", {"id": "abc"}, "Execution 'abc' not found", FIND_EXECUTIONS, id="stop execution"
        ),
    ],
)
async def test_what_is_not_there_is_named(
    tmp_path: Path, tool: str, arguments: Arguments, message: str, hint: str
) -> None:
    answer = await answered(Wire(), tmp_path, tool, arguments)

    assert (answer.is_error, answer.text, answer.code) == (True, message, "NOT_FOUND")
    assert hint in answer.facts["hint"]
    assert answer.content[1]["text"] == answer.facts["hint"]
    assert answer.facts["retryable"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "refusal", "message"),
    [
        pytest.param(
            "get_workflow",
            {"id": DRAFT},
            ("GET", 500, "Database is locked"),
            "get workflow: Database is locked",
            id="get",
        ),
        pytest.param(
            "get_workflow_node",
            {"id": DRAFT, "nodeName": "C"},
            ("GET", 403, "Forbidden"),
            "get workflow: Forbidden",
            id="node of a workflow",
        ),
        pytest.param(
            "update_workflow",
            {"id": DRAFT, "name": "x"},
            ("PUT", 400, "request/body/settings must be object"),
            "update workflow: request/body/settings must be object",
            id="update",
        ),
        pytest.param(
            "delete_workflow",
            {"id": DRAFT, "confirm": True},
            ("DELETE", 403, "Forbidden"),
            "delete workflow: Forbidden",
            id="delete",
        ),
        pytest.param(
            "activate_workflow",
            {"id": DRAFT},
            ("POST", 400, "Workflow has no trigger"),
            "activate workflow: Workflow has no trigger",
            id="activate",
        ),
        pytest.param(
            "deactivate_workflow",
            {"id": DRAFT},
            ("POST", 409, "Workflow is archived"),
            "deactivate workflow: Workflow is archived",
            id="deactivate",
        ),
        pytest.param(
            "get_execution", {"id": "3"}, ("GET", 403, "Forbidden"), "get execution: Forbidden", id="get execution"
        ),
        pytest.param(
            "get_execution_by_node",
            {"id": "3", "nodeName": "Boom"},
            ("GET", 500, "Out of memory"),
            "get execution: Out of memory",
            id="node of an execution",
        ),
        pytest.param(
            "retry_execution",
            {"id": "3"},
            ("POST", 409, "The execution succeeded, so it cannot be retried."),
            "retry execution: The execution succeeded, so it cannot be retried.",
            id="retry execution",
        ),
        pytest.param(
            "stop_execution",
            {"id": "3"},
            ("POST", 409, "Only running or waiting executions can be stopped"),
            "stop execution: Only running or waiting executions can be stopped",
            id="stop execution",
        ),
    ],
)
async def test_a_refusal_gives_the_reason_of_n8n_and_nothing_else(
    tmp_path: Path, tool: str, arguments: Arguments, refusal: tuple[str, int, str], message: str
) -> None:
    answer = await answered(Wire(refusing(*refusal)), tmp_path, tool, arguments)

    assert (answer.is_error, answer.text, answer.code) == (True, f"Failed to {message}", "API_ERROR")
    assert answer.facts["retryable"] is False
    for private in (SANDBOX_KEY, "node_modules", "stacktrace", "errorId"):
        assert private not in str(answer)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        pytest.param("get_workflow", {}, "Required parameter missing: id", id="get"),
        pytest.param(
            "get_workflow_node", {"id": DRAFT}, "Required parameter missing: nodeName", id="node of a workflow"
        ),
        pytest.param("update_workflow", {"name": "x"}, "Required parameter missing: id", id="update"),
        pytest.param("delete_workflow", {"confirm": True}, "Required parameter missing: id", id="delete"),
        pytest.param(
            "activate_workflow", {"id": 17}, "Invalid type for parameter id: expected string", id="activate a number"
        ),
        pytest.param("deactivate_workflow", {}, "Required parameter missing: id", id="deactivate"),
        pytest.param("get_execution", {}, "Required parameter missing: id", id="get execution"),
        pytest.param(
            "get_execution_by_node",
            {"id": "3"},
            "Required parameter missing: nodeName",
            id="node of an execution",
        ),
        pytest.param("retry_execution", {}, "Required parameter missing: id", id="retry execution"),
        pytest.param("stop_execution", {"id": "3", "force": True}, "Unknown parameter: force", id="stop execution"),
    ],
)
async def test_a_wrong_question_is_answered_without_asking_n8n(
    tmp_path: Path, tool: str, arguments: Arguments, message: str
) -> None:
    wire = Wire()
    answer = await answered(wire, tmp_path, tool, arguments)

    assert (answer.is_error, answer.text, answer.code) == (True, message, "VALIDATION_ERROR")
    assert [one["message"] for one in answer.facts["details"]] == [message]
    assert wire.requests == []


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        pytest.param(
            "delete_workflow",
            {"id": DRAFT},
            f"This would delete workflow '{DRAFT}' with the records of its executions. A backup of it is kept.",
            id="a workflow",
        ),
        pytest.param(
            "delete_execution",
            {"id": "3"},
            "This would delete the record of execution '3' for good.",
            id="an execution",
        ),
    ],
)
async def test_nothing_is_destroyed_before_somebody_confirms(
    tmp_path: Path, tool: str, arguments: Arguments, message: str
) -> None:
    wire = Wire()
    answer = await answered(wire, tmp_path, tool, arguments)

    assert (answer.is_error, answer.text, answer.code) == (True, message, "CONFIRMATION_REQUIRED")
    assert "confirm: true" in answer.facts["hint"]
    assert wire.requests == []
