"""One clock for all timeouts of a loop.

A timer of its own for every request is made, put into order and thrown away thousands of times a second, and nearly
none ever rings. Here setting an alarm is one entry in a table; a single timer looks at the table a few times a second,
and only while somebody waits.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final

# How late an alarm may ring.
TICK_SECONDS: Final = 0.02


class Alarm:
    """Rings once, unless it is cancelled before."""

    __slots__ = ("_clock", "_ring", "at")

    def __init__(self, clock: "_Clock", at: float, ring: Callable[[], object]) -> None:
        self._clock = clock
        self._ring = ring
        self.at = at

    def cancel(self) -> None:
        self._clock.waiting.pop(self, None)

    def ring(self) -> None:
        self.cancel()
        self._ring()


class _Clock:
    """The alarms of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ticking = False
        self.waiting: dict[Alarm, None] = {}

    def set(self, seconds: float, ring: Callable[[], object]) -> Alarm:
        alarm = Alarm(self, self.loop.time() + seconds, ring)
        self.waiting[alarm] = None
        if not self._ticking:
            self._ticking = True
            self.loop.call_later(TICK_SECONDS, self._tick)
        return alarm

    def _tick(self) -> None:
        now = self.loop.time()
        for alarm in [one for one in self.waiting if one.at <= now]:
            alarm.ring()
        self._ticking = bool(self.waiting)
        if self._ticking:
            self.loop.call_later(TICK_SECONDS, self._tick)


class _LastUsed(threading.local):
    """A thread runs one loop at a time, and its clock is asked for with every call."""

    clock: _Clock | None = None


_last_used = _LastUsed()


def set_alarm(seconds: float, ring: Callable[[], object]) -> Alarm:
    """Call `ring` in about so many seconds."""
    loop = asyncio.get_running_loop()
    clock = _last_used.clock
    if clock is None or clock.loop is not loop:
        clock = _last_used.clock = _Clock(loop)
    return clock.set(seconds, ring)
