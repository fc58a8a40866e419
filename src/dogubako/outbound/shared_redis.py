"""The Redis or Valkey of `DOGUBAKO_SHARED`: one client, one circuit breaker and one prefix for all that is shared.

Whoever shares something runs its commands through `SharedRedis.run`, and says what it does while nothing answers.
News are wake-up calls without content: a message on the channel `news` makes every process compare version numbers. It
also does so twice a second, so a message that was missed delays a change and does not lose it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from dogubako.contract.pack import HealthCheck
from dogubako.outbound.redis_cache import (
    CircuitBreaker,
    ThrottledLog,
    Unavailable,
    close,
    connection_options,
    failures,
    operation_seconds,
    refusals,
)
from dogubako.settings import Settings, SettingsError

ResultT = TypeVar("ResultT")
Refresh = Callable[[], Awaitable[None]]

SUBJECT: Final = "shared state"
# A change is in force everywhere within a second, also if its message was missed.
_LOOK_SECONDS: Final = 0.5
# Background work probes a Redis that was away, so calls need not wait long for its return.
_LONGEST_PAUSE_SECONDS: Final = 2.0
_MOST_COMMANDS: Final = 3
_SUBSCRIBED_SECONDS: Final = 30.0
_CANCEL_AGAIN_SECONDS: Final = 0.1
_WAITING_SECONDS: Final = 30.0
_USUAL_PORT: Final = 6379
_KEY_ID_SECONDS: Final = 60
_SAME_KEY: Final = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""


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
        assert settings.shared is not None and settings.request_state_key is not None
        self._url = settings.shared
        self.client: Any = _client(self._url)
        parts = urlsplit(settings.shared)
        self.place = f"{parts.hostname}:{parts.port or _USUAL_PORT}"
        self.closes_limits = settings.shared_limits == "closed"
        self._prefix = settings.shared_prefix
        self._secret = blake2b(settings.request_state_key.get_secret_value().encode()).digest()
        # Identifies the key without revealing it.
        self._key_id = blake2b(b"dogubako key id", key=self._secret, digest_size=8).hexdigest()
        self._breaker = CircuitBreaker(
            SUBJECT,
            seconds=_MOST_COMMANDS * operation_seconds(self.client),
            failures=failures(),
            longest_pause=_LONGEST_PAUSE_SECONDS,
        )
        self._failures = failures()
        self._refusals = refusals()
        self._refused = ThrottledLog("The shared Redis refused a command")
        self._same_key = self.client.register_script(_SAME_KEY)
        self._refreshers: list[Refresh] = []
        self._woken = asyncio.Event()

    def waiting_client(self) -> Any:
        """A further client, whose commands may wait for longer than an operation takes."""
        return _client(self._url, socket_timeout=_WAITING_SECONDS)

    def derived_key(self, purpose: bytes) -> bytes:
        """A key of 32 bytes for one purpose, the same in all processes with this DOGUBAKO_REQUEST_STATE_KEY."""
        return blake2b(purpose, key=self._secret, digest_size=32).digest()

    def name(self, *parts: str) -> str:
        """The name of a key or channel of this server."""
        return ":".join((self._prefix, *parts))

    async def run(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Run commands within the timeout, or raise Unavailable. What Redis refuses is unavailable, too."""
        return await self._breaker.run(lambda: self._unless_refused(work))

    async def run_script(self, script: Any, keys: Sequence[str], *args: str | int | bytes) -> int:
        """Run a script of `register_script` that returns a number, or raise Unavailable."""
        return int(await self.run(lambda: script(keys=keys, args=args)) or 0)

    async def _unless_refused(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        try:
            return await work()
        except self._refusals as error:
            # Its text names the user and the key, and it may be a whole script.
            self._refused.warn(error=type(error).__name__)
            raise Unavailable from None

    def refresh_with(self, refresh: Refresh) -> None:
        """Call this on news, and twice a second. It may raise Unavailable."""
        self._refreshers.append(refresh)

    def wake(self) -> None:
        """Refresh soon."""
        self._woken.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read what is shared, then follow its changes."""
        # An event belongs to the loop that first waited for it.
        self._woken = asyncio.Event()
        await self._refresh_all()
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._hear_news())]
        try:
            yield
        finally:
            await end_tasks(*tasks)
            await close(self.client)

    async def _follow(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._woken.wait()
            self._woken.clear()
            await self._refresh_all()

    async def _refresh_all(self) -> None:
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

    async def check(self) -> list[HealthCheck]:
        """Whether it answers, and whether all processes have the same key."""
        try:
            same = await self.run_script(self._same_key, [self.name("key")], self._key_id, _KEY_ID_SECONDS)
        except Unavailable:
            message = f"The Redis at {self.place} does not answer: {self._consequence}"
            advice = "Start it, or change DOGUBAKO_SHARED."
            return [HealthCheck(ok=False, subject=SUBJECT, message=message, advice=advice, severity="warning")]
        if not same:
            message = "Another process has another DOGUBAKO_REQUEST_STATE_KEY, so users are asked and sign in twice."
            advice = "Give every process the same key, or each server a DOGUBAKO_SHARED_PREFIX of its own."
            return [HealthCheck(ok=False, subject=SUBJECT, message=message, advice=advice, severity="warning")]
        return [HealthCheck(ok=True, subject=SUBJECT, message=f"shared at {self.place} as {self._prefix}")]

    @property
    def _consequence(self) -> str:
        limits = "calls with limits are refused" if self.closes_limits else "each process counts limits for itself"
        return f"tools cannot be switched, answers of users do not count, and {limits}."


def _client(url: str, **options: Any) -> Any:
    try:
        # An optional dependency, needed only with Redis.
        from redis import asyncio as redis  # noqa: PLC0415
    except ImportError:
        raise SettingsError("DOGUBAKO_SHARED needs the extra redis: pip install 'dogubako[redis]'.") from None
    try:
        client = redis.from_url(url, **connection_options())
    except ValueError:
        # The URL may hold a password; it is not repeated.
        raise SettingsError("Invalid setting: DOGUBAKO_SHARED: not a valid redis:// address.") from None
    # The address may name a timeout, which counts for short operations only.
    client.connection_pool.connection_kwargs.update(options)
    return client
