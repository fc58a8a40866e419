"""Running calls per service in all processes: a bulkhead whose places are leased in the shared Redis.

The places of a service are a sorted set whose scores are the times at which they expire, by the clock of Redis. A
process that dies leaves its places to others after `LEASE_SECONDS`. While Redis is away each process counts for itself,
or nobody calls a service, as `DOGUBAKO_SHARED_LIMITS` says.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Final

from dogubako.contract.errors import BusyError
from dogubako.engine.executor import Bulkhead
from dogubako.gate.rate_limits import UNCOUNTED
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import NOW, SharedRedis, end_tasks

LEASE_SECONDS: Final = 30.0
_RENEW_SECONDS: Final = LEASE_SECONDS / 3
# A place passes from call to call in one process for this long, then all processes compete for it.
KEEP_SECONDS: Final = 1.0
# A service is far from its limit while it runs less than an eighth of it.
_FAR: Final = 8
# How long who waits for a place pauses between two looks; by chance, so that no process always comes second.
_LOOK_SECONDS: Final = (0.03, 0.15)

# Returns how many calls run with this one, or 0 where there is no place.
_TAKE: Final = (
    NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('ZCARD', KEYS[1])
"""
)
# It also enters again what an emptied Redis has lost.
_RENEW: Final = (
    NOW
    + """
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
"""
)
_LEASE: Final = round(LEASE_SECONDS * 1000)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """A place that Redis gave, and when. A spare one may wait for the next call: few calls of the service run."""

    name: str
    key: str
    taken_at: float
    spare: bool


class SharedBulkheads:
    """Makes the bulkheads of services. It renews the places that this process holds, and gives them back in batches."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._take = shared.client.register_script(_TAKE)
        self._renew = shared.client.register_script(_RENEW)
        self._process = secrets.token_hex(8)
        self._numbers = count()
        # The key of each place by its name.
        self._held: dict[str, str] = {}
        self._left: list[tuple[str, str]] = []
        self._wake = asyncio.Event()

    def bulkhead(self, name: str, *, max_running: int, max_wait_seconds: float) -> "SharedBulkhead":
        """The places of one service."""
        return SharedBulkhead(self, name, max_running=max_running, max_wait_seconds=max_wait_seconds)

    def key(self, service: str) -> str:
        # Servers have names that their operators chose.
        return self._shared.name("service", blake2b(service.encode(), digest_size=16).hexdigest())

    async def take(self, key: str, most: int) -> _Place | None:
        """Take a place; None if others hold all of them."""
        name = f"{self._process}:{next(self._numbers)}"
        self._held[name] = key
        running: int | None = None
        try:
            running = await self._running_with(key, name, most)
        finally:
            if running is None:
                # Redis may have given the place all the same.
                self._end(name)
        if running == 0:
            del self._held[name]
            return None
        return _Place(name=name, key=key, taken_at=_now(), spare=0 < running * _FAR <= most)

    async def _running_with(self, key: str, name: str, most: int) -> int:
        """How many calls run with this one; -1 if nobody knows, 0 if there is no place."""
        try:
            return await self._shared.run_script(self._take, [key], name, most, _LEASE)
        except Unavailable:
            if self._shared.closes_limits:
                raise BusyError(UNCOUNTED, hint="Try again in a moment.") from None
            # This process counts for itself, which it does anyway.
            return -1

    def give_back(self, place: _Place) -> None:
        """Leave a place to others, soon."""
        self._end(place.name)

    def _end(self, name: str) -> None:
        self._left.append((name, self._held.pop(name)))
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Give places back and renew those that are held."""
        # An event belongs to the loop that first waited for it.
        self._wake = asyncio.Event()
        task = asyncio.create_task(self._look_after())
        try:
            yield
        finally:
            await end_tasks(task)
            self._left += self._held.items()
            with suppress(Unavailable):
                await self._give_back()

    async def _look_after(self) -> None:
        renew_at = _now() + _RENEW_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(renew_at):
                    await self._wake.wait()
            self._wake.clear()
            # What cannot be given back now ends with its lease.
            with suppress(Unavailable):
                await self._give_back()
                if _now() >= renew_at:
                    await self._renew_all()
            if _now() >= renew_at:
                renew_at = _now() + _RENEW_SECONDS

    async def _give_back(self) -> None:
        left, self._left = self._left, []
        if left:
            pipe = self._shared.client.pipeline(transaction=False)
            for key, names in _by_key(left).items():
                pipe.zrem(key, *names)
            await self._shared.run(pipe.execute)

    async def _renew_all(self) -> None:
        for key, names in _by_key(self._held.items()).items():
            await self._shared.run_script(self._renew, [key], _LEASE, *names)


class SharedBulkhead(Bulkhead):
    """A bulkhead that also counts the calls of other processes.

    Each call has a place in this process first, in the order in which they came, so only a few ask Redis. A place of
    Redis passes to the next call that waits here for up to a second, then all processes compete for it: a command for
    each call would cost more than the calls of a fast service, and keeping it would shut the others out.
    """

    def __init__(self, places: SharedBulkheads, name: str, *, max_running: int, max_wait_seconds: float) -> None:
        super().__init__(name, max_running=max_running, max_wait_seconds=max_wait_seconds)
        self._places = places
        self._key = places.key(name)
        self._most = max_running
        self._running: list[_Place] = []
        self._free: list[_Place] = []
        # One call at a time asks Redis; the others wait for their turn.
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._freed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, seconds: float) -> None:
        until = _now() + min(seconds, self._max_wait_seconds)
        await super().enter(seconds)
        place: _Place | None = None
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
        if _now() - place.taken_at > KEEP_SECONDS or not (is_wanted or (place.spare and not self._free)):
            self._places.give_back(place)
            return
        self._free.append(place)
        self._freed.set()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._end_free)

    async def _place_until(self, until: float) -> _Place:
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until), self._turn:
                return await self._next_place()
        except TimeoutError:
            raise self._busy() from None
        finally:
            self._waiting -= 1

    async def _next_place(self) -> _Place:
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


def _by_key(places: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, key in places:
        grouped.setdefault(key, []).append(name)
    return grouped


def _now() -> float:
    return asyncio.get_running_loop().time()
