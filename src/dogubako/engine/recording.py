"""A record of what was asked for: of every call, and of what is read beside tools."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import InputRequired
from dogubako.contract.errors import DogubakoError, InternalError


class Recorder(Protocol):
    """Keeps a record of every call. One that was to change something is recorded before it is answered."""

    def record(
        self, call: ToolCall, code: str, milliseconds: float, *, pack: str | None = None, changing: bool = False
    ) -> None: ...


@contextmanager
def recorded(recorder: Recorder | None, call: ToolCall, pack: str | None, *, changing: bool = False) -> Iterator[None]:
    """Record what happens inside, whatever it is. `pack` brought what is read."""
    # What nothing below knows better is a fault of our own.
    started, code = time.perf_counter(), InternalError.code
    try:
        yield
        code = "OK"
    except InputRequired:
        code = "INPUT_REQUIRED"
        raise
    except DogubakoError as error:
        code = error.code
        raise
    except asyncio.CancelledError:
        code = "CANCELLED"
        raise
    finally:
        if recorder is not None:
            recorder.record(call, code, milliseconds_since(started), pack=pack, changing=changing)


def milliseconds_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
