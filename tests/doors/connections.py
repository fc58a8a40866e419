"""Our protocol on a free port, in front of small apps, and clients that send it any bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn
from uvicorn.server import ServerState

from dogubako.transports.http.uvicorn_protocol import LimitedHttpProtocol

from .loop_clock import LoopClock
from .processes import PATIENCE
from .waiting import until

HEAD: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
END: Final = b"Connection: close\r\n\r\n"

App = Callable[[Any, Any, Any], Awaitable[None]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

# More seconds than any request may take to arrive.
_MOST_DROPS: Final = 200


async def answer(send: Any, body: bytes = b"") -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """Takes the whole request, and answers with its path."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.request":
        await answer(send, scope["path"].encode())


async def not_reading(scope: Any, receive: Any, send: Any) -> None:
    """Knows its answer from the head alone, as for somebody without a key."""
    await answer(send, scope["path"].encode())


@dataclass(frozen=True)
class Place:
    """A server that listens."""

    port: int
    state: ServerState
    clients: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self) -> Connection:
        """A connection that is closed with the server, if not before."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.clients.append(writer)
        return reader, writer

    async def is_left(self, clock: LoopClock) -> None:
        """Let time pass until no connection is open on the server's side."""

        def left() -> bool:
            clock.ahead += 1
            return not self.state.connections

        await until(left, "the server ends all connections")


@asynccontextmanager
async def listening(app: App = reading, port: int = 0) -> AsyncIterator[Place]:
    config = uvicorn.Config(app, http=LimitedHttpProtocol, log_config=None, lifespan="off", ws="none")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: LimitedHttpProtocol(config, state, {}), "127.0.0.1", port)
    place = Place(server.sockets[0].getsockname()[1], state)
    try:
        yield place
    finally:
        server.close()
        await _end(place)


async def _end(place: Place) -> None:
    for writer in place.clients:
        writer.close()
    for connection in list(place.state.connections):
        connection.transport.abort()
    for task in list(place.state.tasks):
        task.cancel()
    await asyncio.gather(*place.state.tasks, return_exceptions=True)


async def everything_after(place: Place, *pieces: bytes) -> bytes:
    """All that comes back until the server ends the connection."""
    reader, writer = await place.connect()
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    async with asyncio.timeout(PATIENCE):
        return await reader.read()


async def answer_to(place: Place, *pieces: bytes) -> tuple[int, Any]:
    """Status and body of the only answer until the connection ends."""
    head, _, body = (await everything_after(place, *pieces)).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body.startswith(b"{") else body.decode()


async def next_answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of an answer on a connection that stays open."""
    async with asyncio.timeout(PATIENCE):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return head, await reader.readexactly(int(length.split(b":")[1]))


async def drip(connection: Connection, byte: bytes, clock: LoopClock) -> bytes:
    """Send a byte every second until the server has had enough; everything that it said."""
    reader, writer = connection
    ended = asyncio.ensure_future(reader.read())
    for _ in range(_MOST_DROPS):
        if not writer.is_closing():
            writer.write(byte)
        await asyncio.wait({ended}, timeout=0.01)
        if ended.done():
            return ended.result()
        clock.ahead += 1
    raise AssertionError(f"after {_MOST_DROPS} bytes the server has not had enough")
