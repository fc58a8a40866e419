"""Pictures, sounds, files and links: whole, or a link, or an error; never half."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako import (
    Audio,
    Content,
    Embedded,
    Image,
    Link,
    Mixed,
    ToolResponseBuilder,
    assert_mcp_tool_response,
)
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.secrets import Redactor

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
        pytest.param(Mixed(parts=[Link(uri="file:///a", name="a" * 50)] * 90), id="too many links"),
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


def test_an_answer_of_another_tool_is_built_again() -> None:
    result = ToolResponseBuilder().success("text")

    again = SMALL.success(result)

    assert again == result and again is not result
    assert_mcp_tool_response(again.to_mcp())
