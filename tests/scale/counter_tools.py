"""The tools of a server that keeps state: it counts in memory, asks, and works for long."""

import os
from pathlib import Path

import anyio

from dogubako import Context, Effect, resource, tool

_counted: list[int] = []
_LONG = 300.0


@tool(effect=Effect.WRITE, open_world=False)
async def count_up() -> str:
    """Count, and tell which process did."""
    _counted.append(1)
    return f"{os.getpid()} {len(_counted)}"


@tool(effect=Effect.READ, open_world=False)
async def ask_name(context: Context) -> str:
    """Ask for a name."""
    answer = await context.ask("Your name?")
    return f"Hello {answer.content['answer']}"


@tool(effect=Effect.READ, open_world=False)
async def stroll(context: Context) -> str:
    """Report progress and say something."""
    for step in range(3):
        await context.progress(step, 3, f"step {step}")
        await anyio.sleep(0.1)
    await context.log("error", "on the way")
    return "arrived"


@tool(effect=Effect.WRITE, open_world=False, timeout=200_000)
async def crawl(marker: str) -> str:
    """Work for long; each run leaves a line."""
    _note(Path(marker))
    await anyio.sleep(_LONG)
    return "done"


def _note(path: Path) -> None:
    with path.open("a") as file:
        file.write("run\n")


@resource(f"{os.environ['COUNTER']}://total")
async def total() -> str:
    """How far it counted."""
    return str(len(_counted))


TOOLS = (count_up, ask_name, stroll, crawl)
