"""Connections to servers of ours on bare sockets: what a server can do with one, and how all of them end."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

_PATIENCE: Final = 20


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


@dataclass(kw_only=True)
class OpenConnections:
    """Those that a server has. One that outlived its server would be a warning in the middle of a later test."""

    _open: dict["asyncio.Task[None]", asyncio.StreamWriter] = field(default_factory=dict)

    def add(self, writer: asyncio.StreamWriter) -> None:
        """To be said by the task that serves it."""
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        task.add_done_callback(self._open.pop)

    async def end(self) -> None:
        for writer in self._open.values():
            writer.transport.abort()
        if self._open:
            await asyncio.wait(set(self._open), timeout=_PATIENCE)
        # What was aborted is closed with the next turn of the loop.
        await asyncio.sleep(0)
