"""Tools for tests of signals: one that writes in pieces, one that starts a process, one that blocks the event loop."""

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio

from dogubako import Effect, tool

_LONG = 300.0


@tool(effect=Effect.WRITE, open_world=False)
async def write_slowly(path: str, pieces: int) -> str:
    """Append so many lines to a file, in many steps, and say so."""
    for number in range(pieces):
        _append(path, f"{number}\n")
        await anyio.sleep(0.02)
    return "written"


@tool(effect=Effect.READ, open_world=False)
async def start_process(marker: str) -> str:
    """Start a process that runs for a long time, and write the ids of it and of this worker into a file."""
    _append(marker, f"{os.getpid()} {_child()}")
    return "started"


@tool(effect=Effect.READ, open_world=False)
async def block_loop(marker: str, seconds: float) -> str:
    """Keep the event loop from running, as careless code does."""
    _append(marker, "started")
    _block(seconds)
    return "free again"


def _append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


def _child() -> int:
    return subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({_LONG})"]).pid


def _block(seconds: float) -> None:
    time.sleep(seconds)


TOOLS = (write_slowly, start_process, block_loop)
