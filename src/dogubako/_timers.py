"""Timers: one coarse timer for all timeouts of a loop, and a debounce."""

import asyncio
import math
import threading
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

# The maximum delay of a timer.
TICK_SECONDS: Final = 0.02


class Rings(Protocol):
    """What a clock can call. It has at most one time on a clock."""

    def ring(self) -> object:
        """Called once, when the time is over."""


class CoarseClock:
    """The timers of one event loop: who is called, and when. Made for timers that are nearly always cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ticking = False
        self.waiting: dict[Rings, float] = {}
        # No timer rings before this.
        self._soonest = math.inf

    def set(self, owner: Rings, at: float) -> None:
        """Call `owner.ring` about when `loop.time()` is `at`, and not at a time that was set before."""
        self.waiting[owner] = at
        self._soonest = min(self._soonest, at)
        if not self._ticking:
            self._ticking = True
            self.loop.call_later(TICK_SECONDS, self._tick)

    def cancel(self, owner: Rings) -> None:
        self.waiting.pop(owner, None)

    def _tick(self) -> None:
        now = self.loop.time()
        if now >= self._soonest:
            for owner in [owner for owner, at in self.waiting.items() if at <= now]:
                # One that rang before may have cancelled it.
                if self.waiting.pop(owner, None) is not None:
                    owner.ring()
            self._soonest = min(self.waiting.values(), default=math.inf)
        self._ticking = bool(self.waiting)
        if self._ticking:
            self.loop.call_later(TICK_SECONDS, self._tick)


class _LastUsed(threading.local):
    """Caches the clock of this thread's loop, because every call that waits needs it."""

    clock: CoarseClock | None = None


_last_used = _LastUsed()


def set_timer(owner: Rings, at: float, loop: asyncio.AbstractEventLoop) -> CoarseClock:
    """Set a time on the clock of the loop that runs in this thread. The clock can cancel it."""
    clock = _last_used.clock
    if clock is None or clock.loop is not loop:
        clock = _last_used.clock = CoarseClock(loop)
    clock.set(owner, at)
    return clock


class CoarseTimer(msgspec.Struct, eq=False):
    """Calls its function once, unless it is cancelled."""

    function: Callable[[], object] | None
    clock: CoarseClock | None = None

    def cancel(self) -> None:
        if self.clock is not None:
            self.clock.cancel(self)
        # Most owners keep their timer, and `function` is a method of the owner: a reference cycle, which would keep the
        # whole request in memory until the garbage collector runs.
        self.function = None

    def ring(self) -> None:
        function, self.function = self.function, None
        if function is not None:
            function()


def call_later(seconds: float, function: Callable[[], object]) -> CoarseTimer:
    """Call the function in about so many seconds."""
    loop = asyncio.get_running_loop()
    timer = CoarseTimer(function)
    timer.clock = set_timer(timer, loop.time() + seconds, loop)
    return timer


class Debounce:
    """Runs `work` once, so many seconds after the first request for it."""

    def __init__(self, work: Callable[[], None], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._planned_on: asyncio.AbstractEventLoop | None = None

    def wanted(self) -> bool:
        """Schedule the work. Returns False where no loop runs; the caller then does it at once."""
        if (planned := self._planned_on) is not None and planned.is_running():
            return True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        # The loop of an earlier schedule may have ended before it ran.
        self._planned_on = loop
        loop.call_later(self._seconds, self._run)
        return True

    def _run(self) -> None:
        self._planned_on = None
        self._work()
