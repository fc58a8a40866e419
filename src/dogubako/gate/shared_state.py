"""Used one-time ids and running calls of each caller, in the shared Redis.

Ids are a sorted set whose scores are the times at which they expire, by the clock of Redis.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Final

import structlog

from dogubako.contract import storage
from dogubako.contract.errors import ReadOnlyError
from dogubako.engine.policy import NoPlaceAtHand
from dogubako.gate.place_leases import LeasedPlace, PlaceLeases, now
from dogubako.gate.rate_limits import too_many_calls
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import NOW, SharedRedis

log = structlog.get_logger("dogubako.gate")

SPARE_SECONDS: Final = 1.0
# Answers do not wait until their place is given back: whoever finds none looks once more after this time.
_GIVE_BACK_SECONDS: Final = 0.05
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


class SharedPlaces:
    """The running calls of each caller in all processes.

    A process keeps some spare places of a caller for up to a second, so that most calls of a busy one cost nothing.
    """

    def __init__(self, shared: SharedRedis, most: int) -> None:
        self._shared = shared
        self._most = most
        self._leases = PlaceLeases(shared)
        self._spare: dict[str, list[LeasedPlace]] = {}
        self._timer: asyncio.TimerHandle | None = None

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

    def take_spare(self, key: str) -> LeasedPlace | None:
        spare = self._spare.get(key)
        return spare.pop() if spare else None

    def has_spare(self, key: str) -> bool:
        return bool(self._spare.get(key))

    def _key(self, identity: str) -> str:
        return self._shared.name("running", _digest(identity))

    async def _enter(self, key: str) -> LeasedPlace:
        place = await self._leases.take(key, self._most)
        if place is None:
            # A call that was answered just now, here or elsewhere, gives its place back a moment later.
            await asyncio.sleep(_GIVE_BACK_SECONDS)
            place = await self._leases.take(key, self._most)
        if place is None:
            raise too_many_calls(self._most)
        return place

    def leave(self, place: LeasedPlace) -> None:
        """Keep the place for the next call, or give it back."""
        spare = self._spare.setdefault(place.key, []) if place.spare else []
        if not place.spare or len(spare) >= _MOST_SPARE or now() - place.taken_at > SPARE_SECONDS:
            self._leases.give_back(place)
            return
        spare.append(place)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SPARE_SECONDS, self._end_spare)

    def _end_spare(self) -> None:
        """Give back what nobody used meanwhile."""
        spare, self._spare, self._timer = self._spare, {}, None
        for place in [one for places in spare.values() for one in places]:
            self._leases.give_back(place)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Give places back and renew those that are held."""
        async with self._leases.running():
            try:
                yield
            finally:
                if self._timer is not None:
                    self._timer.cancel()
                self._end_spare()


class _SparePlaces:
    """Spare places of one caller. One is as good as another: whoever leaves returns any of those in use."""

    __slots__ = ("_key", "_places", "_used")

    def __init__(self, places: SharedPlaces, key: str) -> None:
        self._places = places
        self._key = key
        self._used: list[LeasedPlace] = []

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


def _digest(text: str) -> str:
    """A short name for any text, which may hold what should not be stored."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
