"""All use of the MCP SDK's private attributes: sessions, and notifications to their clients."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any, Final

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError
from sse_starlette.sse import AppStatus
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.call import Caller
from dogubako.contract.errors import BusyError, PayloadTooLargeError
from dogubako.engine.catalog import CatalogChange
from dogubako.transports.mcp.session_streams import SessionStreams
from dogubako.transports.toolbox import ServedToolbox

# In one process. A session takes about 40 KB, and at most 230 KB with the largest `initialize` request.
MOST_SESSIONS: Final = 2_000
# Of one caller, or of one address where nobody has to say who he is.
MOST_SESSIONS_EACH: Final = 500
# What a client says of itself in `initialize` is kept for as long as its session.
LONGEST_INITIALIZE: Final = 32 * 1024
MOST_INITIALIZE_VALUES: Final = 1_000
_SESSION_HEADER: Final = b"mcp-session-id"
_ANYBODY: Final = object()
# In the scope of an `initialize` request: the state of the session that another process opened with it.
RESTORED: Final = "dogubako.restored_session"
# How much too early an idle session may end.
_MOVED_SECONDS: Final = 1.0


class Sessions:
    """The sessions of clients that use `initialize`. A session that is used stays alive.

    With `shared`, other processes know them, too: one that is ended here to make room is opened again when it is used.
    """

    def __init__(self, manager: StreamableHTTPSessionManager, *, shared: bool = False) -> None:
        self._manager = manager
        self._shared = shared
        # Who opened a session: a caller, or an address. Sessions that are over are removed when the next one is opened.
        self._holders: dict[str, Hashable] = {}
        # The capabilities that its client declared.
        self.declared: dict[str, dict[str, Any]] = {}
        self._opening: Counter[Hashable] = Counter()
        # On its own the SDK's stream library cuts every stream when the server is told to stop, also those on which
        # an answer is still to come. Ours are ended by `close_streams`, or by their answer.
        AppStatus.enable_automatic_graceful_drain = False

    def touch(self, session_id: str, caller: Caller) -> bool:
        """Whether the caller has this session open; if so, its idle time starts anew."""
        transport = self._manager._server_instances.get(session_id)
        if transport is None or transport.is_terminated:
            return False
        if _owner(caller) != self._manager._session_owners.get(session_id):
            return False
        scope, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if scope is not None and timeout is not None and not scope.cancel_called:
            later = asyncio.get_running_loop().time() + timeout
            # Moving a deadline sets a timer, which is not worth it for less than a second.
            if later - scope.deadline > _MOVED_SECONDS:
                scope.deadline = later
        return True

    def serves(self, session_id: str) -> bool:
        """Whether this process has the session."""
        return session_id in self.declared and session_id in self._manager._server_instances

    def last_uses(self) -> dict[str, float]:
        """When each session was used last, by the clock of `anyio.current_time`."""
        now, timeout = anyio.current_time(), self._manager.session_idle_timeout or 0
        scopes = {one: transport.idle_scope for one, transport in self._manager._server_instances.items()}
        return {one: min(now, scope.deadline - timeout) if scope else now for one, scope in scopes.items()}

    async def open(self, session_id: str, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session of this id with an `initialize` request, inside of `opening`."""
        transport = self._manager._admit_session(_owner(caller))
        if transport is None:
            raise _all_in_use()
        self._rename(transport, session_id)
        await self._manager._serve_opening_request(transport, scope, receive, send)

    def _rename(self, transport: StreamableHTTPServerTransport, session_id: str) -> None:
        """The SDK draws the ids of sessions itself."""
        drawn = transport.mcp_session_id
        assert drawn is not None
        transport.mcp_session_id = session_id
        self._manager._server_instances[session_id] = self._manager._server_instances.pop(drawn)
        if drawn in self._manager._session_owners:
            self._manager._session_owners[session_id] = self._manager._session_owners.pop(drawn)

    async def deliver(self, session_id: str, body: bytes) -> None:
        """Pass on a message of the client that another process received, which judges it, too."""
        transport = self._manager._server_instances.get(session_id)
        if transport is not None and transport._read_stream_writer is not None:
            with suppress(ValidationError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                message = jsonrpc_message_adapter.validate_json(body, by_name=False)
                await transport._read_stream_writer.send(SessionMessage(message))

    async def end(self, session_id: str) -> None:
        """End a session in this process."""
        transport = self._manager._server_instances.get(session_id)
        if transport is not None:
            await self._manager._discard_session(session_id, transport)

    @asynccontextmanager
    async def opening(self, caller: Caller, scope: Scope, send: Send, request: Any) -> AsyncIterator[Send]:
        """Make room for one more session. The session is counted for the caller, or else for the client's address.

        `X-Forwarded-For` is not read: anybody can write it. `request` is the client's `initialize`.
        """
        holder = _holder(caller, scope)
        await self._make_room(holder, known=caller.authenticated)
        self._opening[holder] += 1

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name.lower() == _SESSION_HEADER:
                        self._holders[value.decode("latin-1")] = holder
                        self.declared[value.decode("latin-1")] = _capabilities(request)
            await send(message)

        try:
            yield send_and_note
        finally:
            self._opening[holder] -= 1

    async def _make_room(self, holder: Hashable, *, known: bool) -> None:
        alive = self._manager._server_instances
        self._holders = {one: whose for one, whose in self._holders.items() if one in alive}
        self.declared = {one: what for one, what in self.declared.items() if one in alive}
        self._opening = +self._opening
        held = self._opening + Counter(self._holders.values())
        if held[holder] >= MOST_SESSIONS_EACH:
            if known and not self._shared:
                raise _too_many_of_caller(held[holder])
            await self._end_oldest_idle(held, holder)
        elif held.total() >= MOST_SESSIONS:
            await self._end_oldest_idle(held)

    async def _end_oldest_idle(self, held: Counter[Hashable], holder: Hashable = _ANYBODY) -> None:
        """End the session that was idle for the longest time, of this holder or else of those that hold the most."""
        idle = [(-held[self._holders[one]], since, one) for one, since in self._idle_sessions(holder)]
        if not idle:
            raise _all_in_use()
        _, _, session_id = min(idle)
        await self.end(session_id)

    def _idle_sessions(self, holder: Hashable) -> Iterator[tuple[str, float]]:
        """Sessions on which no request runs and no stream is open, with the time at which they would expire."""
        for session_id, whose in self._holders.items():
            scope = self._manager._server_instances[session_id].idle_scope
            if holder in (_ANYBODY, whose) and scope is not None and scope.deadline < math.inf:
                yield session_id, scope.deadline

    def close_streams(self) -> None:
        """End the streams on which clients only listen for changes, so that the server can stop."""
        for transport in list(self._manager._server_instances.values()):
            transport.close_standalone_sse_stream()


def _capabilities(request: Any) -> dict[str, Any]:
    params = request.get("params") if isinstance(request, dict) else None
    declared = params.get("capabilities") if isinstance(params, dict) else None
    return declared if isinstance(declared, dict) else {}


def check_initialize(message: Any, body: bytes) -> None:
    """Refuse an `initialize` request that is too large to be kept for as long as a session."""
    if len(body) > LONGEST_INITIALIZE or _has_more_values(message, MOST_INITIALIZE_VALUES):
        bounds = f"{LONGEST_INITIALIZE:,} bytes or {MOST_INITIALIZE_VALUES:,} values"
        raise PayloadTooLargeError(f"The initialize request has more than {bounds}.")


def _has_more_values(value: Any, most: int) -> bool:
    left, count = [value], 0
    while left and count <= most:
        one = left.pop()
        count += 1
        left.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
    return count > most


def _all_in_use() -> BusyError:
    message = "Too many sessions are open, and all of them are in use."
    return BusyError(message, hint="End those that you no longer use (DELETE /mcp), or try again later.")


def _too_many_of_caller(held: int) -> BusyError:
    message = f"You have {held:,} open sessions, which is as many as one caller may have."
    return BusyError(message, hint="End those that you no longer use (DELETE /mcp), or wait until they expire.")


def _holder(caller: Caller, scope: Scope) -> Hashable:
    owner, client = _owner(caller), scope.get("client")
    if owner is not None:
        return tuple(owner.values())
    return client[0] if client else None


def _owner(caller: Caller) -> Any:
    user = user_of(caller)
    return authorization_context(user) if user else None


@lru_cache(maxsize=10_000)
def user_of(caller: Caller) -> AuthenticatedUser | None:
    """The caller as the SDK's user: it binds sessions and sealed state to their owner."""
    if not caller.authenticated:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.identity, scopes=sorted(caller.scopes)))


