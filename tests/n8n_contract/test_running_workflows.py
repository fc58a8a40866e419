"""Starting, retrying, stopping and deleting executions."""

import anyio

from dogubako.contract.errors import ConfirmationRequiredError
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place

ENDED = ("success", "error", "canceled", "crashed")


@proves("publishing-takes-time")
async def test_a_workflow_that_was_just_published_runs(place: Place) -> None:
    workflow_id = await place.copy_of("p-disabled")
    await place.call("activate_workflow", id=workflow_id)

    ran = await place.call("run_workflow", id=workflow_id)

    assert (ran["response"]["status"], ran["execution"]["status"]) == (200, "success")
    assert (await place.details(ran["execution"]["id"]))["workflowId"] == workflow_id


async def test_a_run_that_fails_is_told_as_failed(place: Place) -> None:
    ran = await place.call("run_workflow", id=place.workflows["n-stop-error"])

    assert (ran["response"]["status"], ran["execution"]["status"]) == (500, "error")
    summary = await place.call("get_execution", id=ran["execution"]["id"])
    assert summary["error"]["message"] == "custom stop 停止"


async def test_runs_side_by_side_name_their_own_executions(place: Place) -> None:
    workflow_id = await place.copy_of("p-disabled", published=True)
    await place.call("run_workflow", id=workflow_id)
    ran: dict[int, JsonObject] = {}

    async def one(number: int) -> None:
        ran[number] = await place.call("run_workflow", id=workflow_id, headers={"X-Number": f"number-{number}"})

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(one, number)

    for number, answer in ran.items():
        runs = (await place.details(answer["execution"]["id"]))["data"]["resultData"]["runData"]
        assert runs["Webhook"][0]["data"]["main"][0][0]["json"]["headers"]["x-number"] == f"number-{number}"


@proves("no-run-endpoint")
async def test_a_workflow_without_a_webhook_cannot_be_run(place: Place) -> None:
    draft = await place.copy_of("m-empty")

    manual = await place.refused("run_workflow", id=place.workflows["r-manual"])
    unpublished = await place.refused("run_workflow", id=draft)

    assert "n8n lets nobody start its trigger" in manual.message
    assert "it is not published" in unpublished.message
    assert unpublished.hint == f"Publish it first: activate_workflow(id: '{draft}')"


@proves("running", "canceled-mid-node")
async def test_a_run_that_nobody_waits_for_can_be_stopped(place: Place) -> None:
    ran = await place.call("run_workflow", id=place.workflows["l-slow"], wait=False)
    number = ran["execution"]["id"]

    deletion = await place.refused("delete_execution", id=number, confirm=True)
    stopped = await place.call("stop_execution", id=number)

    assert deletion.message == "Failed to delete execution: Cannot delete a running execution"
    assert "stop_execution" in str(deletion.hint)
    assert stopped["status"] == "canceled"


@proves("waiting")
async def test_what_waits_can_be_stopped(place: Place) -> None:
    number = await place.started("h-wait", "waiting")

    assert (await place.call("stop_execution", id=number))["status"] == "canceled"


@proves("stop-finished", "retry-success")
async def test_what_succeeded_is_neither_stopped_nor_retried(place: Place) -> None:
    number = place.executions["a-success-100"]

    stop = await place.refused("stop_execution", id=number)
    retry = await place.refused("retry_execution", id=number)

    reason = f"Only running or waiting executions can be stopped and {number} is currently success"
    assert stop.message == f"Failed to stop execution: {reason}"
    assert retry.message == "Failed to retry execution: The execution succeeded, so it cannot be retried."


@proves("retry-blocks", "retried")
async def test_a_retry_has_ended_when_it_is_answered(place: Place) -> None:
    failed = place.executions["b2-code-throws"]

    answer = await place.n8n.told("POST", f"executions/{failed}/retry", {})
    now = await place.details(str(answer["id"]))

    assert (now["mode"], now["retryOf"]) == ("retry", failed)
    assert now["status"] in ENDED
    assert now["stoppedAt"] is not None


async def test_our_retry_says_what_came_of_it(place: Place) -> None:
    failed = place.executions["b2-code-throws"]
    retried = await place.call("retry_execution", id=failed)

    assert (retried["retryOf"], retried["status"]) == (failed, "error")
    assert (await place.call("get_execution", id=retried["id"]))["retryOf"] == failed


async def test_an_execution_is_deleted_only_with_a_confirmation(place: Place) -> None:
    ran = await place.call("run_workflow", id=place.workflows["m-empty"])
    number = ran["execution"]["id"]

    assert isinstance(await place.refused("delete_execution", id=number), ConfirmationRequiredError)
    deleted = await place.call("delete_execution", id=number, confirm=True)

    assert (deleted["id"], deleted["deleted"]) == (number, True)
    assert (await place.refused("get_execution", id=number)).message == f"Execution '{number}' not found"
