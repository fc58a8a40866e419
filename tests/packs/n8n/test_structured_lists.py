"""Lists promise an output schema, and every answer keeps it: empty, huge, cut, raw, or from an n8n that lies."""

from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from dogubako.contract.call import ExecutionOptions, ToolResult
from dogubako.packs.n8n.tools.executions import ListExecutions
from dogubako.packs.n8n.tools.workflows import ListWorkflows

from .wired import Bench, bench

TOOLS: dict[str, type[ListExecutions | ListWorkflows]] = {
    "list_executions": ListExecutions,
    "list_workflows": ListWorkflows,
}
ROWS = {"list_executions": "executions", "list_workflows": "workflows"}
EVERY_TOOL = pytest.mark.parametrize("name", TOOLS)
LONG = "長い名前の道具箱" * 40


def execution(number: int) -> dict[str, Any]:
    times = {"startedAt": "2026-11-16T00:00:00.000Z", "stoppedAt": "2026-11-16T00:00:01.500Z"}
    return {"id": str(number), "workflowId": f"{LONG}{number}", "status": "error", "mode": "webhook", **times}


def workflow(number: int) -> dict[str, Any]:
    facts = {"active": True, "nodes": [], "updatedAt": "2026-11-16T00:00:00.000Z", "tags": [{"name": LONG}]}
    return {"id": f"w{number}", "name": f"{LONG}{number}", **facts}


def n8n_with(rows: list[Any], **more: Any) -> Any:
    """An n8n whose lists have these rows."""
    return lambda request: httpx2.Response(200, json={"data": rows, "nextCursor": None, **more})


def keeps_its_promise(name: str, result: ToolResult) -> bool:
    assert result.code == "OK", result.content
    sent = result.to_mcp()["structuredContent"]
    return bool(jsonschema_rs.is_valid(TOOLS[name]().output_schema(), sent)) and sent == result.value["data"]


async def called(box: Bench, name: str, tokens: int = 25_000, **parameters: Any) -> ToolResult:
    result = await box.call(name, ExecutionOptions(max_tokens=tokens), **parameters)
    assert result.tokens <= tokens
    return result


@EVERY_TOOL
@pytest.mark.parametrize("raw", [False, True])
async def test_the_sandbox_answers_as_promised(tmp_path: Path, name: str, raw: bool) -> None:
    async with bench(tmp_path) as box:
        result = await called(box, name, raw=raw)

    assert keeps_its_promise(name, result)
    assert ("data" if raw else ROWS[name]) in result.structured


@EVERY_TOOL
async def test_nothing_is_an_empty_list(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path, n8n_with([])) as box:
        result = await called(box, name)

    assert keeps_its_promise(name, result)
    assert result.structured == {ROWS[name]: [], "nextCursor": None}


@EVERY_TOOL
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("tokens", [25_000, 2_000, 600])
async def test_a_huge_page_is_cut_in_both_forms_alike(tmp_path: Path, name: str, raw: bool, tokens: int) -> None:
    rows = [execution(number) if name == "list_executions" else workflow(number) for number in range(250, 0, -1)]
    async with bench(tmp_path, n8n_with(rows)) as box:
        result = await called(box, name, tokens, raw=raw, limit=250)

    assert result.trimmed
    assert keeps_its_promise(name, result)


@EVERY_TOOL
@pytest.mark.parametrize("odd", [{"a": 1}, [1], True, 1.5, 2**70])
async def test_values_of_other_types_are_left_out(tmp_path: Path, name: str, odd: Any) -> None:
    row = execution(1) | {"mode": odd} if name == "list_executions" else workflow(1) | {"name": odd}
    async with bench(tmp_path, n8n_with([row])) as box:
        result = await called(box, name)

    assert keeps_its_promise(name, result)
    assert {"mode", "name"}.isdisjoint(result.structured[ROWS[name]][0])


@EVERY_TOOL
async def test_a_cursor_that_is_no_text_is_an_error(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path, n8n_with([], nextCursor=7)) as box:
        result = await box.call(name)

    assert result.code == "API_ERROR"
    assert result.content[0]["text"].endswith("n8n answered with a nextCursor that is no text")
