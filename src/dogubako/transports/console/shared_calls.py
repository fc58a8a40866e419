"""Show the calls of all processes in the console of any of them.

Calls are passed on only while somebody looks: the process whose console is open asks the others, which send their last
calls and then each batch, until nobody has asked for half a minute. A process passes on at most `_MOST_AT_ONCE` calls
four times a second to each process that looks; what is beyond that is left out there.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from dogubako.contract.storage import NotDelivered, ProcessMessages
from dogubako.transports.console.recorder import CallRecord, CallRecorder

_ASKED: Final = "console-calls-wanted"
_SEEN: Final = "console-calls"
# How long others pass calls on after they were asked, and how often they are asked while somebody looks.
_WANTED_SECONDS: Final = 30.0
_ASK_SECONDS: Final = 10.0
# The first page waits so long for the calls of others.
_WAIT_SECONDS: Final = 0.25
_MOST_AT_ONCE: Final = 500
_PAUSE_SECONDS: Final = 0.25

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[CallRecord]).decode


class SharedCalls:
    """Passes calls of this process on, and takes those of others."""

    def __init__(self, recorder: CallRecorder, messages: ProcessMessages) -> None:
        self._recorder = recorder
        self._messages = messages
        # Processes whose console is open, and until when that is so.
        self._watchers: dict[str, float] = {}
        self._newcomers: list[str] = []
        self._last: deque[CallRecord] = deque(maxlen=_MOST_AT_ONCE)
        self._waiting: deque[CallRecord] = deque(maxlen=_MOST_AT_ONCE)
        self._wake = asyncio.Event()
        self._asked_at = float("-inf")
        recorder.recorded.add(self._recorded)
        recorder.look = self.look
        messages.handle(_ASKED, self._asked)
        messages.handle(_SEEN, self._seen)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        # An event belongs to the loop that first waited for it.
        self._wake = asyncio.Event()
        task = asyncio.create_task(self._pass_on())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def look(self) -> None:
        """Somebody looks at calls: ask the others for theirs. Their Redis may be away, and then these are all."""
        now = time.monotonic()
        idle = now - self._asked_at
        if idle < _ASK_SECONDS:
            return
        self._asked_at = now
        with suppress(NotDelivered):
            await self._messages.broadcast(_ASKED, b"")
            if idle > _WANTED_SECONDS:
                await asyncio.sleep(_WAIT_SECONDS)

    async def _asked(self, payload: bytes, sender: str) -> None:
        if sender == self._messages.process:
            return
        now = time.monotonic()
        if self._watchers.get(sender, 0.0) < now:
            self._newcomers.append(sender)
            self._wake.set()
        self._watchers[sender] = now + _WANTED_SECONDS

    async def _seen(self, payload: bytes, sender: str) -> None:
        with suppress(msgspec.DecodeError):
            self._recorder.take(_decode(payload))

    def _recorded(self, records: Sequence[CallRecord]) -> None:
        self._last.extend(records)
        if self._watchers:
            self._waiting.extend(records)
            self._wake.set()

    async def _pass_on(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            newcomers, self._newcomers = self._newcomers, []
            waiting = [*self._waiting]
            self._waiting.clear()
            now = time.monotonic()
            self._watchers = {process: until for process, until in self._watchers.items() if until >= now}
            await self._send(waiting, self._watchers.keys() - set(newcomers))
            await self._send([*self._last], newcomers)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _send(self, records: Sequence[CallRecord], processes: Iterable[str]) -> None:
        if not records:
            return
        payload = _encode(records)
        for process in processes:
            try:
                await self._messages.send(process, _SEEN, payload)
            except NotDelivered:
                self._watchers.pop(process, None)
