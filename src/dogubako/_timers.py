"""Timers: one coarse timer for all timeouts of a loop, and a debounce."""

import asyncio
import math
import threading
from collections.abc import Callable
from typing import Final

import msgspec

# The maximum delay of a timer.
TICK_SECONDS: Final = 0.02


class CoarseTimer(msgspec.Struct, eq=False):
    """Calls its function once, unless it is cancelled."""

    clock: "_Clock"
    at: float
    function: Callable[[], object] | None

    def cancel(self) -> None:
        self.clock.waiting.pop(self, None)
        # Most owners keep their timer, and `function` is a method of the owner: a reference cycle, which would keep the
        # whole request in memory until the garbage collector runs.
        self.function = None

    def ring(self) -> None:
        function = self.function
        self.cancel()
        if function is not None:
            function()


class _Clock:
    """The timers of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ticking = False
        self.waiting: dict[CoarseTimer, None] = {}
        # No timer rings before this.
        self._soonest = math.inf

    def set(self, seconds: float, ring: Callable[[], object]) -> CoarseTimer:
        at = self.loop.time() + seconds
        timer = CoarseTimer(self, at, ring)
        self.waiting[timer] = None
        self._soonest = min(self._soonest, at)
        if not self._ticking:
            self._ticking = True
            self.loop.call_later(TICK_SECONDS, self._tick)
        return timer

    def _tick(self) -> None:
        now = self.loop.time()
        if now >= self._soonest:
            for timer in [one for one in self.waiting if one.at <= now]:
                timer.ring()
            self._soonest = min([one.at for one in self.waiting], default=math.inf)
        self._ticking = bool(self.waiting)
        if self._ticking:
            self.loop.call_later(TICK_SECONDS, self._tick)


class _LastUsed(threading.local):
    """Caches the clock of this thread's loop, because every call needs it."""

    clock: _Clock | None = None


_last_used = _LastUsed()


def call_later(seconds: float, ring: Callable[[], object]) -> CoarseTimer:
    """Call `ring` in about so many seconds."""
    loop = asyncio.get_running_loop()
    clock = _last_used.clock
    if clock is None or clock.loop is not loop:
        clock = _last_used.clock = _Clock(loop)
    return clock.set(seconds, ring)


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
