"""Rate limits per caller and per tool in a moving window, and concurrency limits per caller."""

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import BusyError, RateLimitError
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
from dogubako.settings import SettingsError

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.aio.storage import RedisStorage
    from limits.aio.strategies import MovingWindowRateLimiter

    from dogubako.outbound.shared_redis import SharedRedis

_UNCOUNTED: Final = "Calls cannot be counted against the limits now: the Redis that counts them {reason}."
_HINT: Final = "Wait {wait} s, or ask the operator for a higher {setting}."
_PREFIX: Final = "dogubako:calls"
_USUAL_PORT: Final = 6379
# Calls are counted for this many callers; callers without running calls are dropped.
_MOST_CALLERS: Final = 10_000


# A process takes at most this share of a limit at once, for a caller that calls often.
_LEASED_SHARE: Final = 64
_MOST_LEASED: Final = 50
_LEASE_SECONDS: Final = 1.0
# Of the calls in the last second, as many are taken in advance as one in four of them.
_IN_ADVANCE: Final = 4


class _Lease:
    """Calls of one caller that are counted in Redis already, and that this process may let pass.

    It asks for more the more often the caller calls, so that what is never used is less than a quarter of its calls in
    the last second.
    """

    __slots__ = ("_left", "_until", "_used", "lock")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._left = 0
        self._until = 0.0
        self._used = 0

    def note_call(self, now: float) -> None:
        """Learn of a call. What was counted for longer than a second is forgotten."""
        if now >= self._until:
            self._left = self._used = 0
            self._until = now + _LEASE_SECONDS
        self._used += 1

    def take(self) -> bool:
        """Whether a call may pass that was counted before."""
        if not self._left:
            return False
        self._left -= 1
        return True

    def wanted(self, most: int) -> int:
        """How many calls to count now."""
        return max(1, min(self._used // _IN_ADVANCE, most // _LEASED_SHARE, _MOST_LEASED))

    def add(self, calls: int) -> None:
        self._left += calls


class RateLimits:
    """Counts calls. Servers share the count in a Redis; while it is unreachable, each counts for itself."""

    def __init__(
        self,
        *,
        most: int | None,
        window: int,
        most_per_tool: int | None = None,
        storage: str = "memory",
        shared: "SharedRedis | None" = None,
    ) -> None:
        # Slow to import, and needed only with limits.
        from limits import RateLimitItemPerSecond  # noqa: PLC0415
        from limits.aio.storage import MemoryStorage  # noqa: PLC0415
        from limits.aio.strategies import MovingWindowRateLimiter  # noqa: PLC0415

        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared = None if storage == "memory" else _SharedCounter(MovingWindowRateLimiter(_redis(storage)))
        self._closes = shared is not None and shared.closes_limits
        if shared is not None:
            self._shared = _SharedCounter(MovingWindowRateLimiter(_counter_in(shared)), shared)
        self._place = _place(storage)
        self._all = RateLimitItemPerSecond(most, window) if most else None
        self._one = RateLimitItemPerSecond(most_per_tool, window) if most_per_tool else None

    async def count(self, call: ToolCall) -> None:
        """Count a call against its caller's total limit, or refuse it with the time to wait."""
        await self._hit(self._all, "RATE_LIMIT_MAX", "all", call.caller.identity)

    async def count_tool(self, call: ToolCall) -> None:
        """Count a call against its caller's limit for this tool."""
        await self._hit(self._one, "RATE_LIMIT_TOOL_MAX", "tool", call.caller.identity, call.name)

    async def check(self) -> list[HealthCheck]:
        """Whether the shared counter answers. Its URL may hold a password, so only the host is shown."""
        if self._shared is None or self._shared.checked_elsewhere:
            return []
        if await self._shared.answers():
            return [HealthCheck(ok=True, subject="rate limits", message=f"counted at {self._place}")]
        message = f"The Redis at {self._place} does not answer, so each server counts calls for itself."
        advice = "Start it, or change RATE_LIMIT_STORAGE."
        return [HealthCheck(ok=False, subject="rate limits", message=message, advice=advice, severity="warning")]

    async def aclose(self) -> None:
        if self._shared is not None:
            await self._shared.aclose()

    async def _hit(self, limit: "RateLimitItem | None", setting: str, *who: str) -> None:
        if limit is None:
            return
        wait = await self._counted(limit, who)
        if wait:
            raise RateLimitError(retry_after=float(wait), hint=_HINT.format(wait=wait, setting=setting))

    async def _counted(self, limit: "RateLimitItem", who: tuple[str, ...]) -> int:
        if self._shared is not None:
            try:
                return await self._shared.hit(limit, who)
            except Unavailable as error:
                if self._closes:
                    raise uncounted(error) from None
        return await _hit(self._own, limit, who)


class _SharedCounter:
    """Counts in a Redis. Raises Unavailable when the server must count for itself."""

    def __init__(self, limiter: "MovingWindowRateLimiter", shared: "SharedRedis | None" = None) -> None:
        self._limiter = limiter
        self._owner = shared
        self.checked_elsewhere = shared is not None
        # `limits` has no public way to its client.
        self._client: Any = limiter.storage.bridge.storage  # type: ignore[attr-defined]
        if shared is None:
            # A call is counted, and a refused one also asks for the time to wait.
            seconds = 2 * operation_seconds(self._client)
            self._breaker = CircuitBreaker("rate limits", seconds=seconds, failures=failures())
        self._refusals = refusals()
        self._refused = ThrottledLog("The shared counter refused a command; calls are counted here")
        self._leases: dict[tuple[str, ...], _Lease] = {}

    async def hit(self, limit: "RateLimitItem", who: tuple[str, ...]) -> int:
        if self._owner is not None:
            return await self._hit_leased(self._owner, limit, who)
        return await self._breaker.run(lambda: self._hit(limit, who))

    async def _hit_leased(self, owner: "SharedRedis", limit: "RateLimitItem", who: tuple[str, ...]) -> int:
        """Count a call, and for a busy caller some of the next ones with it: each command costs 200 µs here."""
        lease = self._leases.get(who)
        if lease is None:
            if len(self._leases) >= _MOST_CALLERS:
                self._leases.clear()
            lease = self._leases[who] = _Lease()
        lease.note_call(asyncio.get_running_loop().time())
        if lease.take():
            return 0
        if lease.wanted(limit.amount) == 1:
            return await owner.run(lambda: _hit(self._limiter, limit, who))
        async with lease.lock:
            # Somebody else may have asked meanwhile.
            if lease.take():
                return 0
            calls = lease.wanted(limit.amount)
            if await owner.run(lambda: self._limiter.hit(limit, *who, cost=calls)):
                lease.add(calls - 1)
                return 0
        return await owner.run(lambda: _hit(self._limiter, limit, who))

    async def _hit(self, limit: "RateLimitItem", who: tuple[str, ...]) -> int:
        try:
            return await _hit(self._limiter, limit, who)
        except self._refusals as error:
            self._refused.warn(error=type(error).__name__)
            raise Unavailable from None

    async def answers(self) -> bool:
        return await self._limiter.storage.check()

    async def aclose(self) -> None:
        if self._owner is None:
            await close(self._client)


def uncounted(error: Unavailable) -> BusyError:
    """The error for a call that must not run without being counted."""
    return BusyError(_UNCOUNTED.format(reason=error.reason), hint="Try again in a moment.")


async def _hit(limiter: "MovingWindowRateLimiter", limit: "RateLimitItem", who: tuple[str, ...]) -> int:
    """Count a call. Returns 0 if it may run, else the seconds to wait."""
    if await limiter.hit(limit, *who):
        return 0
    window = await limiter.get_window_stats(limit, *who)
    return max(1, math.ceil(window.reset_time - time.time()))


def _redis(url: str) -> "RedisStorage":
    from limits.aio.storage import RedisStorage  # noqa: PLC0415
    from limits.errors import ConfigurationError  # noqa: PLC0415

    try:
        return RedisStorage(f"async+{url}", implementation="redispy", key_prefix=_PREFIX, **connection_options())
    except (ConfigurationError, ImportError):
        raise SettingsError("RATE_LIMIT_STORAGE is a redis:// address: install dogubako[redis] for it.") from None
    except ValueError:
        # The URL may hold a password; it is not repeated.
        raise SettingsError("Invalid setting: RATE_LIMIT_STORAGE: not a valid redis:// address.") from None


def _counter_in(shared: "SharedRedis") -> "RedisStorage":
    """A counter that uses the connections of the shared Redis."""
    from limits.aio.storage import RedisStorage  # noqa: PLC0415

    storage = RedisStorage("async+redis://", implementation="redispy", key_prefix=shared.name("calls"))
    # `limits` takes a connection pool, which a cluster does not have.
    bridge: Any = storage.bridge
    bridge.storage = shared.client
    bridge.register_scripts()
    return storage


def too_many_calls(most: int) -> BusyError:
    """The error for a caller that runs too many calls."""
    message = "Too many of your calls are running already."
    return BusyError(message, hint=f"At most {most} at once; wait for one to end.")


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _USUAL_PORT}"


class ConcurrencyLimits:
    """Counts the running calls of each caller."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Those that somebody holds: a running call, or what is prepared for the calls of a caller.
        self._places: WeakValueDictionary[str, Places] = WeakValueDictionary()

    def place(self, caller: str) -> "Places":
        """The place that a call holds while it runs."""
        places = self._places.get(caller)
        if places is None:
            places = self._places[caller] = Places(self._most)
        return places


class Places:
    """The running calls of one caller, entered once per call."""

    __slots__ = ("__weakref__", "_most", "running")

    def __init__(self, most: int) -> None:
        self._most = most
        self.running = 0

    def check(self) -> None:
        if self.running >= self._most:
            raise too_many_calls(self._most)

    def __enter__(self) -> None:
        self.check()
        self.running += 1

    def __exit__(self, *_: object) -> None:
        self.running -= 1
