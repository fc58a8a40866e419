"""A shed full of tools: one that looks, one that writes, one that destroys, and some that end badly. Test-only."""

import asyncio
from pathlib import Path
from typing import Any

import anyio

from dogubako import Context, Effect, Pack, tool
from dogubako.contract import errors
from dogubako.tools import BaseTool, Prompt, PromptArgument, PromptMessage, Resource, ToolArgs


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)


@tool(effect=Effect.READ, open_world=False)
async def look(text: str = "", depth: dict[str, Any] | None = None) -> str:
    """Look into the shed."""
    return f"seen: {text}"


@tool(effect=Effect.WRITE, open_world=False)
async def put(text: str, marker: str = "") -> str:
    """Put something into the shed."""
    if marker:
        _note(marker, text)
    return "put"


@tool(effect=Effect.READ, open_world=False)
async def linger(marker: str, seconds: float = 300.0) -> str:
    """Stay for a while; the marker says what became of it."""
    _note(marker, "started")
    try:
        await anyio.sleep(seconds)
    except asyncio.CancelledError:
        _note(marker, "cancelled")
        raise
    return "done"


@tool(effect=Effect.READ, open_world=False)
async def stumble(foreseen: bool) -> str:
    """Fail, with or without words for it."""
    if foreseen:
        raise errors.NotFoundError("Rake 'x' not found")
    raise RuntimeError("nobody foresaw this")


class WipeArgs(ToolArgs):
    marker: str


class Wipe(BaseTool[WipeArgs]):
    """Empty the shed."""

    name = "wipe"
    effect = Effect.DESTROY

    async def execute(self, args: WipeArgs) -> str:
        _note(args.marker, "wiped")
        return "empty"

    async def foresee(self, args: WipeArgs) -> str:
        return "Three rakes and a spade would be gone."


class Handyman(BaseTool):
    """Look into the shed by another tool."""

    name = "send_handyman"
    effect = Effect.READ

    async def execute(self, args: Any) -> Any:
        return await self.context.tools.call("look", {"text": "by handyman"})


async def _read(context: Context[Any], variables: Any) -> str:
    return "rakes"


async def _render(context: Context[Any], arguments: Any) -> list[PromptMessage]:
    return [PromptMessage(content="Tidy up.")]


class ShedPack(Pack):
    name = "shed"
    tools = (look, put, linger, stumble, Wipe, Handyman)
    resources = (Resource(uri="shed://stock", name="stock", read=_read),)
    prompts = (
        Prompt(
            name="tidy",
            description="Tidy up.",
            render=_render,
            arguments=(PromptArgument(name="how", description="How well."),),
        ),
    )


PACK = ShedPack()
