"""A cache in Redis: signed values, short timeouts, and a circuit breaker."""

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from dogubako.contract.storage import Cache, MemoryCache, NoCache
from dogubako.key_ring import KeyRing, RingKey
from dogubako.settings import Settings, SettingsError

log = structlog.get_logger("dogubako.outbound")

ResultT = TypeVar("ResultT")

# How long the breaker stays open after the first failure, and at most; each failed probe doubles it.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0


class Unavailable(Exception):  # noqa: N818 - a signal to whoever can do without the service
    """The service failed, took too long, or was not called. `reason` goes on after its name."""

    def __init__(self, reason: str = "does not answer") -> None:
        super().__init__(reason)
        self.reason = reason


# What errors of the client library mean for whoever runs the Redis, by the names of their classes.
_REASONS: Final = {
    "AuthenticationError": "refuses the user or the password",
    "AuthenticationWrongNumberOfArgsError": "refuses the user or the password",
    "NoPermissionError": "does not allow its user what is needed",
    "ReadOnlyError": "is a replica that takes no changes",
    "OutOfMemoryError": "is out of memory",
    "BusyLoadingError": "is still loading its data",
    "MasterNotFoundError": "has no master",
    "MasterDownError": "has no master",
    "ClusterDownError": "is a cluster that is down",
}


def reason_of(error: BaseException, otherwise: str = "does not answer") -> str:
    """Why a Redis could not be used, as the rest of a sentence about it."""
    return _REASONS.get(type(error).__name__, otherwise)


