"""Run CPU-bound work in a worker thread so that the event loop goes on.

A thread that runs Python code gives up the interpreter's lock every few milliseconds, so the loop goes on beside it. A
single call into C does not: its caller bounds what it works on, or does it in pieces.
"""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

# Threads share one interpreter: more of them finish nothing sooner, and each makes the loop wait longer for its turn.
_THREADS: Final = 3
# Up to so many values work stays on the loop. A text counts by its pieces of this length.
_FEW_VALUES: Final = 500
_PIECE_CHARACTERS: Final = 64
_PLAIN: Final = frozenset({int, float, bool, type(None)})


async def offload(work: Callable[P, ResultT], /, *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Return `work(…)`, run in a worker thread. A cancelled caller does not wait for it.

    A thread cannot be stopped: it finishes its work and keeps its place in the pool until then, so that cancelled calls
    never add up to more threads.
    """
    in_context = partial(copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool(), in_context)


async def offload_if_large(data: Any, work: Callable[P, ResultT], /, *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Return `work(…)`; in a worker thread where the data that it works on is large."""
    return await offload(work, *args, **kwargs) if is_large(data) else work(*args, **kwargs)


def is_large(data: Any) -> bool:
    """Whether data has so many values or characters that formatting it takes milliseconds. It stops counting there."""
    if isinstance(data, str | bytes):
        return len(data) > _FEW_VALUES * _PIECE_CHARACTERS
    return has_more_values(data, _FEW_VALUES, _PIECE_CHARACTERS)


def has_more_values(data: Any, most: int, piece_characters: int = sys.maxsize) -> bool:
    """Whether data holds more values than this, at any depth. A text counts by its pieces of so many characters."""
    count, waiting = 0, [data]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is str or kind is bytes:
            count += len(one) // piece_characters
        elif kind not in _PLAIN:
            parts = one if kind is list else one.values() if kind is dict else _parts(one)
            count += len(parts)
            if count <= most:
                waiting += parts
        if count > most:
            return True
    return False


def _parts(value: Any) -> Any:
    """What a value holds, if it is a container, a dataclass, a msgspec structure or a pydantic model."""
    kind = type(value)
    named = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    if named is not None:
        return [getattr(value, name) for name in named]
    if hasattr(kind, "__pydantic_fields__"):
        return value.__dict__.values()
    if isinstance(value, list | tuple):
        return value
    return value.values() if isinstance(value, Mapping) else ()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector while one call into C makes a great many objects, none of them garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="offload")
