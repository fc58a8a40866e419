"""A failure reads as its message, then its hint; it fits, and it keeps our secrets."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.errors import (
    ApiError,
    DogubakoError,
    NoResults,
    NotFoundError,
    RateLimitError,
    ValidationError,
    ValidationErrorContext,
)
from dogubako.contract.redaction import Redactor
from dogubako.outbound.http import Operation
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.jsonable import encode
from dogubako.response.tokens import count_tokens
from dogubako.testing import assert_mcp_tool_response
from tests.hypothesis_profiles import examples

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
@settings(max_examples=examples(150), deadline=None)
def test_any_failure_fits_any_budget(message: str, hint: str | None, max_tokens: int) -> None:
    result = ToolResponseBuilder(max_tokens=max_tokens).failure(DogubakoError(message, hint=hint))

    assert sum(count_tokens(block["text"]) for block in result.content) <= result.tokens <= max_tokens
    assert_mcp_tool_response(result.to_mcp())


class Boastful(ApiError):
    """An error of somebody else, whose facts are anything."""

    def __init__(self, message: str, listed: Any = (), **facts: Any) -> None:
        super().__init__(message)
        self.listed = listed
        self.__dict__.update(facts)

    @property
    def details(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.listed
        return found


ODD = st.none() | st.integers() | st.floats() | ANY_TEXT | st.just("hunter22") | st.lists(ANY_TEXT, max_size=2)
DETAILS = st.lists(st.dictionaries(st.sampled_from(["field", "message", "x"]), ODD | LONG) | ODD, max_size=200) | ODD


@given(LONG, st.none() | LONG, DETAILS, ODD, ODD, ODD, st.integers(100, 2_000))
@settings(max_examples=examples(200), deadline=None)
def test_details_of_any_error_are_masked_and_fit_with_its_words(
    message: str, hint: str | None, listed: Any, code: Any, status: Any, error_id: Any, max_tokens: int
) -> None:
    error = Boastful(message, listed, hint=hint, code=code, http_status=status, error_id=error_id, _retry_after=2e400)
    builder = ToolResponseBuilder(max_tokens=max_tokens, redactor=Redactor(["hunter22"]))

    result = builder.failure(error)

    shown = result.to_mcp()
    assert_mcp_tool_response(shown)
    said = json.dumps(shown, allow_nan=False)
    assert "hunter22" not in said
    texts = sum(count_tokens(block["text"]) for block in shown["content"])
    assert texts + count_tokens(encode(shown["_meta"])) <= result.tokens <= max_tokens
    assert result.error is not None and 400 <= result.error.http_status < 600
    assert (error.message, error.hint, error.code, error.listed) == (message, hint, code, listed)


def test_details_of_an_upstream_error_are_masked() -> None:
    refused = RedmineRefused(
        Operation(name="update issue"), "no", status=422, reasons=["key hunter22", "Set-Cookie: session=abcdef123"]
    )
    result = ToolResponseBuilder(redactor=Redactor(["hunter22"])).failure(refused)

    assert result.to_mcp()["_meta"]["details"] == [
        {"field": "", "message": "key ***"},
        {"field": "", "message": "Set-Cookie: ***"},
    ]
    assert refused.details[0]["message"] == "key hunter22"


def test_many_details_are_counted() -> None:
    wrong = [ValidationErrorContext(field=f"field_{number}", message="is wrong") for number in range(5_000)]
    details = ToolResponseBuilder().failure(ValidationError(wrong)).to_mcp()["_meta"]["details"]

    assert len(details) == 101
    assert details[-1] == {"field": "", "message": "4,900 more were left out."}


def test_a_failure_keeps_no_frames_alive() -> None:
    try:
        raise NotFoundError("gone")
    except NotFoundError as error:
        shown = ToolResponseBuilder().failure(error).error

    assert shown is not None and shown.__traceback__ is None and shown.__context__ is None


def test_a_failure_does_not_change_the_error_it_was_built_from() -> None:
    try:
        raise NotFoundError("gone") from KeyError("key")
    except NotFoundError as raised:
        error = raised
    before = dict(vars(error))
    ToolResponseBuilder(max_tokens=100).failure(error)

    assert vars(error) == before
    assert error.__traceback__ is not None and isinstance(error.__cause__, KeyError)


def test_a_long_message_ends_with_how_much_is_missing() -> None:
    text = ToolResponseBuilder(max_tokens=500).failure(RateLimitError("slow down " * 900)).content[0]["text"]

    assert text.startswith("slow down slow down")
    assert text.endswith("more characters]")


@pytest.mark.parametrize("words", ["ば" * 2_000_000, "key=hunter22 " * 300_000], ids=["one word", "secrets"])
def test_only_the_beginning_of_a_message_of_megabytes_is_looked_at(words: str) -> None:
    looked_at = 0

    class Counting(Redactor):
        def mask_all(self, text: str) -> str:
            nonlocal looked_at
            looked_at += len(text)
            return super().mask_all(text)

    result = ToolResponseBuilder(redactor=Counting(["hunter22"])).failure(ApiError(words, status_code=500, hint=words))

    assert looked_at < 30_000
    assert "hunter" not in result.text
    assert [block["text"].endswith("more characters]") for block in result.content] == [True, True]


@pytest.mark.parametrize("before", range(8_980, 9_010))
def test_the_beginning_of_a_long_message_ends_with_no_half_secret(before: int) -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["hunter22-and-more"]))

    assert "hunt" not in builder.failure(DogubakoError("x " * (before // 2) + "hunter22-and-more" + "y" * 9_000)).text
