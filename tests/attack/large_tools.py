"""Tools of one file whose answers are large: a text, and rows."""

from typing import Annotated

from dogubako import tool


@tool
async def long_text(characters: Annotated[int, "How many?"]) -> str:
    """Return a long text."""
    return "lorem ipsum " * (characters // 12)


@tool
async def many_rows(rows: Annotated[int, "How many?"]) -> list[dict[str, str]]:
    """Return many rows."""
    return [{"name": f"row {number}", "text": "lorem ipsum dolor sit amet " * 4} for number in range(rows)]
