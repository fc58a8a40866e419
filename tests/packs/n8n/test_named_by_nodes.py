"""Workflows and data tables that nodes name: whether they are there, and whether n8n can use them."""

from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from .checked import Node, node
from .wired import Answers, bench

TABLES: Final = [{"id": "tbl1", "name": "Orders"}, {"id": "tbl2", "name": "Ürünler"}]
HOOK: Final = node("Hook", "webhook", 2)


def instance(tables: int = 200, **workflow: Any) -> Answers:
    """An n8n with the workflow `sub`, and two data tables."""

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        path = request.url.path
        if path.endswith("/workflows/sub"):
            return httpx2.Response(200, json={"id": "sub", "name": "Sub", "nodes": [], "connections": {}, **workflow})
        if path.endswith("/data-tables"):
            return httpx2.Response(tables, json={"data": TABLES, "nextCursor": None})
        return None

    return answer


def calling(kind: str = "executeWorkflow", mode: str = "id", **more: Any) -> Node:
    locator = {"__rl": True, "mode": mode, "value": "sub"}
    return node("Call", kind, 1.2, parameters={"workflowId": locator}, **more)


def reading(mode: str, value: Any, **more: Any) -> Node:
    locator = {"__rl": True, "mode": mode, "value": value}
    parameters = {"resource": "row", "operation": "get", "dataTableId": locator}
    return node("Read", "dataTable", 1.1, parameters=parameters, **more)


async def told(folder: Path, answers: Answers, *nodes: Node) -> dict[str, str]:
    async with bench(folder, answers) as n8n:
        found = await n8n.data("validate_workflow", nodes=[HOOK, *nodes])
    named = ("unknownWorkflow", "unpublishedWorkflow", "unknownTable")
    return {one["problem"]: one["message"] for one in found["warnings"] if one["problem"] in named}


@pytest.mark.parametrize("mode", ["id", "list", "name"])
async def test_a_called_workflow_that_is_not_published_is_told(tmp_path: Path, mode: str) -> None:
    found = await told(tmp_path, instance(active=False, activeVersionId=None), calling(mode=mode))

    assert list(found) == ["unpublishedWorkflow"]
    assert "activate_workflow(id: 'sub')" in found["unpublishedWorkflow"]


@pytest.mark.parametrize(
    ("facts", "called"),
    [
        pytest.param({"active": True, "activeVersionId": "v1"}, calling(), id="published"),
        pytest.param({"active": False}, calling(), id="n8n without versions"),
        pytest.param({"active": False, "activeVersionId": None}, calling(disabled=True), id="switched off"),
        pytest.param(
            {"active": False, "activeVersionId": None},
            calling("@n8n/n8n-nodes-langchain.toolWorkflow"),
            id="tool of an agent",
        ),
    ],
)
async def test_a_workflow_that_can_be_called_is_left_alone(tmp_path: Path, facts: dict[str, Any], called: Node) -> None:
    assert await told(tmp_path, instance(**facts), called) == {}


async def test_a_workflow_that_calls_itself_is_left_alone(tmp_path: Path) -> None:
    unpublished = instance(active=False, activeVersionId=None)

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path.endswith("/workflows/sub"):
            own: dict[str, Any] = {
                "id": "sub",
                "name": "Sub",
                "nodes": [HOOK, calling()],
                "connections": {},
                "activeVersionId": None,
            }
            return httpx2.Response(200, json=own)
        return unpublished(request)

    async with bench(tmp_path, answer) as n8n:
        found = await n8n.data("validate_workflow", id="sub")

    assert "unpublishedWorkflow" not in {one["problem"] for one in found["warnings"]}


@pytest.mark.parametrize(("mode", "value"), [("id", "nope"), ("list", "Orders"), ("name", "Odrers")])
async def test_a_data_table_that_is_not_there_is_told(tmp_path: Path, mode: str, value: str) -> None:
    found = await told(tmp_path, instance(), reading(mode, value))

    assert list(found) == ["unknownTable"]
    assert f"'{value}'" in found["unknownTable"]
    assert "read_data_table" in found["unknownTable"]


@pytest.mark.parametrize(
    ("tables", "nodes"),
    [
        pytest.param(200, [reading("id", "tbl1")], id="id"),
        pytest.param(200, [reading("list", "tbl2")], id="from the list"),
        pytest.param(200, [reading("name", "Ürünler")], id="name"),
        pytest.param(200, [reading("name", "orders")], id="name in lower case"),
        pytest.param(200, [reading("id", "={{ $json.table }}")], id="expression"),
        pytest.param(200, [reading("id", "")], id="not chosen yet"),
        pytest.param(200, [reading("Name", "x")], id="mode that there is not"),
        pytest.param(200, [reading("id", "nope", disabled=True)], id="switched off"),
        pytest.param(403, [reading("id", "nope")], id="key that may not list them"),
        pytest.param(404, [reading("id", "nope")], id="n8n without tables"),
        pytest.param(
            200,
            [
                node(
                    "Make",
                    "dataTable",
                    1.1,
                    parameters={"resource": "table", "operation": "create", "tableName": "New"},
                ),
                reading("name", "New"),
            ],
            id="made by the workflow",
        ),
    ],
)
async def test_a_data_table_that_may_be_there_is_left_alone(tmp_path: Path, tables: int, nodes: list[Node]) -> None:
    assert await told(tmp_path, instance(tables), *nodes) == {}


async def test_n8n_is_asked_for_its_tables_only_by_nodes_that_name_one(tmp_path: Path) -> None:
    async with bench(tmp_path, instance()) as n8n:
        await n8n.data("validate_workflow", nodes=[HOOK, node("Other")])

        assert not [one for one in n8n.wire.sent("GET") if one.endswith("/data-tables")]
