"""Tools that tell which worker process answers."""

import os
import time
from pathlib import Path

from dogubako import Context, Effect, tool

read = tool(effect=Effect.READ, open_world=False)
_LONG = 300.0


@read
async def which_worker() -> str:
    """Name the process."""
    return str(os.getpid())


@read
async def hold_worker(marker: str) -> str:
    """Keep this process from doing anything else, for as long as the marker is there."""
    # The whole loop stands still on purpose: whoever calls meanwhile meets another worker.
    _hold(Path(marker))
    return "free again"


def _hold(marker: Path) -> None:
    marker.write_text(str(os.getpid()))
    ends = time.monotonic() + _LONG
    while marker.exists() and time.monotonic() < ends:
        time.sleep(0.01)


@read
async def ask_as_worker(context: Context) -> str:
    """Ask for a colour, and tell which process heard the answer."""
    answer = await context.ask("Which colour?")
    return f"{os.getpid()} {answer.content['answer']}"
