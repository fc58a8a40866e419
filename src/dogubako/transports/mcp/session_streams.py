"""Streams on which one session hears news, at several processes: each message is sent on one of them, as MCP wants it.

The newest stream is told. A process with another one keeps back what it would have said, and looks after a moment
whether the process that is told still has its stream. If not, it takes over and says what it kept back: a stream that
ends costs nothing, and a process that is killed costs the time until others know that it is gone.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
import msgspec
import structlog
from mcp.server.subscriptions import ServerEvent
from starlette.types import Message, Send

from dogubako.contract.errors import BusyError
from dogubako.contract.sessions import SessionStore
from dogubako.contract.storage import NoReply, NotDelivered, ProcessMessages
from dogubako.transports.http.lingering_protocol import HALF_CLOSED_SECONDS

log = structlog.get_logger("dogubako.transports")

_MOVED: Final = "mcp session stream"
_ASKED: Final = "mcp session listens"
# A client that closed its connection is noticed by then, and what it was told meanwhile is said on another stream.
_LOOK_AFTER_SECONDS: Final = HALF_CLOSED_SECONDS + 1.0
# How long a stream that begins or ends waits for the processes that have others.
_TELL_SECONDS: Final = 2.0
_NOBODY: Final = ""


class _Moved(msgspec.Struct, frozen=True, array_like=True):
    session: str
    # The process whose stream is told from now on.
    told: str
    # The greatest one counts: messages may overtake each other.
    version: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Moved).decode


@dataclass
class _Stream:
    """The stream of a session at this process."""

    # The process whose stream is told; None until the store was asked.
    told: str | None = None
    version: int = 0
    # Whether another process has, or had, a stream of the same session.
    contested: bool = False
    kept: dict[ServerEvent, None] = field(default_factory=dict)


class SessionStreams:
    """The streams of this process. `say` sends news to the client of a session, on its stream here."""

    def __init__(
        self, store: SessionStore, messages: ProcessMessages, say: Callable[[str, ServerEvent], Awaitable[None]]
    ) -> None:
        self._store = store
        self._messages = messages
        self._say = say
        self._streams: dict[str, _Stream] = {}
        self._kept_back = asyncio.Event()
        messages.handle(_MOVED, self._hear_moved)
        messages.handle(_ASKED, self._hear_asked)

    @asynccontextmanager
    async def stream(self, session: str, send: Send) -> AsyncIterator[Send]:
        """Have the stream told that a response to GET begins, until it ends."""
        stream = _Stream()

        async def begin_and_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                self._streams[session] = stream
                await self._begin(session, stream)
            await send(message)

        try:
            yield begin_and_send
        finally:
            # Another one may have begun since this one ended.
            if self._streams.get(session) is stream:
                del self._streams[session]
                with anyio.CancelScope(shield=True):
                    await self._end(session, stream)

    def is_quiet(self, session: str) -> bool:
        """Whether the stream here is not the one that is told."""
        stream = self._streams.get(session)
        return stream is not None and stream.told != self._messages.process

    def keep_back(self, session: str, event: ServerEvent) -> None:
        """Remember what a quiet stream does not say. A stream that only begins had not been there."""
        stream = self._streams[session]
        if stream.told is not None:
            stream.kept[event] = None
            self._kept_back.set()

    async def run(self) -> None:
        """Look after what was kept back, until cancelled."""
        # An event belongs to the loop that first waited for it.
        self._kept_back = asyncio.Event()
        while True:
            await self._kept_back.wait()
            self._kept_back.clear()
            await asyncio.sleep(_LOOK_AFTER_SECONDS)
            kept = [(session, stream) for session, stream in self._streams.items() if stream.kept]
            await asyncio.gather(*(self._look_after(session, stream) for session, stream in kept))
            if any(stream.kept for stream in self._streams.values()):
                self._kept_back.set()

    async def enter_again(self, session: str) -> None:
        """Compare with the store, which may have lost who is told, or know better. May raise BusyError."""
        stream = self._streams.get(session)
        if stream is not None and not self.is_quiet(session):
            await self._listen(session, stream, instead_of=self._messages.process)

    async def _begin(self, session: str, stream: _Stream) -> None:
        try:
            await self._listen(session, stream)
        except BusyError:
            # `enter_again` tells the others when the store answers.
            stream.told = self._messages.process

    async def _end(self, session: str, stream: _Stream) -> None:
        if stream.told != self._messages.process:
            return
        with suppress(BusyError):
            change = await self._store.unlisten(session, stream.version)
            if change is not None and stream.contested:
                await self._tell(change.processes, _Moved(session, _NOBODY, change.version))

    async def _listen(self, session: str, stream: _Stream, instead_of: str | None = None) -> None:
        """Be the one that is told, unless the store knows another one than `instead_of`. May raise BusyError."""
        change = await self._store.listen(session, instead_of=instead_of)
        if change is None or change.version <= stream.version:
            # The session is not stored, or a newer change was heard of meanwhile.
            stream.told = self._messages.process if stream.told is None else stream.told
            return
        stream.told, stream.version = change.told, change.version
        stream.contested = stream.contested or change.before not in (_NOBODY, self._messages.process)
        if change.told == self._messages.process:
            if stream.contested:
                await self._tell(change.processes, _Moved(session, change.told, change.version))
            kept, stream.kept = stream.kept, {}
            for event in kept:
                await self._say(session, event)

    async def _look_after(self, session: str, stream: _Stream) -> None:
        """Forget what the process that is told has said, or say it."""
        asked = stream.kept.copy()
        if stream.told and await self._listens(stream.told, session):
            stream.kept = {event: None for event in stream.kept if event not in asked}
        elif self._streams.get(session) is stream:
            with suppress(BusyError):
                await self._listen(session, stream, instead_of=stream.told)

    async def _listens(self, process: str, session: str) -> bool:
        """Whether that process has a stream of the session and says what is new there."""
        with suppress(NotDelivered, NoReply):
            return bool(await self._messages.request(process, _ASKED, session.encode()))
        return False

    async def _tell(self, processes: Collection[str], moved: _Moved) -> None:
        """Tell the other processes, and wait until they know it."""
        payload = _encode(moved)
        others = [self._request(one, payload) for one in processes if one != self._messages.process]
        if not others:
            return
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                await asyncio.gather(*others)
        except TimeoutError:
            log.warning("Another process is slow to hear where a session listens")

    async def _request(self, process: str, payload: bytes) -> None:
        # A process that is gone has no stream.
        with suppress(NotDelivered, NoReply):
            await self._messages.request(process, _MOVED, payload)

    async def _hear_asked(self, payload: bytes, sender: str) -> bytes:
        session = payload.decode()
        return b"1" if session in self._streams and not self.is_quiet(session) else b""

    async def _hear_moved(self, payload: bytes, sender: str) -> bytes:
        moved = _decode(payload)
        stream = self._streams.get(moved.session)
        if stream is not None and moved.version > stream.version:
            stream.told, stream.version, stream.contested = moved.told, moved.version, True
            if moved.told == _NOBODY:
                with suppress(BusyError):
                    await self._listen(moved.session, stream, instead_of=_NOBODY)
        return b""
