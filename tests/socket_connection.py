"""One connection to a server of ours on a bare socket: what the server can do with it."""

import asyncio
from dataclasses import dataclass


@dataclass(kw_only=True)
class SocketConnection:
    """Bytes go out as they are, and a connection that ends is noticed."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone_within(self, seconds: float) -> bool:
        """Whether the other side hangs up in this time; nothing more is expected from it."""
        try:
            return await asyncio.wait_for(self.reader.read(1), seconds) == b""
        except TimeoutError:
            return False
