"""`ToolCall`, `ToolResult`, `Task` and `ExecutionOptions`: one request for a tool, and its result, now or later."""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dogubako.contract.conversation import SILENCE, Conversation, InputRequests
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import DogubakoError
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.contract.timestamps import utc_text


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(_whole)]
# Annotated around the union, not inside it: inside, the bounds of a field would be lost from its schema.
MaybeWholeNumber = Annotated[int | None, BeforeValidator(_whole)]


Door = Literal["python", "stdio", "http", "rest", "cli", "console"]


class ExecutionOptions(BaseModel):
    """Limits of one call. What is left out is decided by the tool, then by the server."""

    # Most calls have none: the model is built when one does.
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, serialize_by_alias=True, defer_build=True
    )

    timeout: MaybeWholeNumber = Field(None, ge=1, description="Milliseconds for one attempt.")
    deadline: MaybeWholeNumber = Field(None, ge=1, description="Milliseconds for all attempts together.")
    retry: MaybeWholeNumber = Field(None, ge=0, description="How often to try again.")
    retry_delay: MaybeWholeNumber = Field(
        None, ge=0, alias="retryDelay", description="Milliseconds before the second try."
    )
    max_tokens: MaybeWholeNumber = Field(
        None, ge=100, alias="maxTokens", description="A smaller response budget for this call."
    )
    task: bool | None = Field(None, description="Answer at once with a task, whose result is fetched later.")


NO_OPTIONS = ExecutionOptions.model_construct()


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who made a call, with the scopes that say what the caller may do.

    `id` identifies one API key, or one subject of one OAuth issuer. A name does not: a new key may have the name of a
    revoked one.
    """

    name: str = "anonymous"
    scopes: frozenset[str] = frozenset()
    id: str = ""
    # Its own credentials for services, by pack or `pack.instance`: sent along with the request, or kept for its key.
    credentials: tuple[tuple[str, Credential], ...] = field(default=(), repr=False)

    @property
    def identity(self) -> str:
        """What sessions and counters belong to: the id, or the name of a caller that has none."""
        return self.id or self.name

    @property
    def authenticated(self) -> bool:
        """Whether the caller proved who it is. Nobody has to where authentication is off."""
        return bool(self.id)


# Callers without authentication: the parent of a stdio server, Python code, the command line.
TRUSTED = Caller(scopes=frozenset({"admin"}))


# Not of the operating system, which would be asked for each call. A forked process begins anew.
_random: Final = Random()  # noqa: S311 - it guards nothing
os.register_at_fork(after_in_child=_random.seed)


def new_call_id() -> str:
    """16 hexadecimal digits that tell calls apart in a log; nobody is kept out by them."""
    return f"{_random.getrandbits(64):016x}"


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer continues: a path in it, and how many parts at that path to skip."""

    path: str = ""
    offset: int = 0


FROM_THE_START = Resume()


class NestedCalls(msgspec.Struct):
    """How many calls other tools have made within one call of a caller, at all levels together."""

    count: int = 0


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one tool, from any transport."""

    name: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    options: ExecutionOptions = NO_OPTIONS
    version: str | None = None
    door: Door = "python"
    caller: Caller = TRUSTED
    conversation: Conversation = SILENCE
    resume: Resume | None = None
    # The tool that passed the call on, if the caller did not name this tool.
    via: str | None = None
    # For a call that another tool makes: the effect that this other tool may have.
    within: Effect | None = None
    # How many tools around it wait for a call that another tool makes.
    depth: int = 0
    # Shared by all calls that other tools make within one; None for the call of a caller.
    nested: NestedCalls | None = None
    # The id of the task that this call runs in.
    task: str | None = None
    # W3C trace context of the caller, as `_meta.traceparent` or the header of that name brought it.
    traceparent: str | None = None
    id: str = msgspec.field(default_factory=new_call_id)


def text_block(text: str) -> dict[str, Any]:
    """An MCP content block of text."""
    return {"type": "text", "text": text}


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call, for every transport.

    `content` holds MCP content blocks. `kind` says how REST and Python callers read them: as the envelope of a JSON
    answer, as a text, or as blocks.
    """

    content: tuple[dict[str, Any], ...]
    kind: Literal["json", "text", "blocks"] = "blocks"
    is_error: bool = False
    structured: Any = None
    error: DogubakoError | None = None
    tokens: int = 0
    count: int | None = None
    cacheable: bool = False
    trimmed: bool = False
    pending: InputRequests | None = None
    # The task that goes on with the call. `content` tells it to clients that do not know tasks.
    task: "Task | None" = None
    # Whether the tool asks to go on as a task.
    becomes_task: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether the pipeline has to do something before this is an answer: ask, or start a task."""
        return self.pending is not None or self.becomes_task

    @property
    def code(self) -> str:
        """`OK`, `INPUT_REQUIRED`, `TASK`, or the code of the error."""
        if self.pending is not None:
            return "INPUT_REQUIRED"
        if self.task is not None:
            return "TASK"
        return self.error.code if self.error is not None else "OK"

    @property
    def meta(self) -> dict[str, Any] | None:
        """The code, hint and other facts of an error, as in MCP's `_meta`; None for a success."""
        if self.error is None or not self.is_error:
            return None
        return error_facts(self.error)

    def to_mcp(self) -> dict[str, Any]:
        """Return the result of MCP's `tools/call`. `isError` is always set."""
        result: dict[str, Any] = {"content": list(self.content), "isError": self.is_error}
        if self.structured is not None:
            result["structuredContent"] = self.structured
        if (meta := self.meta) is not None:
            result["_meta"] = meta
        return result

    @property
    def text(self) -> str:
        """All text blocks, separated by newlines."""
        return "\n".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def data(self) -> Any:
        """The data of a JSON answer, without the envelope; None for errors and other answers."""
        return self.value["data"] if self.kind == "json" and not self.is_error else None

    @property
    def value(self) -> Any:
        """The answer as Python data: a decoded envelope, a text, or a list of blocks."""
        if self.kind == "blocks":
            return list(self.content)
        text = self.content[0]["text"]
        return msgspec.json.decode(text) if self.kind == "json" else text


TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
ENDED: Final[frozenset[TaskStatus]] = frozenset({"completed", "failed", "cancelled"})


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a task. A tool that failed has `completed` its task; `failed` says that it could not be run."""

    id: str
    tool: str
    status: TaskStatus
    # What it does now, in the words of its tool, or why it ended.
    message: str | None = None
    # How much of how much is done, as the tool counts.
    progress: tuple[float, float | None] | None = None
    # Seconds since the epoch.
    created: float
    updated: float
    # How long it is kept, from its creation.
    ttl_ms: int
    # How often it makes sense to look.
    poll_ms: int
    # What it waits for, by the key under which the answer is given.
    requests: InputRequests = {}
    result: ToolResult | None = None
    error: DogubakoError | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def fields(self) -> dict[str, Any]:
        """The fields that every client sees, by their names in MCP."""
        message = {"statusMessage": self.message} if self.message else {}
        return {
            "taskId": self.id,
            "status": self.status,
            **message,
            "createdAt": utc_text(self.created),
            "lastUpdatedAt": utc_text(self.updated),
            "ttlMs": self.ttl_ms,
            "pollIntervalMs": self.poll_ms,
        }


class CallEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended."""

    # `OK`, `INPUT_REQUIRED`, `TASK`, `CANCELLED`, or the code of the error.
    code: str
    milliseconds: float
    # Whether the tool changes something.
    changing: bool = False
    # The pack of a resource or prompt that was read. None for calls of tools.
    pack: str | None = None
    # None for a call that was cancelled, and for what is read beside tools.
    result: ToolResult | None = None
    # When it ended, in seconds since the epoch.
    at: float = msgspec.field(default_factory=time.time)


class CallObserver:
    """Base class of observers of calls; override what you need.

    `Toolbox.observe`, `Pack.observers` and `OBSERVERS` of a tools file add one.

    Every call ends once. A call that is refused or answered from the cache has never started. Reads of resources,
    prompts and completions (`resources/read`, `prompts/get`, `completion/complete`) only end. All methods are called
    on the event loop, so they must be quick. What they raise is logged and does not reach the caller.
    """

    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        """The tool runs next, for the first of possibly several attempts."""

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        """The tool reported progress. Secrets are redacted in `message`."""

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        """The call has ended, with a result, an error or a cancellation."""


class ChangeObserver(CallObserver):
    """An observer that is told only of the start of tools that change something."""


def error_facts(error: DogubakoError) -> dict[str, Any]:
    """Code, hint and details of an error, without its message."""
    facts: dict[str, Any] = {"code": error.code, "retryable": error.retryable}
    if error.hint:
        facts["hint"] = error.hint
    if error.error_id:
        facts["errorId"] = error.error_id
    if error.retry_after is not None and math.isfinite(error.retry_after):
        facts["retryAfter"] = error.retry_after
    if details := error.details if error.shown_details is None else error.shown_details:
        facts["details"] = details
    return facts
