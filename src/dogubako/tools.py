"""Tools as classes, the parts of a pack, and the data of a call. Tools that are made with `@tool` need none of it."""

from dogubako.contract.call import CallEnd, Caller, CallObserver, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.conversation import (
    ElicitRequest,
    ElicitResult,
    InputRequest,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
)
from dogubako.contract.function_tool import FunctionTool
from dogubako.contract.metadata import ToolExample, ToolMetadata, ToolParameter
from dogubako.contract.pack import (
    HealthCheck,
    Host,
    MissingSetting,
    NoSettings,
    PackSettings,
    ToolPack,
    setting,
    tables,
)
from dogubako.contract.resources import Prompt, PromptArgument, PromptMessage, Resource, ResourceTemplate
from dogubako.contract.tool import BaseTool, NoArgs, RawTool, SchemaTool, ToolArgs

__all__ = [
    "BaseTool",
    "CallEnd",
    "CallObserver",
    "Caller",
    "ElicitRequest",
    "ElicitResult",
    "ExecutionOptions",
    "FunctionTool",
    "HealthCheck",
    "Host",
    "InputRequest",
    "MissingSetting",
    "NoArgs",
    "NoSettings",
    "PackSettings",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "RawTool",
    "Resource",
    "ResourceTemplate",
    "Root",
    "RootsRequest",
    "Sample",
    "SampleRequest",
    "SchemaTool",
    "ToolArgs",
    "ToolCall",
    "ToolExample",
    "ToolMetadata",
    "ToolPack",
    "ToolParameter",
    "ToolResult",
    "setting",
    "tables",
]
