"""Read Excel and Word files (Office Open XML): sheets as tables, text with headings, lists and links."""

import datetime
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from itertools import islice, zip_longest
from typing import Any, Final

from dogubako.outbound.documents.document import (
    MOST_CHARACTERS,
    STUMBLES,
    Document,
    DocumentError,
    damaged,
    markdown_row,
    parts_of,
)

_MEGABYTE: Final = 1024 * 1024
# An archive that unpacks to more is a decompression bomb, or nothing to read in a conversation.
_MOST_UNPACKED: Final = 256 * _MEGABYTE
_MOST_MEMBERS: Final = 10_000
_ROWS_OF_A_PART: Final = 100
_MOST_ROWS: Final = 50_000
_MOST_COLUMNS: Final = 200
_MISSING: Final = "this server cannot read Office files: a package is missing"
_INSTALL: Final = "An operator can install it: pip install 'dogubako[files]'."
_HEADING: Final = re.compile(r"(?:heading|見出し)\s*([1-6])", re.IGNORECASE)


def read_xlsx(body: bytes) -> Document:
    """A page is a sheet, or a part of a long sheet."""
    _require_small(body, "spreadsheet")
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise DocumentError(_MISSING, cause=str(error), hint=_INSTALL) from error

    try:
        values = load_workbook(BytesIO(body), read_only=True, data_only=True)
        formulas = load_workbook(BytesIO(body), read_only=True)
        pages: list[str] = []
        for name in values.sheetnames:
            sheet, other = values[name], formulas[name]
            if hasattr(sheet, "iter_rows"):
                pages += _sheet_pages(name, sheet, other)
            if sum(map(len, pages)) > MOST_CHARACTERS:
                break
    except (*STUMBLES, zipfile.BadZipFile) as error:
        raise damaged("spreadsheet", error) from error
    return _of_pages(pages, "sheet")


def _sheet_pages(name: str, sheet: Any, formulas: Any) -> list[str]:
    # The size that the file states may be wrong, and costs much if it is.
    sheet.reset_dimensions()
    formulas.reset_dimensions()
    hidden = ", hidden" if getattr(sheet, "sheet_state", "visible") != "visible" else ""
    rows = list(_rows(sheet, formulas))
    while rows and not any(rows[-1][1]):
        rows.pop()
    width = max((len(cells) for _, cells in rows), default=0)
    if not width:
        return [f"## Sheet {name}{hidden}\n\n(empty)"]
    pages = []
    for start in range(0, len(rows), _ROWS_OF_A_PART):
        part = rows[start : start + _ROWS_OF_A_PART]
        told = f", rows {part[0][0]} to {part[-1][0]} of {rows[-1][0]}" if len(rows) > _ROWS_OF_A_PART else ""
        # Every part begins with the first row: it has the names of the columns.
        head = rows[0][1] if start else part.pop(0)[1]
        lines = [markdown_row([*head, *[""] * (width - len(head))]), "|" + " --- |" * width]
        lines += [markdown_row([*cells, *[""] * (width - len(cells))]) for _, cells in part]
        pages.append(f"## Sheet {name}{hidden}{told}\n\n" + "\n".join(lines))
    return pages


def _rows(sheet: Any, formulas: Any) -> Iterator[tuple[int, list[str]]]:
    """Number and texts of the rows that have any. A formula without a stored value is shown itself."""
    both = zip_longest(
        sheet.iter_rows(values_only=True, max_row=_MOST_ROWS, max_col=_MOST_COLUMNS),
        formulas.iter_rows(values_only=True, max_row=_MOST_ROWS, max_col=_MOST_COLUMNS),
        fillvalue=(),
    )
    for number, (values, written) in enumerate(islice(both, _MOST_ROWS), 1):
        cells = [
            _shown(value if value is not None else formula)
            for value, formula in zip_longest(values or (), written or ())
        ]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield number, cells


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime.datetime():
            return value.isoformat(" ").removesuffix(" 00:00:00")
        case float() if value.is_integer():
            return str(int(value))
    return str(value)


def read_docx(body: bytes) -> Document:
    """A Word file has no pages before it is printed, so it is read in parts."""
    _require_small(body, "Word file")
    try:
        import docx  # noqa: PLC0415 - an extra
        from docx.opc.exceptions import PackageNotFoundError  # noqa: PLC0415
    except ImportError as error:
        raise DocumentError(_MISSING, cause=str(error), hint=_INSTALL) from error

    try:
        document = docx.Document(BytesIO(body))
        blocks = [block for block in map(_word_block, document.iter_inner_content()) if block]
        title = str(document.core_properties.title or "")
    except (*STUMBLES, zipfile.BadZipFile, PackageNotFoundError) as error:
        raise damaged("Word file", error) from error
    return _of_pages(parts_of(_with_lists_joined(blocks)), "part", title)


def _word_block(block: Any) -> str:
    if hasattr(block, "rows"):
        return _word_table(block)
    text = _word_text(block)
    style = (block.style.name if block.style is not None else "") or ""
    heading = _HEADING.match(style)
    if not text.strip():
        return ""
    if heading or style == "Title":
        return f"{'#' * int(heading[1] if heading else 1)} {text.strip()}"
    numbered = block._p.pPr is not None and block._p.pPr.numPr is not None
    if style.startswith("List Number"):
        return f"1. {text.strip()}"
    if style.startswith("List") or numbered:
        return f"- {text.strip()}"
    return text


def _word_text(paragraph: Any) -> str:
    """The text of a paragraph, with its links."""
    pieces = []
    for piece in paragraph.iter_inner_content():
        address = getattr(piece, "address", "")
        pieces.append(f"[{piece.text}]({address})" if address and piece.text else piece.text)
    return "".join(pieces)


def _word_table(table: Any) -> str:
    lines = [markdown_row(cell.text for cell in row.cells) for row in table.rows]
    return "\n".join([lines[0], "|" + " --- |" * (lines[0].count(" | ") + 1), *lines[1:]]) if lines else ""


def _with_lists_joined(blocks: list[str]) -> list[str]:
    """Lists without empty lines between their items, and with numbers that count."""
    joined: list[str] = []
    number = 0
    for block in blocks:
        number = number + 1 if block.startswith("1. ") else 0
        line = f"{number}. {block[3:]}" if number else block
        is_item = number > 0 or block.startswith("- ")
        if is_item and joined and joined[-1].startswith(("- ", "1. ")) and len(joined[-1]) < 4_000:
            joined[-1] += f"\n{line}"
        else:
            joined.append(line)
    return joined


def _require_small(body: bytes, kind: str) -> None:
    """Refuse decompression bombs by the sizes that the archive declares: the unpacker reads no more than these."""
    try:
        with zipfile.ZipFile(BytesIO(body)) as archive:
            members = archive.infolist()
    except (*STUMBLES, zipfile.BadZipFile) as error:
        raise damaged(kind, error) from error
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > _MOST_UNPACKED:
        raise DocumentError(f"the {kind} is too large when it is unpacked", cause=f"{len(members)} members")


def _of_pages(pages: list[str], unit: str, title: str = "") -> Document:
    return Document(title=title, unit=unit, count=len(pages), page=lambda number: pages[number - 1])
