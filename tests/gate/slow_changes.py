"""Tools that change something and take their time over it. Test-only."""

import asyncio
from pathlib import Path

import anyio

from dogubako import Context, Effect, tool
from dogubako.contract import errors


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)


def _noted(marker: str) -> str:
    return Path(marker).read_text() if Path(marker).exists() else ""


@tool(effect=Effect.WRITE, open_world=False)
async def paint(marker: str, seconds: float = 300.0) -> str:
    """Paint the shed; the marker says how far it is."""
    _note(marker, "started")
    await anyio.sleep(seconds)
    _note(marker, "done")
    return "painted"


@tool(effect=Effect.WRITE, open_world=False)
async def paint_on(marker: str) -> str:
    """Paint the shed until the marker says `enough`, whoever wants to stop it."""
    _note(marker, "started")
    while _noted(marker) != "enough":
        try:
            await anyio.sleep(0.02)
        except asyncio.CancelledError:
            continue
    return "painted"


@tool(effect=Effect.WRITE, idempotent=True, retry=2, open_world=False)
async def paint_again(marker: str) -> str:
    """Fail twice, then paint."""
    tries = int(_noted(marker) or 0)
    _note(marker, str(tries + 1))
    if tries < 2:
        raise errors.ApiError("The paint is not dry", status_code=503)
    return "painted"


@tool(effect=Effect.WRITE, open_world=False)
async def have_it_painted(marker: str, context: Context) -> str:
    """Let another tool paint."""
    return str((await context.tools.call("paint", {"marker": marker, "seconds": 0})).value)


TOOLS = (paint, paint_on, paint_again, have_it_painted)
