"""A cache that several servers share."""

from typing import Any

import structlog

from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako.cache")


class RedisCache:
    """Remembers in Redis. When Redis is away, nothing is remembered and every call still works."""

    def __init__(self, url: str, *, ttl_seconds: int = 300) -> None:
        try:
            # An extra: only those who configured it need it.
            from redis import asyncio as redis  # noqa: PLC0415
            from redis.exceptions import RedisError  # noqa: PLC0415
        except ImportError:
            raise SettingsError("DOGUBAKO_CACHE is a redis:// address: install dogubako[redis] for it.") from None
        try:
            self._client: Any = redis.from_url(url, socket_timeout=1, socket_connect_timeout=1)
        except ValueError:
            # The address may hold a password; it is not repeated.
            raise SettingsError("Invalid setting: DOGUBAKO_CACHE: not a valid redis:// address.") from None
        self._trouble = (RedisError, OSError)
        self._ttl = ttl_seconds

    async def get(self, key: str) -> bytes | None:
        try:
            value: bytes | None = await self._client.get(key)
        except self._trouble as error:
            log.warning("Cache is away", error=type(error).__name__)
            return None
        return value

    async def put(self, key: str, value: bytes) -> None:
        try:
            await self._client.set(key, value, ex=self._ttl)
        except self._trouble as error:
            log.warning("Cache is away", error=type(error).__name__)

    async def aclose(self) -> None:
        await self._client.aclose()
