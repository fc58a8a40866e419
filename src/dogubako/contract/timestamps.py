"""Format timestamps. The part that changes once a second is cached, because every call writes three."""

import time
from functools import lru_cache

# A lookup is cheaper than formatting.
_ENDS = tuple(f".{millisecond:03d}Z" for millisecond in range(1_000))


def utc_text(moment: float | None = None) -> str:
    """Now, or `moment`, as `2026-11-15T12:00:00.000Z`."""
    seconds = time.time() if moment is None else moment
    whole = int(seconds)
    return _utc_second(whole) + _ENDS[int((seconds - whole) * 1000)]


def local_text(moment: float) -> str:
    """The local time of day: `12:00:00`."""
    return _local_second(int(moment))


@lru_cache(maxsize=4)
def _utc_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


@lru_cache(maxsize=4)
def _local_second(second: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(second))
