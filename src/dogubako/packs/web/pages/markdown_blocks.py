"""Render the parts of a page as Markdown blocks: paragraphs, code, quotes, lists and tables."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

# `inline` is a part of a line, `block` stands alone; items, rows and cells become blocks of their list or table.
Kind = Literal["inline", "block", "code", "item", "row", "cell", "caption", "table", "list"]

_SPACES: Final = re.compile(r"[ \t\r\f\v\u00a0]+")
_BREAK: Final = re.compile(r" *\n *")
_LINE_NUMBERS: Final = re.compile(r"[\d\s]+")
_FENCE: Final = re.compile(r"`{3,}")
# Deeper lists and quotes are not indented further: the text of each level is written again by the level above.
_MOST_LEVELS: Final = 20
_MOST_SPAN: Final = 100
# With more cells than this, spans are ignored.
_MOST_CELLS: Final = 20_000
# A cell of a real table is short. Longer ones are the columns of a layout.
_LONGEST_CELL: Final = 2_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A converted part of a page."""

    kind: Kind
    text: str = ""
    parts: tuple["Piece", ...] = ()
    # The number of a list item, or the columns and rows of a cell.
    number: int | None = None
    span: tuple[int, int] = (1, 1)
    level: int = 0


def inline_text(pieces: Iterable[Piece]) -> str:
    """The text of a line. A line end in it is a line break of the page."""
    text = _SPACES.sub(" ", "".join(piece.text for piece in pieces))
    return _BREAK.sub("\n", text).strip(" \n")


def blocks_of(pieces: Iterable[Piece]) -> list[Piece]:
    """Join neighbouring inline pieces to paragraphs."""
    blocks: list[Piece] = []
    line: list[Piece] = []
    for piece in pieces:
        if piece.kind == "inline":
            line.append(piece)
            continue
        _end_line(line, blocks)
        blocks.append(piece)
    _end_line(line, blocks)
    return blocks


def _end_line(line: list[Piece], blocks: list[Piece]) -> None:
    text = inline_text(line)
    line.clear()
    if text:
        blocks.append(Piece("block", text))


def joined(pieces: Iterable[Piece], *, between: str = "\n\n") -> str:
    """The text of several blocks."""
    return between.join(piece.text for piece in blocks_of(pieces) if piece.text)


def code_block(text: str, language: str) -> Piece:
    """A fenced block. The fence is longer than every fence inside."""
    text = text.removeprefix("\n").rstrip()
    longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return (
        Piece("code", f"{fence}{language}\n{text}\n{fence}", parts=(Piece("inline", text),)) if text else Piece("code")
    )


def code_span(text: str) -> str:
    """Code within a line."""
    text = " ".join(text.split())
    if "`" not in text:
        return f"`{text}`" if text else ""
    ticks = "`" * (max(map(len, re.findall("`+", text))) + 1)
    return f"{ticks} {text} {ticks}"


def quote(pieces: Iterable[Piece], level: int) -> Piece:
    """A quotation, each of its lines marked."""
    text = joined(pieces)
    if level > _MOST_LEVELS or not text:
        return Piece("block", text)
    return Piece("block", "\n".join(f"> {line}".rstrip() for line in text.split("\n")))


def list_block(pieces: Iterable[Piece], *, ordered: bool, start: int, step: int, level: int) -> Piece:
    """A list with its markers. A list inside of it, but outside of its items, belongs to the item before."""
    lines: list[str] = []
    number, marker = start, "- "
    for piece in blocks_of(pieces):
        if piece.kind != "item":
            indented = level <= _MOST_LEVELS and lines
            lines.append(_indented(piece.text, " " * len(marker)) if indented else piece.text)
            continue
        number = piece.number if piece.number is not None else number
        marker = f"{number}. " if ordered else "- "
        text = _item_text(piece)
        if text:
            lines.append(marker + (_indented(text, " " * len(marker)) if level <= _MOST_LEVELS else text).lstrip(" "))
        number += step
    return Piece("list", "\n".join(lines), level=level)


def _item_text(piece: Piece) -> str:
    """The blocks of an item. A list follows its first line directly."""
    text = ""
    for block in piece.parts:
        if block.text:
            text += ("\n" if block.kind == "list" else "\n\n") * bool(text) + block.text
    return text


