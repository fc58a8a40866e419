"""A document as a sequence of pages, whatever kind of file it is."""

import re
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

DocumentKind = Literal["pdf", "xlsx", "docx"]

# The length of a part of a document that has no pages.
PART_CHARACTERS: Final = 8_000
# Longer documents are cut; the reader says so.
MOST_CHARACTERS: Final = 4_000_000
# Errors of readers for a damaged file, besides their own.
STUMBLES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
_KINDS_BY_TYPE: Final[dict[str, DocumentKind]] = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.ms-excel.sheet.macroenabled.12": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-word.document.macroenabled.12": "docx",
}
_KINDS_BY_ENDING: Final[dict[str, DocumentKind]] = {
    "pdf": "pdf",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "docx": "docx",
    "docm": "docx",
}
_PDF_MARK: Final = re.compile(rb"\A.{0,1000}?%PDF-", re.DOTALL)
_ZIP_MARK: Final = b"PK\x03\x04"


class DocumentError(Exception):
    """A document cannot be read; the message is for the caller."""

    def __init__(self, message: str, *, cause: str = "", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.hint = hint


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """Pages that are read when they are asked for. `unit` is what they are called: page, sheet or part."""

    title: str
    unit: str
    count: int
    # From a number, beginning with 1, to the text of the page.
    page: Callable[[int], str]
    note: str | None = None


def document_kind(content_type: str, filename: str, body: bytes | bytearray | None = None) -> DocumentKind | None:
    """The kind of a document by its type, its name or its first bytes; None for other files."""
    by_name = _KINDS_BY_ENDING.get(filename.rpartition(".")[2].lower()) if "." in filename else None
    kind = _KINDS_BY_TYPE.get(content_type) or by_name
    if kind is not None or body is None:
        return kind
    if _PDF_MARK.match(bytes(body[:1_024])):
        return "pdf"
    return _kind_in_archive(bytes(body[:65_536])) if body[:4] == _ZIP_MARK else None


def _kind_in_archive(head: bytes) -> DocumentKind | None:
    if b"word/" in head:
        return "docx"
    return "xlsx" if b"xl/" in head else None


def parts_of(blocks: Iterable[str], *, separator: str = "\n\n", longest: int = PART_CHARACTERS) -> list[str]:
    """Join blocks to parts of limited length. A block is never divided."""
    parts: list[str] = []
    part: list[str] = []
    length = 0
    for block in blocks:
        if part and length + len(block) > longest:
            parts.append(separator.join(part))
            part, length = [], 0
        part.append(block)
        length += len(block) + len(separator)
    return [*parts, separator.join(part)] if part else parts


def damaged(kind: str, error: Exception) -> DocumentError:
    """The error for a file that its reader cannot read."""
    return DocumentError(f"the {kind} is damaged or locked", cause=f"{type(error).__name__}: {error}")


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
