"""Interfaces for storage that several processes may share: cache, switches, one-time ids.

The defaults keep everything in this process.
"""

import time
from collections import OrderedDict
from typing import Final, Protocol

from dogubako.contract.errors import BusyError


class Cache(Protocol):
    """A cache of answers."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes) -> None: ...

    async def delete(self, key: str) -> None: ...


class NoCache:
    """A cache that stores nothing."""

    async def get(self, key: str) -> bytes | None:
        return None

    async def put(self, key: str, value: bytes) -> None:
        return None

    async def delete(self, key: str) -> None:
        return None


class MemoryCache:
    """An LRU cache with a time to live and a size limit.

    Values are not signed: nobody outside this process can write them.
    """

    def __init__(self, *, ttl_seconds: float = 300, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._ttl = ttl_seconds
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def get(self, key: str) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] < time.monotonic():
            self._forget(key)
            return None
        self._entries.move_to_end(key)
        return entry[1]

    async def put(self, key: str, value: bytes) -> None:
        if len(value) > self._max_bytes:
            return
        self._forget(key)
        self._entries[key] = (time.monotonic() + self._ttl, value)
        self._bytes += len(value)
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._entries)))

    async def delete(self, key: str) -> None:
        self._forget(key)

    def _forget(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry[1])


class Switches(Protocol):
    """The tools that an administrator disabled or enabled, by name and version."""

    def get(self, name: str, version: str) -> bool | None: ...

    def set(self, name: str, version: str, enabled: bool) -> None: ...

    def forget(self, name: str, version: str) -> None: ...


class LocalSwitches:
    """Switches of this process only."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], bool] = {}

    def get(self, name: str, version: str) -> bool | None:
        return self._states.get((name, version))

    def set(self, name: str, version: str, enabled: bool) -> None:
        self._states[name, version] = enabled

    def forget(self, name: str, version: str) -> None:
        self._states.pop((name, version), None)


# Limits per caller and in total. An id is never evicted before it expires.
MOST_USED_PER_OWNER: Final = 2_000
MOST_USED: Final = 20_000


class OnceStore(Protocol):
    """Stores the one-time ids that were used, until they expire."""

    async def use(self, id_: str, *, owner: str, ttl: float) -> bool:
        """Whether this is the first use of the id within `ttl` seconds.

        Raises `BusyError` when too many ids are remembered already, and `ReadOnlyError` when nothing can be written.
        """


def check_room_for_id(owned: int, total: int) -> None:
    """Raise `BusyError` when the owner, or all owners together, have too many ids."""
    if owned >= MOST_USED_PER_OWNER or total >= MOST_USED:
        message = "Too many questions were answered in the last minutes; this answer was not used."
        raise BusyError(message, hint="Call again in some minutes; the user is asked again.")


class MemoryOnceStore:
    """One-time ids of this process only."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, str]] = {}

    async def use(self, id_: str, *, owner: str, ttl: float) -> bool:
        now = time.monotonic()
        # Insertion order is expiry order, so only expired ids are visited.
        while self._used and self._used[oldest := next(iter(self._used))][0] <= now:
            del self._used[oldest]
        if id_ in self._used:
            return False
        check_room_for_id(sum(entry[1] == owner for entry in self._used.values()), len(self._used))
        self._used[id_] = (now + ttl, owner)
        return True
