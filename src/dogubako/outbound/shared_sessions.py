"""Sessions of MCP clients in the shared Redis, so that any process serves them.

A session is a hash that expires when it is not used: the sealed `initialize` request with the owner, the log level, one
field for each subscription, and one for each process that serves the session. Changing it and reading who has to be
told is one step, as is reading it and being told from then on: no process misses a change. A session that ended leaves
a mark, so that nobody restores it.
"""

import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from hashlib import blake2b
from typing import Any, Final

import msgspec

from dogubako.contract.errors import BusyError
from dogubako.contract.sessions import ListenerChange, SessionFate, SessionRecord
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_redis import NOW, SharedRedis

_PURPOSE: Final = b"dogubako sessions"
# Longer than a process keeps an idle session, because it renews used ones about once a minute.
LIFETIME_SECONDS: Final = 35 * 60
# A session that was used a short time ago is not ended to make room for another one.
_IN_USE_SECONDS: Final = 3 * 60
_OPENING: Final = "opening"
_LEVEL: Final = "level"
_SUBSCRIBED: Final = "subscribed "
_PROCESS: Final = "process "
_FATES: Final[dict[int, SessionFate]] = {0: "lost", 1: "known", 2: "ended"}

# KEYS: the session, the sessions of its holder. ARGV: lifetime, most, in use, then fields and values.
_OPEN: Final = """
if redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return 1 end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  if tonumber(oldest[2]) - tonumber(ARGV[1]) > now - tonumber(ARGV[3]) then return 0 end
  redis.call('ZREM', KEYS[2], oldest[1])
  redis.call('DEL', oldest[1])
  redis.call('HSET', oldest[1], 'ended', '1')
  redis.call('EXPIRE', oldest[1], ARGV[1])
end
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[1]), KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
return 1
"""
# ARGV: lifetime, the field of this process. Returns all fields and values.
_JOIN: Final = """
if redis.call('HEXISTS', KEYS[1], 'opening') == 0 then return {} end
redis.call('HSET', KEYS[1], ARGV[2], '1')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return redis.call('HGETALL', KEYS[1])
"""
# ARGV: a field, and its new value; no value removes it. Returns the names of all fields.
_CHANGE: Final = """
if redis.call('HEXISTS', KEYS[1], 'opening') == 0 then return {} end
if ARGV[2] then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) else redis.call('HDEL', KEYS[1], ARGV[1]) end
return redis.call('HKEYS', KEYS[1])
"""
# ARGV: lifetime. Returns the names of all fields.
_END: Final = """
local fields = redis.call('HKEYS', KEYS[1])
local holder = redis.call('HGET', KEYS[1], 'holder')
if holder then redis.call('ZREM', holder, KEYS[1]) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'ended', '1')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return fields
"""
# ARGV: this process, and the one that it may replace; '*' for any. Returns who is told and since which version, who was
# told before, and the names of all fields. Versions are times, so that they grow also in a Redis that was emptied.
_LISTEN: Final = (
    NOW
    + """
if redis.call('HEXISTS', KEYS[1], 'opening') == 0 then return {} end
local before = redis.call('HGET', KEYS[1], 'listener') or ''
local version = tonumber(redis.call('HGET', KEYS[1], 'listening') or '0')
local told = before
if before ~= ARGV[1] and (before == '' or before == ARGV[2] or ARGV[2] == '*') then told = ARGV[1] end
if told ~= before or ARGV[2] == '*' then
  version = math.max(now, version + 1)
  redis.call('HSET', KEYS[1], 'listener', told, 'listening', string.format('%d', version))
end
return {told, version, before, redis.call('HKEYS', KEYS[1])}
"""
)
# ARGV: this process, since which version it is told. Returns the same, or nothing.
_UNLISTEN: Final = (
    NOW
    + """
local before = redis.call('HGET', KEYS[1], 'listener')
local version = redis.call('HGET', KEYS[1], 'listening')
if before ~= ARGV[1] or version ~= ARGV[2] then return {} end
version = math.max(now, tonumber(version) + 1)
redis.call('HDEL', KEYS[1], 'listener')
redis.call('HSET', KEYS[1], 'listening', string.format('%d', version))
return {'', version, before, redis.call('HKEYS', KEYS[1])}
"""
)
# KEYS: sessions. ARGV: lifetime. Returns one number for each of them.
_RENEW: Final = """
local fates, now = {}, tonumber(redis.call('TIME')[1])
for i, session in ipairs(KEYS) do
  local holder = redis.call('HGET', session, 'holder')
  if holder then
    redis.call('EXPIRE', session, ARGV[1])
    redis.call('ZADD', holder, now + tonumber(ARGV[1]), session)
    redis.call('EXPIRE', holder, ARGV[1])
    fates[i] = 1
  else
    fates[i] = redis.call('EXISTS', session) == 1 and 2 or 0
  end
end
return fates
"""
# Returns what marks the present content of this Redis: another one than before has lost it.
_MARK: Final = """
redis.call('SET', KEYS[1], ARGV[1], 'NX')
return redis.call('GET', KEYS[1])
"""


