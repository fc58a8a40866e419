"""How often a caller may call: in a moving window, in all and per tool, and how many calls may run at once."""

import math
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import structlog

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import BusyError, RateLimitError
from dogubako.contract.pack import Finding
from dogubako.settings import SettingsError

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.aio.storage import RedisStorage
    from limits.aio.strategies import MovingWindowRateLimiter

log = structlog.get_logger("dogubako.gate")

_HINT: Final = "Wait {wait} s, or ask the operator for a higher {setting}."
_PREFIX: Final = "dogubako:calls"
_USUAL_PORT: Final = 6379
# A Redis that hangs must not make every call wait for it.
_AWAY_SECONDS: Final = 5.0
# Of so many callers it is remembered how many calls they run; who runs none can be forgotten.
_MOST_CALLERS: Final = 10_000


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

        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared = None if storage == "memory" else MovingWindowRateLimiter(_redis(storage))
        self._place = _place(storage)
        self._all = RateLimitItemPerSecond(most, window) if most else None
        self._one = RateLimitItemPerSecond(most_per_tool, window) if most_per_tool else None
        self._trouble = (StorageError, OSError)
        self._away_until = 0.0

    async def count(self, call: ToolCall) -> None:
        """Count a call against what its caller may ask for in all, or refuse it with the time to wait."""
        await self._hit(self._all, "RATE_LIMIT_MAX", "all", call.caller.identity)

    async def count_tool(self, call: ToolCall) -> None:
        """Count a call against what its caller may ask of one tool."""
        await self._hit(self._one, "RATE_LIMIT_TOOL_MAX", "tool", call.caller.identity, call.name)

    async def check(self) -> list[Finding]:
        """Whether the shared counter answers. Its address may hold a password, so only its place is told."""
        if self._shared is None:
            return []
        if await self._shared.storage.check():
            return [Finding(ok=True, subject="rate limits", message=f"counted at {self._place}")]
        message = f"The Redis at {self._place} does not answer, so each server counts calls for itself."
        advice = "Start it, or change RATE_LIMIT_STORAGE."
        return [Finding(ok=False, subject="rate limits", message=message, advice=advice, severity="warning")]

    async def aclose(self) -> None:
        if self._shared is not None:
            await _close(self._shared)

    async def _hit(self, limit: "RateLimitItem | None", setting: str, *who: str) -> None:
        if limit is None:
            return
        if self._shared is not None and time.monotonic() >= self._away_until:
            try:
                await _hit_or_refuse(self._shared, limit, setting, who)
            except self._trouble as error:
                self._away_until = time.monotonic() + _AWAY_SECONDS
                cause = getattr(error, "storage_error", error)
                log.warning("The shared counter is away; calls are counted here", error=type(cause).__name__)
            else:
                return
        await _hit_or_refuse(self._own, limit, setting, who)


async def _hit_or_refuse(
    limiter: "MovingWindowRateLimiter", limit: "RateLimitItem", setting: str, who: tuple[str, ...]
) -> None:
    if await limiter.hit(limit, *who):
        return
    window = await limiter.get_window_stats(limit, *who)
    wait = max(1, math.ceil(window.reset_time - time.time()))
    raise RateLimitError(retry_after=float(wait), hint=_HINT.format(wait=wait, setting=setting))


async def _close(limiter: Any) -> None:
    # `limits` has no public way to close what it opened.
    await limiter.storage.bridge.storage.aclose()


def _redis(url: str) -> "RedisStorage":
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


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _USUAL_PORT}"


class Crowd:
    """How many calls of each caller are running."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[str, Places] = {}

    def place(self, caller: str) -> "Places":
        """To be held while a call runs."""
        places = self._places.get(caller)
        if places is None:
            if len(self._places) >= _MOST_CALLERS:
                self._places = {name: one for name, one in self._places.items() if one.running}
            places = self._places[caller] = Places(self._most)
        return places


class Places:
    """The places of one caller. Entered once for every call, so it is made once for all of them."""

    __slots__ = ("_most", "running")

    def __init__(self, most: int) -> None:
        self._most = most
        self.running = 0

    def __enter__(self) -> None:
        if self.running >= self._most:
            message = "Too many of your calls are running already."
            raise BusyError(message, hint=f"At most {self._most} at once; wait for one to end.")
        self.running += 1

    def __exit__(self, *_: object) -> None:
        self.running -= 1
