"""Queue work fairly: each owner in turn, and of equal turns the small work first."""

import asyncio
from collections.abc import Hashable
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count
from typing import Final

# Whose work it is: an authenticated caller, or one connection. Transports set it for each request.
work_owner: ContextVar[Hashable] = ContextVar("dogubako_work_owner", default=None)

# Owners that had their turn are forgotten when there are this many more of them than waiting pieces of work.
_MOST_REMEMBERED: Final = 1_000


class FairQueue:
    """Weighted fair queuing: what would be done first, if all owners were served at the same time, comes first.

    So an owner with much work waits for itself, and small work of a newcomer goes before large work of others. Virtual
    time goes on by what each owner would have got, so that large work has its turn as well.
    """

    def __init__(self) -> None:
        # When it would be done, by virtual time; its cost; its number; its turn.
        self._waiting: list[tuple[int, int, int, asyncio.Future[None]]] = []
        self._now = 0
        # The virtual time at which all work of an owner is done.
        self._done_at: dict[Hashable, int] = {}
        self._numbers = count()

    def __bool__(self) -> bool:
        self._drop_cancelled()
        return bool(self._waiting)

    def pass_by(self, cost: int) -> None:
        """Count work that starts at once."""
        self._turn(cost)

    def join(self, cost: int) -> "asyncio.Future[None]":
        """A future that is done when it is this work's turn. Cancelling it leaves the queue."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (self._turn(cost), cost, next(self._numbers), turn))
        return turn

    @property
    def next_cost(self) -> int:
        """The cost of the work whose turn is next. The queue must not be empty."""
        self._drop_cancelled()
        return self._waiting[0][1]

    def call_next(self) -> None:
        """Tell the next that it is its turn. The queue must not be empty."""
        self._drop_cancelled()
        _, cost, _, turn = heappop(self._waiting)
        self._now += cost // (len(self._waiting) + 1)
        turn.set_result(None)

    def _turn(self, cost: int) -> int:
        owner = work_owner.get()
        done_at = max(self._now, self._done_at.get(owner, 0)) + cost
        self._done_at[owner] = done_at
        if len(self._done_at) > len(self._waiting) + _MOST_REMEMBERED:
            self._done_at = {one: until for one, until in self._done_at.items() if until > self._now}
        return done_at

    def forget(self) -> None:
        """Forget past work. Call this when nothing runs and nothing waits."""
        self._now = 0
        self._done_at.clear()

    def _drop_cancelled(self) -> None:
        while self._waiting and self._waiting[0][3].cancelled():
            heappop(self._waiting)
