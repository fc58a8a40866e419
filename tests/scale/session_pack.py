"""A pack for sessions over several processes: a tool that logs at two levels, and a resource that changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from dogubako import Context, Effect, Pack, tool
from dogubako.tools import Host, PackSettings, Resource

NOTICE = "notice://board"
_LONG = 300.0


class BoardSettings(PackSettings):
    pass


class BoardPack(Pack[BoardSettings, Host]):
    name = "board"
    settings = BoardSettings

    @asynccontextmanager
    async def connect(self, settings: BoardSettings, host: Host) -> AsyncIterator[Host]:
        hosts.append(host)
        yield host
        hosts.remove(host)


hosts: list[Host] = []


@tool(effect=Effect.READ, open_world=False)
async def chat(context: Context[Any]) -> str:
    """Say something quietly and something loudly."""
    await context.log("debug", "quiet")
    await context.log("error", "loud")
    return "said"


@tool(effect=Effect.READ, open_world=False)
async def pin_note() -> str:
    """Pin a note to the board."""
    hosts[-1].resource_updated(NOTICE)
    return "pinned"


@tool(effect=Effect.READ, open_world=False)
async def linger_and_talk(marker: str, context: Context[Any]) -> str:
    """Say something, and stay; the marker says what became of it."""
    await context.log("error", "here I am")
    _note(marker, "started")
    try:
        await anyio.sleep(_LONG)
    except asyncio.CancelledError:
        _note(marker, "cancelled")
        raise
    return "done"


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)


async def _read(context: Context[Any], variables: Any) -> str:
    return "notes"


BoardPack.tools = (chat, pin_note, linger_and_talk)
BoardPack.resources = (Resource(uri=NOTICE, name="board", description="The notices.", read=_read),)
PACK = BoardPack()
