"""Run a call until it waits, and then cancel it when its HTTP client disconnects."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, cast

import anyio
import msgspec
from starlette.types import Receive

from dogubako._tasks import Ended
from dogubako._timers import set_timer
from dogubako.contract.errors import CancelledError

ResultT = TypeVar("ResultT")


class Waiting(msgspec.Struct, Generic[ResultT]):
    """The rest of a coroutine that has begun in this task and waits for something. Awaiting it goes on."""

    coroutine: Coroutine[Any, Any, ResultT]
    waits_for: Any
    has_begun: bool = False

    def __await__(self) -> Generator[Any, Any, ResultT]:
        return cast("Generator[Any, Any, ResultT]", self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        if self.has_begun:
            return self.coroutine.send(value)
        self.has_begun = True
        return self.waits_for

    def throw(self, *error: Any) -> Any:
        return self.coroutine.throw(*error)

    def close(self) -> None:
        self.coroutine.close()


def first_step(coroutine: Coroutine[Any, Any, ResultT]) -> Ended[ResultT] | Waiting[ResultT]:
    """Run a coroutine in this task until it waits for something, or to its end. What it raises is raised here."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        return Ended(end.value)
    return Waiting(coroutine, waits_for)


class CancelHandle:
    """Cancels what runs inside when `cancel` is called. Built like `asyncio.timeout`, with a call in place of a clock.

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


# Most calls of a service take less, and should not pay for a watcher; a call this slow can.
WATCH_AFTER_SECONDS: Final = 0.2
# A silent connection is cut by proxies; this often we may say that we are still here.
STILL_HERE_SECONDS: Final = 15.0


class DisconnectWatcher:
    """While inside, watches the client and cancels the work when it disconnects."""

    def __init__(
        self, receive: Receive, stop: CancelHandle, still_here: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._receive = receive
        self._stop = stop
        self._still_here = still_here
        self.disconnected = False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._clock = set_timer(self, loop.time() + WATCH_AFTER_SECONDS, loop)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._clock.cancel(self)
        # A cancelled task keeps its traceback, which leads back to here: a reference cycle if we kept the task.
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({watcher})

    def ring(self) -> None:
        """The call is slow: begin to watch."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        gone = asyncio.get_running_loop().create_task(self._disconnected())
        try:
            while not gone.done():
                await asyncio.wait({gone}, timeout=STILL_HERE_SECONDS)
                if not gone.done() and self._still_here is not None:
                    await self._still_here()
            self.disconnected = True
            self._stop.cancel()
        finally:
            gone.cancel()

    async def _disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def watched(begun: Awaitable[ResultT], receive: Receive) -> ResultT:
    """The result of a call that waits. Raises CancelledError if its client disconnects."""
    with CancelHandle() as stop:
        async with DisconnectWatcher(receive, stop):
            return await begun
    raise CancelledError("The client went away.")
