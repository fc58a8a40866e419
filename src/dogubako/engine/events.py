"""Call observers (a call started, progressed, ended), and subscribers to changes."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from dogubako.contract.call import CallEnd, CallObserver, ChangeObserver, ToolCall
from dogubako.contract.call_steps import CallStep
from dogubako.contract.conversation import (
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequests,
    InputRequired,
)
from dogubako.contract.errors import DogubakoError, InternalError
from dogubako.contract.metadata import ToolMetadata

ChangeT = TypeVar("ChangeT")


class Subscribers(Generic[ChangeT]):
    """Calls every subscriber with every change."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ChangeT], None]] = {}

    def add(self, listener: Callable[[ChangeT], None]) -> Callable[[], None]:
        """Add a subscriber, until the returned function is called."""
        token = object()
        self._listeners[token] = listener

        def remove() -> None:
            self._listeners.pop(token, None)

        return remove

    def tell(self, change: ChangeT) -> None:
        for listener in list(self._listeners.values()):
            listener(change)


class CallObservers:
    """Several observers as one, called in order."""

    def __init__(self, *observers: CallObserver | None) -> None:
        self._observers: tuple[CallObserver, ...] = ()
        # Where the executor leaves the steps of a call, by its id; None where nobody wants them.
        self.steps: dict[str, list[CallStep]] | None = None
        # Only the observers that override `started`: most do not, and every call would pay for them.
        self._on_started: tuple[Callable[[ToolCall, ToolMetadata], None], ...] = ()
        self._on_change: tuple[Callable[[ToolCall, ToolMetadata], None], ...] = ()
        self._set(one for one in observers if one is not None)

    def add(self, observer: CallObserver) -> Callable[[], None]:
        """Tell this observer too, until the returned function is called."""
        self._set((*self._observers, observer))
        return lambda: self._set(one for one in self._observers if one is not observer)

    def _set(self, observers: Iterable[CallObserver]) -> None:
        self._observers = tuple(observers)
        self.steps = next((one.steps for one in self._observers if isinstance(one, CallBatches)), None)
        told = [one for one in self._observers if type(one).started is not CallObserver.started]
        self._on_started = tuple(one.started for one in told if not isinstance(one, ChangeObserver))
        self._on_change = tuple(one.started for one in told)

    def started(self, call: ToolCall, tool: ToolMetadata, *, writes: bool) -> None:
        for started in self._on_change if writes else self._on_started:
            started(call, tool)

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        for one in self._observers:
            one.progressed(call, done, total, message)

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        for one in self._observers:
            one.ended(call, end)


class DeferredObserver(CallObserver):
    """Tells an author's observer on the next turn of the event loop, so that its failures cannot reach the call.

    The event loop logs an exception of the observer, with the observer's name. Closures are passed, because the loop
    would log arguments too.
    """

    def __init__(self, observer: CallObserver) -> None:
        self._observer = observer

    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        self._call_soon("started", lambda: self._observer.started(call, tool))

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        self._call_soon("progressed", lambda: self._observer.progressed(call, done, total, message))

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        self._call_soon("ended", lambda: self._observer.ended(call, end))

    def _call_soon(self, method: str, callback: Callable[[], None]) -> None:
        callback.__qualname__ = f"{type(self._observer).__qualname__}.{method}"
        asyncio.get_running_loop().call_soon(callback)


class EndedCall(msgspec.Struct, frozen=True):
    """A call that has ended, and when."""

    at: float
    call: ToolCall
    end: CallEnd
    steps: Sequence[CallStep] = ()


_COMPLETED: Final = "Tool completed"
_INFO: Final = 20

# How long, and how many, ended calls may wait to be passed on together.
_BATCH_SECONDS: Final = 0.25
_MOST_WAITING: Final = 200


class CallBatches(CallObserver):
    """Passes ended calls on in batches: a call only appends to a list, whoever counts it comes later."""

    def __init__(self) -> None:
        self._listeners: Subscribers[Sequence[EndedCall]] = Subscribers()
        self._waiting: list[EndedCall] = []
        self.steps: dict[str, list[CallStep]] = {}

    def subscribe(self, listener: Callable[[Sequence[EndedCall]], None]) -> Callable[[], None]:
        """Pass batches to this listener, until the returned function is called."""
        return self._listeners.add(listener)

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        waiting = self._waiting
        waiting.append(EndedCall(end.at, call, end, self.steps.pop(call.id, ())))
        if len(waiting) == 1:
            asyncio.get_running_loop().call_later(_BATCH_SECONDS, self.flush)
        elif len(waiting) == _MOST_WAITING:
            # Answers are kept until then; many calls must not add up.
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Pass on what has ended by now. A timer that finds nothing left does nothing."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._listeners.tell(waiting)


class CallSink(Protocol):
    """Where log lines end that may come straight from a call. `dogubako.logs` has one."""

    def call_ended(self, call: tuple[float, str, str, str, float, int, str, int | None]) -> None:
        """Log a call that ended well: time, tool, door, caller, milliseconds, tokens, id, number of results."""


class CallLog(CallObserver):
    """Writes one line of the server's log for every call that ended."""

    def __init__(self) -> None:
        # Bound once: looking the logger up again for every call would cost more than the check of its level.
        self._log = structlog.get_logger("dogubako.engine").bind()
        config = structlog.get_config()
        # Tests replace what is in the list.
        self._processors, self._configured = config["processors"], list(config["processors"])
        sink = config["logger_factory"]()
        self._sink: CallSink | None = sink if hasattr(sink, "call_ended") and self._log.is_enabled_for(_INFO) else None

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        result = end.result
        tokens, count = (0, None) if result is None else (result.tokens, result.count)
        tool, caller, ms = call.name[:64], call.caller.name, end.milliseconds
        if self._sink is not None and end.code == "OK" and self._processors == self._configured:
            self._sink.call_ended((end.at, tool, call.door, caller, ms, tokens, call.id, count))
            return
        fields: dict[str, Any] = {"tool": tool, "door": call.door, "caller": caller, "code": end.code, "ms": ms}
        fields |= {"tokens": tokens, "call_id": call.id} | ({} if count is None else {"count": count})
        self._log.info(_COMPLETED, **fields)


class ObservedConversation:
    """A conversation whose progress reports also reach the observers of the call."""

    __slots__ = ("_call", "_conversation", "_observer")

    def __init__(self, conversation: Conversation, call: ToolCall, observer: CallObservers) -> None:
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
def observed(observer: CallObservers, call: ToolCall, pack: str | None, *, changing: bool = False) -> Iterator[None]:
    """Tell the observers how the block ended. For reads of resources and prompts of `pack`."""
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
