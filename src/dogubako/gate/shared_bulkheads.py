"""Running calls per service in all processes: a bulkhead whose places are leased in the shared Redis.

While Redis is away each process counts for itself, or nobody calls a service, as `DOGUBAKO_SHARED_LIMITS` says.
"""

import asyncio
import random
from contextlib import suppress
from hashlib import blake2b
from typing import Final

from dogubako.engine.executor import Bulkhead
from dogubako.gate.place_leases import LeasedPlace, PlaceLeases, now
from dogubako.outbound.shared_redis import SharedRedis

# A place passes from call to call in one process for this long, then all processes compete for it.
KEEP_SECONDS: Final = 1.0
# How long who waits for a place pauses between two looks; by chance, so that no process always comes second.
_LOOK_SECONDS: Final = (0.03, 0.15)


class SharedBulkheads:
    """Makes the bulkheads of services."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._leases = PlaceLeases(shared)
        self.running = self._leases.running

    def bulkhead(self, name: str, *, max_running: int, max_wait_seconds: float) -> "SharedBulkhead":
        """The places of one service."""
        # Servers have names that their operators chose.
        key = self._shared.name("service", blake2b(name.encode(), digest_size=16).hexdigest())
        return SharedBulkhead(self._leases, key, name, max_running=max_running, max_wait_seconds=max_wait_seconds)


class SharedBulkhead(Bulkhead):
    """A bulkhead that also counts the calls of other processes.

    Each call has a place in this process first, in the order in which they came, so only a few ask Redis. A place of
    Redis passes to the next call that waits here for up to a second, then all processes compete for it: a command for
    each call would cost more than the calls of a fast service, and keeping it would shut the others out.
    """

    def __init__(self, places: PlaceLeases, key: str, name: str, *, max_running: int, max_wait_seconds: float) -> None:
        super().__init__(name, max_running=max_running, max_wait_seconds=max_wait_seconds)
        self._places = places
        self._key = key
        self._most = max_running
        self._running: list[LeasedPlace] = []
        self._free: list[LeasedPlace] = []
        # One call at a time asks Redis; the others wait for their turn.
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._freed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, seconds: float) -> None:
        until = now() + min(seconds, self._max_wait_seconds)
        await super().enter(seconds)
        place: LeasedPlace | None = None
        try:
            place = self._free.pop() if self._free and not self._waiting else await self._place_until(until)
            self._running.append(place)
        finally:
            if place is None:
                super().leave()

    def leave(self) -> None:
        is_wanted = bool(self._waiting or self._slots.statistics().tasks_waiting)
        super().leave()
        place = self._running.pop()
        if now() - place.taken_at > KEEP_SECONDS or not (is_wanted or (place.spare and not self._free)):
            self._places.give_back(place)
            return
        self._free.append(place)
        self._freed.set()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._end_free)

    async def _place_until(self, until: float) -> LeasedPlace:
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until), self._turn:
                return await self._next_place()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1

    async def _next_place(self) -> LeasedPlace:
        while True:
            self._freed.clear()
            if self._free:
                return self._free.pop()
            if (place := await self._places.take(self._key, self._most)) is not None:
                return place
            with suppress(TimeoutError):
                async with asyncio.timeout(random.uniform(*_LOOK_SECONDS)):  # noqa: S311
                    await self._freed.wait()

    def _end_free(self) -> None:
        """Give back what nobody used meanwhile."""
        self._timer = None
        while self._free:
            self._places.give_back(self._free.pop())
