"""A failure reads as its message, then its hint; it fits, and it keeps our secrets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako import ToolResponseBuilder, assert_mcp_tool_response
from dogubako.contract.errors import ApiError, DogubakoError, NoResults, NotFoundError, RateLimitError
from dogubako.contract.secrets import Redactor
from dogubako.response.tokens import count_tokens

ANY_TEXT = st.one_of(st.text(max_size=50), st.sampled_from(["\ud800", "\x00", "Bearer abcdefgh12345678"]))
LONG = st.builds(lambda text, times: text * times, ANY_TEXT, st.integers(1, 500))


def test_the_first_block_is_exactly_the_message_and_the_second_the_hint() -> None:
    result = ToolResponseBuilder().failure(NotFoundError("Workflow 'abc123' not found", hint="list_workflows has ids."))

    assert result.to_mcp() == {
        "content": [
            {"type": "text", "text": "Workflow 'abc123' not found"},
            {"type": "text", "text": "list_workflows has ids."},
        ],
        "isError": True,
        "_meta": {"code": "NOT_FOUND", "retryable": False, "hint": "list_workflows has ids."},
    }


def test_without_a_hint_there_is_one_block() -> None:
    assert len(ToolResponseBuilder().failure(ApiError("Failed")).content) == 1


def test_an_error_without_words_says_its_code() -> None:
    assert ToolResponseBuilder().failure(ApiError("")).content[0]["text"] == "API_ERROR"


def test_no_results_is_an_answer_and_not_a_failure() -> None:
    result = ToolResponseBuilder().failure(NoResults())

    assert result.to_mcp() == {"content": [{"type": "text", "text": "No results found."}], "isError": False}
    assert (result.code, result.count, result.error) == ("OK", 0, None)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        pytest.param("Failed: key hunter22 is wrong", "Failed: key *** is wrong", id="a secret of ours"),
        pytest.param("GET http://u:pw12345@host failed", "GET http://***@host failed", id="credentials in a URL"),
        pytest.param("said X-API-Key: abc123def", "said X-API-Key: ***", id="a header of theirs"),
        pytest.param("half \ud800 a character", "half \ufffd a character", id="half a character"),
    ],
)
def test_messages_and_hints_are_masked(message: str, shown: str) -> None:
    error = ApiError(message, hint=message)

    result = ToolResponseBuilder(redactor=Redactor(["hunter22"])).failure(error)

    assert [block["text"] for block in result.content] == [shown, shown]
    assert result.error is not None
    assert result.error.message == result.error.hint == shown, "what a door writes from the error is masked as well"
    assert error.message == error.hint == str(error) == message, "the log and a second raise see the original"


@given(LONG, st.none() | LONG, st.integers(100, 2_000))
@settings(max_examples=150, deadline=None)
def test_any_failure_fits_any_budget(message: str, hint: str | None, max_tokens: int) -> None:
    result = ToolResponseBuilder(max_tokens=max_tokens).failure(DogubakoError(message, hint=hint))

    assert sum(count_tokens(block["text"]) for block in result.content) <= result.tokens <= max_tokens
    assert_mcp_tool_response(result.to_mcp())


def test_a_long_message_ends_with_how_much_is_missing() -> None:
    text = ToolResponseBuilder(max_tokens=500).failure(RateLimitError("slow down " * 900)).content[0]["text"]

    assert text.startswith("slow down slow down")
    assert text.endswith("more characters]")
