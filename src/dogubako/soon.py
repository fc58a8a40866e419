"""Do something in a moment, once for everything that has come together by then."""

import asyncio
from collections.abc import Callable


class Soon:
    """Runs `work` so many seconds after it was first wanted, on the loop that wanted it."""

    def __init__(self, work: Callable[[], None], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._planned_on: asyncio.AbstractEventLoop | None = None

    def wanted(self) -> bool:
        """Whether it will run. Where no loop runs nothing can wait, and the caller does it at once."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        # The loop of an earlier plan may have ended before its time came.
        if self._planned_on is not loop:
            self._planned_on = loop
            loop.call_later(self._seconds, self._run)
        return True

    def _run(self) -> None:
        self._planned_on = None
        self._work()