def _indented(text: str, prefix: str) -> str:
    return "\n".join(prefix + line if line else "" for line in text.split("\n"))


def table_block(pieces: Sequence[Piece], *, layout: bool) -> list[Piece]:
    """A table with a header line. A table that only arranges a page becomes its parts, one after the other."""
    captions = [Piece("block", piece.text) for piece in pieces if piece.kind == "caption" and piece.text]
    others = [piece for piece in blocks_of(pieces) if piece.kind not in ("row", "caption")]
    rows = [[cell for cell in piece.parts if cell.kind == "cell"] for piece in pieces if piece.kind == "row"]
    rows = [row for row in (_without_line_numbers(row) for row in rows) if row]
    if layout or _is_layout(rows):
        return [*captions, *others, *_arranged(rows)]
    grid = _grid(rows)
    if not any(any(line) for line in grid):
        return [*captions, *others]
    width = max(map(len, grid))
    if width * len(grid) > _MOST_CELLS * 10:
        # Empty cells would be most of it.
        width = len(grid[0])
    lines = ["| " + " | ".join([*line, *[""] * (width - len(line))]) + " |" for line in grid]
    lines.insert(1, "|" + " --- |" * width)
    return [*captions, *others, Piece("table", "\n".join(lines))]


def _without_line_numbers(row: list[Piece]) -> list[Piece]:
    """A row of a code listing without its column of line numbers."""
    if not any(part.kind == "code" for cell in row for part in cell.parts):
        return row
    return [cell for cell in row if not _LINE_NUMBERS.fullmatch(_code_text(cell))]


def _code_text(cell: Piece) -> str:
    return "".join(part.parts[0].text if part.kind == "code" and part.parts else part.text for part in cell.parts)


def _is_layout(rows: Sequence[Sequence[Piece]]) -> bool:
    if max(map(len, rows), default=0) <= 1 and not any(cell.level for row in rows for cell in row):
        return True
    cells = [cell for row in rows for cell in row]
    return any(_arranges(part) for cell in cells for part in cell.parts) or any(
        len(cell.text) > _LONGEST_CELL for cell in cells
    )


def _arranges(part: Piece) -> bool:
    """Whether only a layout has such a part in a cell."""
    if part.kind == "table" or (part.kind == "block" and part.text.startswith("#")):
        return True
    return part.kind == "code" and "\n" in part.text.strip("`\n").partition("\n")[2]


def _arranged(rows: Iterable[Iterable[Piece]]) -> list[Piece]:
    return [part for row in rows for cell in row for part in cell.parts]


def _grid(rows: Sequence[Sequence[Piece]]) -> list[list[str]]:
    """The texts of all cells. A cell that spans others is repeated in them."""
    grid: list[list[str]] = []
    below: dict[int, tuple[str, int]] = {}
    count = 0
    for row in rows:
        line: list[str] = []
        waiting = deque(row)
        if count > _MOST_CELLS:
            below.clear()
        while waiting or len(line) in below:
            if len(line) in below:
                _take_from_above(line, below)
                continue
            cell = waiting.popleft()
            columns, depth = cell.span if count <= _MOST_CELLS else (1, 1)
            text = _cell_text(cell)
            for _ in range(min(columns, _MOST_SPAN)):
                if depth > 1:
                    below[len(line)] = (text, depth - 1)
                line.append(text)
        count += len(line)
        grid.append(line)
    return [line for line in grid if line]


def _take_from_above(line: list[str], below: dict[int, tuple[str, int]]) -> None:
    text, depth = below.pop(len(line))
    if depth > 1:
        below[len(line)] = (text, depth - 1)
    line.append(text)


def _cell_text(cell: Piece) -> str:
    """The text of a cell on one line."""
    parts = [_code_in_cell(part) if part.kind == "code" else part.text for part in cell.parts]
    text = "<br>".join("<br>".join(part.split("\n")) for part in parts if part)
    return re.sub(r"(<br>)+", "<br>", text).replace("|", "\\|")


def _code_in_cell(part: Piece) -> str:
    return "<br>".join(map(code_span, filter(None, part.parts[0].text.split("\n")))) if part.parts else ""
