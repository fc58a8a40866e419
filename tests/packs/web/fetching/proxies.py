"""A small proxy on loopback that remembers where it was asked to go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.socket_connection import OpenConnections


@dataclass(kw_only=True)
class Proxy:
    """Where it listens, and the first line of every request."""

    port: int = 0
    lines: list[str] = field(default_factory=list)
    guests: OpenConnections = field(default_factory=OpenConnections)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.guests.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            line = head.decode("latin-1").split("\r\n", 1)[0]
            self.lines.append(line)
            method, target, _ = line.split(" ")
            authority = target if method == "CONNECT" else target.split("/")[2]
            host, _, port = authority.rpartition(":")
            behind, ahead = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                else:
                    ahead.write(head)
                await asyncio.gather(_pour(reader, ahead), _pour(behind, writer))
            finally:
                ahead.close()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def proxying() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    listening = await asyncio.start_server(proxy.carry, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    async with listening:
        try:
            yield proxy
        finally:
            await proxy.guests.end()


async def _pour(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65_536):
            into.write(data)
            await into.drain()
    except ConnectionError:
        pass
    finally:
        into.close()
