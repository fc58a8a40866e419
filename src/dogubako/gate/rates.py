"""How often a caller may call: in a moving window, in all and per tool, and how many calls may run at once."""

import time
from collections import Counter
from typing import Any, Final

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import BusyError, RateLimitError

_HINT: Final = "Wait that long, or ask the operator for a higher RATE_LIMIT_MAX."


class RateLimits:
    """Counts calls. Several servers count together where `storage` is a Redis."""

    def __init__(
        self, *, most: int | None, window: int, most_per_tool: int | None = None, storage: str = "memory"
    ) -> None:
        # Heavy, and only those who limit need it.
        from limits import RateLimitItemPerSecond  # noqa: PLC0415
        from limits.aio.storage import MemoryStorage, RedisStorage  # noqa: PLC0415
        from limits.aio.strategies import MovingWindowRateLimiter  # noqa: PLC0415

        kept: Any = MemoryStorage() if storage == "memory" else RedisStorage(f"async+{storage}")
        self._limiter = MovingWindowRateLimiter(kept)
        self._all = RateLimitItemPerSecond(most, window) if most else None
        self._one = RateLimitItemPerSecond(most_per_tool, window) if most_per_tool else None

    async def count(self, call: ToolCall) -> None:
        """Count this call, or refuse it with the time to wait."""
        if self._all is not None:
            await self._hit(self._all, call.caller.name)
        if self._one is not None:
            await self._hit(self._one, call.caller.name, call.name)

    async def _hit(self, limit: Any, *who: str) -> None:
        if await self._limiter.hit(limit, *who):
            return
        window = await self._limiter.get_window_stats(limit, *who)
        raise RateLimitError(retry_after=max(1.0, window.reset_time - time.time()), hint=_HINT)


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
