"""`WordTable`: vectors of texts, from a small table of words that was distilled from a sentence model.

`table/NOTICE` says from which one, `scripts/distill_table.py` how.
"""

import gzip
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dogubako.contract.normalization import nfkc

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# No word of any language that the table knows is longer.
_LONGEST_WORD = 40
# What a text says in more words than this is no longer about what it is for.
_MOST_WORDS = 400


def plain_words(text: str) -> list[str]:
    """The words of a text in the letters and digits that the table knows: `listHTTPRoutes` has three."""
    return [word.lower() for word in _WORD.findall(text if text.isascii() else nfkc(text))]


class WordPieces:
    """Finds the numbers of words; a word that has none is cut into pieces that have one."""

    def __init__(self, words: Sequence[str]) -> None:
        self._numbers = {word: number for number, word in enumerate(words)}
        self._of_word = lru_cache(maxsize=20_000)(self._cut)

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def numbers(self, text: str) -> list[int]:
        return [number for word in plain_words(text)[:_MOST_WORDS] for number in self._of_word(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest piece that is known, then the longest that continues it; unknown letters are skipped."""
        whole = self._numbers.get(word)
        if whole is not None:
            return (whole,)
        found: list[int] = []
        at, word = 0, word[:_LONGEST_WORD]
        while at < len(word):
            end = next((end for end in range(len(word), at, -1) if self._key(word, at, end) in self._numbers), None)
            if end is None:
                at += 1
                continue
            found.append(self._numbers[self._key(word, at, end)])
            at = end
        return tuple(found)

    def _key(self, word: str, at: int, end: int) -> str:
        return word[at:end] if not at else f"##{word[at:end]}"


class WordTable:
    """Turns texts into vectors of length 1 that are near each other when the texts mean the same.

    The rows stay on disk until a word needs them.
    """

    def __init__(self) -> None:
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        folder = files("dogubako.engine.search") / "table"
        words = gzip.decompress((folder / "words.txt.gz").read_bytes()).decode("ascii")
        self._pieces = WordPieces(words.split())
        self._rows = np.load(str(folder / "rows.npy"), mmap_mode="r")
        self._scales = np.load(str(folder / "scales.npy")).astype(np.float32)

    @property
    def width(self) -> int:
        return int(self._rows.shape[1])

    def knows(self, word: str) -> bool:
        """Whether a word is in the table as a whole."""
        return word in self._pieces

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]":
        """One row per text; zeros for a text without a known word."""
        import numpy as np  # noqa: PLC0415

        numbers = [self._pieces.numbers(text) for text in texts]
        flat = np.fromiter((number for one in numbers for number in one), np.intp)
        sums = np.zeros((len(texts), self.width), np.float32)
        if flat.size:
            rows = self._rows[flat].astype(np.float32) * self._scales[flat][:, None]
            counts = np.array([len(one) for one in numbers])
            filled = np.flatnonzero(counts)
            starts = np.concatenate(([0], np.cumsum(counts[filled])[:-1]))
            sums[filled] = np.add.reduceat(rows, starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        vectors: NDArray[Any] = sums / np.maximum(lengths, 1e-6)
        return vectors


@cache
def word_table() -> WordTable:
    """The table, read on the first search."""
    return WordTable()
