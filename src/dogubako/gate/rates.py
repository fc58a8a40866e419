"""How often a caller may call: in a moving window, in all and per tool, and how many calls may run at once."""

import math
import time
from collections import Counter
from typing import Any, Final

import structlog

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import BusyError, RateLimitError
from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako.gate")

_HINT: Final = "Wait that long, or ask the operator for a higher RATE_LIMIT_MAX."
_PREFIX: Final = "dogubako:calls"
# A Redis that hangs must not make every call wait for it.
_AWAY_SECONDS: Final = 5.0


class RateLimits:
    """Counts calls. Several servers count together where `storage` is a Redis; while it is away, each for itself."""

    def __init__(
        self, *, most: int | None, window: int, most_per_tool: int | None = None, storage: str = "memory"
    ) -> None:
        # Heavy, and only those who limit need it.
        from limits import RateLimitItemPerSecond  # noqa: PLC0415
        from limits.aio.storage import MemoryStorage  # noqa: PLC0415
        from limits.aio.strategies import MovingWindowRateLimiter  # noqa: PLC0415
        from limits.errors import StorageError  # noqa: PLC0415

        self._own: Any = MovingWindowRateLimiter(MemoryStorage())
        self._shared: Any = None if storage == "memory" else MovingWindowRateLimiter(_redis(storage))
        self._all = RateLimitItemPerSecond(most, window) if most else None
        self._one = RateLimitItemPerSecond(most_per_tool, window) if most_per_tool else None
        self._trouble = (StorageError, OSError)
        self._away_until = 0.0

    async def count(self, call: ToolCall) -> None:
        """Count this call, or refuse it with the time to wait."""
        if self._shared is not None and time.monotonic() >= self._away_until:
            try:
                await self._count(self._shared, call)
            except self._trouble as error:
                self._away_until = time.monotonic() + _AWAY_SECONDS
                cause = getattr(error, "storage_error", error)
                log.warning("The shared counter is away; calls are counted here", error=type(cause).__name__)
            else:
                return
        await self._count(self._own, call)

    async def aclose(self) -> None:
        if self._shared is not None:
            await self._shared.storage.bridge.storage.aclose()

    async def _count(self, limiter: Any, call: ToolCall) -> None:
        caller, tool = ("all", call.caller.name), ("tool", call.caller.name, call.name)
        # Looked at first, so that what is refused for one tool takes nothing from the others.
        if self._one is not None and not await limiter.test(self._one, *tool):
            await _refuse(limiter, self._one, tool)
        if self._all is not None and not await limiter.hit(self._all, *caller):
            await _refuse(limiter, self._all, caller)
        if self._one is not None and not await limiter.hit(self._one, *tool):
            await _refuse(limiter, self._one, tool)


async def _refuse(limiter: Any, limit: Any, who: tuple[str, ...]) -> None:
    window = await limiter.get_window_stats(limit, *who)
    raise RateLimitError(retry_after=float(max(1, math.ceil(window.reset_time - time.time()))), hint=_HINT)


def _redis(url: str) -> Any:
    from limits.aio.storage import RedisStorage  # noqa: PLC0415
    from limits.errors import ConfigurationError  # noqa: PLC0415

    patience = {"socket_timeout": 1, "socket_connect_timeout": 1}
    try:
        return RedisStorage(
            f"async+{url}", wrap_exceptions=True, implementation="redispy", key_prefix=_PREFIX, **patience
        )
    except ConfigurationError:
        raise SettingsError("RATE_LIMIT_STORAGE is a redis:// address: install dogubako[redis] for it.") from None
    except ValueError:
        # The address may hold a password; it is not repeated.
        raise SettingsError("Invalid setting: RATE_LIMIT_STORAGE: not a valid redis:// address.") from None


class Crowd:
    """How many calls of each caller are running."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: Counter[str] = Counter()

    def enter(self, caller: str) -> None:
        if self._running[caller] >= self._most:
            message = "Too many of your calls are running already."
            raise BusyError(message, hint=f"At most {self._most} at once; wait for one to end.")
        self._running[caller] += 1

    def leave(self, caller: str) -> None:
        self._running[caller] -= 1
        if self._running[caller] <= 0:
            del self._running[caller]
