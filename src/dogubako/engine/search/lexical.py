"""`LexicalIndex`: tools in an inverted index; queries find them by words."""

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import NEAR_NAME
from dogubako.engine.search.match import Hit, Reason
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.query import Query, Reader, ToolNames, Vocabulary
from dogubako.engine.search.ranking import Explaining, Part, Ranking
from dogubako.engine.search.text import Document, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_WITHOUT_NAME = NEAR_NAME - 0.01


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """By the number of a tool: how well its words fit, and how much of its name and of the question are the same."""

    fits: dict[int, float] = {}
    named: dict[int, float] = {}


class LexicalIndex:
    """A ranked index of documents. Its answers do not depend on the order of insertion."""

    def __init__(self) -> None:
        self._postings = Postings()
        self._vocabulary = Vocabulary()
        self._names = ToolNames()
        self._reader = Reader(self._postings, self._vocabulary)
        self._ranking = Ranking(self._postings)
        self._explaining = Explaining(self._postings, self._ranking)
        self._last_places: tuple[Set[str], NDArray[Any]] | None = None

    def __len__(self) -> int:
        return len(self._postings.numbers)

    def __contains__(self, key: str) -> bool:
        return key in self._postings.numbers

    def number(self, key: str) -> int:
        return self._postings.numbers[key]

    @property
    def keys(self) -> Sequence[str]:
        """The key of each tool, by number. The number of a tool that was removed is used again."""
        return self._postings.keys

    def put(self, document: Document) -> int:
        """Add or replace a tool; return its number."""
        self.drop(document.key)
        self._last_places = None
        self._vocabulary.add(self._postings.add(document))
        self._vocabulary.add_spelled(_spelled(document))
        number = self._postings.numbers[document.key]
        self._names.add(self._postings.tools[number], number)
        return number

    def drop(self, key: str) -> int | None:
        """Remove a tool, if it is there; return its number."""
        number = self._postings.numbers.get(key)
        if number is None:
            return None
        self._last_places = None
        tool = self._postings.tools[number]
        self._names.remove(tool, number)
        self._vocabulary.remove_spelled(_spelled(tool.document))
        self._vocabulary.remove(self._postings.remove(key))
        return number

    def find(self, query: str, allowed: Set[str] | None = None) -> list[Hit]:
        """Matching tools with their scores, best first; only allowed ones, if `allowed` is given."""
        scores = self.scores(query, self.places(allowed)).fits
        keys = self._postings.keys
        return [(key, -score) for score, key in sorted((-score, keys[number]) for number, score in scores.items())]

    def scores(self, query: str, places: "NDArray[Any] | None" = None) -> Scores:
        """The numbers of matching tools with their scores; only those of allowed places, if given."""
        question = self._reader.read(query)
        parts = self._ranking.parts(question, places)
        return Scores(fits=self._scores(question, parts, places), named=_named(parts))

    def gloss_scores(self, glosses: Sequence[Sequence[str]], places: "NDArray[Any] | None" = None) -> Scores:
        """As `scores`, for a question that was read in another language: groups of words, each for one word of it."""
        parts = self._ranking.parts(self._reader.read_glosses(glosses), places)
        return Scores(fits=self._ranking.best(parts) if parts else {}, named=_named(parts))

    def without_slips(self, text: str, is_word: Callable[[str], bool]) -> str:
        """The text with words of the tools instead of misspelt ones. `is_word` knows the words of other texts."""
        return self._reader.without_slips(text, is_word)

    def explain(
        self, query: str, allowed: Set[str] | None = None, wanted: Set[str] | None = None
    ) -> dict[str, tuple[Reason, ...]]:
        """For each tool that `find` finds, why; only for wanted ones, if given."""
        question = self._reader.read(query)
        places = self.places(allowed)
        parts = self._ranking.parts(question, places)
        return {
            self._postings.keys[number]: self._explaining.reasons(question, parts, number, score)
            for number, score in self._scores(question, parts, places).items()
            if wanted is None or self._postings.keys[number] in wanted
        }

    def _scores(self, question: Query, parts: Sequence[Part], allowed: "NDArray[Any] | None") -> dict[int, float]:
        best = self._ranking.best(parts) if parts else {}
        # Several synonyms of one word may add up to more than a name is worth.
        scores = {number: min(score, _MOST_WITHOUT_NAME) for number, score in best.items()}
        fitting = ((number, self._postings.tools[number]) for number in scores)
        for number in self._names.nearly_meant(question, fitting) & scores.keys():
            scores[number] = round(_lifted(scores[number]), 4)
        for number in self._names.meant(question):
            if allowed is None or allowed[number]:
                scores[number] = 1.0
        return scores

    def places(self, allowed: Set[str] | None) -> "NDArray[Any] | None":
        """The numbers of allowed tools. Callers ask with the same set again and again, so the last one is cached."""
        if allowed is None:
            return None
        if self._last_places is None or self._last_places[0] != allowed:
            import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

            numbers = self._postings.numbers
            places = np.zeros(len(self._postings.tools), np.bool_)
            places[[numbers[key] for key in allowed if key in numbers]] = True
            self._last_places = (allowed, places)
        return self._last_places[1]


def _spelled(document: Document) -> list[str]:
    """The words that a question may misspell: those of the name, and those that people use."""
    return [*words(document.name), *(word for word in words(document.fields.get("everyday", "")) if word.isascii())]


def _named(parts: Sequence[Part]) -> dict[int, float]:
    """Of the whole question; its clauses are named less often than they have a word of a name."""
    return dict(zip(parts[0].numbers.tolist(), parts[0].named.tolist(), strict=True)) if parts else {}


def _lifted(score: float) -> float:
    """Rank a near match of a name above all other matches, and below an exact one."""
    return NEAR_NAME + (1 - NEAR_NAME) * score * 0.99
