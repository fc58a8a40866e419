"""Tell clients that a list or a resource changed: one event, both protocol eras."""

from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)

from dogubako.engine.catalog import CatalogChange
from dogubako.transports.inside import Inside

# Changes wait here for the loop to tell them; a list that changed twice needs to be told once.
_MOST_WAITING = 1_000
SUBSCRIPTIONS_KEY = "dogubako.subscriptions"


class Listeners:
    """Everyone who wants to hear of changes. Sessions of the old era are remembered, the new era has a bus."""

    def __init__(self, inside: Inside, bus: SubscriptionBus | None = None) -> None:
        self.bus = bus or InMemorySubscriptionBus()
        self._connections: dict[int, Connection] = {}
        self._send, self._receive = anyio.create_memory_object_stream[ServerEvent](_MOST_WAITING)
        inside.registry.subscribe(lambda _: self._tell(ToolsListChanged()))
        inside.catalog.subscribe(lambda change: self._tell(_event(change)))

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Deliver changes until cancelled."""
        task_status.started()
        with self._send, self._receive:
            async for event in self._receive:
                await self.bus.publish(event)
                for connection in list(self._connections.values()):
                    await _notify(connection, event)

    async def remember(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Middleware: an old-era client that has finished its handshake hears of changes until it leaves."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            connection = ctx.session._connection
            if connection.has_standalone_channel and id(connection) not in self._connections:
                self._connections[id(connection)] = connection
                connection.exit_stack.callback(self._forget, id(connection))
        return result

    def _forget(self, key: int) -> None:
        self._connections.pop(key, None)

    def _tell(self, event: ServerEvent) -> None:
        try:
            self._send.send_nowait(event)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Nobody is served right now, or a thousand changes wait already: who lists later sees them all.
            return


async def _notify(connection: Connection, event: ServerEvent) -> None:
    match event:
        case ToolsListChanged():
            await connection.send_tool_list_changed()
        case PromptsListChanged():
            await connection.send_prompt_list_changed()
        case ResourcesListChanged():
            await connection.send_resource_list_changed()
        case ResourceUpdated(uri=uri) if uri in connection.state.get(SUBSCRIPTIONS_KEY, ()):
            await connection.send_resource_updated(uri)


def _event(change: CatalogChange) -> ServerEvent:
    if change.kind == "updated":
        return ResourceUpdated(uri=change.uri or "")
    return ResourcesListChanged() if change.kind == "resources" else PromptsListChanged()
