"""MCP over Streamable HTTP: plain calls take the short way, everything else goes to the SDK unchanged."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.call import Caller
from dogubako.contract.errors import BusyError, PayloadTooLargeError, ValidationError
from dogubako.transports.body import decode_leniently, read_body, require_json, send_json
from dogubako.transports.callers import caller_in
from dogubako.transports.exchange import Exchange
from dogubako.transports.express import Express, PlainCall
from dogubako.transports.inside import Inside
from dogubako.transports.mcp import McpDoor
from dogubako.transports.open_files import most_streams
from dogubako.transports.sessions import MOST_SESSIONS, Sessions, check_initialize, user_of
from dogubako.transports.step_up import StepUp
from dogubako.transports.welcome import Welcome
from dogubako.transports.wire import (
    HANDSHAKE_VERSIONS,
    INVALID_REQUEST,
    MAX_BODY_BYTES,
    MODERN_VERSION,
    NOT_JSON,
    PARSE_ERROR,
    TOO_MANY_PROTOCOL_VALUES,
    UNREADABLE,
    Refusal,
    encode_message,
    has_too_many_protocol_values,
    is_message,
)

_decode = msgspec.json.Decoder().decode

_ROUTING: Final = frozenset(
    {b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-session-id", b"accept", b"content-type"}
)


class McpEndpoint:
    """The ASGI app behind `/mcp`."""

    def __init__(self, inside: Inside, *, stateless: bool = False) -> None:
        self._inside = inside
        self.door = McpDoor(inside, announces_changes=not stateless)
        self.express = Express(inside)
        self._step_up = StepUp(inside)
        self.manager = StreamableHTTPSessionManager(
            app=self.door.server,
            stateless=stateless,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MOST_SESSIONS,
            # Our own guard looks at Host and Origin of every request, not only of these.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._sessions = Sessions(self.manager)
        self._streams = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.manager.run(), anyio.create_task_group() as tasks:
            await tasks.start(self.door.listeners.run)
            try:
                yield
            finally:
                self.stop_streams()
                tasks.cancel_scope.cancel()

    def stop_streams(self) -> None:
        """End what would otherwise wait for ever: streams on which clients listen for news."""
        self.door.listen.close()
        self._sessions.close_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_in(scope)
        if scope["method"] != "POST":
            with self._listening(scope["method"]):
                async with self._while_welcome(scope, receive, send) as (heard, said):
                    await self.manager.handle_request(_trimmed(scope, caller), heard, said)
            return
        require_json(scope)
        body = await read_body(receive)
        headers = _routing_headers(scope)
        message, is_strict = _decoded(body)
        if self._step_up.wanted:
            modern = not _shakes_hands(headers or {})
            if await self._step_up.answered(message, caller, send, modern=modern):
                return
        plain = self._plain(headers, message, caller) if headers is not None and is_strict else None
        if plain is None:
            if has_too_many_protocol_values(message):
                raise PayloadTooLargeError(f"The message has {TOO_MANY_PROTOCOL_VALUES}.")
            await self._long_way(_trimmed(scope, caller), body, message, receive, send)
            return
        call, session = plain
        answer = self.express.answer(call, door="http", caller=caller, session=session)
        await Exchange(call, session, receive, send).run(answer)

    @contextmanager
    def _listening(self, method: str) -> Iterator[None]:
        """Bound the streams of sessions. Those of the modern era are bounded by their handler."""
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

    def _plain(self, headers: dict[bytes, bytes], message: Any, caller: Caller) -> tuple[PlainCall, str] | None:
        if not _content_fits(headers):
            return None
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if version == MODERN_VERSION:
            call = self.express.recognise(message, modern=True)
            if call is None or headers.get(b"mcp-method") != b"tools/call":
                return None
            return (call, "") if headers.get(b"mcp-name") == call.name.encode() else None
        if b"mcp-protocol-version" in headers and version not in HANDSHAKE_VERSIONS:
            return None
        call = self.express.recognise(message, modern=False)
        return (call, session) if call is not None and session and self._sessions.touch(session, caller) else None

    async def _long_way(self, scope: Scope, body: bytes, message: Any, receive: Receive, send: Send) -> None:
        headers, caller = _routing_headers(scope) or {}, caller_in(scope)
        session = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if _shakes_hands(headers) and not is_message(message):
            await _refuse(message, send)
            return
        if _is(message, "notifications/cancelled"):
            self._stop(session, caller, message.get("params"))
        watched = _is(message, "tools/call") and "id" in message
        cancel = (lambda: self._cancel(scope, message["id"])) if watched else None
        async with self._while_welcome(scope, receive, send) as (heard, said):
            if _is(message, "initialize"):
                check_initialize(message, body)
                async with self._sessions.opening(caller, scope, said) as noted:
                    await self.manager.handle_request(scope, *_replay(body, heard, noted, cancel))
            else:
                await self.manager.handle_request(scope, *_replay(body, heard, said, cancel))

    @asynccontextmanager
    async def _while_welcome(self, scope: Scope, receive: Receive, send: Send) -> AsyncIterator[tuple[Receive, Send]]:
        """What may stay open for long lasts only as long as its caller is let in."""
        if self._inside.settings.auth == "off":
            yield receive, send
            return
        async with Welcome(self._inside.authenticator, scope, receive, send) as welcome:
            yield welcome.receive, welcome.send

    def _stop(self, session: str, caller: Caller, params: Any) -> None:
        """Ids belong to a session, and a session to its caller; without one, clients close the connection instead."""
        if session and self._sessions.touch(session, caller):
            self.express.cancel(session, params.get("requestId") if isinstance(params, dict) else None)

    async def _cancel(self, scope: Scope, request_id: Any) -> None:
        """A client of the handshake era went away: tell its session what a polite client would have told it."""
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        with anyio.CancelScope(shield=True):
            await self.manager.handle_request(scope, *_replay(encode_message(notice), _never, _into_nothing, None))


def _is(message: Any, method: str) -> bool:
    return isinstance(message, dict) and message.get("method") == method


def _shakes_hands(headers: dict[bytes, bytes]) -> bool:
    version = headers.get(b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_VERSIONS


async def _refuse(message: Any, send: Send) -> None:
    refusal = Refusal(INVALID_REQUEST, "This is not a JSON-RPC message.", None)
    if message is UNREADABLE:
        refusal = Refusal(PARSE_ERROR, "Parse error", None)
    await send_json(send, encode_message(refusal.answer(None)), 400)


def _routing_headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers that decide the way, or nothing when one is doubled or mirrors an argument: the SDK judges those."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ROUTING:
            if name in found:
                return None
            found[name] = value.strip(b" \t")
        elif name.startswith(b"mcp-param-"):
            return None
    return found


def _content_fits(headers: dict[bytes, bytes]) -> bool:
    accepted = {part.split(b";")[0].strip().lower() for part in headers.get(b"accept", b"").split(b",")}
    both = b"*/*" in accepted or (b"application/json" in accepted and b"text/event-stream" in accepted)
    # In capitals it is the same type, but the SDK refuses that; its refusals stay its own.
    return both and headers.get(b"content-type", b"").split(b";")[0].strip() == b"application/json"


def _trimmed(scope: Scope, caller: Caller) -> Scope:
    """httptools keeps blanks around header values, which do not belong to them. A session belongs to its caller."""
    headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    return {**scope, "headers": headers, "user": user_of(caller)}


def _replay(body: bytes, receive: Receive, send: Send, on_leave: Callable[[], Any] | None) -> tuple[Receive, Send]:
    """The request once more for the SDK; `on_leave` runs if the client goes before the answer is complete."""
    replayed = answered = False

    async def receive_again() -> Message:
        nonlocal replayed
        if not replayed:
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}
        message = await receive()
        if message["type"] == "http.disconnect" and not answered and on_leave is not None:
            await on_leave()
        return message

    async def send_on(message: Message) -> None:
        nonlocal answered
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            answered = True
        await send(message)

    return receive_again, send_on


async def _never() -> Message:
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


async def _into_nothing(message: Message) -> None:
    return None


def _decoded(body: bytes) -> tuple[Any, bool]:
    """The message, and whether it is strictly JSON: the SDK judges what only a lenient reader takes."""
    try:
        return _decode(body), True
    except NOT_JSON:
        pass
    try:
        return decode_leniently(body), False
    except ValidationError:
        return UNREADABLE, False
