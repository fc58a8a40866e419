"""A cache that several servers share."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, Final

from dogubako.outbound.circuit_breaker import CircuitBreaker, Unavailable
from dogubako.outbound.redis_client import (
    ThrottledLog,
    close,
    connection_options,
    failures,
    operation_seconds,
    refusals,
)
from dogubako.outbound.signed_values import OVERHEAD_BYTES, ValueSigner
from dogubako.settings import SettingsError

# Larger values are not kept, and not read: they would take longer than an operation may.
MOST_BYTES: Final = 4 * 1024 * 1024


class RedisCache:
    """A cache in Redis. When Redis is sick or away, nothing is kept and every call still works.

    Values are signed, and the id of the key is part of their names: servers with different keys leave each other's
    values alone. A value that is not ours, too large or of another type is a miss, and is deleted.
    """

    def __init__(self, url: str, key: Callable[[], bytes], *, ttl_seconds: int = 300) -> None:
        try:
            # An extra: only those who configured it need it.
            from redis import asyncio as redis  # noqa: PLC0415
        except ImportError:
            raise SettingsError("DOGUBAKO_CACHE is a redis:// address: install dogubako[redis] for it.") from None
        try:
            self._client: Any = redis.from_url(url, **connection_options())
        except ValueError:
            # The address may hold a password; it is not repeated.
            raise SettingsError("Invalid setting: DOGUBAKO_CACHE: not a valid redis:// address.") from None
        self._key = key
        self._ttl = ttl_seconds
        self._breaker = CircuitBreaker("cache", seconds=operation_seconds(self._client), failures=failures())
        self._refusals = refusals()
        self._bad_value = ThrottledLog("Cache value discarded")
        self._refused = ThrottledLog("Cache command refused")

    async def get(self, key: str) -> bytes | None:
        name = self._name(key)
        try:
            signed = await self._breaker.run(lambda: self._read(name))
        except Unavailable:
            return None
        if signed == b"":
            return None
        value = self._checked(name, signed)
        if value is None:
            await self._delete(name)
        return value

    async def put(self, key: str, value: bytes) -> None:
        if len(value) <= MOST_BYTES:
            name = self._name(key)
            signed = self._signer.sign(name, value)
            await self._change(lambda: self._client.set(name, signed, ex=self._ttl))

    async def delete(self, key: str) -> None:
        await self._delete(self._name(key))

    async def aclose(self) -> None:
        await close(self._client)

    @cached_property
    def _signer(self) -> ValueSigner:
        # Made when it is first needed: looking at a server must not leave a key file behind.
        return ValueSigner(self._key())

    def _name(self, key: str) -> str:
        return f"dogubako:cache:{self._signer.key_id}:{key}"

    async def _read(self, name: str) -> object:
        """What is stored, up to a little more than we would store; b"" for nothing, None for what cannot be read."""
        try:
            return await self._client.getrange(name, 0, MOST_BYTES + OVERHEAD_BYTES)
        except self._refusals as error:
            self._refused.warn(error=type(error).__name__)
            return None

    def _checked(self, name: str, signed: object) -> bytes | None:
        if not isinstance(signed, bytes):
            reason = "type"
        elif len(signed) > MOST_BYTES + OVERHEAD_BYTES:
            reason = "size"
        elif (value := self._signer.verified(name, signed)) is None:
            reason = "signature"
        else:
            return value
        self._bad_value.warn(reason=reason)
        return None

    async def _delete(self, name: str) -> None:
        await self._change(lambda: self._client.delete(name))

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
