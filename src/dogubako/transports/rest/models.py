"""The bodies of REST version 1 as models."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from dogubako.contract.call import ExecutionOptions, WholeNumber
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry


def tool_detail(registry: ToolRegistry, name: str) -> dict[str, Any]:
    """Everything about one tool."""
    entry = registry.get(name)
    return {
        **tool_info(entry),
        "registeredAt": entry.registered_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "dependencies": entry.dependencies,
        "versions": [one.version for one in registry.versions(name)],
    }


def tool_info(entry: ToolRegistryEntry) -> dict[str, Any]:
    """A tool's metadata in camelCase; what a tool does not have is left out."""
    metadata, status = entry.metadata, entry.status
    info: dict[str, Any] = {
        "name": metadata.name,
        "title": metadata.title,
        "description": metadata.description,
        "parameters": [_known(msgspec.structs.asdict(one)) for one in metadata.parameters],
        "version": metadata.version,
        "category": entry.category,
        "tags": entry.tags,
        "author": metadata.author,
        "examples": [
            _known(
                {"description": one.description, "parameters": one.parameters, "expectedResult": one.expected_result}
            )
            for one in metadata.examples
        ],
        "enabled": status.enabled,
        "reason": status.reason,
        "effect": metadata.effect.value,
        "inputSchema": metadata.input_schema,
        "outputSchema": metadata.output_schema,
    }
    return _known(info)


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class Body(BaseModel):
    """Base of request bodies: exact, and no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class CallRequest(Body):
    """The body of a call: tool, parameters and options."""

    name: str = Field(min_length=1, description="The tool's name.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="The tool's arguments.")
    options: ExecutionOptions | None = Field(None, description="Time, retries and response budget of this call.")
    version: str | None = Field(None, description="A version other than the newest.")


class Arguments(BaseModel):
    """The arguments of the tool that the path names."""

    model_config = ConfigDict(extra="allow")


class SearchFilters(Body):
    """Where to search."""

    category: str | None = None
    tags: list[str] = Field(default_factory=list, description="Several tags mean all of them.")


class SearchRequest(Body):
    """What a tool should be able to do, in plain words."""

    # Whether it is blank is asked by the route, which has a sentence of its own for that.
    query: str = Field(max_length=2_000, json_schema_extra={"minLength": 1, "pattern": r"\S"})
    filters: SearchFilters = Field(default_factory=SearchFilters)
    limit: WholeNumber = Field(20, ge=1, le=100)


class SwitchRequest(Body):
    """Switch a tool on or off."""

    enabled: bool


class AddServer(Body):
    """Another MCP server to put into the box."""

    name: str = Field(min_length=1, max_length=32, pattern="^[a-z][a-z0-9_-]*$", description="The server's name.")
    settings: dict[str, Any] = Field(description="The keys of its table: command, args and env, or url and headers.")
    approve: bool = Field(default=False, description="Whether its tools are approved at once, or held back.")


class ApproveServer(Body):
    """Which tools of a server are approved."""

    tools: list[str] | None = Field(default=None, description="By the server's names; all of them without it.")


class UpdateTask(Body):
    """Answers to what a task waits for."""

    input_responses: dict[str, Any] = Field(description="By the keys of inputRequests, in the form of MCP.")


class RestartServer(Body):
    """Nothing has to be said to restart a server."""


# `tag=a&tag=b` and `tag=a,b` say the same.
_Tags = Annotated[
    list[str], WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]})
]


class ListQuery(BaseModel):
    """Filters and page of a list; values arrive as text."""

    model_config = ConfigDict(extra="forbid")

    category: str | None = None
    tag: _Tags = Field(default_factory=list, description="May be given several times; all must match.")
    enabled: bool | None = None
    page: int = Field(1, ge=1, le=1_000_000)
    limit: int = Field(50, ge=1, le=500)


class RestModel(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Parameter(RestModel):
    name: str
    type: str
    description: str
    required: bool
    default: Any = None
    enum: list[Any] | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    examples: list[Any] | None = None


class Example(RestModel):
    description: str
    parameters: dict[str, Any]
    expected_result: Any = None


class ToolInfo(RestModel):
    """A tool in a list."""

    name: str
    title: str
    description: str
    parameters: list[Parameter]
    version: str
    category: str
    tags: list[str]
    author: str | None = None
    examples: list[Example]
    enabled: bool
    reason: str | None = Field(None, description="Why the tool is disabled.")
    effect: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None


class ToolDetail(ToolInfo):
    """Everything about one tool."""

    registered_at: str
    dependencies: list[str]
    versions: list[str]


class FoundTool(ToolInfo):
    """A tool that a search found."""

    score: float = Field(description="How likely it is what was asked for, from 0 to 1.")


class Pagination(RestModel):
    page: int
    limit: int
    total: int
    total_pages: int


class ToolList(RestModel):
    tools: list[ToolInfo]
    pagination: Pagination


class SearchAnswer(RestModel):
    """What a search found. Where nothing fits, `results` is empty and `nearest` has what comes nearest."""

    query: str
    results: list[FoundTool]
    total: int
    nearest: list[FoundTool] = Field(description="At most two tools, only where nothing fits.")
    not_indexed: int = Field(description="How many tools could not be searched yet.")


class CallAnswer(RestModel):
    """A call that worked. `result` is the envelope of a JSON tool, the text of a text tool, or content blocks."""

    success: bool
    result: Any
    execution_time: int = Field(description="Milliseconds.")
    timestamp: str


class ErrorDetail(RestModel):
    field: str
    message: str


class Failure(RestModel):
    """What happened, what to do, and whether trying again makes sense."""

    error: str
    code: str
    hint: str | None = None
    retryable: bool
    retry_after: float | None = None
    error_id: str | None = None


class ErrorAnswer(Failure):
    """A call that failed: what happened, what to do, and whether trying again makes sense."""

    success: bool
    details: list[ErrorDetail]
    execution_time: int
    timestamp: str


class TaskProgress(RestModel):
    done: float
    total: float | None = None


class TaskFailed(Failure):
    """Why a task has no result, in the words of a failed call."""

    details: list[ErrorDetail] | None = None


class TaskInfo(RestModel):
    """A call that goes on after it was answered."""

    task_id: str
    tool: str
    status: str = Field(description="working, input_required, completed, failed or cancelled.")
    status_message: str | None = None
    progress: TaskProgress | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int = Field(description="How long it is kept, from its creation.")
    poll_interval_ms: int
    result: Any = Field(None, description="What the call would have answered as its result.")
    error: TaskFailed | None = Field(None, description="The tool failed, or the task could not be run.")
    input_requests: dict[str, Any] | None = Field(None, description="What it waits for, in the form of MCP.")


class TaskList(RestModel):
    """The caller's own tasks, the newest first, without their results."""

    tasks: list[TaskInfo]


