"""The Redis or Valkey of `DOGUBAKO_SHARED`: one client, one circuit breaker and one prefix for all that is shared.

Whoever shares something runs its commands through `SharedRedis.run`, and says what it does while nothing answers.
News are wake-up calls without content: a message on the channel `news` makes every process compare version numbers. It
also does so twice a second, so a message that was missed delays a change and does not lose it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Literal, TypeVar

from dogubako.contract.errors import BusyError
from dogubako.contract.pack import HealthCheck
from dogubako.contract.redis_address import RedisAddress, parse_redis_address
from dogubako.key_ring import KeyRing
from dogubako.outbound.redis_cache import (
    CircuitBreaker,
    ThrottledLog,
    Unavailable,
    close,
    failures,
    reason_of,
    refusals,
)
from dogubako.outbound.redis_client import operation_limit, redis_client
from dogubako.settings import Settings, SettingsError

ResultT = TypeVar("ResultT")
Refresh = Callable[[], Awaitable[None]]

SUBJECT: Final = "shared state"
# A change is in force everywhere within a second, also if its message was missed.
_LOOK_SECONDS: Final = 0.5
# Background work probes a Redis that was away, so calls need not wait long for its return.
_LONGEST_PAUSE_SECONDS: Final = 2.0
_SUBSCRIBED_SECONDS: Final = 30.0
_CANCEL_AGAIN_SECONDS: Final = 0.1
_WAITING_SECONDS: Final = 30.0
_FIND_NODES_SECONDS: Final = 5.0
_PROBE_MILLISECONDS: Final = 1000
_ADVICE: Final = "Look at its user (ACL), maxmemory and replication; docs/scale.md says what is needed."
_STALE: Final = (
    "This process could not read for more than {seconds:g} s which keys and tools are in force, because the Redis that "
    "all processes share cannot be used: nothing was done."
)
_STALE_HINT: Final = "Try again in a moment: another process may answer, and this one does as soon as it can."
_NO_CALLS: Final = "no calls are answered, because that has lasted for longer than DOGUBAKO_SHARED_STALE."
# How long a key counts as in use after a process said that it seals with it, and how often processes say so.
_IN_USE_SECONDS: Final = 60.0
_SAY_SECONDS: Final = 15.0

# The time of Redis in milliseconds, for scripts.
NOW: Final = "local time = redis.call('TIME'); local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
# Enters the id of the key that this process seals with. Returns those of all processes.
_SEALS_WITH: Final = (
    NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""
)


async def end_tasks(*tasks: "asyncio.Task[None]") -> None:
    """Cancel tasks until they end: the client library swallows a cancellation while it connects."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_AGAIN_SECONDS)


