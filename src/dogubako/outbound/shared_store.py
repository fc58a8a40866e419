"""Values and locks in the shared Redis that any process of this server may need. Values are encrypted."""

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from typing import Any, Final

import structlog

from dogubako.contract.errors import BusyError
from dogubako.contract.storage import KeptBounds
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_redis import SharedRedis, end_tasks

log = structlog.get_logger("dogubako.outbound")

_PURPOSE: Final = b"dogubako shared values"
# A process that dies leaves its locks to others after this time.
LEASE_SECONDS: Final = 15.0
_RENEW_SECONDS: Final = LEASE_SECONDS / 3
# How long who waits for a lock pauses between two looks; by chance, so that nobody always comes second.
_LOOK_SECONDS: Final = (0.03, 0.15)
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
_RENEW: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
"""
# Adds a field, drops the first ones by name as long as there are too many or too large ones, and starts the time anew.
_KEEP: Final = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
local names, size = redis.call('HKEYS', KEYS[1]), 0
table.sort(names)
for _, name in ipairs(names) do size = size + redis.call('HSTRLEN', KEYS[1], name) end
for i = 1, #names - 1 do
  if #names - i < tonumber(ARGV[3]) and size <= tonumber(ARGV[4]) then break end
  size = size - redis.call('HSTRLEN', KEYS[1], names[i])
  redis.call('HDEL', KEYS[1], names[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
"""
_AWAY: Final = "The Redis that all processes share {reason}: nothing was changed."
_HELD: Final = "Others change the same thing at this moment: nothing was changed."


class RedisStore:
    """What all processes of one server see, until it expires."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._release = shared.client.register_script(_RELEASE)
        self._renew = shared.client.register_script(_RENEW)
        self._keep_script = shared.client.register_script(_KEEP)

    async def put(self, name: str, value: bytes, *, ttl: float) -> bool:
        """Store a value for `ttl` seconds. False if it could not be stored."""
        key = self._key("value", name)
        sealed = self._cipher.seal(key, value)
        try:
            await self._shared.run(lambda: self._shared.client.set(key, sealed, px=round(ttl * 1000)))
        except Unavailable:
            return False
        return True

    async def get(self, name: str) -> bytes | None:
        """The value of this name; None if there is none, or nobody can tell."""
        key = self._key("value", name)
        return await self._read(key, lambda: self._shared.client.get(key))

    async def take(self, name: str) -> bytes | None:
        """The value of this name, which nobody can take again."""
        key = self._key("value", name)
        return await self._read(key, lambda: self._shared.client.getdel(key))

    async def _read(self, key: str, command: Any) -> bytes | None:
        try:
            sealed = await self._shared.run(command)
        except Unavailable:
            return None
        return self._cipher.open(key, sealed) if isinstance(sealed, bytes) else None

    async def keep(self, name: str, entry: str, value: bytes, *, bounds: KeptBounds) -> bool:
        """Add an entry to those of a name. Those that come first by name are dropped where there are too many."""
        key = self._key("kept", name)
        sealed = self._cipher.seal(f"{key} {entry}", value)
        limits = (bounds.most, bounds.most_bytes, round(bounds.ttl * 1000))
        try:
            await self._shared.run_script(self._keep_script, [key], entry, sealed, *limits)
        except Unavailable:
            return False
        return True

    async def kept(self, name: str) -> dict[str, bytes] | None:
        """All entries of a name; None if nobody can tell."""
        key = self._key("kept", name)
        try:
            stored = await self._shared.run(lambda: self._shared.client.hgetall(key))
        except Unavailable:
            return None
        opened = ((entry, self._cipher.open(f"{key} {entry}", sealed)) for entry, sealed in _named(stored))
        return {entry: value for entry, value in opened if value is not None}

    async def drop(self, name: str, entry: str) -> None:
        """Remove an entry. One that is still there for want of an answer ends with its time."""
        with suppress(Unavailable):
            await self._shared.run(lambda: self._shared.client.hdel(self._key("kept", name), entry))

    @asynccontextmanager
    async def lock(self, name: str, *, wait: float) -> AsyncIterator[None]:
        """Hold the lock of this name in all processes, or raise BusyError after `wait` seconds."""
        key, token = self._key("lock", name), secrets.token_hex(16)
        try:
            await self._acquire(key, token, time.monotonic() + wait)
            renewing = asyncio.create_task(self._keep(key, token))
            try:
                yield
            finally:
                await end_tasks(renewing)
        finally:
            # Also after a cancelled attempt, which Redis may have granted. What is not given back ends with its lease.
            with suppress(Unavailable):
                await self._shared.run_script(self._release, [key], token)

    async def _acquire(self, key: str, token: str, deadline: float) -> None:
        lease = round(LEASE_SECONDS * 1000)
        while True:
            try:
                if await self._shared.run(lambda: self._shared.client.set(key, token, nx=True, px=lease)):
                    return
            except Unavailable as error:
                raise BusyError(
                    _AWAY.format(reason=error.reason), hint="Try again in a moment; `dogubako doctor` says more."
                ) from None
            pause = random.uniform(*_LOOK_SECONDS)  # noqa: S311
            if time.monotonic() + pause > deadline:
                raise BusyError(_HELD, hint="Try again in a few seconds.", retry_after=5)
            await asyncio.sleep(pause)

    async def _keep(self, key: str, token: str) -> None:
        lease = round(LEASE_SECONDS * 1000)
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            with suppress(Unavailable):
                if not await self._shared.run_script(self._renew, [key], token, lease):
                    # Who holds it now has read what this process may still write. Services notice that by versions.
                    log.warning("A lock in the shared Redis was lost before its work ended")

    def _key(self, kind: str, name: str) -> str:
        """Names may hold what should not be stored, such as addresses."""
        return self._shared.name(kind, blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())


def _named(stored: Mapping[bytes, bytes]) -> Iterator[tuple[str, bytes]]:
    return ((field.decode("utf-8", "replace"), value) for field, value in stored.items())
