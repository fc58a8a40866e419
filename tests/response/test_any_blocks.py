"""Arbitrary JSON as blocks and as results made by hand: every answer is valid, fits, and holds no secret."""

import base64
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types.methods import validate_server_result

from dogubako.contract.errors import AnswerTooLargeError, ApiError
from dogubako.contract.redaction import Redactor
from dogubako.output import Blocks
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.jsonable import encode
from dogubako.response.tokens import count_tokens
from dogubako.testing import assert_mcp_tool_response
from dogubako.tools import ToolResult
from tests.hypothesis_profiles import examples

SECRET = "hunter22"
DIGITS = "90210123"
BUILDER = ToolResponseBuilder(redactor=Redactor([SECRET, DIGITS]))

# Any JSON, and what is not even JSON.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**64, max_value=2**80),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["\ud800", f"a {SECRET} b", SECRET, DIGITS, int(DIGITS), "x" * 3_000, "\x00", "text/plain", "x:y"]),
    st.binary(max_size=5),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.just(SECRET), inner, max_size=4)
    ),
    max_leaves=8,
)
ENCODED = st.binary(max_size=60).map(lambda data: base64.b64encode(data).decode()) | st.just(
    base64.b64encode(f"the key is {SECRET}".encode()).decode()
)
RESOURCES = st.fixed_dictionaries(
    {"uri": st.just("x:y") | JSON},
    optional={"text": JSON, "blob": ENCODED | JSON, "mimeType": st.just("a/b") | JSON, "_meta": JSON, "more": JSON},
)
KINDS = (
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
    "video",
    "tool_use",
    SECRET,
    "\ud800",
    "x" * 500,
    7,
    None,
)
NEARLY = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "text": st.text(max_size=400) | JSON,
        "data": ENCODED | JSON,
        "mimeType": st.just("image/png") | JSON,
        "resource": RESOURCES | JSON,
        "uri": st.just("x:y") | JSON,
        "name": st.just("a name") | JSON,
        "title": JSON,
        "description": JSON,
        "size": JSON,
        "icons": JSON,
        "annotations": st.fixed_dictionaries(
            {}, optional={"audience": st.just(["user"]) | JSON, "priority": st.just(1) | JSON, "lastModified": JSON}
        )
        | JSON,
        "_meta": JSON,
        "surprise": JSON,
    },
)
CONTENT = st.lists(NEARLY | JSON, max_size=12) | st.builds(
    lambda one, times: [one] * times, NEARLY, st.integers(1, 400)
)


@given(CONTENT, JSON, st.integers(100, 3_000))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_blocks_make_a_valid_answer_that_fits_and_holds_no_secret(
    content: list[Any], structured: Any, max_tokens: int
) -> None:
    kept(BUILDER.for_call(max_tokens).success(Blocks(content, structured)), max_tokens)


HAND_MADE = st.builds(
    ToolResult,
    content=CONTENT.map(tuple) | CONTENT | JSON,
    kind=st.sampled_from(["json", "text", "blocks", "odd", None]),
    is_error=st.booleans() | JSON,
    structured=JSON,
    error=st.none() | st.builds(ApiError, st.text() | st.just(SECRET), hint=st.text()) | JSON,
    tokens=JSON,
    count=JSON,
    cacheable=JSON,
    trimmed=JSON,
)
ENVELOPES = st.builds(
    lambda message, data: ToolResult(
        content=({"type": "text", "text": json.dumps({"success": True, "message": message, "data": data})},),
        kind="json",
    ),
    st.text(max_size=3_000),
    st.recursive(st.text() | st.just(SECRET) | st.just(int(DIGITS)), lambda inner: st.lists(inner, max_size=30)),
)


@given(HAND_MADE | ENVELOPES, st.integers(100, 3_000))
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_hand_made_result_makes_a_valid_answer_that_fits_and_holds_no_secret(
    result: ToolResult, max_tokens: int
) -> None:
    responses = BUILDER.for_call(max_tokens)
    try:
        again = responses.success(result)
    except AnswerTooLargeError as error:
        # A few tokens do not hold the envelope of a JSON answer.
        assert result.kind == "json"
        again = responses.failure(error)

    kept(again, max_tokens)
    assert type(again.count) in (int, bool, type(None)) and type(again.cacheable) is type(again.trimmed) is bool
    assert again.value is not None


def kept(result: ToolResult, max_tokens: int) -> None:
    """The answer is valid, fits, and holds no secret."""
    shown = result.to_mcp()
    assert_mcp_tool_response(shown)
    said = json.dumps(shown, ensure_ascii=False, allow_nan=False)
    assert SECRET not in said and DIGITS not in said
    for version in ("2025-11-25", "2026-07-28"):
        validate_server_result("tools/call", version, {**shown, "resultType": "complete"})
    assert sum(map(cost, shown["content"])) <= result.tokens <= max_tokens


def cost(block: dict[str, Any]) -> int:
    if block["type"] != "text":
        return count_tokens(encode(block))
    extras = {key: value for key, value in block.items() if key not in ("type", "text")}
    return count_tokens(block["text"]) + (count_tokens(encode(extras)) if extras else 0)


@given(st.integers() | JSON)
@settings(max_examples=examples(100), deadline=None)
def test_content_that_is_no_list_is_an_answer_too(content: Any) -> None:
    if not isinstance(content, list):
        assert_mcp_tool_response(BUILDER.success(Blocks(content)).to_mcp())
