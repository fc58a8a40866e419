"""The time as text. Every call writes it three times, so the part that changes once a second is kept."""

import time
from functools import lru_cache

# Cheaper to look up than to write.
_ENDS = tuple(f".{millisecond:03d}Z" for millisecond in range(1_000))


def utc_text(moment: float | None = None) -> str:
    """Now, or then, as `2026-11-15T12:00:00.000Z`."""
    seconds = time.time() if moment is None else moment
    whole = int(seconds)
    return _utc_second(whole) + _ENDS[int((seconds - whole) * 1000)]


def local_text(moment: float) -> str:
    """As people at this machine read a clock: `12:00:00`."""
    return _local_second(int(moment))


@lru_cache(maxsize=4)
def _utc_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


@lru_cache(maxsize=4)
def _local_second(second: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(second))
