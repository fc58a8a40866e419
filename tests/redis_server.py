"""A real `redis-server`, where one is installed, and ports on which nobody listens."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

INSTALLED: Final = shutil.which("redis-server") is not None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@asynccontextmanager
async def redis_server(folder: Path, port: int | None = None) -> AsyncIterator[str]:
    """Its address, on this port or on any."""
    where = free_port() if port is None else port
    command = ["redis-server", "--port", str(where), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(10):
            await _listening(where)
        yield f"redis://127.0.0.1:{where}/0"
    finally:
        process.terminate()
        await process.wait()


async def _listening(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        await writer.wait_closed()
        return
