"""MCP over Streamable HTTP: simple calls take the fast path, everything else goes to the SDK unchanged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Any, Final

import anyio
import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.call import Caller, ToolResult
from dogubako.contract.errors import BusyError, PayloadTooLargeError, ValidationError
from dogubako.contract.gateway_ids import GATEWAYS_HEADER
from dogubako.transports.http.at_once import BeginCall, CallInRequest, Outcome, whole_json
from dogubako.transports.http.disconnect import CancelHandle, DisconnectWatcher
from dogubako.transports.http.open_files import most_streams
from dogubako.transports.http.request import (
    ResponseTracker,
    caller_in,
    decode_leniently,
    head_fact,
    into_nothing,
    never,
    read_body,
    send_json,
)
from dogubako.transports.mcp.auth import CredentialWatch, StepUp
from dogubako.transports.mcp.call_response import CallResponse
from dogubako.transports.mcp.fast_path import FastPath
from dogubako.transports.mcp.handover import HANDOVER, Handover
from dogubako.transports.mcp.malformed import (
    BYTE_ORDER_MARK,
    half_characters_only_in_arguments,
    readable_id,
    refusal_of_content,
)
from dogubako.transports.mcp.protocol import (
    INVALID_REQUEST,
    MAX_BODY_BYTES,
    MAX_BODY_VALUES,
    METHOD_NOT_FOUND,
    NOT_JSON,
    PARSE_ERROR,
    TOO_MANY_PROTOCOL_VALUES,
    UNREADABLE,
    Refusal,
    SimpleCall,
    encode_message,
    encoded_response,
    has_too_many_protocol_values,
    is_message,
)
from dogubako.transports.mcp.routing import Routing, headers_in, routing_of, shakes_hands
from dogubako.transports.mcp.sdk_internals import MOST_SESSIONS, Sessions, check_initialize, user_of
from dogubako.transports.mcp.server import McpServer
from dogubako.transports.mcp.shared_sessions import SharedSessions
from dogubako.transports.toolbox import ServedToolbox

_GATEWAYS_HEADER: Final = GATEWAYS_HEADER.encode()
_CONTENT_STATUS: Final = {INVALID_REQUEST: 400, METHOD_NOT_FOUND: 404}


_decode = msgspec.json.Decoder().decode


class McpEndpoint:
    """The ASGI app behind `/mcp`."""

    def __init__(self, inside: ServedToolbox, *, stateless: bool = False) -> None:
        self._inside = inside
        self.door = McpServer(inside, announces_changes=not stateless)
        self.fast_path = FastPath(inside)
        self._step_up = StepUp(inside)
        self.manager = StreamableHTTPSessionManager(
            app=self.door.server,
            stateless=stateless,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MOST_SESSIONS,
            # Our own guard looks at Host and Origin of every request, not only of these.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._sessions = Sessions(self.manager, shared=inside.sessions is not None)
        self._shared: SharedSessions | None = None
        if inside.sessions is not None and inside.messages is not None and not stateless:
            self._shared = SharedSessions(
                inside.sessions, inside.messages, self._sessions, self.door.listeners, self.fast_path
            )
            self.door.shared = self._shared
        self._streams = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.manager.run(), anyio.create_task_group() as tasks:
            await tasks.start(self.door.listeners.run)
            if self._shared is not None:
                tasks.start_soon(self._shared.run)
            try:
                yield
            finally:
                self.stop_streams()
                tasks.cancel_scope.cancel()

    def stop_streams(self) -> None:
        """End the streams on which clients listen for changes; they would never end by themselves."""
        self.door.listen.close()
        self._sessions.close_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_in(scope)
        if scope["method"] != "POST":
            session = await self._share(self._shared, scope, caller) if self._shared is not None else ""
            with self._listening(scope["method"]):
                async with (
                    self._while_welcome(scope, receive, send) as (heard, said),
                    self._told(session, scope, said) as sent,
                ):
                    await self.manager.handle_request(_trimmed(scope, caller), heard, sent)
            return
        routing = head_fact(scope, routing_of)
        body = (await read_body(receive)).removeprefix(BYTE_ORDER_MARK)
        message, is_strict = _decoded(body)
        if self._shared is not None and routing is not None and routing.session:
            await self._join(self._shared, routing.session, scope, caller)
        if self._step_up.wanted:
            modern = not shakes_hands(headers_in(routing))
            if await self._step_up.answered(message, caller, send, modern=modern):
                return
        is_simple = is_strict or (isinstance(message, dict) and half_characters_only_in_arguments(message))
        plain = self._plain(routing, message, caller) if routing is not None and is_simple else None
        if plain is None:
            if has_too_many_protocol_values(message):
                raise PayloadTooLargeError(f"The message has {TOO_MANY_PROTOCOL_VALUES}.")
            if (refusal := refusal_of_content(message, is_strict=is_strict)) is not None:
                await _refuse_content(refusal, message, send, modern=not shakes_hands(headers_in(routing)))
                return
            await self._long_way(_trimmed(scope, caller), body, message, receive, send)
            return
        call, session = plain
        if call.capabilities is not None:
            await self._talk(call, session, _trimmed(scope, caller), body, message, receive, send)
            return
        outcome = self.fast_path.answer(call, door="http", caller=caller)
        await CallResponse(call, session, receive, send).run(self.fast_path, outcome)

    def begins(self, scope: Scope) -> BeginCall | None:
        """What begins calls with this head in the read that brings them."""
        routing = head_fact(scope, routing_of)
        if self._step_up.wanted or routing is None or not routing.fits or not (routing.modern or routing.session):
            return None
        return partial(self._begin, routing)

    def _begin(self, routing: Routing, body: bytes, caller: Caller) -> bytes | CallInRequest | None:
        if len(body) > MAX_BODY_VALUES:
            # Its values have to be counted first.
            return None
        call, session = self.fast_path.read(body, modern=routing.modern), ""
        if call is None or (routing.modern and routing.tool != call.name):
            return None
        if not routing.modern:
            session = routing.session
            if not self._sessions.touch(session, caller):
                return None
        # In a session, a call that waits can be cancelled by its id.
        begin = self.fast_path.answer if session else self.fast_path.begin
        begun = begin(call, door="http", caller=caller)
        if isinstance(begun, ToolResult) and begun.error is None:
            return whole_json(encoded_response(call, begun), routing.session_line)
        return _CallInRequest(begun, call, session, routing.session_line, self.fast_path)

    async def _talk(
        self, call: SimpleCall, session: str, scope: Scope, body: bytes, message: Any, receive: Receive, send: Send
    ) -> None:
        """Answer a call whose tool may talk to its client: here if it stays silent, else by the SDK from then on."""
        handed, handle = asyncio.Event(), CancelHandle()

        async def hand_over() -> None:
            self.fast_path.handed_over(call, handle, session)
            handed.set()

        async def work() -> ToolResult | None:
            with self.fast_path.cancellable(call, session, handle):
                return await self.fast_path.talk(call, handover, door="http", caller=caller_in(scope))
            return None

        handover = Handover(call.capabilities or {}, hand_over, modern=call.modern)
        handover.cancel = handle.cancel
        running, waiting = asyncio.create_task(work()), asyncio.create_task(handed.wait())
        try:
            # A silent connection is cut by proxies. The SDK keeps it open.
            async with DisconnectWatcher(receive, handle, handover.begin) as watcher:
                await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
            if handover.begun:
                await self._long_way({**scope, HANDOVER: handover}, body, message, receive, send)
            elif not watcher.disconnected:
                await CallResponse(call, session, receive, send).finish(running.result())
        finally:
            waiting.cancel()
            if not running.done():
                handle.cancel()
                await asyncio.wait({running})

    async def _join(self, shared: SharedSessions, session: str, scope: Scope, caller: Caller) -> None:
        if not self._sessions.serves(session):
            await shared.join(session, caller, _trimmed(scope, caller))

    async def _share(self, shared: SharedSessions, scope: Scope, caller: Caller) -> str:
        """Before a session is listened to or ended; its id, if the request names one."""
        found = (value for name, value in scope["headers"] if name == b"mcp-session-id")
        session = next(found, b"").strip(b" \t").decode("latin-1")
        if session:
            await self._join(shared, session, scope, caller)
            if scope["method"] == "DELETE" and self._sessions.touch(session, caller):
                await shared.end(session)
        return session

    def _told(self, session: str, scope: Scope, send: Send) -> AbstractAsyncContextManager[Send]:
        """Have the stream of a session told news, and no other one of the same session."""
        if self._shared is None or not session or scope["method"] != "GET":
            return nullcontext(send)
        return self._shared.streams.stream(session, send)

    @contextmanager
    def _listening(self, method: str) -> Iterator[None]:
        """Limit the streams of sessions. Those of 2026-07-28 are limited by their handler."""
        if method != "GET":
            yield
            return
        if self._streams >= most_streams():
            raise BusyError("Too many clients listen for changes.", hint="Go on without, and try again later.")
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def _plain(self, routing: Routing, message: Any, caller: Caller) -> tuple[SimpleCall, str] | None:
        if not routing.fits:
            return None
        if routing.modern:
            call = self.fast_path.match(message, modern=True, hands_over=True)
            return (call, "") if call is not None and routing.tool == call.name else None
        session = routing.session
        known = self._sessions.declared.get(session)
        call = self.fast_path.match(message, modern=False, hands_over=True, declared=known)
        return (call, session) if call is not None and session and self._sessions.touch(session, caller) else None

    async def _long_way(self, scope: Scope, body: bytes, message: Any, receive: Receive, send: Send) -> None:
        headers, caller = headers_in(head_fact(scope, routing_of)), caller_in(scope)
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        for name, value in scope["headers"]:
            if name == _GATEWAYS_HEADER:
                self._inside.gateways.check(value.decode("latin-1"))
        if shakes_hands(headers) and not is_message(message):
            await _refuse(message, send)
            return
        if _is(message, "notifications/cancelled"):
            self._stop(session, caller, message.get("params"))
        if self._shared is not None and session and self._sessions.touch(session, caller):
            await self._shared.route(session, message, body)
        watched = _is(message, "tools/call") and "id" in message
        cancel = (lambda: self._cancel(scope, message["id"])) if watched else None
        async with self._while_welcome(scope, receive, send) as (heard, said):
            if _is(message, "initialize"):
                check_initialize(message, body)
                async with self._sessions.opening(caller, scope, said, message) as noted:
                    heard_again, answered = _replay(body, heard, noted, cancel)
                    if self._shared is None or session or not shakes_hands(headers):
                        await self.manager.handle_request(scope, heard_again, answered)
                    else:
                        await self._shared.open(caller, scope, body, heard_again, answered)
            else:
                await self.manager.handle_request(scope, *_replay(body, heard, said, cancel))

    @asynccontextmanager
    async def _while_welcome(self, scope: Scope, receive: Receive, send: Send) -> AsyncIterator[tuple[Receive, Send]]:
        """Watch the credentials of a request that may stay open for long."""
        if self._inside.settings.auth == "off":
            yield receive, send
            return
        async with CredentialWatch(self._inside.authenticator, scope, receive, send) as welcome:
            yield welcome.receive, welcome.send

    def _stop(self, session: str, caller: Caller, params: Any) -> None:
        """Cancel a call by its id within the caller's session. Without a session, clients disconnect instead."""
        if session and self._sessions.touch(session, caller):
            self.fast_path.cancel(session, params.get("requestId") if isinstance(params, dict) else None)

    async def _cancel(self, scope: Scope, request_id: Any) -> None:
        """Send the cancel notification for a client of 2025-11-25 or older that disconnected without one."""
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        with anyio.CancelScope(shield=True):
            await self.manager.handle_request(scope, *_replay(encode_message(notice), never, into_nothing, None))


