"""The index: tools go in and out, queries find them."""

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

from dogubako.engine.search.constants import NEAR_NAME
from dogubako.engine.search.explaining import Explaining
from dogubako.engine.search.fields import Document
from dogubako.engine.search.match import Reason
from dogubako.engine.search.names import Names
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.question import Question, Reader
from dogubako.engine.search.ranking import Ranking
from dogubako.engine.search.scoring import Part
from dogubako.engine.search.vocabulary import Vocabulary
from dogubako.engine.search.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

Hit = tuple[str, float]


class ToolIndex:
    """A ranked index of documents. What it answers does not depend on the order in which they came."""

    def __init__(self) -> None:
        self._postings = Postings()
        self._vocabulary = Vocabulary()
        self._names = Names()
        self._reader = Reader(self._postings, self._vocabulary)
        self._ranking = Ranking(self._postings)
        self._explaining = Explaining(self._postings, self._ranking)
        self._last_places: tuple[Set[str], NDArray[Any]] | None = None

    def __len__(self) -> int:
        return len(self._postings.numbers)

    def put(self, document: Document) -> None:
        """Add a tool, or take a changed one."""
        self.drop(document.key)
        self._last_places = None
        self._vocabulary.add(self._postings.add(document))
        self._vocabulary.add_name(words(document.name))
        number = self._postings.numbers[document.key]
        self._names.add(self._postings.tools[number], number)

    def drop(self, key: str) -> None:
        """Forget a tool, if it is there."""
        number = self._postings.numbers.get(key)
        if number is None:
            return
        self._last_places = None
        tool = self._postings.tools[number]
        self._names.remove(tool, number)
        self._vocabulary.remove_name(words(tool.document.name))
        self._vocabulary.remove(self._postings.remove(key))

    def find(self, query: str, allowed: Set[str] | None = None) -> list[Hit]:
        """Tools that fit and how well, the best first; of those that are allowed, if that is said."""
        question = self._reader.read(query)
        places = self._places(allowed)
        scores = self._scores(question, self._ranking.parts(question, places), places)
        keys = self._postings.keys
        return [(key, -score) for score, key in sorted((-score, keys[number]) for number, score in scores.items())]

    def explain(self, query: str, allowed: Set[str] | None = None) -> dict[str, tuple[Reason, ...]]:
        """For each tool that `find` finds, why."""
        question = self._reader.read(query)
        places = self._places(allowed)
        parts = self._ranking.parts(question, places)
        return {
            self._postings.keys[number]: self._explaining.reasons(question, parts, number, score)
            for number, score in self._scores(question, parts, places).items()
        }

    def _scores(self, question: Question, parts: Sequence[Part], allowed: "NDArray[Any] | None") -> dict[int, float]:
        scores = self._ranking.best(parts) if parts else {}
        fitting = ((number, self._postings.tools[number]) for number in scores)
        for number in self._names.nearly_meant(question, fitting) & scores.keys():
            scores[number] = round(_lifted(scores[number]), 4)
        for number in self._names.meant(question):
            if allowed is None or allowed[number]:
                scores[number] = 1.0
        return scores

    def _places(self, allowed: Set[str] | None) -> "NDArray[Any] | None":
        """Which numbers are allowed. Callers ask with the same set again and again, so the last one is kept."""
        if allowed is None:
            return None
        if self._last_places is None or self._last_places[0] is not allowed:
            import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

            numbers = self._postings.numbers
            places = np.zeros(len(self._postings.tools), np.bool_)
            places[[numbers[key] for key in allowed if key in numbers]] = True
            self._last_places = (allowed, places)
        return self._last_places[1]


def _lifted(score: float) -> float:
    """A name that is nearly meant is above all that only fits, and below the name itself."""
    return NEAR_NAME + (1 - NEAR_NAME) * score * 0.99