class ServerInfo(RestModel):
    status: str
    message: str
    version: str
    uptime: float
    timestamp: str


class McpServer(RestModel):
    """Another MCP server in the box."""

    name: str
    transport: str
    state: str = Field(description="starting, ready, sign_in_needed, broken_configuration, unreachable, sleeping…")
    reason: str | None = None
    since: str | None = None
    tools: int = Field(description="How many of its tools are served.")
    held: int = Field(description="How many wait for approval.")
    pinning: str


class McpServerList(RestModel):
    servers: list[McpServer]


class ServedTool(RestModel):
    name: str
    remote_name: str = Field(description="What the server itself calls it.")
    effect: str


class HeldTool(RestModel):
    name: str
    reason: str
    difference: str = Field(description="What changed since it was approved, line by line.")


class McpServerDetail(McpServer):
    """Everything about one server. Values of variables and headers are not shown."""

    address: str | None
    environment: list[str]
    headers: list[str]
    protocol: str
    server_info: dict[str, Any]
    served: list[ServedTool]
    held_back: list[HeldTool]
    held_instructions: str | None
    aliases: dict[str, str]
    resources: int
    prompts: int
    faults: list[str]
    last_stderr: str
    noise_lines: int


class RemovedServer(RestModel):
    removed: str


class Health(RestModel):
    status: str


class ReadinessCheck(RestModel):
    ok: bool
    subject: str
    message: str
    advice: str | None = None


class Readiness(RestModel):
    ready: bool
    checks: list[ReadinessCheck] | None = Field(None, description="Only where nobody has to prove who they are.")
