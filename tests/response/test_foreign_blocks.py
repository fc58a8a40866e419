"""Blocks of other servers and tools: each is checked, they share the budget, and no secret is in them."""

import base64
from typing import Any

import mcp_types
import pytest

from dogubako.contract.call import Resume
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.redaction import Redactor
from dogubako.output import Blocks, Mixed
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.continuation import Continuation
from dogubako.response.tokens import count_tokens
from dogubako.testing import assert_mcp_tool_response, parse_call
from dogubako.tools import ToolResult

SECRET = "hunter22"
DIGITS = "90210123"
BUILDER = ToolResponseBuilder(redactor=Redactor([SECRET, DIGITS]))
HELLO = {"type": "text", "text": "hello"}
PIXEL = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
LARGE = base64.b64encode(bytes(range(256)) * 400).decode()


def built(*content: Any, max_tokens: int = 25_000, structured: Any = None) -> ToolResult:
    return BUILDER.for_call(max_tokens).success(Blocks(content, structured))


def texts(result: ToolResult) -> list[str]:
    return [block["text"] for block in result.content]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(HELLO, id="text"),
        pytest.param(PIXEL, id="image"),
        pytest.param({**PIXEL, "type": "audio", "mimeType": "audio/wav"}, id="audio"),
        pytest.param(
            {"type": "resource", "resource": {"uri": "x:y", "text": "a", "mimeType": "text/plain"}}, id="file"
        ),
        pytest.param({"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "_meta": {"a": 1}}}, id="bytes"),
        pytest.param(
            {"type": "resource_link", "uri": "x:y", "name": "n", "title": "t", "description": "d", "size": 3}, id="link"
        ),
        pytest.param(
            {
                **HELLO,
                "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
                "_meta": {"example.org/a": [1, {"b": None}]},
            },
            id="annotations and _meta",
        ),
    ],
)
def test_a_valid_block_passes_as_it_is(block: dict[str, Any]) -> None:
    result = built(block)

    assert result.content == (block,)
    assert (result.kind, result.trimmed) == ("blocks", False)


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        pytest.param(
            {"type": "video", "data": "AAAA"}, "of type 'video' was left out: MCP has no such type", id="type"
        ),
        pytest.param(
            {"type": "x\n" * 99}, "of type '" + r"x\n" * 13 + "x…' was left out: MCP has no such type", id="long"
        ),
        pytest.param({"type": f"a {SECRET}"}, "of type 'a ***' was left out: MCP has no such type", id="secret type"),
        pytest.param({"text": "a"}, "was left out: type is missing", id="no type"),
        pytest.param("hello", "was left out: not an object", id="no block"),
        pytest.param({"type": "text"}, "of type 'text' was left out: text is not a string", id="no text"),
        pytest.param({"type": "text", "text": 7}, "of type 'text' was left out: text is not a string", id="number"),
        pytest.param({**PIXEL, "data": "%"}, "of type 'image' was left out: data is not base64", id="no base64"),
        pytest.param(
            {**PIXEL, "mimeType": "png"}, "of type 'image' was left out: mimeType is not a media type", id="mime"
        ),
        pytest.param(
            {"type": "resource", "resource": []},
            "of type 'resource' was left out: resource is not an object",
            id="list",
        ),
        pytest.param(
            {"type": "resource", "resource": {"uri": "x:y", "blob": "%"}},
            "of type 'resource' was left out: resource.blob is not base64",
            id="blob",
        ),
        pytest.param(
            {"type": "resource_link", "uri": "nowhere", "name": "n"},
            "of type 'resource_link' was left out: uri is not a URI",
            id="address",
        ),
        pytest.param(
            {**PIXEL, "data": base64.b64encode(SECRET.encode()).decode()},
            "of type 'image' was left out: contains a secret of this server",
            id="secret in base64",
        ),
        pytest.param(
            {**PIXEL, "data": SECRET},
            "of type 'image' was left out: contains a secret of this server",
            id="secret as base64",
        ),
        pytest.param(
            {**PIXEL, "data": LARGE}, "of type 'image' was left out: too large for the response budget", id="size"
        ),
    ],
)
def test_a_block_that_cannot_be_shown_is_named(block: Any, shown: str) -> None:
    result = built(HELLO, block, HELLO)

    assert texts(result) == ["hello", f"[A block {shown}.]", "hello"]


def test_fields_that_are_not_valid_do_not_cost_the_block() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    wrong = {
        **HELLO,
        "annotations": {"audience": ["somebody"], "priority": 7, "lastModified": 1, "x": 1},
        "_meta": circle,
        "surprise": "x" * 9_000,
    }
    link = {"type": "resource_link", "uri": "x:y", "name": "n", "title": 1, "size": True, "mimeType": [], "icons": 7}

    assert built(wrong, link).content == (HELLO, {"type": "resource_link", "uri": "x:y", "name": "n"})


def test_deep_and_large_meta_is_left_out() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}

    assert built({**HELLO, "_meta": deep}, {**HELLO, "_meta": {"a": "x" * 500_000}}).content == (HELLO, HELLO)


def test_many_invalid_blocks_are_summed_up() -> None:
    result = built(HELLO, *[{"type": "video"}, {"type": "film"}] * 4_000, HELLO)

    assert texts(result) == [
        "hello",
        "[4,000 blocks of type 'video' were left out: MCP has no such type.]",
        "[4,000 blocks of type 'film' were left out: MCP has no such type.]",
        "hello",
    ]


def test_many_kinds_of_invalid_blocks_are_summed_up() -> None:
    result = built(*[{"type": f"kind {number}"} for number in range(1_000)])

    assert len(result.content) == 6
    assert texts(result)[-1] == "[995 blocks were left out: not valid.]"


