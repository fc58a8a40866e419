"""Run a server's event loop, and end the process even if a tool never ends."""

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
    """Like `asyncio.run`, for a server that has already waited for the grace time.

    A task that swallows its cancellation and a thread that blocks would keep the process alive for ever; after one
    more second they are abandoned, and the exit code is still 0.
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
    """Call `act` when the process ends, even if threads are abandoned. The last registered runs first."""
    _last_acts.append(act)


def _leave_when_hurried() -> None:
    _hurried.wait()
    time.sleep(_LAST_SECONDS)
    # The last lines may go to a reader that does not read, so they have a timeout.
    acting = threading.Thread(target=_act, name="last acts", daemon=True)
    acting.start()
    acting.join(_LAST_ACTS_SECONDS)
    os._exit(0)


@atexit.register
def _act() -> None:
    while _last_acts:
        _last_acts.pop()()
