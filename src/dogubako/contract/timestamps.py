"""Format timestamps. The part that changes once a second is cached, because every call writes three."""

import time
from functools import lru_cache

# A lookup is cheaper than formatting.
_ENDS = tuple(f".{millisecond:03d}Z" for millisecond in range(1_000))


def utc_text(moment: float | None = None) -> str:
    """Now, or `moment`, as `2026-11-15T12:00:00.000Z`."""
    return local_and_utc(time.time() if moment is None else moment)[1]


def local_text(moment: float) -> str:
    """The local time of day: `12:00:00`."""
    return _of_second(int(moment))[0]


def local_and_utc(moment: float) -> tuple[str, str]:
    """`local_text` and `utc_text` of the same moment."""
    second = int(moment)
    local, utc = _of_second(second)
    return local, utc + _ENDS[int((moment - second) * 1000)]


@lru_cache(maxsize=4)
def _of_second(second: int) -> tuple[str, str]:
    return (
        time.strftime("%H:%M:%S", time.localtime(second)),
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)),
    )
