"""Which execution a call has started: the one that shows our header, or none, but never one of somebody else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.packs.n8n import trigger_calls
from dogubako.packs.n8n.call_headers import CALL_HEADER
from tests.sandbox.n8n_client import workflow_id

from .made import items, made, run
from .test_running_triggers import having, node, workflow
from .wired import Answers, bench

WORKFLOW = workflow_id("a-success-100")


async def test_the_execution_of_somebody_else_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 0.3)

    def without_our_header(request: httpx2.Request) -> None:
        request.headers.pop(CALL_HEADER, None)

    async with bench(tmp_path, without_our_header) as n8n:
        ran = await n8n.data("run_workflow", id=WORKFLOW)

    assert ran["response"]["status"] == 200
    assert ran["execution"] is None
    assert "candidates" not in ran


async def test_executions_that_cannot_be_read_are_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 3.0)

    async with bench(tmp_path, _refusing_data()) as n8n:
        ran = await n8n.data("run_workflow", id=WORKFLOW)

    assert ran["execution"] is None
    assert [one["status"] for one in ran["candidates"]] == ["success"]


def _refusing_data() -> Answers:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        asks_for_data = "includeData" in request.url.params
        return httpx2.Response(403, json={"message": "Forbidden"}) if asks_for_data else None

    return answers


async def test_our_own_execution_is_named_among_others(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        first = await n8n.data("run_workflow", id=WORKFLOW)
        second = await n8n.data("run_workflow", id=WORKFLOW, wait=False)

    assert int(second["execution"]["id"]) > int(first["execution"]["id"])


async def test_forms_with_other_fields_are_no_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 1.0)
    form = node("Form", "formTrigger", 2.2, formFields={"values": [{"fieldLabel": "A"}]})

    async with bench(tmp_path, _filled_by(form, {"8": "same", "9": "other", "10": "same", "11": None})) as n8n:
        several = await n8n.data("run_workflow", id="w1", data={"A": "same"})
        none = await n8n.data("run_workflow", id="w1", data={"A": "unlike all"})

    assert several["execution"] is None
    assert [one["id"] for one in several["candidates"]] == ["8", "10", "11"]
    assert [one["id"] for one in none["candidates"]] == ["8", "9", "10", "11"]


def _filled_by(form: dict[str, Any], fields: Mapping[str, str | None]) -> Answers:
    """An n8n in which others fill in the form too; one of the executions shows no data yet."""
    having_it = having(workflow(form))

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        number = request.url.path.rpartition("/")[2]
        if request.url.path == "/api/v1/executions" and request.url.params["limit"] != "1":
            running = request.url.params.get("status") == "running"
            rows = [] if running else [{"id": one, "status": "success", "workflowId": "w1"} for one in fields]
            return httpx2.Response(200, json={"data": rows, "nextCursor": None})
        if number in fields:
            value = fields[number]
            runs = {"Form": [run(items({"A": value}))]} if value is not None else {}
            return httpx2.Response(200, json=made(runs, status="success") | {"id": number})
        return having_it(request)

    return answers