class SharedRedis:
    """The connection. `run` raises Unavailable while no usable Redis answers, at once if that is known."""

    def __init__(self, settings: Settings) -> None:
        ring = KeyRing.of(settings)
        assert settings.shared is not None and ring is not None
        self.ring = ring
        self._address = parse_redis_address(settings.shared)
        self.client: Any = _client(self._address)
        self.place = self._address.place
        self.closes_limits = settings.shared_limits == "closed"
        self._prefix = settings.shared_prefix
        self._stale_seconds = settings.shared_stale
        # When each copy that decides about calls was last compared with Redis.
        self._read_at: dict[str, float] = {}
        self._breaker = CircuitBreaker(
            SUBJECT,
            seconds=operation_limit(self._address),
            failures=failures(),
            longest_pause=_LONGEST_PAUSE_SECONDS,
        )
        self._failures = failures()
        self._refusals = refusals()
        self._refused = ThrottledLog("The shared Redis refused a command")
        self._seals_with = self.client.register_script(_SEALS_WITH)
        # The ids of the keys that processes seal with.
        self.sealing_ids = frozenset({ring.sealing.id})
        self._said_at = float("-inf")
        self._refreshers: list[Refresh] = [self._say_key]
        self._woken = asyncio.Event()

    def waiting_client(self) -> Any:
        """A further client, whose commands may wait for longer than an operation takes."""
        return _client(self._address, socket_timeout=_WAITING_SECONDS)

    def name(self, *parts: str) -> str:
        """The name of a key or channel of this server. In a cluster, all of them are in one slot, by their hash tag."""
        prefix = f"{{{self._prefix}}}" if self._address.kind == "cluster" else self._prefix
        return ":".join((prefix, *parts))

    async def run(self, work: Callable[[], Awaitable[ResultT]], key: str = "") -> ResultT:
        """Run commands within the timeout, or raise Unavailable. What Redis refuses is unavailable, too.

        `key` is named where a command is refused.
        """
        return await self._breaker.run(lambda: self._unless_refused(work, key))

    async def run_script(self, script: Any, keys: Sequence[str], *args: str | int | bytes) -> int:
        """Run a script of `register_script` that returns a number, or raise Unavailable."""
        return int(await self.run(lambda: script(keys=keys, args=args), keys[0]) or 0)

    async def _unless_refused(self, work: Callable[[], Awaitable[ResultT]], key: str) -> ResultT:
        try:
            return await work()
        except self._refusals as error:
            # Its text names the user and the key, and it may be a whole script.
            self._refused.warn(error=type(error).__name__, **({"key": key} if key else {}))
            raise Unavailable(reason_of(error, f"refused a command for {key or 'a key'}")) from None

    def refresh_with(self, refresh: Refresh) -> None:
        """Call this on news, and twice a second. It may raise Unavailable."""
        self._refreshers.append(refresh)

    def decides_calls(self, name: str) -> None:
        """Have this copy count for `stale`: calls are decided from it."""
        self._read_at[name] = time.monotonic()

    def was_read(self, name: str) -> None:
        """A copy was compared with what Redis has."""
        if name in self._read_at:
            self._read_at[name] = time.monotonic()

    def stale(self) -> BusyError | None:
        """The error for a call that would be decided from a copy which is too old, if the settings have a bound."""
        if not self._stale_seconds or not self._read_at:
            return None
        if time.monotonic() - min(self._read_at.values()) <= self._stale_seconds:
            return None
        return BusyError(_STALE.format(seconds=self._stale_seconds), hint=_STALE_HINT, retry_after=1)

    def _unread(self) -> list[str]:
        """The copies that are too old."""
        return [name for name, at in self._read_at.items() if time.monotonic() - at > self._stale_seconds]

    def wake(self) -> None:
        """Refresh soon."""
        self._woken.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read what is shared, then follow its changes."""
        # An event belongs to the loop that first waited for it.
        self._woken = asyncio.Event()
        self._read_at = dict.fromkeys(self._read_at, time.monotonic())
        await self._refresh_all()
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._hear_news())]
        try:
            yield
        finally:
            await end_tasks(*tasks)
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await close(self.client)

    async def _follow(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._woken.wait()
            self._woken.clear()
            await self._refresh_all()

    async def find_nodes(self) -> None:
        """Let a client of a cluster learn its nodes and commands, which takes longer than an operation may."""
        if self._address.kind == "cluster":
            with suppress(OSError, *self._failures):
                async with asyncio.timeout(_FIND_NODES_SECONDS):
                    await self.client.initialize()

    async def _refresh_all(self) -> None:
        await self.find_nodes()
        for refresh in self._refreshers:
            with suppress(Unavailable):
                await refresh()

    async def _hear_news(self) -> None:
        """Stay subscribed. Where that is impossible, `_follow` looks by itself."""
        while True:
            with suppress(OSError, *self._failures):
                async with self.client.pubsub(ignore_subscribe_messages=True) as channel:
                    await channel.subscribe(self.name("news"))
                    while True:
                        if await channel.get_message(timeout=_SUBSCRIBED_SECONDS) is not None:
                            self._woken.set()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _say_key(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._said_at < _SAY_SECONDS:
            return
        key, lifetime = self.ring.sealing.id, round(_IN_USE_SECONDS * 1000)
        ids = await self.run(lambda: self._seals_with(keys=[self.name("sealing")], args=[key, lifetime]))
        self.sealing_ids = frozenset(id_.decode("ascii", "replace") for id_ in ids)
        self._said_at = now

    async def check(self) -> list[HealthCheck]:
        """Whether it answers, and whether this process can open what others seal."""
        try:
            self._said_at = float("-inf")
            await self._say_key()
            # One without memory goes on with scripts that remove something first.
            probe = self.name("probe")
            await self.run(lambda: self.client.set(probe, b"1", px=_PROBE_MILLISECONDS), probe)
        except Unavailable as error:
            stale = self.stale() is not None
            message = f"The Redis at {self.place} {error.reason}: {_NO_CALLS if stale else self._consequence}"
            advice = "Start it, or change DOGUBAKO_SHARED." if error.reason == Unavailable().reason else _ADVICE
            severity: Literal["error", "warning"] = "error" if stale else "warning"
            return [HealthCheck(ok=False, subject=SUBJECT, message=message, advice=advice, severity=severity)]
        if self.stale() is not None:
            # It answers, and refuses what this process has to read.
            message = f"What the Redis at {self.place} says of {', '.join(self._unread())} cannot be read: {_NO_CALLS}"
            return [HealthCheck(ok=False, subject=SUBJECT, message=message, advice=_ADVICE)]
        own = self.ring.sealing.id
        if foreign := sorted(self.sealing_ids - set(self.ring.ids)):
            message = (
                f"Another process seals with the key {', '.join(foreign)}, which this one does not have (it has "
                f"{', '.join(self.ring.ids)}), so users are asked and sign in twice."
            )
            advice = (
                "Give every process that DOGUBAKO_REQUEST_STATE_KEY, or name it in DOGUBAKO_REQUEST_STATE_KEYS_OLD; "
                "another server needs a DOGUBAKO_SHARED_PREFIX of its own."
            )
            return [HealthCheck(ok=False, subject=SUBJECT, message=message, advice=advice, severity="warning")]
        others = sorted(self.sealing_ids - {own})
        also = f"; other processes with {', '.join(others)}" if others else ""
        message = f"shared at {self.place} as {self._prefix}, sealed with the key {own}{also}"
        return [HealthCheck(ok=True, subject=SUBJECT, message=message)]

    @property
    def _consequence(self) -> str:
        limits = "calls with limits are refused" if self.closes_limits else "each process counts limits for itself"
        return f"tools cannot be switched, answers of users do not count, and {limits}."


def _client(address: RedisAddress, **options: Any) -> Any:
    try:
        return redis_client(address, **options)
    except ImportError:
        raise SettingsError("DOGUBAKO_SHARED needs the extra redis: pip install 'dogubako[redis]'.") from None
    except (ValueError, TypeError):
        # The URL may hold a password; it is not repeated.
        raise SettingsError("Invalid setting: DOGUBAKO_SHARED: not a valid redis:// address.") from None
