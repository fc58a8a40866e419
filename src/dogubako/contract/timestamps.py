"""Format timestamps. Texts are cached, because every call writes three, and many calls end in the same moment."""

import time
from functools import lru_cache


def utc_text(moment: float | None = None) -> str:
    """Now, or `moment`, as `2026-11-15T12:00:00.000Z`."""
    return _of_millisecond(int((time.time() if moment is None else moment) * 1000))[1]


def local_text(moment: float) -> str:
    """The local time of day: `12:00:00`."""
    return _of_millisecond(int(moment * 1000))[0]


def local_and_utc(moment: float) -> tuple[str, str]:
    """`local_text` and `utc_text` of the same moment."""
    return _of_millisecond(int(moment * 1000))


@lru_cache(maxsize=64)
def _of_millisecond(milliseconds: int) -> tuple[str, str]:
    second, rest = divmod(milliseconds, 1000)
    local, utc = _of_second(second)
    return local, f"{utc}.{rest:03d}Z"


@lru_cache(maxsize=4)
def _of_second(second: int) -> tuple[str, str]:
    return (
        time.strftime("%H:%M:%S", time.localtime(second)),
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)),
    )
