"""A hash in the shared Redis of which every process has a copy, with a version number that only grows.

Calls are decided from the copy, so they ask nobody. A process compares the version on news and twice a second, and
reads the fields that changed if it differs. A write names the version that it has seen (compare and set). A Redis that
knows less than a process (it was emptied, or an older copy took over) gets the fields back from that process.
"""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import msgspec
import structlog

from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

Fields = Mapping[bytes, bytes]

# No field has this name.
_VERSION: Final = b"#"
_MOST_TRIES: Final = 5

# A version that is no number, or too large for one, counts as lost: whoever knows more writes it back.
_MOST_CHANGES: Final = 2**53 - 1
_VERSION_IN_REDIS: Final = f"""
local text = redis.call('HGET', KEYS[1], '#') or '0'
local version = string.match(text, '^%d+$') and tonumber(text) or 0
if version > {_MOST_CHANGES} then version = 0 end
"""
# KEYS: the hash, at which version each field changed, the channel of news.
# Sets fields if the version is still the one that the process has seen.
_PUT: Final = (
    _VERSION_IN_REDIS
    + """
if version ~= tonumber(ARGV[1]) then return -1 end
version = version + 1
-- First what fails if somebody planted another type: a script is not undone.
for i = 2, #ARGV, 2 do redis.call('ZADD', KEYS[2], version, ARGV[i]) end
redis.call('HSET', KEYS[1], '#', string.format('%d', version))
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PUBLISH', KEYS[3], 'changed')
return version
"""
)
# Writes everything back, unless somebody else did so before.
_RESTORE: Final = (
    _VERSION_IN_REDIS
    + """
if version >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
for i = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  redis.call('ZADD', KEYS[2], ARGV[1], ARGV[i])
end
redis.call('HSET', KEYS[1], '#', ARGV[1])
redis.call('PUBLISH', KEYS[3], 'changed')
return 1
"""
)
# Returns the version, how many fields there are, and those that changed since ARGV[1]; nothing if not all are known.
_CHANGES: Final = (
    _VERSION_IN_REDIS
    + """
local newest = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if tonumber(newest[2] or '0') ~= version then return {} end
local found = {version, redis.call('HLEN', KEYS[1]) - 1}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf')) do
  found[#found + 1] = name
  found[#found + 1] = redis.call('HGET', KEYS[1], name) or ''
end
return found
"""
)


class SharedHash:
    """The copy of one process. `changed` is called when its fields differ from before, and after the first look.

    With `path` the data folder has a copy as well, for a start while Redis is away.
    """

    def __init__(
        self, shared: SharedRedis, name: str, changed: Callable[[], None], *, path: Path | None = None
    ) -> None:
        # Whether this process has ever read it.
        self.is_read = False
        self._shared = shared
        self._changed = changed
        self._name = name
        self._keys = [shared.name(name), shared.name(name, "changes"), shared.name("news")]
        self._put = shared.client.register_script(_PUT)
        self._restore = shared.client.register_script(_RESTORE)
        self._changes = shared.client.register_script(_CHANGES)
        self._file = None if path is None else _File(path)
        self.version: int = 0
        self.fields: Fields = {}
        if self._file is not None:
            self.version, self.fields = self._file.read()

    async def put(self, changes: Fields, *, seen: int) -> bool:
        """Set fields if nothing was changed since the version `seen`. Raises Unavailable if nobody can tell."""
        version = await self._shared.run_script(self._put, self._keys, seen, *_arguments(changes))
        if version == self.version + 1:
            self._apply(version, {**self.fields, **changes})
        return version > 0

    async def change(self, compute: Callable[[Fields], Fields]) -> bool:
        """Set the fields that `compute` makes of those in force. False if others changed them all the time.

        Raises Unavailable if nothing was changed, or nobody can tell.
        """
        for _ in range(_MOST_TRIES):
            if await self.put(compute(self.fields), seen=self.version):
                return True
            await self.refresh()
        return False

    async def refresh(self) -> None:
        """Read the fields if their version differs, or raise Unavailable."""
        await self._compare()
        self._shared.was_read(self._name)

    async def _compare(self) -> None:
        key = self._keys[0]
        version = _number(await self._shared.run(lambda: self._shared.client.hget(key, _VERSION), key))
        if version == self.version and self.is_read:
            return
        if version > self.version and self.is_read and await self._read_changes():
            return
        stored = await self._shared.run(lambda: self._shared.client.hgetall(key), key)
        version = _number(stored.pop(_VERSION, None))
        if version < self.version:
            await self._write_back(stored)
        else:
            self._apply(version, stored)

    async def _read_changes(self) -> bool:
        """Read what changed since the last look. False if the copy would differ from what Redis has."""
        found: list[Any] = await self._shared.run(
            lambda: self._changes(keys=self._keys, args=[self.version]), self._keys[0]
        )
        if not found:
            return False
        version, count, *changes = found
        fields = {**self.fields, **dict(zip(changes[::2], changes[1::2], strict=True))}
        if len(fields) != count:
            return False
        self._apply(int(version), fields)
        return True

    async def _write_back(self, stored: Fields) -> None:
        if await self._shared.run_script(self._restore, self._keys, self.version, *_arguments(self.fields)):
            log.warning(
                "The shared Redis had lost entries, which were written back", of=self._name, entries=len(self.fields)
            )
            # What others added to the emptied Redis meanwhile is a change like any other.
            if added := {name: value for name, value in stored.items() if name not in self.fields}:
                await self.change(lambda fields: added)

    def _apply(self, version: int, fields: Fields) -> None:
        differs = fields != self.fields or not self.is_read
        is_newer = version != self.version
        self.version, self.fields, self.is_read = version, fields, True
        if self._file is not None and is_newer:
            self._file.write(version, fields)
        if differs:
            self._changed()


class _Copy(msgspec.Struct, frozen=True):
    """What the data folder has of a hash, as it is in Redis."""

    version: int
    fields: dict[str, str]


class _File:
    """The copy of a hash in the data folder. It is needed only while Redis is away at a start, or was emptied."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[int, Fields]:
        try:
            copy = msgspec.json.decode(self._path.read_bytes(), type=_Copy)
            return copy.version, {name.encode(): base64.b64decode(one) for name, one in copy.fields.items()}
        except (OSError, ValueError):
            return 0, {}

    def write(self, version: int, fields: Fields) -> None:
        named = {name.decode("utf-8", "replace"): base64.b64encode(one).decode() for name, one in fields.items()}
        unfinished = self._path.with_name(f"{self._path.name}.{token_hex(8)}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished.write_bytes(msgspec.json.encode(_Copy(version, named)))
            unfinished.replace(self._path)
        except OSError as error:
            log.warning("Shared records cannot be kept in the data folder", reason=error.strerror)


def _number(stored: bytes | None) -> int:
    text = stored or b"0"
    number = int(text) if text.isdigit() else 0
    return number if number <= _MOST_CHANGES else 0


def _arguments(fields: Fields) -> list[bytes]:
    return [part for field in fields.items() for part in field]
