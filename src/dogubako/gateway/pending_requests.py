"""A request that waits for its answer, and what the server says meanwhile."""

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from dogubako.gateway.link import Message, RequestId

# A server may log faster than a client reads.
_MOST_EVENTS: Final = 200
_CROWDED: Final = 20


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of the request."""

    result: Message


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no result."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The server reports changes from now on."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the request is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line for the client's log."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request of the server to us: a question to the user, to the client's model, or for its folders."""

    id: RequestId
    method: str
    params: Message


Event = Answered | Failed | Acknowledged | Progress | LogLine | ServerRequest


class PendingRequest:
    """One request to a server. Its events are read in order with `next`."""

    __slots__ = ("_events", "_waiter", "cancellable", "id", "method", "open_questions", "owner")

    def __init__(self, request_id: int, method: str, owner: str | None = None) -> None:
        self.id = request_id
        self.method = method
        # The caller that it runs for. None for requests of our own, which nobody can be asked for.
        self.owner = owner
        self.open_questions: set[RequestId] = set()
        self.cancellable = method not in ("initialize", "server/discover")
        self._events: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Event) -> None:
        """Add an event. When many wait to be read, progress replaces earlier progress."""
        is_crowded = len(self._events) >= _CROWDED
        if is_crowded and isinstance(event, Progress) and isinstance(self._events[-1], Progress):
            self._events[-1] = event
        elif isinstance(event, LogLine) and len(self._events) >= _MOST_EVENTS:
            return
        else:
            self._events.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next(self) -> Event:
        """The next event. Only one task may wait."""
        while not self._events:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.popleft()


def finite_number(value: Any) -> float | None:
    """A number as a server sent it; None for anything else, and for one that is too large to count with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