@pytest.mark.parametrize("content", [[], (), None, {}, 0])
def test_an_empty_answer_says_so(content: Any) -> None:
    assert texts(BUILDER.success(Blocks(content))) == ["[The tool answered without any content.]"]


def test_short_texts_stay_whole_beside_a_long_one_that_is_cut() -> None:
    result = built(HELLO, {"type": "text", "text": "a line\n" * 5_000}, HELLO, PIXEL, max_tokens=1_000)

    assert [result.content[0], *result.content[2:]] == [HELLO, HELLO, PIXEL]
    assert "Left out to fit" in result.content[1]["text"]
    assert result.trimmed and 400 < result.tokens <= 1_000


def test_more_blocks_than_fit_are_counted() -> None:
    result = built(*[HELLO] * 100_000, max_tokens=500)

    assert result.content[:10] == (HELLO,) * 10
    shown = len(result.content) - 1
    assert texts(result)[-1] == f"[Left out to fit 488 tokens: {100_000 - shown:,} of 100,000 blocks.]"
    assert result.trimmed


@pytest.mark.parametrize("times", [1, 100])
def test_a_file_that_is_too_large_becomes_a_link(times: int) -> None:
    blob = {"type": "resource", "resource": {"uri": "x:/a/b.bin", "blob": LARGE * times, "mimeType": "a/b"}}
    nowhere = {"type": "resource", "resource": {"uri": "x:/" + "a" * 9_000, "blob": LARGE}}

    assert built(blob, nowhere).content == (
        {"type": "resource_link", "uri": "x:/a/b.bin", "name": "b.bin", "mimeType": "a/b"},
        {"type": "text", "text": "[A block of type 'resource' was left out: too large for the response budget.]"},
    )


def test_the_text_of_a_file_that_is_too_large_is_cut() -> None:
    text = {"type": "resource", "resource": {"uri": "x:/a", "text": 'a "line"\n' * 9_000}}

    (cut,) = built(text, max_tokens=2_000).content

    assert cut["resource"]["uri"] == "x:/a" and "Left out to fit" in cut["resource"]["text"]


def follow(answer: Blocks, max_tokens: int) -> str:
    """Everything that is shown by the first answer and by the calls that it names."""
    seen, resume = "", None
    for _ in range(40):
        responses = BUILDER.for_call(max_tokens, continuation=Continuation("far", {}, resume))
        shown = responses.success(answer)
        seen += "".join(block.get("text", "") for block in shown.content)
        calls = [text.rsplit("Next: ", 1)[1].rstrip("]") for text in texts(shown) if "Next: " in text]
        if not calls:
            return seen
        name, arguments = parse_call(calls[0])
        assert (name, arguments["tool"]) == ("read_more", "far")
        resume = Resume(path=arguments.get("path", ""), offset=arguments["offset"])
    raise AssertionError("reading on does not end")


def test_blocks_that_were_left_out_can_be_read_on() -> None:
    seen = follow(Blocks([{"type": "text", "text": f"block {number}."} for number in range(300)]), 500)

    assert all(f"block {number}." in seen for number in range(300))


def test_a_text_that_was_cut_can_be_read_on() -> None:
    lines = [f"line {number} is here" for number in range(600)]
    seen = follow(Blocks([HELLO, {"type": "text", "text": "\n".join(lines)}]), 1_000)

    assert all(line in seen for line in lines)


def accepts(data: Any) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get("n"), int):
        raise ValueError("n is not a number")  # noqa: TRY004 - as a schema does
    return data


def test_structured_data_is_kept_where_the_tool_promised_it() -> None:
    promised = BUILDER.for_call(None, accepts)
    result = promised.success(Blocks([HELLO], {"n": 1, "key": SECRET}))

    assert (result.content, result.structured) == ((HELLO,), {"n": 1, "key": "***"})
    assert result.tokens >= count_tokens("hello") + count_tokens('{"n":1,"key":"***"}')
    with pytest.raises(ValueError, match="n is not"):
        promised.success(Blocks([HELLO], {"n": "x"}))
    with pytest.raises(TypeError, match="must return data"):
        promised.success(Blocks([HELLO]))
    with pytest.raises(AnswerTooLargeError):
        promised.success(Blocks([HELLO], {"n": 1, "more": "word " * 30_000}))


def test_structured_data_that_nobody_promised_is_left_out() -> None:
    assert built(HELLO, structured={"n": 1}).structured is None


def test_structured_data_without_any_block_becomes_the_answer() -> None:
    result = built(structured={"n": 1, "key": SECRET})

    assert (result.kind, result.structured) == ("json", None)
    assert result.value == {"success": True, "message": "Done", "data": {"n": 1, "key": "***"}}


@pytest.mark.slow
def test_structured_data_that_is_no_json_is_left_out() -> None:
    circle: list[Any] = []
    circle.append(circle)

    assert texts(built(structured=circle)) == ["[The structured data was left out: not JSON.]"]


def test_blocks_may_be_a_part_of_a_mixed_answer() -> None:
    result = BUILDER.success(Mixed(parts=["before", Blocks([HELLO, PIXEL, {"type": "video"}]), "after"]))

    assert [block["type"] for block in result.content] == ["text", "text", "image", "text", "text"]
    assert_mcp_tool_response(mcp_types.CallToolResult.model_validate(result.to_mcp()))


def test_a_secret_that_looks_like_a_number_leaves_valid_json() -> None:
    result = BUILDER.success({"n": int(DIGITS), "list": [float(DIGITS)], "text": DIGITS})

    assert result.value["data"] == {"n": "***", "list": ["***"], "text": "***"}
