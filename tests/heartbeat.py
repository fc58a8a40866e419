"""Measure how long the event loop stands still."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Final, ParamSpec, Self

# No request and no answer may keep the loop for longer.
MOST_SECONDS: Final = 0.1
_BEAT_SECONDS: Final = 0.01
# A stall that the server causes comes again with the same request: the same work takes the same processor time. One
# that the machine causes (a second process on the same core, a throttled processor) does not. So a row is judged by the
# smallest of up to three measurements, and the bound stays what it is.
TRIES: Final = 3

P = ParamSpec("P")


class StallError(AssertionError):
    """The event loop stood still for too long."""


def check_stall(seconds: float) -> None:
    if seconds > MOST_SECONDS:
        raise StallError(f"the event loop stood still for {seconds * 1000:.0f} ms")


def best_of_three(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Run a test that measures one stall again if the loop stood still, and pass if it did not each time."""

    @wraps(test)
    async def judged(*args: P.args, **kwargs: P.kwargs) -> None:
        for _ in range(TRIES - 1):
            try:
                return await test(*args, **kwargs)
            except StallError:
                continue
        return await test(*args, **kwargs)

    return judged


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Keep the garbage collector off what exists already, as a server does when it has started.

    Else a full collection looks at all modules of all tests, which takes longer than any stall.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Heartbeat:
    """A timer in the running loop that notes the longest stall.

    A stall is the smaller of two numbers: how late a beat came by the clock, and the processor time that this process
    used meanwhile. A busy machine makes the first large and not the second. Work in a thread that holds the
    interpreter's lock makes both large, although it is not on the loop.
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._used = 0.0

    def __enter__(self) -> Self:
        self._schedule()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._note()

    def take(self) -> float:
        """The longest stall since the last look, in seconds."""
        self._note()
        worst, self.worst = self.worst, 0.0
        return worst

    def _beat(self) -> None:
        self._note()
        self._schedule()

    def _note(self) -> None:
        late = time.perf_counter() - self._due
        self.worst = max(self.worst, min(late, time.process_time() - self._used))

    def _schedule(self) -> None:
        self._due = time.perf_counter() + _BEAT_SECONDS
        self._used = time.process_time()
        self._timer = asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)
