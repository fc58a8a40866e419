"""Unicode normalisation (NFKC) in linear time, for any text.

`unicodedata.normalize` sorts every run of combining marks by insertion, in one call into C: a run of 200,000 marks in
the wrong order keeps the interpreter for hours, and no thread and no signal gets a turn meanwhile. So a text is
normalised in short pieces. They end before a character that changes nothing before it; a run of marks that is longer
than any language writes is cut inside, as in the Stream-Safe Text Format of Unicode (UAX #15).
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

_PIECE: Final = 256
# UAX #15 lets at most 30 marks follow each other.
_LONGEST_RUN: Final = 30
# Letters that join the letter before them: vowels and finals of Korean, and vowels of Kirat Rai.
_JOINING: Final = (range(0x1160, 0x1200), range(0x16D63, 0x16D6B))


def nfkc(text: str) -> str:
    """The text in normalisation form KC; the same as `unicodedata.normalize` for up to 30 marks in a row."""
    return _normalized("NFKC", text)


def nfc(text: str) -> str:
    """The text in normalisation form C, in the same way."""
    return _normalized("NFC", text)


def nfkd(text: str) -> str:
    """The text in normalisation form KD, with every mark apart from its letter, in the same way."""
    return _normalized("NFKD", text)


def _normalized(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    if text.isascii():
        return text
    if len(text) <= _PIECE:
        return unicodedata.normalize(form, text)
    return "".join([unicodedata.normalize(form, piece) for piece in _pieces(text)])


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _boundary(text, start + _PIECE)
        yield text[start:end]
        start = end


def _boundary(text: str, end: int) -> int:
    """The last place up to `end` where a text can be cut; `end` itself where none is near."""
    if end >= len(text):
        return len(text)
    near = (at for at in range(end, end - _LONGEST_RUN - 2, -1) if _starts_anew(text[at]))
    return next(near, end)


@lru_cache(maxsize=4096)
def _starts_anew(character: str) -> bool:
    """Whether normalisation never joins this character to the one before it, nor moves it."""
    first = unicodedata.normalize("NFKD", character)[0]
    is_mark = unicodedata.combining(first) or unicodedata.category(first).startswith("M")
    return not is_mark and not any(ord(first) in joining for joining in _JOINING)
