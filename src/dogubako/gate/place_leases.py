"""Places that processes lease in the shared Redis, for running calls.

The places of one key are a sorted set whose scores are the times at which they expire, by the clock of Redis. A process
that dies leaves its places to others after `LEASE_SECONDS`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Final

from dogubako.gate.rate_limits import uncounted
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import NOW, SharedRedis, end_tasks

LEASE_SECONDS: Final = 30.0
_RENEW_SECONDS: Final = LEASE_SECONDS / 3
# Whoever runs less than an eighth of its limit is far from it.
_FAR: Final = 8

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
class LeasedPlace:
    """A place that Redis gave. A spare one may be kept for the next call: its owner is far from the limit."""

    name: str
    key: str
    taken_at: float
    spare: bool


class PlaceLeases:
    """Takes places, renews those that this process holds, and gives them back in batches, without delaying answers."""

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

    async def take(self, key: str, most: int) -> LeasedPlace | None:
        """Take a place; None if there are `most` already. BusyError where nobody may go on without Redis."""
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
        return LeasedPlace(name=name, key=key, taken_at=now(), spare=0 < running * _FAR <= most)

    async def _running_with(self, key: str, name: str, most: int) -> int:
        """How many calls run with this one; -1 if nobody knows, 0 if there is no place."""
        try:
            return await self._shared.run_script(self._take, [key], name, most, _LEASE)
        except Unavailable as error:
            if self._shared.closes_limits:
                raise uncounted(error) from None
            # This process counts for itself, which it does anyway.
            return -1

    def give_back(self, place: LeasedPlace) -> None:
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
        renew_at = now() + _RENEW_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(renew_at):
                    await self._wake.wait()
            self._wake.clear()
            # What cannot be given back now ends with its lease.
            with suppress(Unavailable):
                await self._give_back()
                if now() >= renew_at:
                    await self._renew_all()
            if now() >= renew_at:
                renew_at = now() + _RENEW_SECONDS

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


def _by_key(places: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, key in places:
        grouped.setdefault(key, []).append(name)
    return grouped


def now() -> float:
    return asyncio.get_running_loop().time()
