"""State that several workers would have to share, behind small interfaces.

The defaults live in this process; a deployment of many workers brings its own.
"""

import time
from collections import OrderedDict
from typing import Protocol


class Cache(Protocol):
    """Answers that may be given again."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes) -> None: ...


class NoCache:
    """Remembers nothing."""

    async def get(self, key: str) -> bytes | None:
        return None

    async def put(self, key: str, value: bytes) -> None:
        return None


class MemoryCache:
    """Remembers for a while, and forgets the least used first when it grows too large."""

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

    def _forget(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry[1])


class Switches(Protocol):
    """Which tools an administrator has switched off (or on again), by name and version."""

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
