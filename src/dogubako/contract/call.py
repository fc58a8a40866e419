"""A request on its way in, and its outcome on the way out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import getrandbits
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from dogubako.contract.conversation import SILENCE, Conversation, InputRequests
from dogubako.contract.errors import DogubakoError
from dogubako.contract.metadata import Effect
from dogubako.contract.whole_number import MaybeWholeNumber

Door = Literal["python", "stdio", "http", "rest", "cli"]


class ExecutionOptions(BaseModel):
    """How long, how often and how much. What is left out is decided by the tool, then by the server."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True, serialize_by_alias=True)

    timeout: MaybeWholeNumber = Field(None, ge=1, description="Milliseconds for one attempt.")
    deadline: MaybeWholeNumber = Field(None, ge=1, description="Milliseconds for all attempts together.")
    retry: MaybeWholeNumber = Field(None, ge=0, description="How often to try again.")
    retry_delay: MaybeWholeNumber = Field(
        None, ge=0, alias="retryDelay", description="Milliseconds before the second try."
    )
    max_tokens: MaybeWholeNumber = Field(
        None, ge=100, alias="maxTokens", description="A smaller response budget for this call."
    )


NO_OPTIONS = ExecutionOptions()


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls. The gate decides what a caller may do; the path only carries the name.

    `id` stays the same for one API key, or for one subject of one issuer. A name can be given to a new key after the
    old one was revoked, so nothing that belongs to a caller is found by name.
    """

    name: str = "anonymous"
    scopes: frozenset[str] = frozenset()
    id: str = ""

    @property
    def identity(self) -> str:
        """What sessions, sealed states and counters belong to; callers made in Python code may have only a name."""
        return self.id or self.name


# Whoever reaches us where nobody has to prove anything: the parent of a stdio server, Python code, the command line.
TRUSTED = Caller(scopes=frozenset({"admin"}))


def new_call_id() -> str:
    # Tells calls apart in a log; nobody is kept out by it.
    return f"{getrandbits(64):016x}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Resume:
    """Where in an answer to begin: a place in it, and how many parts of that place to leave out."""

    path: str = ""
    offset: int = 0


FROM_THE_START = Resume()


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request for one tool, whatever door it came through."""

    name: str
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    options: ExecutionOptions = NO_OPTIONS
    version: str | None = None
    door: Door = "python"
    caller: Caller = TRUSTED
    conversation: Conversation = SILENCE
    resume: Resume | None = None
    # The tool that passed the call on, if it was not asked for directly.
    via: str | None = None
    # For a call that a tool makes while it runs: what that tool may do itself.
    within: Effect | None = None
    id: str = msgspec.field(default_factory=new_call_id)


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome, ready for every door.

    `content` holds MCP content blocks; `kind` says how REST and Python callers read them: as the envelope of a JSON
    tool, as the text of a text tool, or as they are.
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

    @property
    def code(self) -> str:
        """The outcome in one word, for logs."""
        if self.pending is not None:
            return "INPUT_REQUIRED"
        return self.error.code if self.error is not None else "OK"

    @property
    def meta(self) -> dict[str, Any] | None:
        """What a program needs to react to a failure without reading prose."""
        if self.error is None or not self.is_error:
            return None
        return error_facts(self.error)

    def to_mcp(self) -> dict[str, Any]:
        """The `tools/call` result, with `isError` also when it is false."""
        result: dict[str, Any] = {"content": list(self.content), "isError": self.is_error}
        if self.structured is not None:
            result["structuredContent"] = self.structured
        if (meta := self.meta) is not None:
            result["_meta"] = meta
        return result

    @property
    def value(self) -> Any:
        """The answer as Python data."""
        if self.kind == "blocks":
            return list(self.content)
        text = self.content[0]["text"]
        return msgspec.json.decode(text) if self.kind == "json" else text


def error_facts(error: DogubakoError) -> dict[str, Any]:
    """Code and advice, without the sentence."""
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
