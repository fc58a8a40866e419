"""Executions are replayed from recordings, with new ids and times, and never invented."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogubako_sandbox.n8n import store as store_module
from dogubako_sandbox.n8n.other_endpoints import call_webhook
from dogubako_sandbox.n8n.replay import Retelling, seeded_store
from dogubako_sandbox.n8n.store import now_ms, recordings, to_ms
from dogubako_sandbox.n8n.workflow_parts import on_webhook
from tests.sandbox.n8n_client import N8n, body_of, workflow_id

CANNOT_RUN = (501, "The sandbox cannot run this workflow: it has no recording of it.")
REPAIRED = "const email = ($json.email ?? '').toLowerCase();\nreturn { json: { ...$json, email } };"


def repaired(script: str) -> Any:
    """The broken workflow, with another script in the node that fails."""
    body = body_of("null-upstream")
    for node in (nodes := [dict(each) for each in body["nodes"]]):
        if node["name"] == "Normalise email":
            node["parameters"] = {**node["parameters"], "jsCode": script}
    return {**body, "nodes": nodes}


async def test_every_recording_is_there_from_the_start_in_order_and_recent(n8n: N8n) -> None:
    finished = (await n8n.told("GET", "executions"))["data"]
    running = (await n8n.told("GET", "executions?status=running"))["data"]
    found = sorted([*finished, *running], key=lambda each: -int(each["id"]))

    count = sum(len(each.all_executions) for each in recordings())
    assert [each["id"] for each in found] == [str(number) for number in range(count, 0, -1)]
    own = [to_ms(each["startedAt"]) for each in found if each["mode"] != "integrated"]
    assert own == sorted(own, reverse=True)
    assert 0 < now_ms() - own[0] < 10 * 60 * 1000


async def test_what_is_running_is_listed_only_for_who_asks(n8n: N8n) -> None:
    everything = await n8n.told("GET", "executions")

    assert "running" not in {each["status"] for each in everything["data"]}
    assert await n8n.newest("running") not in {each["id"] for each in everything["data"]}


async def test_without_data_the_size_is_told_all_the_same(n8n: N8n) -> None:
    number = await n8n.newest("error")
    small, whole = [await n8n.told("GET", f"executions/{number}{query}") for query in ("", "?includeData=true")]

    assert whole.keys() - small.keys() == {"data", "workflowData", "customData"}
    assert small["jsonSizeBytes"] > 0


@pytest.mark.parametrize(("query", "more"), [({}, set()), ({"includeData": "true"}, {"data", "workflowData"})])
async def test_a_list_shows_ten_keys_and_data_on_demand(n8n: N8n, query: dict[str, str], more: set[str]) -> None:
    listed = (await n8n.told("GET", "executions", params={"limit": "1", **query}))["data"][0]

    assert {"id", "status", "startedAt", "waitTill", "workflowId"} | more <= listed.keys()
    assert len(listed) == 10 or more


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"workflowId": "nope"}, id="workflow"),
        pytest.param({"projectId": "nope"}, id="project"),
        pytest.param({"startedAfter": "2999-01-01T00:00:00Z"}, id="later than all"),
        pytest.param({"startedBefore": "1999-01-01T00:00:00Z"}, id="earlier than all"),
        pytest.param({"status": "new"}, id="status"),
    ],
)
async def test_a_filter_that_fits_nothing_gives_an_empty_page(n8n: N8n, query: dict[str, str]) -> None:
    assert await n8n.told("GET", "executions", params=query) == {"data": [], "nextCursor": None}


async def test_the_moments_of_a_filter_belong_to_it(n8n: N8n) -> None:
    newest = (await n8n.told("GET", "executions"))["data"][0]
    query = {"startedAfter": newest["startedAt"], "startedBefore": newest["startedAt"]}

    assert [each["id"] for each in (await n8n.told("GET", "executions", params=query))["data"]] == [newest["id"]]


async def test_a_call_of_the_webhook_adds_the_recorded_execution(n8n: N8n) -> None:
    status, body = await n8n.ask("POST", "/webhook/null-upstream", {})
    newest = (await n8n.told("GET", "executions?includeData=true&limit=1"))["data"][0]

    assert (status, body) == (500, {"message": "Error in workflow"})
    assert (newest["status"], newest["workflowId"]) == ("error", workflow_id("null-upstream"))
    assert newest["data"]["resultData"]["lastNodeExecuted"] == "Normalise email"
    assert abs(to_ms(newest["stoppedAt"]) - now_ms()) < 10_000


async def test_a_sub_workflow_gets_an_execution_of_its_own(n8n: N8n) -> None:
    await n8n.told("POST", "/webhook/q-parent", {})
    child, parent = (await n8n.told("GET", "executions?includeData=true&limit=2"))["data"]

    assert child["data"]["parentExecution"]["executionId"] == parent["id"]
    assert child["data"]["parentExecution"]["workflowId"] == workflow_id("q-parent")
    call = parent["data"]["resultData"]["runData"]["Call child"][0]["metadata"]["subExecution"]
    assert call == {"executionId": child["id"], "workflowId": child["workflowId"]}


async def test_a_copy_runs_whatever_its_name_path_and_ids(n8n: N8n) -> None:
    body = body_of("a-success-100", name="Copy")
    nodes = [{**each, "position": [1, 2], "parameters": dict(each["parameters"])} for each in body["nodes"]]
    nodes[0]["parameters"]["path"] = "copy"
    for node in nodes:
        del node["id"]
    copy = await n8n.told("POST", "workflows", {**body, "nodes": nodes})
    await n8n.told("POST", f"workflows/{copy['id']}/publish")

    await n8n.told("POST", "/webhook/copy", {})

    made = (await n8n.told("GET", f"executions?includeData=true&workflowId={copy['id']}"))["data"]
    assert [(each["status"], each["workflowData"]["name"]) for each in made] == [("success", "Copy")]
    assert {each["id"] for each in made[0]["workflowData"]["nodes"]} == {each["id"] for each in copy["nodes"]}


async def test_a_repair_that_was_recorded_runs_and_any_other_says_that_it_cannot(n8n: N8n) -> None:
    await n8n.told("PUT", f"workflows/{workflow_id('null-upstream')}", repaired(REPAIRED))
    assert (await n8n.told("POST", "/webhook/null-upstream", {}))["email"] == "aiko@example.com"
    before = await n8n.told("GET", "executions")

    await n8n.told("PUT", f"workflows/{workflow_id('null-upstream')}", repaired("return $input.all();"))

    assert await n8n.message("POST", "/webhook/null-upstream", {}) == CANNOT_RUN
    assert await n8n.told("GET", "executions") == before


async def test_a_webhook_that_nobody_published_is_not_registered(n8n: N8n) -> None:
    await n8n.told("POST", f"workflows/{workflow_id('m-empty')}/unpublish")
    status, body = await n8n.ask("POST", "/webhook/m-empty", {})

    assert (status, body["code"]) == (404, 404)
    assert body["message"] == 'The requested webhook "POST m-empty" is not registered.'
    assert body["hint"].startswith("The workflow must be active for a production URL to run successfully.")


async def test_a_webhook_says_which_method_was_meant(n8n: N8n) -> None:
    _, body = await n8n.ask("GET", "/webhook/m-empty")

    meant = "Did you mean to make a POST request?"
    assert body["message"] == f"This webhook is not registered for GET requests. {meant}"


async def test_a_retry_repeats_the_failure_and_names_what_it_repeats(n8n: N8n) -> None:
    failed = await n8n.newest("error", workflowId=workflow_id("null-upstream"))

    retried = await n8n.told("POST", f"executions/{failed}/retry")

    assert (retried["mode"], retried["retryOf"], retried["status"]) == ("retry", failed, "error")
    assert (await n8n.told("GET", f"executions/{failed}"))["retrySuccessId"] is None


async def test_a_retry_with_the_repaired_workflow_succeeds(n8n: N8n) -> None:
    failed = await n8n.newest("error", workflowId=workflow_id("null-upstream"))
    await n8n.told("PUT", f"workflows/{workflow_id('null-upstream')}", repaired(REPAIRED))

    retried = await n8n.told("POST", f"executions/{failed}/retry", {"loadWorkflow": True})

    assert retried["status"] == "success"
    original = await n8n.told("GET", f"executions/{failed}")
    assert (original["status"], original["retrySuccessId"]) == ("error", retried["id"])


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        pytest.param("success", (409, "The execution succeeded, so it cannot be retried."), id="success"),
        pytest.param("waiting", CANNOT_RUN, id="nobody recorded how it would go on"),
    ],
)
async def test_what_did_not_fail_is_not_retried(n8n: N8n, status: str, refusal: tuple[int, str]) -> None:
    assert await n8n.message("POST", f"executions/{await n8n.newest(status)}/retry") == refusal


@pytest.mark.parametrize("status", ["waiting", "running"])
async def test_what_has_not_ended_can_be_stopped_once(n8n: N8n, status: str) -> None:
    number = await n8n.newest(status)

    stopped = await n8n.told("POST", f"executions/{number}/stop")

    assert stopped.keys() == {"mode", "startedAt", "stoppedAt", "finished", "status"}
    after = await n8n.told("GET", f"executions/{number}?includeData=true")
    assert (after["status"], after["waitTill"]) == ("canceled", None)
    assert after["data"]["resultData"]["error"]["message"] == "The execution was cancelled manually"
    again = f"Only running or waiting executions can be stopped and {number} is currently canceled"
    assert await n8n.message("POST", f"executions/{number}/stop") == (409, again)


async def test_an_execution_is_deleted_once_and_its_number_is_not_given_again(n8n: N8n) -> None:
    number = (await n8n.told("GET", "executions"))["data"][0]["id"]

    deleted = await n8n.told("DELETE", f"executions/{number}")

    assert deleted["id"] == int(number)
    assert await n8n.message("DELETE", f"executions/{number}") == (404, "Not Found")
    await n8n.told("POST", "/webhook/a-success-100", {})
    assert int((await n8n.told("GET", "executions"))["data"][0]["id"]) > int(number)


async def test_a_running_execution_is_not_deleted(n8n: N8n) -> None:
    number = await n8n.newest("running")

    assert await n8n.message("DELETE", f"executions/{number}") == (400, "Cannot delete a running execution")


def test_a_recording_told_again_changes_ids_and_times_but_no_item() -> None:
    recorded = {
        "id": "7",
        "retryOf": "3",
        "startedAt": "2026-01-01T00:00:00.250Z",
        "waitTill": "3000-01-01T00:00:00.000Z",
        "workflowId": "old",
        "data": [
            {"startTime": 1_767_225_600_250, "json": {"startedAt": "mine", "executionId": "7"}},
            {"startTime": 1_767_225_600, "executionId": "7", "resumeUrl": "http://n8n/webhook-waiting/7?a=7"},
        ],
    }

    told = Retelling(executions={"7": "70"}, workflows={"old": "new"}, shift=60_000).of(recorded)

    assert told == {
        "id": "70",
        "retryOf": None,
        "retrySuccessId": None,
        "startedAt": "2026-01-01T00:01:00.250Z",
        "waitTill": "3000-01-01T00:00:00.000Z",
        "workflowId": "new",
        "data": [
            {"startTime": 1_767_225_660_250, "json": {"startedAt": "mine", "executionId": "7"}},
            {"startTime": 1_767_225_660, "executionId": "70", "resumeUrl": "http://n8n/webhook-waiting/70?a=7"},
        ],
    }


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package without recordings, instead of ours."""
    monkeypatch.setattr(store_module, "files", lambda _: tmp_path)
    recordings.cache_clear()
    yield tmp_path
    recordings.cache_clear()


def test_without_recordings_there_are_workflows_and_no_executions(package: Path) -> None:
    store = seeded_store()

    assert store.workflows
    assert store.executions == {}


def test_a_recording_brings_its_workflow_along(package: Path) -> None:
    execution = {
        "id": "17",
        "mode": "webhook",
        "status": "success",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "stoppedAt": "2026-01-01T00:00:01.000Z",
        "workflowId": "elsewhere",
        "workflowData": {**on_webhook("new", "New", [], []).body, "id": "elsewhere"},
        "data": {"resultData": {"runData": {}}},
    }
    said = {"key": "new", "webhook": {"status": 200, "body": "done"}, "execution": execution, "children": []}
    (package / "recordings").mkdir()
    (package / "recordings" / "new.json").write_text(json.dumps(said))

    store = seeded_store()

    assert [each["workflowData"]["name"] for each in store.executions.values()] == ["New"]
    assert call_webhook(store, "POST", "new", {}).body == "done"
