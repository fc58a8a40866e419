"""The audit log of all processes as one stream in the shared Redis. Its lines are encrypted.

Lines and the position up to which a data folder was delivered are written in one step. So a line is added once, even
if an answer of Redis was lost, and a Redis that was emptied, or is an older copy, gets the lines that it lacks: it has
no position, or an older one.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dogubako.gate.audit import read_line
from dogubako.gate.audit_files import Position, SentLine
from dogubako.gate.audit_shipping import SinkAway
from dogubako.gate.files import load_or_create_secret
from dogubako.outbound.redis_cache import Unavailable, close, failures
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.settings import Settings, SettingsError

_PURPOSE: Final = b"dogubako audit stream"
_SALT_PURPOSE: Final = b"dogubako audit salt"
# Names the data folder in Redis.
_SOURCE: Final = "audit.source"
_SOURCE_DIGITS: Final = 32
_POSITION_SECONDS: Final = 30 * 24 * 3600
# Entries of many lines each.
_PAGE: Final = 200
_BEGINNING: Final = b"-"

# Adds lines if the position is still the one from which they were read: entries of a count, a time and encrypted lines.
# As long as there are enough lines without the entry of the oldest time, it goes, also one that was just added: a Redis
# that was emptied gets all lines of one machine before those of another.
_ADD: Final = """
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
local most = tonumber(ARGV[4])
for i = 5, #ARGV, 3 do
  local added = redis.call('XADD', KEYS[1], '*', 'count', ARGV[i], 'lines', ARGV[i + 2])
  redis.call('ZADD', KEYS[4], ARGV[i + 1], added)
  local kept = redis.call('INCRBY', KEYS[3], ARGV[i])
  while kept > most do
    if redis.call('ZCARD', KEYS[4]) <= 1 then
      -- Somebody removed entries without counting them.
      redis.call('SET', KEYS[3], ARGV[i])
      break
    end
    local oldest = redis.call('ZRANGE', KEYS[4], 0, 0)[1]
    local entry = redis.call('XRANGE', KEYS[1], oldest, oldest)[1]
    local count = entry and tonumber(entry[2][2]) or 0
    if entry and kept - count < most then break end
    redis.call('XDEL', KEYS[1], oldest)
    redis.call('ZREM', KEYS[4], oldest)
    kept = redis.call('DECRBY', KEYS[3], count)
  end
end
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
return 1
"""
# More lines in one entry would go together.
_MOST_IN_ENTRY: Final = 100


def shared_salt(shared: SharedRedis) -> bytes:
    """The salt of the hashes of arguments, the same on all machines until the key that seals is replaced."""
    return shared.ring.sealing.derive(_SALT_PURPOSE)


class StreamSink:
    """Delivers the lines of a data folder to the stream."""

    def __init__(self, shared: SharedRedis, data_dir: Path, most: int) -> None:
        self.name = f"shared Redis at {shared.place}"
        self._shared = shared
        self._source = data_dir / _SOURCE
        self._key: str | None = None
        self._most = most
        self._stream = shared.name("audit")
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._add = shared.client.register_script(_ADD)

    async def position(self) -> Position | None:
        key = self._position_key()
        try:
            # Asked for again and again, which also notices a Redis that was emptied.
            held = await self._shared.run(lambda: self._shared.client.getex(key, ex=_POSITION_SECONDS))
        except Unavailable as error:
            raise SinkAway(f"it {error.reason}") from None
        return Position.parse(held.decode("ascii", "replace")) if held else None

    async def deliver(self, lines: Sequence[SentLine], before: Position | None, after: Position) -> None:
        names = (("audit", "lines"), ("audit", "times"))
        keys = [self._stream, self._position_key(), *(self._shared.name(*name) for name in names)]
        # To encrypt and to send each line alone would cost a tenth of a call.
        starts = range(0, len(lines), _MOST_IN_ENTRY)
        entries = [part for start in starts for part in self._entry(lines[start : start + _MOST_IN_ENTRY])]
        arguments = (str(before or ""), str(after), _POSITION_SECONDS, self._most, *entries)
        try:
            # If the position is another one by now, the next look reads from there.
            await self._shared.run_script(self._add, keys, *arguments)
        except Unavailable as error:
            raise SinkAway(f"it {error.reason}") from None

    def _entry(self, lines: Sequence[SentLine]) -> tuple[int, str, bytes]:
        last = read_line(lines[-1].raw)
        moment = datetime.fromisoformat(last.time).timestamp() if last is not None else 0.0
        return len(lines), repr(moment), self._cipher.seal(self._stream, b"\n".join([line.raw for line in lines]))

    async def close(self) -> None:
        """The connection belongs to the server."""

    def _position_key(self) -> str:
        if self._key is None:
            try:
                source = load_or_create_secret(self._source).hex()[:_SOURCE_DIGITS]
            except OSError as error:
                raise SinkAway(f"{self._source.name}: {error.strerror}") from error
            self._key = self._shared.name("audit", "position", source)
        return self._key


class StreamReader:
    """Reads the lines of all processes. Lines that were delivered twice come twice, with the same id."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._stream = shared.name("audit")
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._last = _BEGINNING
        self._failures: tuple[type[Exception], ...] = (OSError, *failures())
        self._client: Any = shared.waiting_client()

    async def read_on(self) -> list[SentLine]:
        """All lines since the last call, in the order of their delivery."""
        found: list[SentLine] = []
        while True:
            try:
                page = await self._client.xrange(self._stream, min=self._last, count=_PAGE)
            except self._failures:
                raise SettingsError(
                    f"The shared Redis at {self._shared.place} does not answer; --local reads the file of this machine."
                ) from None
            found += [line for _, fields in page for line in self._opened(fields)]
            if page:
                # An open interval: the entry after this one.
                self._last = b"(" + page[-1][0]
            if len(page) < _PAGE:
                return found

    async def aclose(self) -> None:
        await close(self._client)

    def _opened(self, fields: dict[bytes, bytes]) -> list[SentLine]:
        text = self._cipher.open(self._stream, fields.get(b"lines", b""))
        return [SentLine(raw) for raw in text.split(b"\n")] if text is not None else []


@asynccontextmanager
async def stream_reader(settings: Settings) -> AsyncIterator[StreamReader]:
    """A reader with a connection of its own, for commands."""
    shared = SharedRedis(settings)
    reader = StreamReader(shared)
    try:
        yield reader
    finally:
        await reader.aclose()
        await close(shared.client)
