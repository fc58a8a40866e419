"""What every n8n refuses to show, and what our tools make of it."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError, NotFoundError
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place

pytestmark = pytest.mark.reading

NO_EXECUTION = "999999999"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param("workflows/nope", (404, "Not Found"), id="workflow"),
        pytest.param(f"executions/{NO_EXECUTION}", (404, "Not Found"), id="execution"),
        pytest.param("nope", (404, "not found"), id="path"),
        pytest.param(
            "executions/abc",
            (400, "request/params/executionId must be a positive integer"),
            id="execution without a number",
        ),
        pytest.param(
            "executions?cursor=garbage",
            (400, "An invalid cursor was provided"),
            id="cursor",
        ),
        pytest.param(
            "executions?limit=abc", (400, "request/query/limit Param `limit` must be a valid integer"), id="limit"
        ),
        pytest.param("credentials/schema/nope", (404, "Not Found"), id="credential type"),
    ],
)
@proves("missing-workflow", "execution-word", "bad-cursor")
async def test_n8n_refuses_with_a_reason(place: Place, path: str, answer: tuple[int, str]) -> None:
    assert await place.n8n.message("GET", path) == answer


@pytest.mark.parametrize("key", ["", "wrong"])
async def test_without_a_good_key_nothing_is_shown(place: Place, key: str) -> None:
    answer = await place.n8n.message("GET", "workflows", headers={"X-N8N-API-KEY": key})

    assert answer == (401, "Unauthorized")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("executions?workflowId=nope", id="executions of a workflow"),
        pytest.param("executions?projectId=nope", id="executions of a project"),
        pytest.param("workflows?tags=no-such-tag-0", id="workflows with a tag"),
    ],
)
@proves("unknown-filter-value")
async def test_a_filter_for_what_is_not_there_finds_nothing(place: Place, query: str) -> None:
    assert await place.n8n.told("GET", query) == {"data": [], "nextCursor": None}


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        pytest.param("get_execution", {"id": NO_EXECUTION}, f"Execution '{NO_EXECUTION}' not found", id="execution"),
        pytest.param("get_execution", {"id": "abc"}, "Execution 'abc' not found", id="execution without a number"),
        pytest.param("diagnose_execution", {"id": "abc"}, "Execution 'abc' not found", id="diagnosis"),
        pytest.param(
            "get_execution_by_node", {"id": "abc", "nodeName": "A"}, "Execution 'abc' not found", id="node of execution"
        ),
        pytest.param("get_workflow", {"id": "nope"}, "Workflow 'nope' not found", id="workflow"),
        pytest.param("get_workflow_connections", {"id": "nope"}, "Workflow 'nope' not found", id="connections"),
        pytest.param(
            "get_workflow_node", {"id": "nope", "nodeName": "A"}, "Workflow 'nope' not found", id="node of workflow"
        ),
        pytest.param("get_credential_schema", {"type": "nope"}, "Credential type 'nope' not found", id="credential"),
    ],
)
async def test_what_is_missing_is_told_as_missing(
    place: Place, tool: str, arguments: dict[str, Any], message: str
) -> None:
    error = await place.refused(tool, **arguments)

    assert isinstance(error, NotFoundError)
    assert error.message == message
    assert error.hint


@proves("bad-cursor")
async def test_a_bad_cursor_is_told_with_the_reason_of_n8n(place: Place) -> None:
    error = await place.refused("list_executions", cursor="garbage")

    assert isinstance(error, ApiError)
    assert error.message == "Failed to list executions: An invalid cursor was provided"


async def test_the_backups_of_a_workflow_that_never_changed_are_none(place: Place) -> None:
    assert (await place.call("list_workflow_backups", id="nope"))["backups"] == []
