"""`TaskRecord`: everything that is stored of a task, and how it becomes the view that clients get."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, Literal

import msgspec

from dogubako.contract.call import ENDED, Caller, Door, ExecutionOptions, Task, TaskStatus, ToolCall, ToolResult
from dogubako.contract.conversation import (
    URL_ELICITATION,
    ElicitRequest,
    InputRequest,
    InputRequests,
    RootsRequest,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import DogubakoError
from dogubako.engine.input_requests import question_digest

# What a task may ask, if the client that created it can answer.
CAPABILITIES: Final = ("elicitation", URL_ELICITATION, "sampling", "roots")
_POLL_MS: Final = 1_000


class StoredError(msgspec.Struct, frozen=True, kw_only=True):
    """An error without its traceback and context."""

    code: str
    message: str
    http_status: int
    retryable: bool = False
    hint: str | None = None
    error_id: str | None = None
    details: list[dict[str, str]] = []

    @classmethod
    def of(cls, error: DogubakoError) -> "StoredError":
        return cls(
            code=error.code,
            message=error.message,
            http_status=error.http_status,
            retryable=error.retryable,
            hint=error.hint,
            error_id=error.error_id,
            details=error.details if error.shown_details is None else error.shown_details,
        )

    def restored(self) -> DogubakoError:
        error = DogubakoError(self.message, hint=self.hint)
        error.error_id, error.shown_details = self.error_id, self.details
        # Every class of errors has these as attributes of the class.
        vars(error).update(code=self.code, http_status=self.http_status, retryable=self.retryable)
        return error


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a tool."""

    content: tuple[dict[str, Any], ...]
    kind: Literal["json", "text", "blocks"]
    is_error: bool
    structured: Any
    tokens: int
    count: int | None
    trimmed: bool
    error: StoredError | None = None

    @classmethod
    def of(cls, result: ToolResult) -> "StoredResult":
        return cls(
            content=result.content,
            kind=result.kind,
            is_error=result.is_error,
            structured=result.structured,
            tokens=result.tokens,
            count=result.count,
            trimmed=result.trimmed,
            error=StoredError.of(result.error) if result.error is not None else None,
        )

    def restored(self) -> ToolResult:
        facts = {name: getattr(self, name) for name in self.__struct_fields__ if name != "error"}
        return ToolResult(**facts, error=self.error.restored() if self.error is not None else None)


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One task. A changed copy replaces it in the store, if nobody was faster (`revision`)."""

    id: str
    revision: int = 0
    tool: str
    version: str | None
    # JSON in ASCII: callers may send characters that UTF-8 cannot encode.
    parameters: str
    options: ExecutionOptions
    door: Door
    traceparent: str | None
    # Who created it. Credentials are dropped when it ends.
    owner: str
    caller_name: str
    caller_id: str
    scopes: tuple[str, ...]
    credentials: tuple[tuple[str, str, str], ...] = ()
    # What its client can answer.
    capabilities: tuple[str, ...] = ()
    repeatable: bool
    created: float
    updated: float
    ttl_ms: int
    status: TaskStatus = "working"
    message: str | None = None
    progress: tuple[float, float | None] | None = None
    # The run that began and has not ended, and how many have begun.
    run: str | None = None
    runs: int = 0
    # What is asked now: by the key that clients see, the tool's key and the question, as JSON.
    asked: dict[str, str] = {}
    # How many questions were put in all.
    questions: int = 0
    # Answers as JSON, by the digests of their questions.
    answers: dict[str, str] = {}
    result: StoredResult | None = None
    error: StoredError | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def expires(self) -> float:
        """When it may be forgotten, in seconds since the epoch."""
        return self.created + self.ttl_ms / 1000

    def caller(self, known: Caller | None = None) -> Caller:
        """Who created it: with the rights of now, if they are known."""
        stored = {service: Credential(key=key, login=login) for service, key, login in self.credentials}
        if known is None:
            return Caller(
                name=self.caller_name,
                scopes=frozenset(self.scopes),
                id=self.caller_id,
                credentials=tuple(stored.items()),
            )
        # What came with the request counts before what is stored for the key.
        credentials = tuple({**dict(known.credentials), **stored}.items())
        return Caller(name=known.name, scopes=known.scopes, id=known.id, credentials=credentials)

    def question(self, key: str) -> tuple[str, InputRequest]:
        """The digest of a question that is asked now, and the question."""
        name, kind, fields = json.loads(self.asked[key])
        request = _KINDS[kind](**fields)
        return question_digest(name, request), request

    def view(self) -> Task:
        """What clients may see."""
        return Task(
            id=self.id,
            tool=self.tool,
            status=self.status,
            message=self.message,
            progress=self.progress,
            created=self.created,
            updated=self.updated,
            ttl_ms=self.ttl_ms,
            poll_ms=_POLL_MS,
            requests={key: self.question(key)[1] for key in self.asked},
            result=self.result.restored() if self.result is not None else None,
            error=self.error.restored() if self.error is not None else None,
        )


_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (ElicitRequest, UrlRequest, SampleRequest, RootsRequest)
}


def new_record(
    call: ToolCall, task_id: str, *, repeatable: bool, answers: Mapping[str, Any], now: float, ttl_ms: int
) -> TaskRecord:
    """The record of a task that runs this call."""
    caller = call.caller
    return TaskRecord(
        id=task_id,
        tool=call.name,
        version=call.version,
        parameters=json.dumps(dict(call.parameters)),
        options=call.options.model_copy(update={"task": None}),
        door=call.door,
        traceparent=call.traceparent,
        owner=caller.identity,
        caller_name=caller.name,
        caller_id=caller.id,
        scopes=tuple(sorted(caller.scopes)),
        credentials=tuple((service, one.key, one.login) for service, one in caller.credentials),
        capabilities=tuple(one for one in CAPABILITIES if call.conversation.supports(one)),
        repeatable=repeatable,
        created=now,
        updated=now,
        ttl_ms=ttl_ms,
        answers={digest: json.dumps(answer) for digest, answer in answers.items()},
    )


def asked_of(record: TaskRecord, requests: InputRequests) -> dict[str, str]:
    """Questions as they are stored. A key is never used for a second question of the same task."""
    numbered = enumerate(requests.items(), record.questions + 1)
    return {
        name if record.questions == 0 else f"{name}-{number}": json.dumps(
            [name, type(request).__name__, asdict(request)], default=dict
        )
        for number, (name, request) in numbered
    }


def _plain(value: Any) -> Any:
    if isinstance(value, ExecutionOptions):
        return value.model_dump(exclude_none=True)
    raise NotImplementedError(type(value))


def _options(kind: type, value: Any) -> Any:
    return kind(**value) if kind is ExecutionOptions else value


encode_record: Final = msgspec.json.Encoder(enc_hook=_plain).encode
_decode: Final = msgspec.json.Decoder(TaskRecord, dec_hook=_options).decode


def decode_record(encoded: bytes) -> TaskRecord | None:
    """The record, or None: another version of this server may have written it."""
    try:
        return _decode(encoded)
    except (msgspec.DecodeError, UnicodeError, ValueError, TypeError):
        return None
