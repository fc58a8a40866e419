"""A shared Redis for tests: a small one in memory, and the settings of a server that uses a real one."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeVar

from dogubako.contract.errors import BusyError
from dogubako.contract.storage import KeptBounds
from dogubako.key_ring import KeyRing
from dogubako.outbound.process_messages import RedisMessages
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_owners import RedisOwners
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.settings import Settings

ResultT = TypeVar("ResultT")

KEY: Final = "the same key in every process, 32+"
# A busy machine may need longer than the moment that our server waits for a Redis.
PATIENT: Final = "?socket_timeout=30&socket_connect_timeout=30"


def shared_settings(url: str, **more: Any) -> Settings:
    return Settings(shared=url, request_state_key=KEY, **more)


class MemoryClient:
    """The commands that `SharedSwitches` uses. A script is known by what it does."""

    def __init__(self) -> None:
        self.hashes: dict[str, dict[bytes, bytes]] = {}

    async def hget(self, key: str, field: bytes) -> bytes | None:
        return self.hashes.get(key, {}).get(field)

    async def hgetall(self, key: str) -> dict[bytes, bytes]:
        return dict(self.hashes.get(key, {}))

    def register_script(self, text: str) -> Callable[..., Awaitable[Any]]:
        restores, reads = "DEL" in text, "ZRANGEBYSCORE" in text

        async def no_changes(*, keys: Sequence[str], args: Sequence[Any]) -> list[Any]:
            """Nobody remembers what changed when: all fields are read."""
            return []

        if reads:
            return no_changes

        async def run(*, keys: Sequence[str], args: Sequence[Any]) -> int:
            stored = self.hashes.get(keys[0], {})
            known = stored.get(b"#", b"0")
            version, expected = int(known) if known.isdigit() else 0, int(args[0])
            given = dict(zip(map(_bytes, args[1::2]), map(_bytes, args[2::2]), strict=True))
            if restores:
                if version >= expected:
                    return 0
                self.hashes[keys[0]] = {**given, b"#": _bytes(expected)}
                return 1
            if version != expected:
                return -1
            self.hashes[keys[0]] = {**stored, **given, b"#": _bytes(version + 1)}
            return version + 1

        return run


class MemoryRedis:
    """Stands for `SharedRedis`. Processes that are given the same client share it."""

    def __init__(self, client: MemoryClient, *secrets: str) -> None:
        self.client = client
        self.away = False
        self.ring = KeyRing(secret.encode() for secret in secrets or (KEY,))
        self.sealing_ids = frozenset({self.ring.sealing.id})
        self.refresh: Callable[[], Awaitable[None]] | None = None

    def name(self, *parts: str) -> str:
        return ":".join(("test", *parts))

    def refresh_with(self, refresh: Callable[[], Awaitable[None]]) -> None:
        self.refresh = refresh

    def decides_calls(self, name: str) -> None: ...

    def was_read(self, name: str) -> None: ...

    async def run(self, work: Callable[[], Awaitable[ResultT]], key: str = "") -> ResultT:
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable
        return await work()

    async def run_script(self, script: Any, keys: Sequence[str], *args: str | int) -> int:
        return int(await self.run(lambda: script(keys=keys, args=args)))


class MemoryStore:
    """A shared store in memory. Processes that are given the same one share it; it may be away."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.entries: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        self.away = False
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def put(self, name: str, value: bytes, *, ttl: float) -> bool:
        if not self.away:
            self.values[name] = value
        return not self.away

    async def get(self, name: str) -> bytes | None:
        return None if self.away else self.values.get(name)

    async def take(self, name: str) -> bytes | None:
        return None if self.away else self.values.pop(name, None)

    async def keep(self, name: str, entry: str, value: bytes, *, bounds: KeptBounds) -> bool:
        if not self.away:
            entries = self.entries[name]
            entries[entry] = value
            for old in sorted(entries)[: -bounds.most]:
                del entries[old]
        return not self.away

    async def kept(self, name: str) -> dict[str, bytes] | None:
        return None if self.away else dict(self.entries[name])

    async def drop(self, name: str, entry: str) -> None:
        if not self.away:
            self.entries[name].pop(entry, None)

    @asynccontextmanager
    async def lock(self, name: str, *, wait: float) -> AsyncIterator[None]:
        if self.away or self._locks[name].locked():
            raise BusyError("Others hold it.")
        async with self._locks[name]:
            yield


class Processes:
    """Processes that share a Redis. One can be killed: it says nothing any more."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stacks: dict[RedisOwners, AsyncExitStack] = {}
        self._all: list[SharedRedis] = []

    async def start(self) -> RedisOwners:
        stack = AsyncExitStack()
        shared = SharedRedis(shared_settings(self._url + PATIENT))
        self._all.append(shared)
        await stack.enter_async_context(shared.running())
        messages = RedisMessages(shared)
        await stack.enter_async_context(messages.running())
        owners = RedisOwners(shared, messages)
        await stack.enter_async_context(owners.running())
        self._stacks[owners] = stack
        return owners

    async def kill(self, owners: RedisOwners) -> None:
        await self._stacks.pop(owners).aclose()

    async def end(self) -> None:
        for one in list(self._stacks):
            await self.kill(one)
        for shared in self._all:
            # Whoever was killed may have tried to say something afterwards.
            await shared.client.aclose()


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