class RedisSessions:
    """The sessions of all processes of one server."""

    def __init__(self, shared: SharedRedis, process: str) -> None:
        self._shared = shared
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._name = process
        self._process = _PROCESS + process
        register = shared.client.register_script
        self._open, self._join, self._change = register(_OPEN), register(_JOIN), register(_CHANGE)
        self._end, self._renew, self._mark = register(_END), register(_RENEW), register(_MARK)
        self._listen, self._unlisten = register(_LISTEN), register(_UNLISTEN)
        self._marked: bytes | None = None

    async def open(self, session: str, record: SessionRecord, *, most: int) -> None:
        key, holder = self._key(session), self._holder(record.holder)
        fields = self._fields(key, holder, record)
        # A caller is asked to end sessions; who has no name loses the one that was not used for the longest time.
        in_use = LIFETIME_SECONDS if record.owner else _IN_USE_SECONDS
        args = [LIFETIME_SECONDS, most, in_use, *fields]
        if not await self._run(lambda: self._open(keys=[key, holder], args=args)):
            message = f"There are {most:,} open sessions of you, which is as many as one caller may have."
            raise BusyError(message, hint="End those that you no longer use (DELETE /mcp), or wait until they expire.")

    async def restore(self, session: str, record: SessionRecord) -> None:
        # All of them were open before, so none of them is one too many.
        await self.open(session, record, most=1_000_000_000)

    async def join(self, session: str) -> SessionRecord | None:
        key = self._key(session)
        found = await self._run(lambda: self._join(keys=[key], args=[LIFETIME_SECONDS, self._process]))
        values = dict(zip(map(bytes.decode, found[::2]), found[1::2], strict=True))
        return self._record(key, values) if values else None

    async def set_log_level(self, session: str, level: str) -> Collection[str]:
        return await self._changed(session, _LEVEL, level)

    async def subscribe(self, session: str, uri: str) -> Collection[str]:
        return await self._changed(session, _SUBSCRIBED + _digest(uri), uri)

    async def unsubscribe(self, session: str, uri: str) -> Collection[str]:
        return await self._changed(session, _SUBSCRIBED + _digest(uri), None)

    async def end(self, session: str) -> Collection[str]:
        key = self._key(session)
        return _processes(await self._run(lambda: self._end(keys=[key], args=[LIFETIME_SECONDS])))

    async def listen(self, session: str, *, instead_of: str | None = None) -> ListenerChange | None:
        key, replaced = self._key(session), "*" if instead_of is None else instead_of
        return _change(await self._run(lambda: self._listen(keys=[key], args=[self._name, replaced])))

    async def unlisten(self, session: str, version: int) -> ListenerChange | None:
        key = self._key(session)
        return _change(await self._run(lambda: self._unlisten(keys=[key], args=[self._name, version])))

    async def processes(self, session: str) -> Collection[str]:
        key = self._key(session)
        return _processes(await self._run(lambda: self._shared.client.hkeys(key)))

    async def renew(self, sessions: Sequence[str]) -> Sequence[SessionFate]:
        keys = [self._key(session) for session in sessions]
        fates = await self._run(lambda: self._renew(keys=keys, args=[LIFETIME_SECONDS]))
        return [_FATES[fate] for fate in fates]

    async def was_emptied(self) -> bool:
        key, token = self._shared.name("sessions"), secrets.token_hex(8)
        before, self._marked = self._marked, await self._run(lambda: self._mark(keys=[key], args=[token]))
        return before not in (None, self._marked)

    async def _changed(self, session: str, field: str, value: str | None) -> Collection[str]:
        key = self._key(session)
        sealed = () if value is None else (self._cipher.seal(key + field, value.encode("utf-8", "surrogatepass")),)
        return _processes(await self._run(lambda: self._change(keys=[key], args=[field, *sealed])))

    def _fields(self, key: str, holder: str, record: SessionRecord) -> list[str | bytes]:
        opening = msgspec.msgpack.encode((record.owner, record.holder, record.opening))
        fields: list[str | bytes] = ["holder", holder, self._process, b"1"]
        fields += [_OPENING, self._cipher.seal(key + _OPENING, opening)]
        if record.log_level is not None:
            fields += [_LEVEL, self._cipher.seal(key + _LEVEL, record.log_level.encode())]
        for uri in record.subscriptions:
            field = _SUBSCRIBED + _digest(uri)
            fields += [field, self._cipher.seal(key + field, uri.encode("utf-8", "surrogatepass"))]
        return fields

    def _record(self, key: str, values: dict[str, bytes]) -> SessionRecord | None:
        opening = self._cipher.open(key + _OPENING, values[_OPENING])
        if opening is None:
            return None
        owner, holder, request = msgspec.msgpack.decode(opening, type=tuple[str, str, bytes])
        level = self._cipher.open(key + _LEVEL, values[_LEVEL]) if _LEVEL in values else None
        opened = [self._cipher.open(key + name, values[name]) for name in values if name.startswith(_SUBSCRIBED)]
        return SessionRecord(
            opening=request,
            owner=owner,
            holder=holder,
            log_level=level.decode() if level is not None else None,
            subscriptions=frozenset(uri.decode("utf-8", "surrogatepass") for uri in opened if uri is not None),
        )

    async def _run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await self._shared.run(work)
        except Unavailable as error:
            message = f"The Redis that knows the sessions of all processes {error.reason}."
            raise BusyError(message, hint="Try again in a moment: your session goes on.", retry_after=1) from None

    def _key(self, session: str) -> str:
        """Whoever can read the Redis must not learn the ids of sessions."""
        return self._shared.name("session", _digest(session))

    def _holder(self, holder: str) -> str:
        return self._shared.name("sessions", _digest(holder))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _change(found: Sequence[Any]) -> ListenerChange | None:
    if not found:
        return None
    told, version, before, fields = found
    return ListenerChange(
        told=told.decode(), version=int(version), before=before.decode(), processes=_processes(fields)
    )


def _processes(fields: Sequence[bytes]) -> list[str]:
    names = [field.decode() for field in fields]
    return [name.removeprefix(_PROCESS) for name in names if name.startswith(_PROCESS)]
