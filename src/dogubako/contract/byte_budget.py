"""Bound the memory that something takes in all. Waiting for room is bounded by time, and in a fair order."""

import asyncio
from typing import Final

from dogubako.contract.errors import BusyError
from dogubako.contract.fair_queue import FairQueue

MAX_WAIT_SECONDS: Final = 10.0
# What a refused caller is told to wait: it has waited already.
_RETRY_AFTER_SECONDS: Final = 5.0


class ByteBudget:
    """A semaphore that counts bytes. `refusal` is the sentence for those who waited too long."""

    def __init__(self, most_bytes: int, refusal: str, *, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._most_bytes = most_bytes
        self._refusal = refusal
        self._max_wait_seconds = max_wait_seconds
        self._queue = FairQueue()
        self.held = 0

    async def take(self, size: int) -> None:
        """Wait for room, or raise BusyError. The caller must give it back."""
        if not self._queue and self._has_room(size):
            self._queue.pass_by(size)
            self.held += size
            return
        turn = self._queue.join(size)
        try:
            await asyncio.wait((turn,), timeout=self._max_wait_seconds)
        except asyncio.CancelledError:
            if turn.done():
                self.give_back(size)
            turn.cancel()
            raise
        if not turn.done():
            turn.cancel()
            hint = "Try again in a few seconds, or ask for less at once."
            raise BusyError(self._refusal, hint=hint, retry_after=_RETRY_AFTER_SECONDS)

    def exchange(self, expected: int, real: int) -> None:
        """Hold what it really is instead of what was expected, also beyond the budget."""
        self.held += real
        self.give_back(expected)

    def give_back(self, size: int) -> None:
        self.held -= size
        while self._queue and self._has_room(self._queue.next_cost):
            self.held += self._queue.next_cost
            self._queue.call_next()
        if not self.held:
            self._queue.forget()

    def _has_room(self, size: int) -> bool:
        # What is larger than the whole budget has its turn when it is alone.
        return not self.held or self.held + size <= self._most_bytes
