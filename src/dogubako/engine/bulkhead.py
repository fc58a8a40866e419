"""A bulkhead: a bound on how many calls of one pack run at once, so that a slow service cannot take the others down."""

from typing import Final

import anyio

from dogubako.contract.errors import BusyError

# What a refused caller is told to wait: it has waited already, so the service is slow.
_RETRY_AFTER_SECONDS: Final = 5.0


class Bulkhead:
    """A semaphore with a bounded wait. Waiting calls get their place in the order in which they came."""

    def __init__(self, name: str, *, max_running: int, max_wait_seconds: float) -> None:
        self._name = name
        self._slots = anyio.Semaphore(max_running, fast_acquire=True)
        self._max_wait_seconds = max_wait_seconds

    async def enter(self, seconds: float) -> None:
        """Take a place. Raise BusyError if none is free within `seconds`, or within what the pack allows.

        Whoever entered must `leave`.
        """
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait(min(seconds, self._max_wait_seconds))

    def leave(self) -> None:
        self._slots.release()

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._slots.acquire()
            return
        raise BusyError(
            f"Too many calls are waiting for {self._name}.",
            hint="Try again in a few seconds, or call less at once.",
            retry_after=_RETRY_AFTER_SECONDS,
        )
