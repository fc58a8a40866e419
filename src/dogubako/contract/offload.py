"""Run CPU-bound work in a worker thread, weigh answers, and mark work that must not be repeated when it timed out.

A thread that runs Python code gives up the interpreter's lock every few milliseconds, so the event loop goes on beside
it. A single call into C does not: its caller bounds what it works on, or does it in pieces.

The engine repeats an attempt that timed out, because networks recover. Some work takes as long again each time, for
example parsing a page that was written to be slow. Such work runs inside `never_repeated()`.
"""

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import chain, islice
from typing import Any, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.fair_queue import FairQueue
from dogubako.contract.output import Audio, Embedded, Image, XmlElement


class RunningAttempt(Protocol):
    """The attempt that a tool runs in. It bounds the memory of large answers, and may be repeated when it times out."""

    # The tools that have to wait for room.
    large_tools: Collection[str]

    async def wait_for_room(self) -> None: ...

    def weigh(self, answer: Any) -> None: ...

    def forbid_repetition(self) -> None:
        """Keep this attempt, and those around it, from being repeated."""


# Set by the engine for each attempt.
running_attempt: ContextVar[RunningAttempt | None] = ContextVar("dogubako_running_attempt", default=None)


@contextmanager
def never_repeated() -> Iterator[None]:
    """Prevent a retry of the running attempt, and of its outer ones, if it is cancelled inside this block."""
    try:
        yield
    except asyncio.CancelledError:
        if (attempt := running_attempt.get()) is not None:
            attempt.forbid_repetition()
        raise


P = ParamSpec("P")
ResultT = TypeVar("ResultT")

# Threads share one interpreter: more threads finish nothing sooner, and each delays the event loop.
_THREADS: Final = 3
# Up to this many values, work stays on the loop. A string counts as one value per this many characters.
_FEW_VALUES: Final = 500
_PIECE_CHARACTERS: Final = 64
# Normalisation makes up to 18 characters of one outside ASCII, and their tokens are counted more slowly.
_WIDE_WEIGHT: Final = 8
# Weighing more values than this would itself take milliseconds.
_MOST_WEIGHED: Final = 10_000
# What work of unknown size counts in the queue for a thread.
_UNKNOWN_BYTES: Final = 256 * 1024
TEXTS: Final = (str, bytes, bytearray, memoryview)
# An answer with more is refused. No service may answer more either, so an honest tool does not meet this bound.
MOST_BYTES: Final = 32 * 1024 * 1024
MOST_VALUES: Final = 3_000_000
# Most characters outside ASCII have three bytes.
_WIDE_BYTES: Final = 3
_PLAIN: Final = frozenset({int, float, bool, type(None)})