# Changes wait here for the loop to tell them; a list that changed twice needs to be told once.
_MOST_WAITING = 1_000
SUBSCRIPTIONS_KEY = "dogubako.subscriptions"


class Listeners:
    """Notifies clients of changes: sessions (2025-11-25 and older) directly, 2026-07-28 through the SDK's bus."""

    def __init__(self, inside: ServedToolbox, bus: SubscriptionBus | None = None) -> None:
        self.bus = bus or InMemorySubscriptionBus()
        # The process that requests to clients name in their ids, where several serve one session.
        self._process = inside.messages.process if inside.messages is not None else None
        self._connections: dict[int, Connection] = {}
        # The streams of sessions, where several processes serve them.
        self.streams: SessionStreams | None = None
        self._send, self._receive = anyio.create_memory_object_stream[ServerEvent](_MOST_WAITING)
        self._waiting: set[ServerEvent] = set()
        inside.registry.subscribe(lambda _: self._tell(ToolsListChanged()))
        inside.catalog.subscribe(lambda change: self._tell(_event(change)))

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Deliver changes until cancelled."""
        task_status.started()
        with self._send, self._receive:
            async for event in self._receive:
                self._waiting.discard(event)
                await self.bus.publish(event)
                for connection in list(self._connections.values()):
                    await self._notify(connection, event)

    async def remember(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Middleware: notify a client from `notifications/initialized` on, until its session ends.

        Where several processes serve a session, another one may get that notification.
        """
        result = await call_next(ctx)
        if ctx.method == "initialize" and self._process is not None and ctx.request is not None:
            connection = ctx.session._connection
            connection.state.update(ctx.request.scope.get(RESTORED, {}))
            _name_requests(connection, self._process)
            self._add(connection)
        elif ctx.method == "notifications/initialized":
            self._add(ctx.session._connection)
        return result

    async def _notify(self, connection: Connection, event: ServerEvent) -> None:
        session = connection.session_id
        if not _concerns(connection, event):
            return
        if self.streams is not None and session is not None and self.streams.is_quiet(session):
            self.streams.keep_back(session, event)
        else:
            await _notify(connection, event)

    async def notify_session(self, session_id: str, event: ServerEvent) -> None:
        """Send an event to the client of one session."""
        for connection in [one for one in self._connections.values() if one.session_id == session_id]:
            if _concerns(connection, event):
                await _notify(connection, event)

    def state_of(self, session_id: str) -> dict[str, Any] | None:
        """What is known of a session; None if nobody has it open here."""
        found = (one.state for one in self._connections.values() if one.session_id == session_id)
        return next(found, None)

    def _add(self, connection: Connection) -> None:
        if connection.has_standalone_channel and id(connection) not in self._connections:
            self._connections[id(connection)] = connection
            connection.exit_stack.callback(self._forget, id(connection))

    def _forget(self, key: int) -> None:
        self._connections.pop(key, None)

    def _tell(self, event: ServerEvent) -> None:
        """Have a change told. One that waits already is told once: a server may bring a hundred tools at a time."""
        if event in self._waiting:
            return
        try:
            self._send.send_nowait(event)
            self._waiting.add(event)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Nobody is served right now, or a thousand changes wait already: who lists later sees them all.
            return


