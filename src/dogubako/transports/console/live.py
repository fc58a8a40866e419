"""Live updates: a stream of server-sent events that says when there are new calls. Pages fetch themselves again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import anyio
from starlette.responses import StreamingResponse

from dogubako.contract.errors import AuthenticationError, BusyError
from dogubako.transports.console.recorder import CallRecorder

_MOST_STREAMS: Final = 32
# New calls are told at most this often.
_PAUSE_SECONDS: Final = 1.0
# A stream without calls says something this often, and its visitor is checked again.
_BEAT_SECONDS: Final = 5.0


class LiveStreams:
    """The open streams of all visitors."""

    def __init__(self, recorder: CallRecorder) -> None:
        self._recorder = recorder
        self._open = 0
        self._stopped = anyio.Event()

    def stop(self) -> None:
        self._stopped.set()

    def stream(self, check: Callable[[], Awaitable[Any]]) -> StreamingResponse:
        """A stream that ends when the server stops, or when `check` refuses the visitor."""
        if self._open >= _MOST_STREAMS:
            raise BusyError("Too many pages are watching.", hint="Close some pages of the console.")
        return StreamingResponse(self._events(check), media_type="text/event-stream")

    async def _events(self, check: Callable[[], Awaitable[Any]]) -> AsyncIterator[str]:
        self._open += 1
        try:
            yield "retry: 3000\n\n"
            generation = self._recorder.generation
            while not self._stopped.is_set():
                await self._recorder.look()
                await self._next(generation)
                try:
                    await check()
                except AuthenticationError:
                    return
                changed = self._recorder.generation != generation
                generation = self._recorder.generation
                yield f"event: calls\ndata: {generation}\n\n" if changed else ": \n\n"
                with anyio.move_on_after(_PAUSE_SECONDS):
                    await self._stopped.wait()
        finally:
            self._open -= 1

    async def _next(self, generation: int) -> None:
        """Wait for a new batch of calls, for a while."""
        if self._recorder.generation != generation:
            return
        heard = anyio.Event()
        remove = self._recorder.subscribe(lambda _: heard.set())
        try:
            with anyio.move_on_after(_BEAT_SECONDS):
                async with anyio.create_task_group() as group:
                    group.start_soon(_forward, self._stopped, heard)
                    await heard.wait()
                    group.cancel_scope.cancel()
        finally:
            remove()


async def _forward(source: anyio.Event, target: anyio.Event) -> None:
    await source.wait()
    target.set()
