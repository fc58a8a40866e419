"""The clock of a loop, which can be put forward: what takes minutes happens at once, however slow the machine is."""

import asyncio
from collections.abc import Callable

# So often the loop goes round until everything has been done that was due.
_ROUNDS = 10


class LoopClock:
    """Goes on by itself; `ahead` is how much further it was put."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._time() + self.ahead

    async def passes(self, seconds: float) -> None:
        """Let so much time pass, and everything happen that waited for it."""
        self.ahead += seconds
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
