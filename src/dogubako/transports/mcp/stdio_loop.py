"""Run the SDK's server over lines of stdio. Imported late, because it imports the SDK."""

from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from dogubako.transports.mcp.handover import Handover
from dogubako.transports.mcp.server import McpServer
from dogubako.transports.toolbox import ServedToolbox

Written = Callable[[Any, bytes], Awaitable[None]]
Refused = Callable[[bytes, bytes], Awaitable[None]]


async def run(
    inside: ServedToolbox,
    missed: Sequence[bytes],
    lines: AsyncIterable[bytes],
    written: Written,
    refused: Refused,
    handovers: dict[str | int, Handover],
) -> None:
    """Serve until the lines end."""
    door = McpServer(inside, handovers=handovers)
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def feed() -> None:
        async with to_server:
            for line in missed:
                await _feed_line(to_server.send, line, refused)
            async for line in lines:
                await _feed_line(to_server.send, line, refused)

    async def drain() -> None:
        async with from_server:
            async for item in from_server:
                encoded = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                await written(
                    getattr(item.message, "id", None) if not hasattr(item.message, "method") else None, encoded
                )

    async with to_server, server_reads, server_writes, from_server, anyio.create_task_group() as tasks:
        await tasks.start(door.listeners.run)
        tasks.start_soon(feed)
        tasks.start_soon(drain)
        await door.server.run(server_reads, server_writes, door.server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _feed_line(send: Callable[[SessionMessage], Awaitable[None]], line: bytes, refused: Refused) -> None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        error = types.ErrorData(code=types.INVALID_REQUEST, message="This is not a JSON-RPC message.")
        answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
        await refused(line, answer.model_dump_json(by_alias=True, exclude_unset=True).encode())
        return
    await send(SessionMessage(message))
