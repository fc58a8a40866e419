"""Used one-time ids and running calls of each caller, in the shared Redis.

Both are sorted sets whose scores are the times at which entries expire, by the clock of Redis. A process that dies
leaves its places to others after `LEASE_SECONDS`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Final

import structlog

from dogubako.contract import storage
from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.engine.policy import NoPlaceAtHand
from dogubako.gate.rate_limits import UNCOUNTED, too_many_calls
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import NOW, SharedRedis, end_tasks

log = structlog.get_logger("dogubako.gate")

LEASE_SECONDS: Final = 30.0
_RENEW_SECONDS: Final = LEASE_SECONDS / 3
SPARE_SECONDS: Final = 1.0
# Answers do not wait until their place is given back: whoever finds none looks once more after this time.
_GIVE_BACK_SECONDS: Final = 0.05
# A caller is far from its limit while it runs less than an eighth of it.
_FAR: Final = 8
# A caller that calls side by side finds this many in each process, as long as it is far from its limit.
_MOST_SPARE: Final = 16

# Returns 1 for the first use, 0 for any other, -1 where too many ids are remembered.
_USE: Final = (
    NOW
    + """
for i = 1, 2 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) or redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then
  return -1
end
for i = 1, 2 do
  redis.call('ZADD', KEYS[i], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return 1
"""
)
_UNRECORDED: Final = "The answer of the user cannot be recorded as used, so it does not count: nothing was done."


class SharedOnceStore:
    """One-time ids that count once in all processes."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._use = shared.client.register_script(_USE)

    async def use(self, id_: str, *, owner: str, ttl: float) -> bool:
        keys = [self._shared.name("used", _digest(owner)), self._shared.name("used")]
        used, most = _digest(f"{owner}\n{id_}"), (storage.MOST_USED_PER_OWNER, storage.MOST_USED)
        try:
            first = await self._shared.run_script(self._use, keys, used, round(ttl * 1000), *most)
        except Unavailable:
            log.error("A used request state cannot be recorded: the shared Redis does not answer")
            raise ReadOnlyError(_UNRECORDED, hint="Try again when the Redis of DOGUBAKO_SHARED answers.") from None
        if first < 0:
            storage.check_room_for_id(*most)
        return bool(first)


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
    """A place that Redis gave. A spare one may be used again at once: its caller is far from the limit."""

    name: str
    key: str
    taken_at: float
    spare: bool


class SharedPlaces:
    """The running calls of each caller in all processes. Places are given back in batches, without delaying answers.

    A process keeps some spare places of a caller for up to a second, so that most calls of a busy one cost nothing.
    """

    def __init__(self, shared: SharedRedis, most: int) -> None:
        self._shared = shared
        self._most = most
        self._take = shared.client.register_script(_TAKE)
        self._renew = shared.client.register_script(_RENEW)
        self._process = secrets.token_hex(8)
        self._numbers = count()
        # The key of each place by its name.
        self._held: dict[str, str] = {}
        self._left: dict[str, str] = {}
        self._spare: dict[str, list[_Place]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wake = asyncio.Event()

    @asynccontextmanager
    async def place(self, identity: str) -> AsyncIterator[None]:
        """Hold a place while inside, or raise BusyError if the caller holds too many."""
        key = self._key(identity)
        place = self.take_spare(key) or await self._enter(key)
        try:
            yield
        finally:
            self.leave(place)

    def place_at_hand(self, identity: str) -> "_SparePlaces":
        """The same with the spare places of this process."""
        return _SparePlaces(self, self._key(identity))

    def take_spare(self, key: str) -> "_Place | None":
        spare = self._spare.get(key)
        return spare.pop() if spare else None

    def has_spare(self, key: str) -> bool:
        return bool(self._spare.get(key))

    def _key(self, identity: str) -> str:
        return self._shared.name("running", _digest(identity))

    async def _enter(self, key: str) -> _Place:
        name = f"{self._process}:{next(self._numbers)}"
        self._held[name] = key
        running: int | None = None
        try:
            running = await self._running_with(key, name)
        finally:
            if running is None:
                # Redis may have given the place all the same.
                self._end(name)
        now = asyncio.get_running_loop().time()
        return _Place(name=name, key=key, taken_at=now, spare=0 < running * _FAR <= self._most)

    async def _running_with(self, key: str, name: str) -> int:
        """How many calls run with this one; 0 if nobody knows."""
        try:
            running = await self._shared.run_script(self._take, [key], name, self._most, _LEASE)
            if not running:
                # A call that was answered just now, here or elsewhere, gives its place back a moment later.
                await asyncio.sleep(_GIVE_BACK_SECONDS)
                running = await self._shared.run_script(self._take, [key], name, self._most, _LEASE)
        except Unavailable:
            if self._shared.closes_limits:
                raise BusyError(UNCOUNTED, hint="Try again in a moment.") from None
            # This process counts for itself, which it does anyway.
            return 0
        if not running:
            raise too_many_calls(self._most)
        return running

    def leave(self, place: _Place) -> None:
        """Keep the place for the next call, or give it back."""
        loop = asyncio.get_running_loop()
        spare = self._spare.setdefault(place.key, []) if place.spare else []
        if not place.spare or len(spare) >= _MOST_SPARE or loop.time() - place.taken_at > SPARE_SECONDS:
            self._end(place.name)
            return
        spare.append(place)
        if self._timer is None:
            self._timer = loop.call_later(SPARE_SECONDS, self._end_spare)

    def _end(self, name: str) -> None:
        self._left[name] = self._held.pop(name)
        self._wake.set()

    def _end_spare(self) -> None:
        """Give back what nobody used meanwhile."""
        spare, self._spare, self._timer = self._spare, {}, None
        for place in [one for places in spare.values() for one in places]:
            self._end(place.name)

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
            if self._timer is not None:
                self._timer.cancel()
            self._end_spare()
            with suppress(Unavailable):
                await self._give_back()

    async def _look_after(self) -> None:
        loop = asyncio.get_running_loop()
        renew_at = loop.time() + _RENEW_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(renew_at):
                    await self._wake.wait()
            self._wake.clear()
            # What cannot be given back now ends with its lease.
            with suppress(Unavailable):
                await self._give_back()
                if loop.time() >= renew_at:
                    await self._renew_all()
            if loop.time() >= renew_at:
                renew_at = loop.time() + _RENEW_SECONDS

    async def _give_back(self) -> None:
        left, self._left = self._left, {}
        if left:
            pipe = self._shared.client.pipeline(transaction=False)
            for key, names in _by_key(left).items():
                pipe.zrem(key, *names)
            await self._shared.run(pipe.execute)

    async def _renew_all(self) -> None:
        for key, names in _by_key(self._held).items():
            await self._shared.run_script(self._renew, [key], _LEASE, *names)


class _SparePlaces:
    """Spare places of one caller. One is as good as another: whoever leaves returns any of those in use."""

    __slots__ = ("_key", "_places", "_used")

    def __init__(self, places: SharedPlaces, key: str) -> None:
        self._places = places
        self._key = key
        self._used: list[_Place] = []

    def check(self) -> None:
        if not self._places.has_spare(self._key):
            raise NoPlaceAtHand

    def __enter__(self) -> None:
        place = self._places.take_spare(self._key)
        if place is None:
            raise NoPlaceAtHand
        self._used.append(place)

    def __exit__(self, *_: object) -> None:
        self._places.leave(self._used.pop())


def _by_key(places: dict[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, key in places.items():
        grouped.setdefault(key, []).append(name)
    return grouped


def _digest(text: str) -> str:
    """A short name for any text, which may hold what should not be stored."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
