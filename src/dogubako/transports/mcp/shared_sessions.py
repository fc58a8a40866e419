"""Sessions that any process serves: clients of 2025-11-25 and older may reach another one with every request.

The process that answers `initialize` stores the session. One that gets a request for a session that it does not have
opens the same session for itself, with the client's own `initialize` request. Each request is answered by the process
that got it. What belongs to a request elsewhere is sent there: answers to questions name the process that asked in
their id; cancellations go to all that serve the session, as do its end, its log level and its subscriptions.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import anyio
import msgspec
import structlog
from msgspec.structs import replace
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.call import Caller
from dogubako.contract.errors import BusyError
from dogubako.contract.sessions import SessionRecord, SessionStore
from dogubako.contract.storage import NoReply, NotDelivered, ProcessMessages
from dogubako.transports.http.request import into_nothing, never
from dogubako.transports.mcp.conversation import LOG_LEVEL_KEY
from dogubako.transports.mcp.fast_path import FastPath
from dogubako.transports.mcp.sdk_internals import (
    MOST_SESSIONS_EACH,
    RESTORED,
    SUBSCRIPTIONS_KEY,
    Listeners,
    Sessions,
)
from dogubako.transports.mcp.session_streams import SessionStreams

log = structlog.get_logger("dogubako.transports")

_TOPIC: Final = "mcp session"
_CANCELLED: Final = "notifications/cancelled"
# How often it is looked whether a session has to be renewed, and how often one is renewed at most.
_LOOK_SECONDS: Final = 10.0
_RENEW_SECONDS: Final = 60.0
_RENEWED_AT_ONCE: Final = 200
# How long a change waits for processes that serve the same session.
_TELL_SECONDS: Final = 2.0
_OPENING_HEADERS: Final = [
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
]


class _Told(msgspec.Struct, frozen=True, array_like=True):
    """What another process has to know of a session."""

    session: str
    kind: str
    value: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Told).decode


class SharedSessions:
    """The sessions of this process and the part of other processes in them."""

    def __init__(
        self,
        store: SessionStore,
        messages: ProcessMessages,
        sessions: Sessions,
        listeners: Listeners,
        fast_path: FastPath,
    ) -> None:
        self._store = store
        self._messages = messages
        self._sessions = sessions
        self._listeners = listeners
        self._fast_path = fast_path
        # The sessions of this process: what opened them, and when they were renewed.
        self._records: dict[str, SessionRecord] = {}
        self._renewed: dict[str, float] = {}
        self._joining: dict[tuple[str, str], asyncio.Task[None]] = {}
        messages.handle(_TOPIC, self._hear)
        self.streams = listeners.streams = SessionStreams(store, messages, listeners.notify_session)

    def serves(self, session: str) -> bool:
        return self._sessions.serves(session)

    async def open(self, caller: Caller, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Open a session with an `initialize` request, inside of `Sessions.opening`."""
        session, client = uuid4().hex, scope.get("client")
        owner = _owner(caller)
        holder = f"caller {owner}" if owner else f"address {client[0] if client else ''}"
        record = SessionRecord(opening=body, owner=owner, holder=holder)
        await self._store.open(session, record, most=MOST_SESSIONS_EACH)
        self._keep(session, record)
        await self._sessions.open(session, caller, scope, receive, send)
        if not self._sessions.serves(session):
            # The request was refused.
            with suppress(BusyError):
                await self._store.end(session)

    async def join(self, session: str, caller: Caller, scope: Scope) -> None:
        """Serve a session that another process opened, if there is one of this caller."""
        key = (session, _owner(caller))
        if (joining := self._joining.get(key)) is None:
            joining = self._joining[key] = asyncio.create_task(self._join(session, caller, scope))
            joining.add_done_callback(lambda _: self._joining.pop(key))
        await asyncio.shield(joining)

    async def _join(self, session: str, caller: Caller, scope: Scope) -> None:
        record = await self._store.join(session)
        if record is None or record.owner != _owner(caller):
            return
        state: dict[str, Any] = {SUBSCRIPTIONS_KEY: set(record.subscriptions)}
        if record.log_level is not None:
            state[LOG_LEVEL_KEY] = record.log_level
        opening = {**scope, "method": "POST", "headers": _OPENING_HEADERS, RESTORED: state}
        request = msgspec.json.decode(record.opening)
        async with self._sessions.opening(caller, scope, into_nothing, request) as noted:
            self._keep(session, record)
            await self._sessions.open(session, caller, opening, _once(record.opening), noted)

    async def route(self, session: str, message: Any, body: bytes) -> None:
        """Send a message of the client on to the process that waits for it, if that is another one."""
        if not isinstance(message, dict):
            return
        if message.get("method") == _CANCELLED:
            # While Redis is away, what runs here is cancelled all the same.
            with suppress(BusyError):
                await self._tell_all(await self._store.processes(session), session, "cancel", body)
        elif "method" not in message and isinstance(id_ := message.get("id"), str):
            process = id_.partition(".")[0]
            if process != self._messages.process:
                await self._send(process, session, body)

    async def _send(self, process: str, session: str, answer: bytes) -> None:
        try:
            await self._messages.send(process, _TOPIC, _encode(_Told(session, "answer", answer)))
        except NotDelivered:
            if await self._messages.is_alive(process):
                message = "Your answer did not reach the process that asked."
                raise BusyError(message, hint="Send it again in a moment.", retry_after=1) from None
            log.info("An answer came for a process that has ended")

    async def end(self, session: str) -> None:
        """End a session in all other processes. Raises BusyError if that is not possible."""
        await self._tell_all(await self._store.end(session), session, "end")

    async def set_log_level(self, session: str, level: str) -> None:
        await self._tell_all(await self._store.set_log_level(session, level), session, "level", level.encode())

    async def subscribe(self, session: str, uri: str) -> None:
        await self._tell_all(await self._store.subscribe(session, uri), session, "subscribe", _bytes(uri))

    async def unsubscribe(self, session: str, uri: str) -> None:
        await self._tell_all(await self._store.unsubscribe(session, uri), session, "unsubscribe", _bytes(uri))

    async def _tell_all(self, processes: Collection[str], session: str, kind: str, value: bytes = b"") -> None:
        """Tell other processes, and wait until they know it."""
        told = _encode(_Told(session, kind, value))
        others = [self._request(one, told) for one in processes if one != self._messages.process]
        if not others:
            return
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                await asyncio.gather(*others)
        except TimeoutError:
            log.warning("Another process is slow to hear of a change of a session", kind=kind)

    async def _request(self, process: str, told: bytes) -> None:
        # A process that is gone serves no session.
        with suppress(NotDelivered, NoReply):
            await self._messages.request(process, _TOPIC, told)

    async def _hear(self, payload: bytes, sender: str) -> bytes:
        told = _decode(payload)
        if told.kind == "end":
            await self._sessions.end(told.session)
        elif told.kind in ("answer", "cancel"):
            if told.kind == "cancel":
                self._cancel(told.session, told.value)
            await self._sessions.deliver(told.session, told.value)
        elif (state := self._listeners.state_of(told.session)) is not None:
            _change(state, told.kind, told.value.decode("utf-8", "surrogatepass"))
        return b""

    def _cancel(self, session: str, body: bytes) -> None:
        """Cancel a call on the fast path."""
        with suppress(msgspec.DecodeError, UnicodeError):
            params = msgspec.json.decode(body).get("params")
            self._fast_path.cancel(session, params.get("requestId") if isinstance(params, dict) else None)

    def _keep(self, session: str, record: SessionRecord) -> None:
        self._records[session] = record
        self._renewed[session] = anyio.current_time()

    async def run(self) -> None:
        """Renew sessions that are used, and look after their streams, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.streams.run)
            await self._renew_all()

    async def _renew_all(self) -> None:
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            uses = self._sessions.last_uses()
            self._records = {one: record for one, record in self._records.items() if one in uses}
            self._renewed = {one: when for one, when in self._renewed.items() if one in uses}
            with suppress(BusyError):
                if await self._store.was_emptied():
                    await self._restore(list(self._records))
                await self._renew(uses)

    async def _renew(self, uses: dict[str, float]) -> None:
        """Renew what was used since it was renewed. A call costs no command for it."""
        now = anyio.current_time()
        # Sessions that were opened a moment ago have not been used by then.
        due = {one: when for one, when in self._renewed.items() if now - when >= _RENEW_SECONDS}
        used = [one for one, when in due.items() if when < uses.get(one, when)]
        for begin in range(0, len(used), _RENEWED_AT_ONCE):
            some = used[begin : begin + _RENEWED_AT_ONCE]
            fates = dict(zip(some, await self._store.renew(some), strict=True))
            self._renewed.update(dict.fromkeys(some, now))
            await self._restore([one for one, fate in fates.items() if fate == "lost"])
            for one in [one for one, fate in fates.items() if fate == "known"]:
                await self.streams.enter_again(one)
            for one in [one for one, fate in fates.items() if fate == "ended"]:
                await self._sessions.end(one)

    async def _restore(self, sessions: Collection[str]) -> None:
        for session in sessions:
            state = self._listeners.state_of(session)
            if state is not None and (record := self._records.get(session)) is not None:
                level, uris = state.get(LOG_LEVEL_KEY), frozenset(state.get(SUBSCRIPTIONS_KEY, ()))
                await self._store.restore(session, replace(record, log_level=level, subscriptions=uris))
                await self.streams.enter_again(session)


def _change(state: dict[str, Any], kind: str, value: str) -> None:
    subscriptions = state.setdefault(SUBSCRIPTIONS_KEY, set())
    if kind == "level":
        state[LOG_LEVEL_KEY] = value
    elif kind == "subscribe":
        subscriptions.add(value)
    elif kind == "unsubscribe":
        subscriptions.discard(value)


def _bytes(uri: str) -> bytes:
    return uri.encode("utf-8", "surrogatepass")


def _owner(caller: Caller) -> str:
    """Who may use a session; empty where nobody has to say who he is."""
    return caller.identity if caller.authenticated else ""


def _once(body: bytes) -> Receive:
    """A request with this body, whose client stays."""
    bodies = [body]

    async def receive() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await never()

    return receive