class _CallInRequest(CallInRequest):
    """A simple call in a request to `/mcp`. `session_line` is the header that names its session, if it has one."""

    __slots__ = ("_call", "_fast_path", "_session", "_session_line")

    def __init__(self, begun: Any, call: SimpleCall, session: str, session_line: bytes, fast_path: FastPath) -> None:
        super().__init__(begun)
        self._call = call
        self._session = session
        self._session_line = session_line
        self._fast_path = fast_path

    def whole_response(self, result: ToolResult) -> bytes:
        return whole_json(encoded_response(self._call, result), self._session_line)

    def go_on(self, outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return CallResponse(self._call, self._session, receive, send).run(self._fast_path, outcome)


def _is(message: Any, method: str) -> bool:
    return isinstance(message, dict) and message.get("method") == method


async def _refuse(message: Any, send: Send) -> None:
    unreadable = Refusal(PARSE_ERROR, "Parse error", None)
    refusal = unreadable if message is UNREADABLE else Refusal(INVALID_REQUEST, "This is not a JSON-RPC message.", None)
    await send_json(send, encode_message(refusal.answer(None)), 400)


async def _refuse_content(refusal: Refusal, message: Any, send: Send, *, modern: bool) -> None:
    """Clients of 2025-11-25 and older take an error status for a broken transport."""
    status = _CONTENT_STATUS[refusal.code] if modern else 200
    await send_json(send, encode_message(refusal.answer(readable_id(message))), status)


def _trimmed(scope: Scope, caller: Caller) -> Scope:
    """httptools keeps blanks around header values, which do not belong to them. A session belongs to its caller."""
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    return {**scope, "headers": headers, "user": user_of(caller)}


def _replay(body: bytes, receive: Receive, send: Send, on_leave: Callable[[], Any] | None) -> tuple[Receive, Send]:
    """Replay the request for the SDK; `on_leave` runs if the client disconnects before the response is complete."""
    replayed, response = False, ResponseTracker(send)

    async def receive_again() -> Message:
        nonlocal replayed
        if not replayed:
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}
        message = await receive()
        complete = response.started and not response.unfinished
        if message["type"] == "http.disconnect" and not complete and on_leave is not None:
            await on_leave()
        return message

    return receive_again, response


def _decoded(body: bytes) -> tuple[Any, bool]:
    """The message, and whether it is strict JSON: the SDK judges what only a lenient decoder takes."""
    try:
        return _decode(body), True
    except NOT_JSON:
        pass
    try:
        return decode_leniently(body), False
    except ValidationError:
        return UNREADABLE, False
