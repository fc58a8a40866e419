"""Tools that misbehave, and tools that tell a file what happened to them. Test-only."""

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import structlog

from dogubako import Context, Effect, tool

read = tool(effect=Effect.READ, open_world=False)
# Longer than any test has patience.
_LONG = 300.0


async def _linger(marker: str) -> str:
    _note(marker, "started")
    try:
        await anyio.sleep(_LONG)
    except asyncio.CancelledError:
        _note(marker, "cancelled")
        raise
    return "nobody stopped me"


def _note(marker: str, word: str) -> None:
    Path(marker).write_text(word)


@read
async def linger(marker: str) -> str:
    """Wait for a long time; the marker file says what became of it. Takes the short way."""
    return await _linger(marker)


@read
async def linger_talking(marker: str, context: Context) -> str:
    """The same for a tool that can talk, which takes the long way through the SDK."""
    await context.progress(0, 1, "waiting")
    return await _linger(marker)


@read
async def pause(marker: str, seconds: float) -> str:
    """Wait for a moment. Takes the short way."""
    _note(marker, "started")
    await anyio.sleep(seconds)
    return "done"


@read
def block(seconds: float) -> str:
    """Block a thread, as careless code does."""
    time.sleep(seconds)
    return "the thread is free again"


@read
async def never_end() -> str:
    """Refuse to be cancelled."""
    release = asyncio.Event()
    asyncio.get_running_loop().call_later(_LONG, release.set)
    while not release.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await release.wait()
    return "at last"


class _Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even its message can be read")


@read
async def explode(how: str) -> str:
    """Raise what no tool should raise."""
    raise {
        "SystemExit": SystemExit(3),
        "KeyboardInterrupt": KeyboardInterrupt(),
        "BaseException": BaseException("the bottom of everything"),
        "GeneratorExit": GeneratorExit(),
        "CancelledError": asyncio.CancelledError(),
        "group": BaseExceptionGroup("two", [ValueError("one"), SystemExit(2)]),
        "RecursionError": RecursionError(),
        "MemoryError": MemoryError(),
        "half a character": RuntimeError("half \ud800 a character"),
        "no words": _Wordless(),
    }[how]


class _Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("not even its name can be said")

    __repr__ = __str__


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    return circle


def _well() -> list[Any]:
    well: list[Any] = []
    for _ in range(10_000):
        well = [well]
    return well


@read
async def rubbish(kind: str) -> Any:
    """Return something that is no answer."""
    return {
        "object": _Unspeakable(),
        "function": rubbish,
        "lock": threading.Lock(),
        "circle": _circle(),
        "depth": _well(),
        "mixed list": ["a", _Unspeakable()],
        "complex": 1j,
    }[kind]


@read
async def oddity(kind: str) -> Any:
    """Return something unusual that can still be said."""
    return {
        "nothing": None,
        "nan": {"value": float("nan"), "much": float("inf")},
        "huge": {"value": 2**200},
        "surrogate": "half \ud800 a character",
        "surrogate key": {"\udfff": "\ud800"},
        "bytes": {"value": b"\x00\xff"},
        "set": {"value": {1}},
        "empty list": [],
        "number keys": {1: "one"},
    }[kind]


@read
async def shout(words: str) -> str:
    """Print to stdout, which belongs to the protocol, and log."""
    print(words)
    structlog.get_logger("dogubako.tool").info("Shouted", words=words)
    return "done"


TOOLS = (linger, linger_talking, pause, block, never_end, explode, rubbish, oddity, shout)