async def offload(work: Callable[P, ResultT], /, *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Return `work(…)`, run in a worker thread. A cancelled caller does not wait for it.

    A thread cannot be stopped: it finishes its work and keeps its place in the pool, so that cancelled calls
    never add up to more threads. Waiting work gets its thread in a fair order.
    """
    return await _run_in_turn(_UNKNOWN_BYTES, partial(work, *args, **kwargs))


async def offload_if_large(data: Any, work: Callable[P, ResultT], /, *args: P.args, **kwargs: P.kwargs) -> ResultT:
    """Return `work(…)`, run in a worker thread if `data` is large."""
    if not is_large(data):
        return work(*args, **kwargs)
    return await _run_in_turn(weight_of(data), partial(work, *args, **kwargs))


async def _run_in_turn(cost: int, work: Callable[[], ResultT]) -> ResultT:
    loop = asyncio.get_running_loop()
    turns = _turns_of(loop)
    await turns.enter(cost)
    # Not a local variable: its error would refer to this frame, the frame to it, and both to what was worked on.
    return await _submit(work, loop, turns)


def _submit(work: Callable[[], ResultT], loop: asyncio.AbstractEventLoop, turns: "_Turns") -> "asyncio.Future[ResultT]":
    job = _pool().submit(copy_context().run, work)
    # By the thread's own end: a cancelled caller is gone while its thread still runs.
    job.add_done_callback(partial(_leave, loop, turns))
    return asyncio.wrap_future(job)


class _Turns:
    """The threads that one event loop uses, and the work that waits for them."""

    def __init__(self) -> None:
        self._running = 0
        self._queue = FairQueue()

    async def enter(self, cost: int) -> None:
        if self._running < _THREADS and not self._queue:
            self._running += 1
            self._queue.pass_by(cost)
            return
        turn = self._queue.join(cost)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was given its turn in the moment in which it was cancelled.
                self.leave()
            raise

    def leave(self) -> None:
        if self._queue:
            self._queue.call_next()
            return
        self._running -= 1
        if not self._running:
            self._queue.forget()


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


def _turns_of(loop: asyncio.AbstractEventLoop) -> _Turns:
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = _Turns()
    return turns


def _leave(loop: asyncio.AbstractEventLoop, turns: _Turns, _: object) -> None:
    # A loop that is closed has nothing left that waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(turns.leave)


def is_large(data: Any) -> bool:
    """Whether data has so many values or characters that formatting it takes milliseconds. It stops counting there."""
    if type(data) is str and len(data) < _PIECE_CHARACTERS:
        return False
    return has_more_values(data, _FEW_VALUES, _PIECE_CHARACTERS)


def weight_of(data: Any) -> int:
    """About how many bytes data takes, at least. Long texts count in full, deep structures up to a bound."""
    return _count_values(data, _MOST_WEIGHED, _PIECE_CHARACTERS) * _PIECE_CHARACTERS


def has_more_values(data: Any, most: int, piece_characters: int = sys.maxsize) -> bool:
    """Whether data holds more values than `most`, at any depth. A string counts as one per `piece_characters`."""
    return _count_values(data, most, piece_characters) > most


def _count_values(data: Any, most: int, piece_characters: int) -> int:
    """The number of values, or some number above `most`: there it stops counting."""
    # The list around it does not count.
    count = -1
    waiting: list[Any] = [[data]]
    while waiting and count <= most:
        one = waiting.pop()
        kind = type(one)
        # The usual kinds first: what holds for all others takes far longer to find out.
        names: Iterable[Any] = ()
        if kind is list:
            parts = one
        elif kind is dict:
            # A name may be as long as any text.
            parts, names = one.values(), one
        elif kind is XmlElement:
            # Without its attributes where there are none, as in most elements.
            parts = (one.tag, one.attributes, one.children) if one.attributes else (one.tag, "", one.children)
        else:
            parts, names = parts_of(one), names_in(one)
        if isinstance(parts, TEXTS):
            count += len(parts) // piece_characters
            continue
        count += len(parts)
        if count > most:
            break
        for part in chain(parts, names) if names else parts:
            kind_of_part = type(part)
            if kind_of_part is str:
                count += (len(part) if part.isascii() else _WIDE_WEIGHT * len(part)) // piece_characters
            elif kind_of_part not in _PLAIN:
                waiting.append(part)
    return count


# With so many values an answer is searched for a circle, once: to count along it would take seconds.
_SOON_SUSPICIOUS: Final = 20_000
# A circle is an error of the tool's author and found on a short way; a large answer is not searched to its end.
_MOST_STEPS_FOR_CIRCLES: Final = 10_000
_MOST_PARTS_FOR_CIRCLES: Final = 100


def check_size(answer: Any) -> None:
    """Raise AnswerTooLargeError if an answer has more values or bytes than can be cut.

    To clean, mask and encode what is larger takes steps in C that keep the interpreter for too long, in any thread.
    The bytes of a picture, a sound or a file do not count: they are shown whole or not at all.
    """
    values, size, waiting = 0, 0, [answer]
    is_searched = False
    while waiting:
        one = waiting.pop()
        if type(one) in _PLAIN:
            continue
        if values > _SOON_SUSPICIOUS and not is_searched:
            is_searched = True
            if _contains_itself(answer):
                raise ValueError("the answer contains itself")
        parts = _without_files(one)
        if isinstance(parts, TEXTS):
            wide = isinstance(parts, str) and not parts.isascii()
            size += len(parts) * (_WIDE_BYTES if wide else 1)
        else:
            values += len(parts)
            if values <= MOST_VALUES:
                waiting += parts
                waiting += names_in(one)
        if size > MOST_BYTES:
            raise _too_large(f"more than {MOST_BYTES // 1024**2} MB of text")
        if values > MOST_VALUES:
            raise _too_large(f"more than {MOST_VALUES:,} values")


def _contains_itself(data: Any) -> bool:
    """Whether data leads back to itself, as far as a bounded search shows."""
    trail: list[int] = []
    on_trail: set[int] = set()
    waiting: list[tuple[Any, int]] = [(data, 0)]
    for _ in range(_MOST_STEPS_FOR_CIRCLES):
        if not waiting:
            return False
        one, depth = waiting.pop()
        on_trail -= set(trail[depth:])
        del trail[depth:]
        if id(one) in on_trail:
            return True
        parts = () if type(one) in _PLAIN else _without_files(one)
        if parts and not isinstance(parts, TEXTS):
            trail.append(id(one))
            on_trail.add(id(one))
            waiting += ((part, depth + 1) for part in islice(parts, _MOST_PARTS_FOR_CIRCLES))
    return False


def _without_files(value: Any) -> Any:
    if isinstance(value, Image | Audio) or (isinstance(value, Embedded) and isinstance(value.body, bytes)):
        return (value.mime_type or "", value.uri or "")
    return parts_of(value)


def _too_large(what: str) -> AnswerTooLargeError:
    return AnswerTooLargeError(f"The answer has {what}, which is too much to be cut.", hint="Ask for less at once.")


def parts_of(value: Any) -> Any:
    """What a value holds, if it is a text, a container, a dataclass, a msgspec structure or a pydantic model."""
    kind = type(value)
    named = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", None)
    if named is not None:
        return [getattr(value, name) for name in named]
    if hasattr(kind, "__pydantic_fields__"):
        return value.__dict__.values()
    if isinstance(value, (list, tuple, set, frozenset, deque, *TEXTS)):
        return value
    return value.values() if isinstance(value, Mapping) else ()


def names_in(value: Any) -> Iterable[Any]:
    """The names in a mapping, which `parts_of` leaves out."""
    return value if isinstance(value, Mapping) else ()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector while one call into C creates many objects that are not garbage."""
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
