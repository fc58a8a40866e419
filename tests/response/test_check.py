"""`assert_mcp_tool_response` accepts each kind of content, and says what is wrong with the rest."""

from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent

from dogubako.testing import assert_mcp_tool_response

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav; codecs=1"}
RESOURCE = {"type": "resource", "resource": {"uri": "n8n://runs/1", "text": "", "mimeType": "text/plain"}}
BLOB = {"type": "resource", "resource": {"uri": "x:1", "blob": "AA=="}}
LINK = {"type": "resource_link", "uri": "https://example.org", "name": "Example"}


def response(*content: Any, **more: Any) -> dict[str, Any]:
    return {"content": list(content), "isError": False, **more}


@pytest.mark.parametrize(
    "accepted",
    [
        pytest.param(response(TEXT), id="text"),
        pytest.param(response({"type": "text", "text": ""}), id="empty text"),
        pytest.param(response(IMAGE), id="image"),
        pytest.param(response(AUDIO), id="audio"),
        pytest.param(response(RESOURCE), id="resource with text"),
        pytest.param(response(BLOB), id="resource with bytes"),
        pytest.param(response(LINK), id="link"),
        pytest.param(response(TEXT, IMAGE, AUDIO, RESOURCE, BLOB, LINK), id="all of them"),
        pytest.param({"content": (TEXT,), "isError": True, "_meta": {"code": "BUSY"}}, id="failure"),
        pytest.param(
            CallToolResult(content=[TextContent(type="text", text="hi")], is_error=False), id="a model of the SDK"
        ),
        pytest.param(
            CallToolResult(content=[ImageContent(type="image", data="AA==", mime_type="image/png")], is_error=True),
            id="a picture of the SDK",
        ),
    ],
)
def test_what_is_valid_passes(accepted: object) -> None:
    assert_mcp_tool_response(accepted)


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        pytest.param([TEXT], "a tool response is an object", id="a list"),
        pytest.param({"content": [TEXT]}, "isError is missing", id="no isError"),
        pytest.param({"content": [TEXT], "isError": "no"}, "isError is not true or false", id="isError is text"),
        pytest.param({"content": [TEXT], "isError": None}, "isError is not true or false", id="isError is nothing"),
        pytest.param({"isError": False}, "content is not a list", id="no content"),
        pytest.param({"content": "hello", "isError": False}, "content is not a list", id="content is text"),
        pytest.param(response(), "content is empty", id="no block"),
        pytest.param(response("hello"), r"content\[0\] is not an object", id="block is text"),
        pytest.param(response(TEXT, {"text": "x"}), r"content\[1\].type is none of", id="no type"),
        pytest.param(response({"type": "video"}), r"type is none of text, image", id="unknown type"),
        pytest.param(response({"type": ["text"]}), r"type is none of", id="type is a list"),
        pytest.param(response({"type": "text"}), r"text is not a string", id="no text"),
        pytest.param(response({"type": "text", "text": 5}), r"text is not a string", id="text is a number"),
        pytest.param(response({**IMAGE, "data": "aGVsbG8"}), r"data is not base64", id="cut base64"),
        pytest.param(response({**IMAGE, "data": "äöü="}), r"data is not base64", id="not base64 at all"),
        pytest.param(response({**IMAGE, "data": b"AA=="}), r"data is not base64", id="bytes"),
        pytest.param(response({**AUDIO, "mimeType": "wav"}), r"mimeType is not a media type", id="no media type"),
        pytest.param(response({"type": "resource"}), r"resource is not an object", id="no resource"),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "a", "text": ""}}), "uri is not a URI", id="no scheme"
        ),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "x:a"}}), "exactly one of text and blob", id="neither"
        ),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "x:a", "text": "", "blob": ""}}),
            "exactly one of text and blob",
            id="both",
        ),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "x:a", "text": 1}}), "text is not a string", id="number"
        ),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "x:a", "blob": "?"}}), "blob is not base64", id="no blob"
        ),
        pytest.param(
            response({"type": "resource", "resource": {"uri": "x:a", "text": "", "mimeType": "?"}}),
            "mimeType is not a media type",
            id="resource of no type",
        ),
        pytest.param(response({**LINK, "uri": 7}), "uri is not a URI", id="link to a number"),
        pytest.param(response({**LINK, "name": ""}), "name is not a name", id="link without a name"),
        pytest.param(response(TEXT, _meta=[1]), "_meta is not an object", id="_meta is a list"),
    ],
)
def test_what_is_wrong_is_named(refused: object, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        assert_mcp_tool_response(refused)
