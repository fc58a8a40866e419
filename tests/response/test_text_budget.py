"""Plain text is cut between lines, Markdown between blocks, and several parts share one budget."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.output import Content, Image, Json, Link, Markdown, Mixed, NextPage, Text, Xml, XmlElement, example_call
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.jsonable import clean_text
from dogubako.response.tokens import count_tokens
from dogubako.testing import assert_mcp_tool_response, parse_call
from dogubako.tools import ToolResult
from tests.hypothesis_profiles import examples

BUDGETS = st.integers(500, 3_000)
LINES = st.one_of(st.text(max_size=60), st.sampled_from(["\ud800", "", "日本語の行", "word " * 30, "\x00\u2028"]))
TEXTS = st.builds(lambda lines, times: "\n".join(lines * times), st.lists(LINES, max_size=8), st.integers(1, 60))
BLOCKS = st.builds(lambda blocks, times: blocks * times, st.lists(LINES, max_size=8), st.integers(1, 60))
NOTE = re.compile(r"\n\n\[Left out to fit [\d,]+ tokens: (?P<what>.*?)\.(?: Next: (?P<next>.*))?\]$", re.DOTALL)


def spent(result: ToolResult) -> int:
    return sum(count_tokens(block["text"]) for block in result.content if block["type"] == "text")


def text_of(result: ToolResult) -> str:
    text: str = result.content[0]["text"]
    return text


@given(TEXTS, BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_any_text_fits_and_keeps_whole_lines(text: str, max_tokens: int) -> None:
    result = ToolResponseBuilder(max_tokens=max_tokens).success(text)

    assert spent(result) <= result.tokens <= max_tokens
    cleaned = clean_text(text)
    note = NOTE.search(text_of(result))
    assert result.trimmed is (text_of(result) != cleaned)
    if result.trimmed:
        assert note is not None
        lines, kept = cleaned.split("\n"), text_of(result)[: note.start()].split("\n")
        if "characters" not in note["what"]:
            assert kept == lines[: len(kept)]
            assert note["what"] == f"{len(lines) - len(kept):,} of {len(lines):,} lines"


@given(BLOCKS, BUDGETS)
@settings(max_examples=examples(100), deadline=None)
def test_markdown_shows_whole_blocks_and_where_to_go_on(blocks: list[str], max_tokens: int) -> None:
    page = NextPage("results", lambda shown: example_call("web_search", query="x", offset=shown))

    result = ToolResponseBuilder(max_tokens=max_tokens).success(Markdown(blocks=blocks, page=page))

    assert spent(result) <= result.tokens <= max_tokens
    cleaned = [clean_text(block) for block in blocks]
    if not result.trimmed:
        assert text_of(result) == "\n\n".join(cleaned)
        return
    note = NOTE.search(text_of(result))
    assert note is not None
    _, arguments = parse_call(note["next"])
    assert text_of(result)[: note.start()] == "\n\n".join(cleaned[: arguments["offset"]])


def test_a_single_line_that_is_too_long_is_cut_with_its_length() -> None:
    text = text_of(ToolResponseBuilder(max_tokens=500).success(Text(text="abc " * 5_000)))

    kept = text.split("… [")[0]
    assert "abc abc".startswith(kept[:7])
    assert f"[{20_000 - len(kept):,} more characters]" in text


def test_a_call_too_long_to_say_is_not_said_at_all() -> None:
    page = NextPage("text", lambda shown: example_call("read", name="x" * 5_000, offset=shown))

    text = text_of(ToolResponseBuilder(max_tokens=500).success(Text(text="line\n" * 3_000, page=page)))

    assert text.startswith("line\nline")
    assert "Next:" not in text


PARTS = st.one_of(
    LINES,
    st.builds(lambda text: Text(text=text), TEXTS),
    st.builds(lambda blocks: Markdown(blocks=blocks), BLOCKS),
    st.builds(lambda text: Json(data={"text": text}), TEXTS),
    st.builds(lambda text: Xml(root=XmlElement("x", {}, text)), TEXTS),
    st.just(Link(uri="file:///tmp/a", name="a")),
    st.builds(lambda size: Image(data=b"x" * size, mime_type="image/png", uri="file:///a.png"), st.integers(0, 3_000)),
)


@given(st.lists(PARTS, min_size=1, max_size=25), BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_several_parts_share_one_budget(parts: list[Content | str], max_tokens: int) -> None:
    try:
        result = ToolResponseBuilder(max_tokens=max_tokens).success(Mixed(parts=parts))
    except AnswerTooLargeError:
        # Texts can always be cut; only what must be whole can be too much.
        assert any(isinstance(part, Image | Link) for part in parts)
        return

    assert spent(result) <= result.tokens <= max_tokens
    assert_mcp_tool_response(result.to_mcp())
    for block in result.content:
        if block["type"] == "text" and block["text"].startswith('{"success"'):
            assert json.loads(block["text"])["success"] is True


def test_parts_keep_their_order_and_short_ones_stay_whole() -> None:
    parts: list[Content | str] = [
        "first",
        Image(data=b"png", mime_type="image/png"),
        Text(text="long\n" * 3_000),
        "last",
    ]

    result = ToolResponseBuilder(max_tokens=1_000).success(Mixed(parts=parts, count=4))

    assert [block["type"] for block in result.content] == ["text", "image", "text", "text"]
    assert (result.content[0]["text"], result.content[3]["text"]) == ("first", "last")
    assert "Left out" in result.content[2]["text"]
    assert (result.trimmed, result.count) == (True, 4)


def test_parts_without_any_room_are_counted_in_a_last_block() -> None:
    result = ToolResponseBuilder(max_tokens=500).success(Mixed(parts=["some words of text " * 4] * 100))

    *kept, note = [block["text"] for block in result.content]
    assert set(kept) == {"some words of text " * 4}
    assert note == f"[Left out to fit 500 tokens: {100 - len(kept)} of 100 parts.]"


def test_a_list_of_contents_is_mixed_too() -> None:
    result = ToolResponseBuilder().success([Text(text="a"), Link(uri="file:///b", name="b")])

    assert [block["type"] for block in result.content] == ["text", "resource_link"]
    assert not result.cacheable
