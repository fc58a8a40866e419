"""Tools that take a large argument and have little to say about it."""

from typing import Annotated

from pydantic import AfterValidator

from dogubako import Effect, tool


def _repeat(value: str) -> str:
    raise ValueError(f"this is not a good one: {value}")


@tool(effect=Effect.READ, open_world=False)
async def text_length(text: Annotated[str, "Any text."]) -> str:
    """Count the characters of a text."""
    return f"{len(text)} characters"


@tool(effect=Effect.READ, open_world=False)
async def picky(text: Annotated[str, AfterValidator(_repeat)]) -> str:
    """Like no text."""
    return text


@tool(effect=Effect.READ, open_world=False)
async def picky_list(texts: list[Annotated[str, AfterValidator(_repeat)]]) -> str:
    """Like no text of a list."""
    return str(texts)


TOOLS = (text_length, picky, picky_list)
