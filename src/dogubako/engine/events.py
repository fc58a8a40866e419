"""Call observers: they hear that a call started, how far it is, and how it ended."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec
import structlog

from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.conversation import (
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequests,
    InputRequired,
)
from dogubako.contract.errors import DogubakoError, InternalError
from dogubako.engine.entry import ToolRegistryEntry


class CallEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended."""

    code: str
    milliseconds: float
    # Whether the call was to change something.
    changing: bool = False
    # The pack of a resource or prompt that was read; the name of a tool says by itself whose it is.
    pack: str | None = None
    # None for a call that was cancelled, and for what is read beside tools.
    result: ToolResult | None = None


class CallObserver(Protocol):
    """Observes calls. Every call ends once; one that is refused or answered from the cache has never started.

    All methods are called on the event loop, so they must be quick. Only `started` may raise.
    """

    def started(self, call: ToolCall, entry: ToolRegistryEntry) -> None:
        """The tool runs next, for the first of possibly several attempts. A raised error keeps it from running."""

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        """The running tool reported progress. Secrets are masked in `message`."""

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        """The call is over, and its answer has not been sent yet."""


class CallObservers:
    """Several observers as one, told in order."""

    def __init__(self, *observers: CallObserver | None) -> None:
        self._observers = tuple(one for one in observers if one is not None)

    def started(self, call: ToolCall, entry: ToolRegistryEntry) -> None:
        for one in self._observers:
            one.started(call, entry)

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        for one in self._observers:
            one.progressed(call, done, total, message)

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        for one in self._observers:
            one.ended(call, end)


class CallLog:
    """Writes one line of the server's log for every call that ended."""

    def __init__(self) -> None:
        # Bound once: looking the logger up again for every call would cost more than the check of its level.
        self._log = structlog.get_logger("dogubako.engine").bind()

    def started(self, call: ToolCall, entry: ToolRegistryEntry) -> None:
        return None

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        return None

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        result = end.result
        fields: dict[str, Any] = {"count": result.count} if result is not None and result.count is not None else {}
        self._log.info(
            "Tool completed",
            tool=call.name[:64],
            door=call.door,
            caller=call.caller.name,
            code=end.code,
            ms=end.milliseconds,
            tokens=result.tokens if result is not None else 0,
            call_id=call.id,
            **fields,
        )


class ObservedConversation:
    """A conversation whose progress reports also reach the observers of the call."""

    __slots__ = ("_call", "_conversation", "_observer")

    def __init__(self, conversation: Conversation, call: ToolCall, observer: CallObserver) -> None:
        self._conversation = conversation
        self._call = call
        self._observer = observer

    def supports(self, capability: str) -> bool:
        return self._conversation.supports(capability)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self._observer.progressed(self._call, done, total, message)
        await self._conversation.progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await self._conversation.log(level, message)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return await self._conversation.request(requests)


@contextmanager
def observed(observer: CallObserver, call: ToolCall, pack: str | None, *, changing: bool = False) -> Iterator[None]:
    """Tell the observer how the block ended. For what is read beside tools; `pack` brought it."""
    # What nothing below knows better is a fault of our own.
    started, code = time.perf_counter(), InternalError.code
    try:
        yield
        code = "OK"
    except InputRequired:
        code = "INPUT_REQUIRED"
        raise
    except DogubakoError as error:
        code = error.code
        raise
    except asyncio.CancelledError:
        code = "CANCELLED"
        raise
    finally:
        observer.ended(call, CallEnd(code=code, milliseconds=milliseconds_since(started), pack=pack, changing=changing))


def milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
