"""What our two users of Redis share, the cache and the rate limits: options, failures, and a quiet log."""

import asyncio
import time
from contextlib import suppress
from typing import Any, Final

import structlog

log = structlog.get_logger("dogubako.outbound")

# For one operation, connecting included; no call does more than three. `?socket_timeout=` in the address changes it.
OPERATION_SECONDS: Final = 0.1
_CLOSE_SECONDS: Final = 1.0
_LOG_INTERVAL_SECONDS: Final = 60.0
# What the client library raises when something that is no Redis answers, beside its own errors.
_GARBLED: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError, EOFError)


def connection_options() -> dict[str, Any]:
    """Options of the client: quick to give up, and one retry for a connection that was closed while it was idle."""
    # An extra: only those who configured a Redis need it.
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    return {
        "socket_timeout": OPERATION_SECONDS,
        "socket_connect_timeout": OPERATION_SECONDS,
        "retry": Retry(NoBackoff(), 1),
    }


def operation_seconds(client: Any) -> float:
    """How long one operation may take, as the address of this client says."""
    said = client.connection_pool.connection_kwargs.get("socket_timeout")
    return OPERATION_SECONDS if said is None else float(said)


def failures() -> tuple[type[Exception], ...]:
    """Errors that say that no usable Redis is there."""
    from redis.exceptions import RedisError  # noqa: PLC0415

    return (RedisError, *_GARBLED)


def refusals() -> tuple[type[Exception], ...]:
    """Errors by which a working Redis refuses one command: a wrong type, no memory left, a read-only replica."""
    from redis.exceptions import ResponseError  # noqa: PLC0415

    return (ResponseError,)


async def close(client: Any) -> None:
    """Close the connections. A Redis that hangs does not hold up the end of the server."""
    with suppress(OSError, *failures()):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.aclose()


class ThrottledLog:
    """Logs one event at most once a minute, with how often it happened."""

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
