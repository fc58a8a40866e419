"""A result that a tool returns is taken apart and built again: it says the same, and keeps the promises."""

from typing import Any

import pytest

from dogubako.contract.conversation import RootsRequest
from dogubako.contract.errors import BusyError, NoResults, NotFoundError, ToolExecutionError
from dogubako.contract.redaction import Redactor
from dogubako.output import Blocks, Json, Text
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.continuation import Continuation
from dogubako.tools import ToolResult

BUILDER = ToolResponseBuilder(redactor=Redactor(["hunter22"]))
HELLO = {"type": "text", "text": "hello"}
PIXEL = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("text", id="text"),
        pytest.param(Text(text="two\nlines", count=2, cacheable=True), id="text with facts"),
        pytest.param(Json(data={"a": [1, None]}, message="Found", count=1, cacheable=True), id="JSON"),
        pytest.param(Json(data=["word " * 50] * 2_000), id="JSON that was cut"),
        pytest.param("line\n" * 90_000, id="text that was cut"),
        pytest.param(Blocks([HELLO, PIXEL], count=2, cacheable=True), id="blocks"),
        pytest.param(Blocks([HELLO] * 5_000), id="blocks that were cut"),
    ],
)
def test_a_result_of_ours_stays_what_it_is(answer: Any) -> None:
    result = BUILDER.success(answer)

    assert BUILDER.success(result) == result


def test_the_note_of_an_answer_that_was_cut_names_the_same_call() -> None:
    inner = BUILDER.for_call(None, continuation=Continuation("inner", {}, None))
    outer = BUILDER.for_call(None, continuation=Continuation("outer", {}, None))
    result = inner.success({"rows": ["a row"] * 50_000})

    again = outer.success(result)

    assert again.trimmed
    assert again.value["_truncated"]["next"].startswith("read_more(tool: 'inner'")


def test_an_answer_that_must_be_cut_again_still_says_what_was_left_out_before() -> None:
    result = BUILDER.success({"rows": ["a row"] * 50_000})

    again = BUILDER.for_call(2_000).success(result)

    assert again.tokens <= 2_000
    assert again.value["message"].startswith("Done Left out to fit 24,988 tokens:")
    assert "_truncated" in again.value


def test_a_failure_stays_the_same_failure() -> None:
    result = BUILDER.failure(NotFoundError("No hunter22 here", hint="Look elsewhere."))

    again = BUILDER.success(result)

    assert again.is_error and isinstance(again.error, NotFoundError)
    assert again.to_mcp() == result.to_mcp()


def test_no_results_stays_an_answer() -> None:
    result = BUILDER.failure(NoResults("nothing", hint="Try other words."))

    assert BUILDER.success(result) == result


@pytest.mark.parametrize(
    ("made", "code", "text"),
    [
        pytest.param(
            ToolResult(content=(HELLO,), is_error=True), ToolExecutionError.code, "hello", id="no error is named"
        ),
        pytest.param(
            ToolResult(content=(), is_error=True), ToolExecutionError.code, "Tool execution failed", id="no words"
        ),
        pytest.param(
            ToolResult(content=(HELLO,), error=BusyError("later")), "BUSY", "later", id="said to be a success"
        ),
    ],
)
def test_a_failure_made_by_hand_is_a_failure(made: ToolResult, code: str, text: str) -> None:
    result = BUILDER.success(made)

    assert (result.is_error, result.code, result.content[0]["text"]) == (True, code, text)


def test_a_question_stays_a_question() -> None:
    requests = {"a": RootsRequest()}

    assert BUILDER.success(ToolResult(content=(HELLO,), pending=requests)) == ToolResult(content=(), pending=requests)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"success":true}', '{"success":false,"message":"","data":1}', "[" * 9_000]
)
def test_json_that_is_no_envelope_is_shown_as_text(text: str) -> None:
    result = BUILDER.success(ToolResult(content=({"type": "text", "text": text},), kind="json"))

    assert (result.kind, result.content) == ("blocks", ({"type": "text", "text": text},))


def test_data_that_was_promised_comes_from_the_envelope() -> None:
    checked: list[Any] = []

    def check(data: Any) -> Any:
        checked.append(data)
        return data

    inner = BUILDER.for_call(None, lambda data: data).success({"n": 1, "key": "hunter22"})

    result = BUILDER.for_call(None, check).success(inner)

    assert result.structured == {"n": 1, "key": "***"} == checked[0]
    assert BUILDER.success(inner).structured is None


def test_data_that_was_promised_may_stand_beside_any_text() -> None:
    made = ToolResult(content=(HELLO,), kind="text", structured={"n": 1})

    assert BUILDER.for_call(None, lambda data: data).success(made).structured == {"n": 1}


@pytest.mark.parametrize("pending", [{}, None])
def test_a_result_without_content_and_without_a_question_says_so(pending: Any) -> None:
    result = ToolResponseBuilder().success(ToolResult(content=(), pending=pending))

    assert result.code == "OK"
    assert result.text == "[The tool answered without any content.]"
