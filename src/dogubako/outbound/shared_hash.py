"""A hash in the shared Redis of which every process has a copy, with a version number that only grows.

Calls are decided from the copy, so they ask nobody. A process compares the version on news and twice a second, and
reads all fields if it differs. A write names the version that it has seen (compare and set). A Redis that knows less
than a process (it was emptied, or an older copy took over) gets the fields back from that process.
"""

from collections.abc import Callable, Mapping
from typing import Final

import structlog

from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

Fields = Mapping[bytes, bytes]

# No field has this name.
_VERSION: Final = b"#"
_MOST_TRIES: Final = 5

# Sets fields if the version is still the one that the process has seen.
PUT_FIELDS: Final = """
local version = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
if version ~= tonumber(ARGV[1]) then return -1 end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
version = redis.call('HINCRBY', KEYS[1], '#', 1)
redis.call('PUBLISH', KEYS[2], 'changed')
return version
"""
# Writes everything back, unless somebody else did so before.
RESTORE_FIELDS: Final = """
local version = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
if version >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], '#', ARGV[1])
redis.call('PUBLISH', KEYS[2], 'changed')
return 1
"""


class SharedHash:
    """The copy of one process. `changed` is called when its fields differ from before, and after the first look."""

    def __init__(self, shared: SharedRedis, name: str, changed: Callable[[], None]) -> None:
        self.fields: Fields = {}
        # Whether this process has ever read it.
        self.is_read = False
        self._shared = shared
        self._changed = changed
        self._version = 0
        self._name = name
        self._keys = [shared.name(name), shared.name("news")]
        self._put = shared.client.register_script(PUT_FIELDS)
        self._restore = shared.client.register_script(RESTORE_FIELDS)

    async def change(self, compute: Callable[[Fields], Fields]) -> bool:
        """Set the fields that `compute` makes of those in force. False if others changed them all the time.

        Raises Unavailable if nothing was changed, or nobody can tell.
        """
        for _ in range(_MOST_TRIES):
            changes = compute(self.fields)
            version = await self._shared.run_script(self._put, self._keys, self._version, *_arguments(changes))
            if version > 0:
                self._apply(version, {**self.fields, **changes})
                return True
            await self.refresh()
        return False

    async def refresh(self) -> None:
        """Read the fields if their version differs, or raise Unavailable."""
        try:
            version = int(await self._shared.run(lambda: self._shared.client.hget(self._keys[0], _VERSION)) or 0)
            if version == self._version and self.is_read:
                return
            stored = await self._shared.run(lambda: self._shared.client.hgetall(self._keys[0]))
            version = int(stored.pop(_VERSION, 0))
        except ValueError:
            raise Unavailable from None
        if version < self._version:
            await self._write_back(stored)
        else:
            self._apply(version, stored)

    async def _write_back(self, stored: Fields) -> None:
        if await self._shared.run_script(self._restore, self._keys, self._version, *_arguments(self.fields)):
            log.warning(
                "The shared Redis had lost entries, which were written back", of=self._name, entries=len(self.fields)
            )
            # What others added to the emptied Redis meanwhile is a change like any other.
            if added := {name: value for name, value in stored.items() if name not in self.fields}:
                await self.change(lambda fields: added)

    def _apply(self, version: int, fields: Fields) -> None:
        differs = fields != self.fields or not self.is_read
        self._version, self.fields, self.is_read = version, fields, True
        if differs:
            self._changed()


def _arguments(fields: Fields) -> list[bytes]:
    return [part for field in fields.items() for part in field]
