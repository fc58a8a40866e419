"""Interfaces for storage that several processes may share: cache, switches, one-time ids.

The defaults keep everything in this process.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, Protocol

import msgspec

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


class SharedStore(Protocol):
    """Values and locks that all processes of this server see."""

    async def put(self, name: str, value: bytes, *, ttl: float) -> bool: ...

    async def get(self, name: str) -> bytes | None: ...

    async def take(self, name: str) -> bytes | None: ...

    def lock(self, name: str, *, wait: float) -> AbstractAsyncContextManager[None]: ...

    async def keep(self, name: str, entry: str, value: bytes, *, bounds: "KeptBounds") -> bool:
        """Add an entry to those of a name; the first by name are dropped for it. False if it could not be stored."""

    async def kept(self, name: str) -> dict[str, bytes] | None:
        """All entries of a name; None if nobody can tell."""

    async def drop(self, name: str, entry: str) -> None:
        """Remove an entry, if it is there."""


class KeptBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept under one name, and for how many seconds after the last entry."""

    most: int
    most_bytes: int
    ttl: float


class NotDelivered(Exception):  # noqa: N818 - a signal to whoever can go another way
    """A message did not reach its process, which is gone or cannot be reached: nothing was done there."""


class NoReply(Exception):  # noqa: N818 - a signal, as above
    """A process that got a request did not reply: it may have done its work, or a part of it."""


# Gets the payload and the process that sent it, and returns the reply to a request.
MessageHandler = Callable[[bytes, str], Awaitable[bytes | None]]


class ProcessMessages(Protocol):
    """Messages between the processes of one server."""

    @property
    def process(self) -> str:
        """The id of this process."""

    def handle(self, topic: str, handler: MessageHandler) -> None:
        """Call this for messages of a topic. Cancelled when whoever sent a request no longer waits."""

    async def send(self, process: str, topic: str, payload: bytes) -> None:
        """Send a message to one process, or raise NotDelivered."""

    async def broadcast(self, topic: str, payload: bytes) -> None:
        """Send a message to all processes, this one included, or raise NotDelivered."""

    async def request(self, process: str, topic: str, payload: bytes) -> bytes:
        """Send a message and wait for the reply, or raise NotDelivered or NoReply."""

    async def is_alive(self, process: str) -> bool:
        """Whether a process runs. True if nobody can tell."""


# The name and the version of a tool.
Switched = tuple[str, str]
# Called with the tools whose switches changed; None where any may have.
SwitchListener = Callable[[Iterable[Switched] | None], None]


class Switches(Protocol):
    """The tools that an administrator disabled or enabled, by name and version."""

    @property
    def unknown(self) -> str | None:
        """Why the switches are not known now, so that no tool may run; None while they are known."""

    def get(self, name: str, version: str) -> bool | None: ...

    async def put(self, states: Mapping[Switched, bool]) -> None:
        """Set switches for every process that shares them, or raise a `DogubakoError`. The listener is told."""

    def set(self, name: str, version: str, enabled: bool) -> None:
        """Set a switch that no other process shares. The listener is told."""

    def forget(self, name: str, version: str) -> None: ...

    def listen(self, listener: SwitchListener) -> None:
        """Tell this listener of every change."""


class LocalSwitches:
    """Switches of this process only."""

    unknown: str | None = None

    def __init__(self) -> None:
        self._states: dict[Switched, bool] = {}
        self._listener: SwitchListener = lambda changed: None

    def get(self, name: str, version: str) -> bool | None:
        return self._states.get((name, version))

    async def put(self, states: Mapping[Switched, bool]) -> None:
        for (name, version), enabled in states.items():
            self.set(name, version, enabled)

    def set(self, name: str, version: str, enabled: bool) -> None:
        self._states[name, version] = enabled
        self._listener([(name, version)])

    def forget(self, name: str, version: str) -> None:
        self._states.pop((name, version), None)

    def listen(self, listener: SwitchListener) -> None:
        self._listener = listener


ChangeKind = Literal["resources", "prompts", "updated"]
# Called with the kind of a change, and the address of an updated resource.
ChangeListener = Callable[[ChangeKind, str | None], None]


class ChangeNews(Protocol):
    """Passes changes of resources and prompts to other processes."""

    def publish(self, kind: ChangeKind, uri: str | None) -> None: ...

    def listen(self, listener: ChangeListener) -> None:
        """Tell this listener what other processes publish."""


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
