"""`Meanings`: score tools by the similarity of their vectors to the query's."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dogubako.engine.search.constants import MOST_EMBEDDED, MOST_PHRASES, MOST_SENTENCES
from dogubako.engine.search.japanese import is_japanese, japanese
from dogubako.engine.search.text import Document, words
from dogubako.engine.search.thesaurus import phrases_of
from dogubako.engine.search.word_table import word_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENTENCE_END = re.compile(r"(?<=[.!?:;。])\s+|[\n。]+")
_SHORTEST_SENTENCE = 4


class Meanings:
    """For each tool one vector of all that it says, and one for each phrase: name, sentences, everyday words.

    Tools are numbered as in the lexical index.
    """

    def __init__(self) -> None:
        self._wholes: NDArray[Any] | None = None
        self._phrases: list[NDArray[Any] | None] = []

    def put(self, documents: Sequence[tuple[int, Document]]) -> None:
        """Add or replace tools; many at once take less time."""
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        if not documents:
            return
        texts = [[_whole(document), *_phrases(document)] for _, document in documents]
        vectors = word_table().embed([text for one in texts for text in one])
        self._grow(1 + max(number for number, _ in documents))
        assert self._wholes is not None
        start = 0
        for (number, _), one in zip(documents, texts, strict=True):
            self._wholes[number] = vectors[start]
            # Half as exact, half as large: nobody sees the fourth digit of a cosine.
            self._phrases[number] = vectors[start + 1 : start + len(one)].astype(np.float16)
            start += len(one)

    def drop(self, number: int) -> None:
        if self._wholes is not None and number < len(self._phrases):
            self._wholes[number] = 0
            self._phrases[number] = None

    def whole(self, asked: "NDArray[Any]") -> "NDArray[Any]":
        """For each tool, how alike its whole text is to each of the asked vectors."""
        assert self._wholes is not None
        return _likeness(self._wholes[: len(self._phrases)], asked)

    def phrase(self, numbers: "NDArray[Any]", asked: "NDArray[Any]") -> "NDArray[Any]":
        """For each of these tools, how alike its nearest phrase is to each of the asked vectors."""
        import numpy as np  # noqa: PLC0415

        nothing = np.zeros((1, asked.shape[1]), np.float16)
        rows = [nothing if (held := self._phrases[number]) is None else held for number in numbers.tolist()]
        starts = np.cumsum([0, *(len(one) for one in rows[:-1])])
        phrases = np.concatenate(rows).astype(np.float32)
        alike: NDArray[Any] = np.maximum.reduceat(_likeness(phrases, asked), starts, axis=0)
        return alike

    def _grow(self, size: int) -> None:
        import numpy as np  # noqa: PLC0415

        self._phrases += [None] * (size - len(self._phrases))
        if self._wholes is None or len(self._wholes) < size:
            # Twice as many as needed: tools come one by one too.
            grown = np.zeros((max(64, 2 * size), word_table().width), np.float32)
            if self._wholes is not None:
                grown[: len(self._wholes)] = self._wholes
            self._wholes = grown


def _likeness(rows: "NDArray[Any]", asked: "NDArray[Any]") -> "NDArray[Any]":
    """The cosines. Not by BLAS: for so little work its threads cost more processor time than they save."""
    import numpy as np  # noqa: PLC0415

    alike: NDArray[Any] = np.stack([np.einsum("ij,j->i", rows, one) for one in asked], axis=1)
    return alike


def _whole(document: Document) -> str:
    fields = document.fields
    place = fields.get("category", "") if document.group else ""
    parts = (" ".join(words(document.name)), place, fields["description"][:MOST_EMBEDDED], fields.get("everyday", ""))
    return " ".join(_english(part) for part in parts)


def _phrases(document: Document) -> list[str]:
    sentences = _SENTENCE_END.split(document.fields["description"][:MOST_EMBEDDED])
    found = [_english(one) for one in sentences[:MOST_SENTENCES] if len(one) >= _SHORTEST_SENTENCE]
    return [" ".join(words(document.name)), *found, *phrases_of(document)[:MOST_PHRASES]]


def _english(text: str) -> str:
    """The table knows English only, so a Japanese description is read in English words."""
    return japanese().english(text) if is_japanese(text) else text
