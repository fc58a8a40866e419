"""End the process on time, although a tool does not end, and with its last lines written."""

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

_LAST_SECONDS: Final = 1.0
_LAST_ACTS_SECONDS: Final = 1.0

_last_acts: list[Callable[[], None]] = []
_hurried = threading.Event()


def run_to_the_end(
    main: Coroutine[Any, Any, None], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    """Like `asyncio.run`, for a server that gave everything its grace time before it returned.

    A task that swallows its cancellation and a thread that blocks would keep the process alive for ever; after one
    more second they are left behind, and the exit code is 0 all the same.
    """
    # Started now: a signal handler that interrupts the start of another thread could not start one.
    threading.Thread(target=_leave_when_hurried, name="ending", daemon=True).start()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main)
        hurry()


def hurry() -> None:
    """End the process a second from now, whatever still runs. A signal handler may call this."""
    _hurried.set()


def at_the_end(act: Callable[[], None]) -> None:
    """Call `act` when the process ends, also when it does not wait for all threads. The last registered runs first."""
    _last_acts.append(act)


def _leave_when_hurried() -> None:
    _hurried.wait()
    time.sleep(_LAST_SECONDS)
    # A last line may go to a reader who does not read: it gets no more than a moment.
    acting = threading.Thread(target=_act, name="last acts", daemon=True)
    acting.start()
    acting.join(_LAST_ACTS_SECONDS)
    os._exit(0)


@atexit.register
def _act() -> None:
    while _last_acts:
        _last_acts.pop()()
