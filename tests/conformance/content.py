"""Tools that show every kind of content an answer can have."""

import struct
from typing import Annotated

import anyio
from pydantic import Field

from dogubako import Context, errors, tool
from dogubako.output import Audio, Embedded, Image, Mixed
from dogubako.tools import SchemaTool

# A red pixel, and one silent sample.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)
_FORMAT = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
WAV = b"RIFF" + struct.pack("<I", 38) + b"WAVEfmt " + _FORMAT + b"data" + struct.pack("<I", 2) + b"\0\0"

# Longer than the interval by which frequent progress reports are thinned out.
_PAUSE_SECONDS = 0.06


@tool
async def test_simple_text() -> str:
    """Answer with plain text."""
    return "This is a simple text response for testing."


@tool
async def test_image_content() -> Image:
    """Answer with a picture."""
    return Image(data=PNG, mime_type="image/png")


@tool
async def test_audio_content() -> Audio:
    """Answer with a sound."""
    return Audio(data=WAV, mime_type="audio/wav")


@tool
async def test_embedded_resource() -> Embedded:
    """Answer with a resource that travels inside the answer."""
    return Embedded(
        uri="test://embedded-resource", body="This is an embedded resource content.", mime_type="text/plain"
    )


@tool
async def test_multiple_content_types() -> Mixed:
    """Answer with text, a picture and a resource at once."""
    resource = Embedded(
        uri="test://mixed-content-resource", body='{"test":"data","value":123}', mime_type="application/json"
    )
    return Mixed(parts=["Multiple content types test:", Image(data=PNG, mime_type="image/png"), resource])


@tool
async def test_error_handling() -> str:
    """Fail, every time."""
    raise errors.ApiError("This tool intentionally returns an error for testing", status_code=500)


@tool
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.progress(done, 100)
        await anyio.sleep(_PAUSE_SECONDS)
    return "Progress was reported."


@tool
async def test_tool_with_logging(context: Context) -> str:
    """Send three lines to the client's log."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", line)
        await anyio.sleep(_PAUSE_SECONDS)
    return "Three lines were logged."


@tool
async def test_logging_tool(context: Context) -> str:
    """Send a line to the log of a client that wants one."""
    await context.log("info", "Only for those who asked")
    return "One line was logged."


@tool
async def test_x_mcp_header(
    region: Annotated[str, Field(description="Where.", json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """Take an argument that HTTP clients repeat in a header."""
    return f"Region: {region}"


async def _anything(arguments: object, context: Context) -> str:
    return "The arguments fit the schema."


json_schema_2020_12_tool = SchemaTool(
    "json_schema_2020_12_tool",
    "Tool with JSON Schema 2020-12 features",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    _anything,
    talks=False,
)

TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_tool_with_logging,
    test_logging_tool,
    test_x_mcp_header,
    json_schema_2020_12_tool,
)
