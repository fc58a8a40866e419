"""How a process ends although a tool of it does not."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

_LAST_SECONDS: Final = 1.0


def run_to_the_end(
    main: Coroutine[Any, Any, None], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> None:
    """Like `asyncio.run`, for a server that gave everything its grace time before it returned.

    A task that swallows its cancellation and a thread that blocks would keep the process alive for ever; after one
    more second they are left behind, and the exit code is 0 all the same.
    """
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main)
        last = threading.Timer(_LAST_SECONDS, os._exit, args=(0,))
        last.daemon = True
        last.start()
