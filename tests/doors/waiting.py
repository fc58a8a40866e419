"""Waits that end."""

from collections.abc import Callable
from pathlib import Path

import anyio

from .processes import PATIENCE

_TICK = 0.01


async def until(happened: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Look again and again until it has happened, or fail with what was waited for."""
    for _ in range(round(seconds / _TICK)):
        if happened():
            return
        await anyio.sleep(_TICK)
    raise AssertionError(f"within {seconds:g} s this did not happen: {what}")


async def says(marker: Path, word: str, seconds: float = PATIENCE) -> None:
    """Wait until a tool has written this word into its marker file."""
    await until(lambda: marker.exists() and marker.read_text() == word, f"{marker.name} says {word}", seconds)
