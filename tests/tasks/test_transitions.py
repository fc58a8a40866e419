"""What may become of a task, whoever asks for it and in whatever order."""

import time
from typing import Any

import msgspec
import pytest

from dogubako.contract.call import ToolCall, ToolResult, text_block
from dogubako.contract.conversation import ElicitRequest
from dogubako.contract.errors import ApiError, CapabilityRequiredError
from dogubako.tasks import transitions
from dogubako.tasks.records import TaskRecord, decode_record, encode_record, new_record
from dogubako.tasks.transitions import MOST_RUNS

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
DONE = ToolResult(content=(text_block("done"),), kind="text")


def record(**changes: Any) -> TaskRecord:
    call = ToolCall(name="work", parameters={"half": "\ud83d"})
    made = new_record(call, "id", repeatable=False, answers={}, now=time.time(), ttl_ms=1000)
    return msgspec.structs.replace(made, **changes)


def begun(**changes: Any) -> TaskRecord:
    found = transitions.begun(record(**changes), "run")
    assert found is not None
    return found


def asked() -> TaskRecord:
    requests = {"one": ElicitRequest(message="One?", schema=SCHEMA), "two": ElicitRequest(message="2?", schema=SCHEMA)}
    found = transitions.finished(begun(), "run", ToolResult(content=(), pending=requests))
    assert found is not None
    return found


def test_a_record_is_the_same_after_it_was_stored() -> None:
    for one in (record(), begun(), asked(), transitions.finished(begun(), "run", DONE)):
        assert one is not None
        assert decode_record(encode_record(one)) == one


def test_what_is_not_a_record_is_none() -> None:
    assert decode_record(b"{}") is None
    assert decode_record(b"\xff") is None


def test_an_interrupted_task_that_must_not_run_twice_fails() -> None:
    again = transitions.begun(begun(), "second run")

    assert again is not None and again.status == "failed" and again.run is None
    assert again.view().error is not None
    assert "must not run twice" in str(again.view().error)


def test_an_interrupted_task_that_may_run_twice_runs_again_but_not_for_ever() -> None:
    task = begun(repeatable=True)
    for number in range(2, MOST_RUNS + 1):
        again = transitions.begun(task, f"run {number}")
        assert again is not None and again.run == f"run {number}"
        task = again

    last = transitions.begun(task, "one too many")
    assert last is not None and last.status == "failed"


def test_the_result_of_a_run_that_was_replaced_is_dropped() -> None:
    replaced = transitions.begun(begun(repeatable=True), "second run")
    assert replaced is not None

    assert transitions.finished(replaced, "run", DONE) is None
    assert transitions.finished(replaced, "second run", DONE) is not None


def test_a_task_that_was_cancelled_stays_cancelled() -> None:
    stopped = transitions.cancelled(begun())
    assert stopped is not None and stopped.status == "cancelled"

    assert transitions.finished(stopped, "run", DONE) is None
    assert transitions.begun(stopped, "run") is None
    assert transitions.cancelled(stopped) is None
    assert transitions.answered(stopped, {"one": {"action": "decline"}}) is None


def test_a_task_that_has_ended_keeps_neither_arguments_nor_credentials() -> None:
    secret = begun(credentials=(("redmine", "s3cret", ""),))
    done = transitions.finished(secret, "run", DONE)

    assert done is not None and b"s3cret" not in encode_record(done)
    assert done.parameters == "{}"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(ApiError("Refused.", status_code=500), "completed", id="the tool failed"),
        pytest.param(CapabilityRequiredError("roots"), "failed", id="it could not be run"),
    ],
)
def test_a_tool_that_fails_has_completed_its_task(error: Any, status: str) -> None:
    done = transitions.finished(begun(), "run", ToolResult(content=(), is_error=True, error=error))

    assert done is not None and done.status == status


def test_answers_are_taken_one_by_one_and_only_if_they_fit() -> None:
    task = asked()
    assert transitions.answered(task, {"other": {"action": "accept"}, "one": {"action": "accept"}}) is None

    long = {"action": "accept", "content": {"yes": True, "more": "x" * 200_000}}
    assert transitions.answered(task, {"one": long}) is None

    half = transitions.answered(task, {"one": {"action": "accept", "content": {"yes": True}}})
    assert half is not None and half.status == "input_required" and list(half.asked) == ["two"]
    whole = transitions.answered(half, {"two": {"action": "decline"}})
    assert whole is not None and whole.status == "working" and not whole.asked


def test_a_key_is_never_used_for_a_second_question() -> None:
    task = transitions.answered(asked(), {"one": {"action": "decline"}, "two": {"action": "decline"}})
    assert task is not None
    again = transitions.begun(task, "next")
    assert again is not None
    question = {"one": ElicitRequest(message="Again?", schema=SCHEMA)}
    second = transitions.finished(again, "next", ToolResult(content=(), pending=question))

    assert second is not None and not {"one", "two"} & second.asked.keys()


def test_a_process_that_stops_gives_back_what_may_run_twice() -> None:
    back = transitions.given_back(begun(repeatable=True), "run")
    assert back is not None and back.status == "working" and back.run is None and back.runs == 0

    lost = transitions.given_back(begun(), "run")
    assert lost is not None and lost.status == "failed"
