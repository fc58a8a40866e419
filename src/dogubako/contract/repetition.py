"""Work that must not be repeated when an attempt times out inside it.

The engine repeats an attempt that timed out, because networks recover. Some work takes as long again each time, for
example parsing a page that was written to be slow. Such work runs inside `never_repeated()`.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class AttemptState:
    """What the engine knows of one running attempt besides its result. `outer` is the attempt that called this tool."""

    __slots__ = ("outer", "repeatable")

    def __init__(self, outer: "AttemptState | None") -> None:
        self.outer = outer
        self.repeatable = True


_current: ContextVar[AttemptState | None] = ContextVar("dogubako_attempt", default=None)


@contextmanager
def attempt_state() -> Iterator[AttemptState]:
    """The state of the attempt that starts now. Tasks that start inside share it."""
    state = AttemptState(_current.get())
    token = _current.set(state)
    try:
        yield state
    finally:
        _current.reset(token)


@contextmanager
def never_repeated() -> Iterator[None]:
    """Forbid the engine to repeat the running attempt, and those around it, if it is cancelled inside this block."""
    try:
        yield
    except asyncio.CancelledError:
        state = _current.get()
        while state is not None:
            state.repeatable = False
            state = state.outer
        raise
