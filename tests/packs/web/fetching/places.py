"""Web servers on loopback that remember who came, and certificates for them from an authority of our own."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field

from tests.socket_connection import OpenConnections, SocketConnection


@dataclass(kw_only=True)
class Guest(SocketConnection):
    """One connection, after its request's head."""

    head: str

    @property
    def path(self) -> str:
        return self.head.split(" ", 2)[1]


Serve = Callable[[Guest], Awaitable[None]]


@dataclass(kw_only=True)
class Place:
    """Where a server listens, and what it has seen."""

    serve: Serve
    port: int = 0
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    greeted: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    guests: OpenConnections = field(default_factory=OpenConnections)

    @property
    def paths(self) -> list[str]:
        return [head.split(" ", 2)[1] for head in self.heads]

    def header(self, name: str) -> list[str]:
        lines = [line.partition(": ") for head in self.heads for line in head.split("\r\n")[1:]]
        return [value for key, _, value in lines if key.lower() == name]

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.guests.add(writer)
        try:
            # A connection may be used for more than one request, if the guest wants to.
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                self.heads.append(head)
                self.asked.set()
                await self.serve(Guest(reader=reader, writer=writer, head=head))
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        finally:
            self.left.set()
            writer.close()


@contextmanager
def free_port() -> Iterator[int]:
    """A port that nobody has on any address; whoever allows it to be used again can listen there meanwhile."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        yield held.getsockname()[1]


@asynccontextmanager
async def serving(
    serve: Serve, host: str = "127.0.0.2", port: int | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Place]:
    """A server on a port that is free on every other address too, or on the port of another server."""
    place = Place(serve=serve)
    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: place.greeted.append(name)
    with free_port() if port is None else nullcontext(port) as place.port:
        async with await asyncio.start_server(place.visit, host, place.port, ssl=tls):
            try:
                yield place
            finally:
                await place.guests.end()


def answer(body: bytes = b"<p>hello</p>", status: int = 200, **headers: str) -> bytes:
    """A whole answer; a header's underscores are written as dashes."""
    named = {"content_type": "text/html", "content_length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status} Word", *(f"{name.replace('_', '-')}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def always(data: bytes) -> Serve:
    async def serve(guest: Guest) -> None:
        await guest.say(data)

    return serve


def by_path(answers: Mapping[str, bytes]) -> Serve:
    async def serve(guest: Guest) -> None:
        await guest.say(answers.get(guest.path, answer(b"nothing here", 404)))

    return serve
