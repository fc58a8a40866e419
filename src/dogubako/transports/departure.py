"""Notice when an HTTP client leaves before it got its answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Self

import anyio
from starlette.types import Receive

from dogubako.engine.alarm import set_alarm
from dogubako.transports.stopping import Stop

# Fast calls should not pay for a watcher; a call this slow can.
WATCH_AFTER_SECONDS: Final = 0.05
# A silent connection is cut by proxies; this often we may say that we are still here.
STILL_HERE_SECONDS: Final = 15.0


class Departure:
    """While inside, watches the client and stops the work when it is gone: nobody needs the answer any more."""

    def __init__(self, receive: Receive, stop: Stop, still_here: Callable[[], Awaitable[None]] | None = None) -> None:
        self._receive = receive
        self._stop = stop
        self._still_here = still_here
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._alarm = set_alarm(WATCH_AFTER_SECONDS, self._start)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._alarm.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({self._watcher})

    def _start(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        gone = asyncio.get_running_loop().create_task(self._disconnected())
        try:
            while not gone.done():
                await asyncio.wait({gone}, timeout=STILL_HERE_SECONDS)
                if not gone.done() and self._still_here is not None:
                    await self._still_here()
            self._stop.cancel()
        finally:
            gone.cancel()

    async def _disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
