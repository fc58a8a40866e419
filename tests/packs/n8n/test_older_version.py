"""An older n8n (2.8): fewer facts about executions, fewer keys in a PUT, and refusals that do not name the key."""

import json
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from dogubako.packs.n8n.formatters.facts import facts_of
from dogubako.packs.n8n.formatters.summary import ExecutionFormatter
from dogubako.packs.n8n.models import read_execution
from dogubako_sandbox.n8n.store import recordings
from tests.packs.n8n.wired import bench, told

_KNOWN = {"name", "nodes", "connections", "settings"}
_UNNAMED = {"message": "request/body must NOT have additional properties"}
_IN_SETTINGS = {"message": "request/body/settings must NOT have additional properties"}
# What 2.8 does not tell about an execution.
_NEWER = ("jsonSizeBytes", "createdAt", "deletedAt", "storedAt", "tracingContext", "workflowVersionId")


def _refuses(request: httpx2.Request) -> httpx2.Response | None:
    """What 2.8 would refuse; everything else is left to the sandbox."""
    if request.method not in ("PUT", "POST") or not request.url.path.startswith("/api/v1/workflows"):
        return None
    body: Any = json.loads(request.content or b"null")
    if not isinstance(body, dict) or "name" not in body:
        return None
    if set(body) - _KNOWN:
        return httpx2.Response(400, json=_UNNAMED)
    if set(body["settings"]) - {"executionOrder", "saveManualExecutions", "saveDataSuccessExecution"}:
        return httpx2.Response(400, json=_IN_SETTINGS)
    return None


def test_an_execution_without_the_newer_facts_has_the_same_summary() -> None:
    execution = next(dict(one.execution) for one in recordings() if one.key == "null-upstream")
    older = {key: value for key, value in execution.items() if key not in _NEWER}

    now, then = (ExecutionFormatter(facts_of(read_execution(msgspec.json.encode(one)))) for one in (execution, older))
    version = {"ran": execution["workflowVersionId"]}
    assert now.format_summary() == {**then.format_summary(), "workflowVersion": version}
    assert now.guidance() == then.guidance()


async def test_an_update_is_sent_again_without_what_the_version_does_not_take(tmp_path: Path) -> None:
    async with bench(tmp_path, _refuses) as server:
        made = await server.data("create_workflow", name="Old", nodes=[_trigger()], settings={"executionOrder": "v1"})
        before = len(server.wire.requests)
        changed = await server.data("update_workflow", id=made["id"], name="New")

    sent = [json.loads(one.content) for one in server.wire.requests[before:] if one.method == "PUT"]
    assert changed["changed"] == ["name"]
    assert changed["differences"] == []
    assert set(sent[-1]) == _KNOWN


async def test_an_unknown_setting_is_named_although_n8n_does_not(tmp_path: Path) -> None:
    async with bench(tmp_path, _refuses) as server:
        made = await server.data("create_workflow", name="Old", nodes=[_trigger()])
        result = await server.call("update_workflow", id=made["id"], settings={"bogus": 1})

    assert told(result) == (
        "API_ERROR",
        "Failed to update workflow: request/body/settings must NOT have additional properties",
    )
    assert result.error is not None
    assert result.error.hint == "Unknown settings: bogus."


def _trigger() -> dict[str, Any]:
    return {
        "name": "Webhook",
        "type": "n8n-nodes-base.webhook",
        "typeVersion": 2,
        "position": [0, 0],
        "parameters": {"path": "old", "httpMethod": "POST"},
    }


def _publishes(request: httpx2.Request) -> None:
    """An n8n that does not know `publishIfActive` and ignores it."""
    if request.method == "PUT":
        request.url = request.url.copy_remove_param("publishIfActive")


async def test_a_version_that_publishes_without_being_asked_is_told_on(tmp_path: Path) -> None:
    async with bench(tmp_path, _publishes) as server:
        made = await server.data("create_workflow", name="Old", nodes=[_trigger()])
        published = (await server.data("activate_workflow", id=made["id"]))["publishedVersionId"]
        change = {"nodeName": "Webhook", "notes": "new"}
        changed = await server.data("update_workflow", id=made["id"], updateNodes=[change])

    (went_live,) = changed["unrequested"]
    assert (went_live["path"], went_live["before"]) == ("activeVersionId", published)


def _has_no_history(request: httpx2.Request) -> httpx2.Response | None:
    path = request.url.path
    return httpx2.Response(404, json={"message": "not found"}) if path.endswith("/history") else None


async def test_without_a_history_drafts_are_still_told_and_kept(tmp_path: Path) -> None:
    async with bench(tmp_path, _has_no_history) as server:
        made = await server.data("create_workflow", name="Old", nodes=[_trigger()])
        await server.data("activate_workflow", id=made["id"])
        change = {"nodeName": "Webhook", "notes": "new"}
        changed = await server.data("update_workflow", id=made["id"], updateNodes=[change])
        error = told(await server.call("workflow_history", id=made["id"]))

    assert changed["unpublishedDraft"]["versionId"] == changed["versionId"]
    assert "savedBy" not in changed["unpublishedDraft"]
    assert error == ("API_ERROR", "This n8n has no history of versions in its API")
