"""Which process owns what, in the shared Redis: one key for each name, with the process that renews it.

A process looks every second at all names that it takes part in, with one command. A key that expired is taken by the
first process that misses it for two seconds, so that after a Redis was emptied the owner of before comes first.
While Redis is away nothing moves: an owner keeps what it runs, and steps back when it hears of another one. Once its
lease has ended it cannot know whether there is another one, and changes nothing until it does (`holds`).
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from dogubako.contract.storage import NotDelivered
from dogubako.outbound.process_messages import RedisMessages
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis, end_tasks

# An owner that was killed is followed after this time.
LEASE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 1.0
# How many looks long an owner has to be missing.
_LOOKS: Final = 2
_TOPIC: Final = "owner left"
# ARGV: this process, the lease in milliseconds, and for each key whether it may be taken.
_LOOK: Final = """
local owners = {}
for i, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner == ARGV[1] then
    redis.call('PEXPIRE', key, ARGV[2])
  elseif not owner and ARGV[i + 2] == '1' then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    owner = ARGV[1]
  end
  owners[i] = owner or ''
end
return owners
"""
_LEAVE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class RedisOwners:
    """What this process owns, and who owns the rest of what it takes part in."""

    def __init__(self, shared: SharedRedis, messages: RedisMessages) -> None:
        self.messages = messages
        self._shared = shared
        self._look_script = shared.client.register_script(_LOOK)
        self._leave_script = shared.client.register_script(_LEAVE)
        self._moved: dict[str, Callable[[], None]] = {}
        self._owners: dict[str, str] = {}
        # Names that have no owner, and since when.
        self._missed: dict[str, float] = {}
        self._looking = asyncio.Lock()
        # When the last look began that Redis answered. All leases count from then at least.
        self._renewed_at = -math.inf
        messages.handle(_TOPIC, self._hear)

    def owner_of(self, name: str) -> str | None:
        return self._owners.get(name)

    def owns(self, name: str) -> bool:
        return self._owners.get(name) == self.messages.process

    def holds(self, name: str) -> bool:
        # Another process takes an expired lease two looks later, so this one stops before that.
        return self.owns(name) and time.monotonic() - self._renewed_at < LEASE_SECONDS

    async def join(self, name: str, moved: Callable[[], None]) -> None:
        self._moved[name] = moved
        self._missed[name] = -math.inf
        with suppress(Unavailable):
            await self._look()

    async def leave(self, name: str, moved: Callable[[], None]) -> None:
        async with self._looking:
            if self._moved.get(name) != moved:
                # Whoever joined since, in this process, goes on with what it owns.
                return
            owned = self.owns(name)
            del self._moved[name]
            self._owners.pop(name, None)
            self._missed.pop(name, None)
            if not owned:
                return
            with suppress(Unavailable):
                await self._shared.run_script(self._leave_script, [self._key(name)], self.messages.process)
        with suppress(NotDelivered):
            await self.messages.broadcast(_TOPIC, name.encode())

    async def _hear(self, payload: bytes, sender: str) -> None:
        if (name := payload.decode()) in self._moved and not self.owns(name):
            self._missed[name] = -math.inf
            with suppress(Unavailable):
                await self._look()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Renew what this process owns, and notice what others own."""
        self._looking = asyncio.Lock()
        task = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            await end_tasks(task)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            with suppress(Unavailable):
                await self._look()

    async def _look(self) -> None:
        async with self._looking:
            names = list(self._moved)
            if not names:
                return
            begun = time.monotonic()
            late = begun - _LOOKS * _LOOK_SECONDS
            takes = ["1" if self.owns(one) or self._missed.get(one, math.inf) <= late else "0" for one in names]
            keys, lease = [self._key(name) for name in names], round(LEASE_SECONDS * 1000)
            args = [self.messages.process, lease, *takes]
            found = await self._shared.run(lambda: self._look_script(keys=keys, args=args))
            self._renewed_at = begun
            for name, owner in zip(names, found, strict=True):
                self._note(name, owner.decode())

    def _note(self, name: str, owner: str) -> None:
        if name not in self._moved:
            return
        before = self._owners.get(name)
        if not owner:
            # Whoever owned it may only be late.
            self._missed.setdefault(name, time.monotonic())
            return
        self._missed.pop(name, None)
        self._owners[name] = owner
        if owner != before:
            self._moved[name]()

    def _key(self, name: str) -> str:
        return self._shared.name("owner", name)
