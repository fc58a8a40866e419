"""Politeness: so many requests a second, in order, and a rest after a block."""

import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from dogubako.contract.errors import Blocked

_FIRST_REST: Final = 30.0
_LONGEST_REST: Final = 600.0


class Pace:
    """One engine's queue. Whoever comes early waits; whoever comes while it rests is told so at once."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._gap = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0
        self._rest = 0.0
        self._rests_until = 0.0

    async def turn(self) -> None:
        """Wait for the next free moment. Raises Blocked while we keep quiet after a block."""
        self._require_awake()
        now = self._clock()
        at = max(now, self._next)
        self._next = at + self._gap
        if at > now:
            await self._sleep(at - now)
            # Somebody before us in the queue may have been blocked meanwhile.
            self._require_awake()

    def blocked(self) -> None:
        """Ask less often the more often we are blocked. Several refusals at once are one block."""
        if self._clock() < self._rests_until:
            return
        self._rest = min(max(self._rest * 2, _FIRST_REST), _LONGEST_REST)
        self._rests_until = self._clock() + self._rest

    def welcome(self) -> None:
        self._rest = 0.0

    def _require_awake(self) -> None:
        left = self._rests_until - self._clock()
        if left > 0:
            hint = f"Use another provider, or search again in {math.ceil(left)} seconds."
            raise Blocked("resting after a block", hint=hint)
