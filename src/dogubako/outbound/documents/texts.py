"""Read text files in any encoding, in parts of limited length."""

import re
from dataclasses import dataclass
from typing import Final

from dogubako.outbound.documents.document import PART_CHARACTERS
from dogubako.outbound.text_decoding import DecodedText, decode_text

# Endings of files that are text, whatever type a service gives them.
TEXT_ENDINGS: Final = frozenset(
    (
        "adoc bas bat c cfg conf cpp cs css csv diff eml env go gradle h hpp htm html ini ics java js json jsonl "
        "jsx kt less log lua m markdown md mjs patch php pl properties ps1 py r rb rs rst scala scss sh sql srt "
        "sub swift tex textile toml ts tsv tsx txt vb vbs vcf xml yaml yml zsh"
    ).split()
)
_TABLES: Final = frozenset({"csv", "tsv"})
_LONGEST_HEADER: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """Some parts of a text: `shown` of `parts`, beginning with `part`."""

    decoded: DecodedText
    text: str
    part: int
    shown: int
    parts: int


def ending_of(filename: str) -> str:
    """The ending of a file's name, in small letters; empty if it has none."""
    return filename.rpartition(".")[2].lower() if "." in filename else ""


def read_text(body: bytes, filename: str, part: int, characters: int) -> TextPart:
    """As many parts as fit, from this one on, and at least one. Slow for long texts."""
    decoded = decode_text(body)
    text = re.sub(r"\r\n?", "\n", decoded.text)
    starts = _starts(text)
    wanted = starts[part - 1 :]
    begin = wanted[0] if wanted else len(text)
    end = next((stop for stop in reversed([*wanted[1:], len(text)]) if stop - begin <= characters), None)
    end = end if end is not None else (wanted[1] if len(wanted) > 1 else len(text))
    shown = sum(begin <= start < end for start in wanted)
    header = _header(text, filename) if begin > 0 and shown else ""
    return TextPart(decoded=decoded, text=header + text[begin:end], part=part, shown=shown, parts=len(starts))


def _starts(text: str) -> list[int]:
    """Where the parts begin: after a line end, if there is one."""
    starts = [0]
    while len(text) - starts[-1] > PART_CHARACTERS:
        limit = starts[-1] + PART_CHARACTERS
        line_end = text.rfind("\n", starts[-1], limit)
        starts.append(line_end + 1 if line_end > 0 else limit)
    return starts


def _header(text: str, filename: str) -> str:
    """The first line of a table, which names its columns."""
    line = text[:_LONGEST_HEADER].partition("\n")[0]
    return f"{line}\n" if ending_of(filename) in _TABLES and len(line) < _LONGEST_HEADER else ""
