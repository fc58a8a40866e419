"""A real `redis-server`, where one is installed, and ports on which nobody listens."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

INSTALLED: Final = shutil.which("redis-server") is not None
_PATIENCE: Final = 30


# Ports that were given away. Nobody listens there, and while they are held no other process is given one of them.
_held: list[socket.socket] = []


def free_port() -> int:
    """A port on which nobody listens, unless a server is told to: one that allows its address to be used again."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held.append(held)
    port: int = held.getsockname()[1]
    return port


@asynccontextmanager
async def redis_server(folder: Path, port: int | None = None) -> AsyncIterator[str]:
    """Its address, on this port or on any."""
    where = free_port() if port is None else port
    command = ["redis-server", "--port", str(where), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(_PATIENCE):
            await _listening(where, process)
        yield f"redis://127.0.0.1:{where}/0"
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    while True:
        assert process.returncode is None, f"redis-server ended with code {process.returncode}"
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        await writer.wait_closed()
        return
