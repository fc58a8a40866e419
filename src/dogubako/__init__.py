"""Dogubako, a toolbox for AI agents. This page is the whole public API; everything else may move."""

from importlib.metadata import version as _version

from dogubako import plain_structlog as _plain_structlog  # noqa: F401 - before anybody else imports structlog
from dogubako.contract import errors
from dogubako.contract.call import Caller, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.context import ToolContext
from dogubako.contract.conversation import Answer, InputRequest, Question, Root, RootsRequest, Sample, SampleRequest
from dogubako.contract.function_tool import FunctionTool, tool
from dogubako.contract.guidance import Guidance, example_call, parse_call
from dogubako.contract.metadata import Effect, ToolExample, ToolMetadata, ToolParameter
from dogubako.contract.output import (
    Audio,
    Blocks,
    Content,
    Embedded,
    Image,
    Link,
    Markdown,
    Message,
    Mixed,
    Output,
    Page,
    Text,
    Xml,
    XmlElement,
)
from dogubako.contract.pack import Finding, Host, Pack, ToolPack, Unconfigured
from dogubako.contract.prompt import Prompt, PromptArgument, PromptMessage
from dogubako.contract.raw_tool import RawTool
from dogubako.contract.resource import Resource, ResourceTemplate
from dogubako.contract.schema_tool import SchemaTool
from dogubako.contract.setting import NoSettings, PackSettings, setting
from dogubako.contract.tool import BaseTool, NoArgs, ToolArgs
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.check import assert_mcp_tool_response

__version__ = _version("dogubako")

__all__ = [
    "Answer",
    "Audio",
    "BaseTool",
    "Blocks",
    "Caller",
    "Content",
    "Effect",
    "Embedded",
    "ExecutionOptions",
    "Finding",
    "FunctionTool",
    "Guidance",
    "Host",
    "Image",
    "InputRequest",
    "Link",
    "Markdown",
    "Message",
    "Mixed",
    "NoArgs",
    "NoSettings",
    "Output",
    "Pack",
    "PackSettings",
    "Page",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "Question",
    "RawTool",
    "Resource",
    "ResourceTemplate",
    "Root",
    "RootsRequest",
    "Sample",
    "SampleRequest",
    "SchemaTool",
    "Text",
    "ToolArgs",
    "ToolCall",
    "ToolContext",
    "ToolExample",
    "ToolMetadata",
    "ToolPack",
    "ToolParameter",
    "ToolResponseBuilder",
    "ToolResult",
    "Unconfigured",
    "Xml",
    "XmlElement",
    "assert_mcp_tool_response",
    "errors",
    "example_call",
    "parse_call",
    "setting",
    "tool",
]