def session_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    """The id of the session in which a client of 2025-11-25 or older asks something over HTTP."""
    return ctx.session._connection.session_id


def _name_requests(connection: Connection, process: str) -> None:
    """Begin the ids of requests to the client with the name of this process: any process may get the answer."""
    if isinstance(connection.outbound, JSONRPCDispatcher):
        numbers = count(1)
        draw: Callable[[], Any] = lambda: f"{process}.{next(numbers)}"  # noqa: E731 - it replaces a method
        connection.outbound._allocate_id = draw  # type: ignore[method-assign]


def _concerns(connection: Connection, event: ServerEvent) -> bool:
    return not isinstance(event, ResourceUpdated) or event.uri in connection.state.get(SUBSCRIPTIONS_KEY, ())


async def _notify(connection: Connection, event: ServerEvent) -> None:
    match event:
        case ToolsListChanged():
            await connection.send_tool_list_changed()
        case PromptsListChanged():
            await connection.send_prompt_list_changed()
        case ResourcesListChanged():
            await connection.send_resource_list_changed()
        case ResourceUpdated(uri=uri):
            await connection.send_resource_updated(uri)


def _event(change: CatalogChange) -> ServerEvent:
    if change.kind == "updated":
        return ResourceUpdated(uri=change.uri or "")
    return ResourcesListChanged() if change.kind == "resources" else PromptsListChanged()
