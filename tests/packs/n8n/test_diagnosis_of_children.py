"""A failed sub-workflow is explained by its own execution, as far as n8n still has it."""

from typing import Any

import pytest

from .made import JsonObject, box_with, cause_told, failed_run, items, made, node, run

NOTHING = "Cannot read properties of null (reading 'trim')"


def parent(child: str, number: str = "1", **more: Any) -> JsonObject:
    """An execution whose only step, a sub-workflow, failed."""
    call = node("Call helper", type="n8n-nodes-base.executeWorkflow")
    runs = {"Start": [run(items({"a": 1}))], "Call helper": [failed_run(NOTHING, after="Start", executionId=child)]}
    return made(runs, call, id=number, **more)


def child(number: str) -> JsonObject:
    runs = {
        "Called": [run(items({"email": "x"}))],
        "Clear": [run(items({"email": None}), after="Called")],
        "Use": [failed_run(NOTHING, after="Clear")],
    }
    return made(runs, node("Use", "return $json.email.trim();"), id=number)


async def diagnosis(*executions: JsonObject) -> dict[str, Any]:
    async with box_with(*executions).running() as box:
        result = await box.call("diagnose_execution", {"id": "1"})
    assert not result.is_error, result.content
    data: dict[str, Any] = result.value["data"]
    return data


async def test_the_cause_is_found_in_the_execution_of_the_sub_workflow() -> None:
    data = await diagnosis(parent("2"), child("2"))

    assert (data["origin"]["nodeName"], data["origin"]["problem"]) == ("Clear", "email is null")
    assert data["failure"]["node"] == "Call helper"
    assert data["childExecution"]["executionId"] == "2"
    assert data["childExecution"]["failure"]["node"] == "Use"


async def test_a_child_of_a_child_is_followed() -> None:
    data = await diagnosis(parent("2"), parent("3", "2"), child("3"))

    assert data["origin"]["nodeName"] == "Clear"
    assert "(execution 2)" in data["explanation"]
    assert "(execution 3)" in data["explanation"]


@pytest.mark.parametrize("number", ["99", "../workflows", "", True, None, {"id": 2}])
async def test_a_child_that_cannot_be_read_leaves_the_parents_own_diagnosis(number: Any) -> None:
    data = await diagnosis(parent(number))

    assert "origin" not in data
    assert data["explanation"].startswith("'Call helper' failed")


async def test_executions_that_name_each_other_are_left_after_some_levels() -> None:
    data = await diagnosis(parent("2"), parent("1", "2"))

    assert data["explanation"].count("sub-workflow") <= 3


async def test_a_success_is_explained_by_a_child_that_shows_a_fault() -> None:
    call = node("Call helper", type="n8n-nodes-base.executeWorkflow")
    called = run(items({"a": 1}), after="Start", metadata={"subExecution": {"executionId": "2"}})
    main = made({"Start": [run(items({"a": 1}))], "Call helper": [called]}, call, status="success")
    texts = {"Called": [run(items({"a": 1}))], "Write": [run(items({"text": "Total: NaN"}), after="Called")]}
    data = await diagnosis(main, made(texts, node("Write", "`Total: ${$json.b * 2}`"), id="2", status="success"))

    assert cause_told(data)["nodeName"] == "Write"
    assert "NaN" in cause_told(data)["problem"]