class CircuitBreaker:
    """Closed: every call uses the service. Open: none does. After the pause one probe call decides."""

    def __init__(
        self,
        service: str,
        *,
        seconds: float,
        failures: tuple[type[Exception], ...],
        longest_pause: float | None = None,
    ) -> None:
        self._service = service
        self._seconds = seconds
        self._longest_pause = longest_pause
        # A timeout is an OSError.
        self._failures: tuple[type[Exception], ...] = (OSError, *failures)
        self._pause = 0.0
        self._open_until = 0.0
        self._probing = False
        self._reason = reason_of(TimeoutError())

    async def run(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Do the work within its timeout, or raise Unavailable."""
        probe = self._admit()
        try:
            async with asyncio.timeout(self._seconds):
                result = await work()
        except self._failures as error:
            self._fail(error, probe)
            # Without the cause, which would keep the buffers of a broken connection alive.
            raise Unavailable(self._reason) from None
        finally:
            if probe:
                self._probing = False
        self._succeed()
        return result

    def _admit(self) -> bool:
        """Whether this call is the probe. Raises Unavailable while the breaker is open."""
        if not self._pause:
            return False
        if self._probing or time.monotonic() < self._open_until:
            raise Unavailable(self._reason)
        self._probing = True
        return True

    def _fail(self, error: Exception, probe: bool) -> None:
        self._reason = reason_of(error)
        if not self._pause:
            self._pause = FIRST_PAUSE_SECONDS
            reason = type(error).__name__
            log.warning("Circuit breaker opened", service=self._service, error=reason, pause_seconds=self._pause)
        elif probe:
            self._pause = min(self._pause * 2, self._longest_pause or LONGEST_PAUSE_SECONDS)
        else:
            # The call was running when another one failed, which has been counted.
            return
        self._open_until = time.monotonic() + self._pause

    def _succeed(self) -> None:
        if self._pause:
            self._pause = 0.0
            log.warning("Circuit breaker closed", service=self._service)


# Timeout of one operation, including the connection; no call does more than three. `?socket_timeout=` in the URL
# changes it.
OPERATION_SECONDS: Final = 0.1
_CLOSE_SECONDS: Final = 1.0
_LOG_INTERVAL_SECONDS: Final = 60.0
# The client library raises these besides its own errors when another kind of server answers.
_GARBLED: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError, EOFError)


def connection_options() -> dict[str, Any]:
    """Client options: short timeouts, and one retry for a connection that was closed while idle."""
    # An optional dependency, needed only with Redis.
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    return {
        "socket_timeout": OPERATION_SECONDS,
        "socket_connect_timeout": OPERATION_SECONDS,
        "retry": Retry(NoBackoff(), 1),
    }


def operation_seconds(client: Any) -> float:
    """The timeout of one operation, from the client's URL."""
    configured = client.connection_pool.connection_kwargs.get("socket_timeout")
    return OPERATION_SECONDS if configured is None else float(configured)


def failures() -> tuple[type[Exception], ...]:
    """Errors that mean that no usable Redis answers."""
    from redis.exceptions import RedisClusterException, RedisError  # noqa: PLC0415

    return (RedisError, RedisClusterException, *_GARBLED)


def refusals() -> tuple[type[Exception], ...]:
    """Errors with which a working Redis refuses one command: a wrong type, no memory left, a read-only replica."""
    from redis.exceptions import ResponseError  # noqa: PLC0415

    return (ResponseError,)


async def close(client: Any) -> None:
    """Close the connections. A Redis that hangs does not delay the end of the server."""
    with suppress(OSError, *failures()):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.aclose()
            pool = getattr(client, "connection_pool", None)
            if (sentinels := getattr(pool, "sentinel_manager", None)) is not None:
                await sentinels.aclose()


class ThrottledLog:
    """Logs an event at most once a minute, with a count."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._times = 0
        self._silent_until = 0.0

    def warn(self, **fields: Any) -> None:
        self._times += 1
        now = time.monotonic()
        if now >= self._silent_until:
            log.warning(self._event, times=self._times, **fields)
            self._times, self._silent_until = 0, now + _LOG_INTERVAL_SECONDS


_PURPOSE: Final = b"dogubako cache values"
_TAG_BYTES: Final = 32
OVERHEAD_BYTES: Final = _TAG_BYTES


class ValueSigner:
    """Signs values together with their names, with one key."""

    def __init__(self, key: RingKey) -> None:
        self._key = key.derive(_PURPOSE)
        self.key_id = key.id

    def sign(self, name: str, value: bytes) -> bytes:
        return self._tag(name, value) + value

    def verified(self, name: str, signed: bytes) -> bytes | None:
        """The value, or None if it was not signed with this key for this name."""
        tag, value = signed[:_TAG_BYTES], signed[_TAG_BYTES:]
        return value if hmac.compare_digest(tag, self._tag(name, value)) else None

    def _tag(self, name: str, value: bytes) -> bytes:
        spelled = name.encode()
        digest = blake2b(len(spelled).to_bytes(8), key=self._key, digest_size=_TAG_BYTES)
        digest.update(spelled)
        digest.update(value)
        return digest.digest()


# Larger values are neither stored nor read: they would exceed the operation timeout.
MOST_BYTES: Final = 4 * 1024 * 1024


class RedisCache:
    """A cache in Redis. When Redis fails, nothing is cached and every call still works.

    Values are signed, and the id of the key is part of their names: servers with different keys leave each other's
    values alone. Old keys are looked at after the one that signs. A value that is not ours, too large or of another
    type is a miss, and is deleted.
    """

    def __init__(self, url: str, ring: Callable[[], KeyRing], *, ttl_seconds: int = 300) -> None:
        try:
            # An optional dependency, needed only with Redis.
            from redis import asyncio as redis  # noqa: PLC0415
        except ImportError:
            raise SettingsError("DOGUBAKO_CACHE is a redis:// address: install dogubako[redis] for it.") from None
        try:
            self._client: Any = redis.from_url(url, **connection_options())
        except ValueError:
            # The URL may hold a password; it is not repeated.
            raise SettingsError("Invalid setting: DOGUBAKO_CACHE: not a valid redis:// address.") from None
        self._ring = ring
        self._ttl = ttl_seconds
        self._breaker = CircuitBreaker("cache", seconds=operation_seconds(self._client), failures=failures())
        self._refusals = refusals()
        self._bad_value = ThrottledLog("Cache value discarded")
        self._refused = ThrottledLog("Cache command refused")

    async def get(self, key: str) -> bytes | None:
        for signer in self._signers:
            if (value := await self._get(key, signer)) is not None:
                return value
        return None

    async def _get(self, key: str, signer: ValueSigner) -> bytes | None:
        name = self._name(key, signer)
        try:
            signed = await self._breaker.run(lambda: self._read(name))
        except Unavailable:
            return None
        if signed == b"":
            return None
        value = self._checked(name, signed, signer)
        if value is None:
            await self._change(lambda: self._client.delete(name))
        return value

    async def put(self, key: str, value: bytes) -> None:
        if len(value) <= MOST_BYTES:
            name = self._name(key)
            signed = self._signers[0].sign(name, value)
            await self._change(lambda: self._client.set(name, signed, ex=self._ttl))

    async def delete(self, key: str) -> None:
        names = [self._name(key, signer) for signer in self._signers]
        await self._change(lambda: self._client.delete(*names))

    async def aclose(self) -> None:
        await close(self._client)

    @cached_property
    def _signers(self) -> list[ValueSigner]:
        # Created on first use: inspecting a server must not leave a key file behind.
        return [ValueSigner(key) for key in self._ring().keys]

    def _name(self, key: str, signer: ValueSigner | None = None) -> str:
        return f"dogubako:cache:{(signer or self._signers[0]).key_id}:{key}"

    async def _read(self, name: str) -> object:
        """The stored value, up to a little more than the size limit; b"" for none, None if it cannot be read."""
        try:
            return await self._client.getrange(name, 0, MOST_BYTES + OVERHEAD_BYTES)
        except self._refusals as error:
            self._refused.warn(error=type(error).__name__)
            return None

    def _checked(self, name: str, signed: object, signer: ValueSigner) -> bytes | None:
        if not isinstance(signed, bytes):
            reason = "type"
        elif len(signed) > MOST_BYTES + OVERHEAD_BYTES:
            reason = "size"
        elif (value := signer.verified(name, signed)) is None:
            reason = "signature"
        else:
            return value
        self._bad_value.warn(reason=reason)
        return None

    async def _change(self, command: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._breaker.run(lambda: self._sent(command))
        except Unavailable:
            return

    async def _sent(self, command: Callable[[], Awaitable[object]]) -> None:
        try:
            await command()
        except self._refusals as error:
            self._refused.warn(error=type(error).__name__)


_CACHE_KEY_FILE: Final = "cache.key"


def answer_cache(settings: Settings, kept_secret: Callable[[Path], bytes]) -> Cache:
    """The cache of unchanging answers that the settings choose. `kept_secret` reads a secret of the data folder."""
    if settings.cache == "off":
        return NoCache()
    if settings.cache == "memory":
        return MemoryCache()
    return RedisCache(settings.cache, lambda: _signing_keys(settings, kept_secret))


def _signing_keys(settings: Settings, kept_secret: Callable[[Path], bytes]) -> KeyRing:
    """The keys that sign values in a shared cache: those that servers share, else one of this data folder."""
    if (shared := KeyRing.of(settings)) is not None:
        return shared
    try:
        secret = kept_secret(settings.data_dir / _CACHE_KEY_FILE)
    except OSError as error:
        log.warning("The cache key cannot be stored, so this process cannot share cached values", reason=error.strerror)
        secret = secrets.token_bytes(32)
    return KeyRing([secret])
