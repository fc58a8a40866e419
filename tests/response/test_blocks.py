"""Pictures, sounds, files and links: whole, or a link, or an error; never half."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.redaction import Redactor
from dogubako.output import Audio, Content, Embedded, Image, Link, Mixed
from dogubako.response import builder as builder_module
from dogubako.response import text as text_module
from dogubako.response import truncation as cuts_module
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.tokens import count_tokens
from dogubako.testing import assert_mcp_tool_response

SMALL = ToolResponseBuilder(max_tokens=500)


@pytest.mark.parametrize(
    ("answer", "block"),
    [
        pytest.param(
            Image(data=b"\x89PNG", mime_type="image/png"),
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            id="image",
        ),
        pytest.param(
            Audio(data=b"RIFF", mime_type="audio/wav"),
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            id="audio",
        ),
        pytest.param(
            Embedded(uri="n8n://runs/1", body="all well", mime_type="text/plain"),
            {"type": "resource", "resource": {"uri": "n8n://runs/1", "text": "all well", "mimeType": "text/plain"}},
            id="embedded text",
        ),
        pytest.param(
            Embedded(uri="n8n://runs/1", body=b"\x00"),
            {"type": "resource", "resource": {"uri": "n8n://runs/1", "blob": "AA=="}},
            id="embedded bytes",
        ),
        pytest.param(
            Link(uri="https://example.org/a", name="a"),
            {"type": "resource_link", "uri": "https://example.org/a", "name": "a"},
            id="link",
        ),
        pytest.param(
            Link(uri="x:a", name="a", title="A", description="An a", mime_type="text/plain", size=3),
            {
                "type": "resource_link",
                "uri": "x:a",
                "name": "a",
                "title": "A",
                "description": "An a",
                "size": 3,
                "mimeType": "text/plain",
            },
            id="link with everything",
        ),
    ],
)
def test_each_kind_becomes_its_block(answer: Content, block: dict[str, Any]) -> None:
    result = ToolResponseBuilder().success(answer)

    assert result.content == (block,)
    assert (result.kind, result.value) == ("blocks", [block])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Image(data=b"x" * 9_000, mime_type="image/png", uri="file:///pics/a.png"), id="image"),
        pytest.param(Audio(data=b"x" * 9_000, mime_type="audio/wav", uri="file:///a.wav"), id="audio"),
        pytest.param(Embedded(uri="file:///a.txt", body="word " * 9_000, mime_type="text/plain"), id="text"),
        pytest.param(Embedded(uri="file:///", body=b"x" * 9_000), id="bytes"),
    ],
)
def test_what_is_too_large_becomes_a_link_to_the_whole(answer: Any) -> None:
    (block,) = SMALL.success(answer).content

    assert (block["type"], block["uri"]) == ("resource_link", answer.uri)
    assert block["name"]
    assert block.get("mimeType") == answer.mime_type


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Image(data=b"x" * 9_000, mime_type="image/png"), id="an image that is nowhere else"),
        pytest.param(Link(uri="https://x", name="n" * 9_000), id="a link that is too long itself"),
        pytest.param(
            Image(data=b"x" * 9_000, mime_type="image/png", uri="data:image/png," + "x" * 9_000), id="a long address"
        ),
    ],
)
def test_what_fits_in_no_way_is_an_error_with_advice(answer: Content) -> None:
    with pytest.raises(AnswerTooLargeError) as caught:
        SMALL.success(answer)

    assert caught.value.hint


@given(st.binary(max_size=4_000), st.booleans())
def test_base64_is_whole_or_not_there(data: bytes, has_address: bool) -> None:
    image = Image(data=data, mime_type="image/png", uri="file:///a" if has_address else None)
    try:
        (block,) = SMALL.success(image).content
    except AnswerTooLargeError:
        assert not has_address
        return
    if block["type"] == "image":
        assert base64.b64decode(block["data"], validate=True) == data
    else:
        assert block == {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "image/png"}


def test_half_characters_and_secrets_stay_out_of_blocks() -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["hunter22"]))
    parts = [
        Link(uri="https://x/?key=hunter22", name="\ud800", description="the key is hunter22"),
        Embedded(uri="x:a", body="hunter22 \udfff"),
    ]

    link, embedded = builder.success(Mixed(parts=parts)).content

    assert (link["uri"], link["name"], link["description"]) == ("https://x/?key=***", "\ufffd", "the key is ***")
    assert embedded["resource"]["text"] == "*** \ufffd"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Image(data=b"", mime_type="not a type"), id="media type"),
        pytest.param(Link(uri="no-scheme", name="a"), id="address"),
        pytest.param(Link(uri="x:a", name=""), id="name"),
        pytest.param(Mixed(parts=[]), id="nothing at all"),
    ],
)
def test_an_answer_that_is_not_valid_does_not_leave(answer: Content) -> None:
    with pytest.raises(AssertionError):
        SMALL.success(answer)


def test_a_picture_that_contains_a_secret_does_not_leave() -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["hunter22"]))

    with pytest.raises(ValueError, match="secret"):
        builder.success(Embedded(uri="x:a", body=b"\x00 key=hunter22"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_data_with_bytes_that_contain_a_secret_does_not_leave(kind: Any, encoding: str) -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["hunter22"]))

    with pytest.raises(ValueError, match="secret"):
        builder.success({"files": [{"body": kind("key=hunter22".encode(encoding))}]})


def test_data_with_other_bytes_leaves_beside_a_masked_text() -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["hunter22"]))

    assert builder.success({"body": b"abc", "text": "hunter22"}).data == {"body": "YWJj", "text": "***"}


def test_an_answer_of_another_tool_is_built_again() -> None:
    result = ToolResponseBuilder().success("text")

    again = SMALL.success(result)

    assert again == result and again is not result
    assert_mcp_tool_response(again.to_mcp())


def test_of_too_many_links_the_first_are_shown_and_the_others_counted() -> None:
    links = [Link(uri=f"https://example.org/{number}", name="名前") for number in range(2_000)]
    result = ToolResponseBuilder().success(links)

    *shown, note = result.content
    assert [block["uri"] for block in shown] == [link.uri for link in links[: len(shown)]]
    assert note["text"] == f"[Left out to fit 25,000 tokens: {2_000 - len(shown):,} of 2,000 links.]"
    assert 24_000 < result.tokens <= 25_000 and result.trimmed
    assert_mcp_tool_response(result.to_mcp())


def test_too_many_links_leave_room_for_a_text() -> None:
    links = [Link(uri=f"https://example.org/{number}", name="a") for number in range(2_000)]
    result = ToolResponseBuilder().success(Mixed(parts=[*links, "the text"]))

    assert [block["text"] for block in result.content if block["type"] == "text"][-1] == "the text"
    assert result.tokens <= 25_000


@pytest.mark.parametrize("count", range(1, 20))
def test_any_number_of_links_fits_or_is_counted(count: int) -> None:
    result = SMALL.success([Link(uri=f"https://example.org/{number}", name="a") for number in range(count)])

    shown = sum(block["type"] == "resource_link" for block in result.content)
    assert result.tokens <= 500
    assert result.trimmed == (shown < count)


def test_each_of_many_long_texts_is_read_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(text: str) -> int:
        nonlocal read
        read += len(text)
        return count_tokens(text)

    for module in (builder_module, text_module, cuts_module):
        monkeypatch.setattr(module, "count_tokens", counted)
    result = ToolResponseBuilder().success(Mixed(parts=["あ" * 30_000] * 60))

    assert len(result.content) == 60
    assert read < 4 * 60 * 30_000
