"""Tune garbage collection, and return memory to the operating system."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

# glibc's initial value. Without this it grows with each large block that is freed, up to 32 MB, and smaller blocks stay
# in the process.
_MMAP_THRESHOLD: Final = 128 * 1024
_M_MMAP_THRESHOLD: Final = -3


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage while something is made that lives as long as the process: that takes a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def settle() -> None:
    """Prepare for a long run: the garbage collector ignores objects that live as long as the server.

    So a full collection takes milliseconds, and can run often enough to free cycles early.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 5)
    return_large_blocks()


@cache
def return_large_blocks() -> None:
    """Make glibc return every large block to the system when it is freed. Other allocators do so by themselves."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - takes as long as all else here, and a process without large answers does not need it

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
