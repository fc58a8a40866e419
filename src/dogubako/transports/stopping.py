"""Stop what is running in a task, from outside, and go on in that task as if nothing had happened."""

import asyncio
from types import TracebackType
from typing import Self


class Stop:
    """What runs inside can be stopped with `cancel`. Built like `asyncio.timeout`, with a person in place of a clock.

    A cancel scope of anyio can do more (shields, deadlines) and costs eight times as much, on every call.
    """

    def __init__(self) -> None:
        self.called = False
        self._over = False
        self._task: asyncio.Task[object] | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._over = True
        if not self.called or self._task is None:
            return False
        # Somebody else may have cancelled the task too; then the cancellation goes on.
        return self._task.uncancel() == 0 and kind is not None and issubclass(kind, asyncio.CancelledError)

    def cancel(self) -> None:
        if self._task is not None and not self._over and not self.called:
            self.called = True
            self._task.cancel()
