"""A bound on how much of one pack runs at once, so that a slow service cannot take the others down with it."""

import anyio

from dogubako.contract.errors import BusyError


class Bulkhead:
    """Some run, some wait, and the next one hears at once that there is no room."""

    def __init__(self, name: str, *, max_running: int, max_waiting: int) -> None:
        self._name = name
        self._slots = anyio.Semaphore(max_running, fast_acquire=True)
        self._max_waiting = max_waiting
        self._waiting = 0

    async def enter(self) -> None:
        """Take a place, or wait for one, or raise BusyError. Whoever entered must `leave`."""
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            await self._queue()

    def leave(self) -> None:
        self._slots.release()

    async def _queue(self) -> None:
        if self._waiting >= self._max_waiting:
            raise BusyError(
                f"Too many calls are waiting for {self._name}.",
                hint="Try again in a few seconds, or call less at once.",
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
