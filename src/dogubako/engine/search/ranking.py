"""Which tools fit best: the whole query and its clauses together, lifted by neighbours."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dogubako.engine.search.constants import CLAUSE_SHARE, CLAUSE_TRUST, NEIGHBOURS
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.question import Question
from dogubako.engine.search.scoring import Part, Scoring, best_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Ranking:
    """Ranks by what the tools say; knows nothing of names that are meant literally."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._scoring = Scoring(postings)

    def best(self, parts: Sequence[Part]) -> dict[int, float]:
        """The numbers of the best tools, and how well these fit: between 0 and 1.

        The root spreads what is otherwise crowded below a half; it changes no order.
        """
        numbers, scores = self.combined(parts)
        fits = (scores + NEIGHBOURS * self.helped(numbers, scores)) / (1 + NEIGHBOURS)
        chosen = best_of(fits)
        return dict(zip(numbers[chosen].tolist(), (fits[chosen] ** 0.5).round(4).tolist(), strict=True))

    def parts(self, question: Question, allowed: "NDArray[Any] | None") -> list[Part]:
        """The whole query first, then its clauses, each with its share of the score."""
        whole = self._scoring.part(question.whole, allowed)
        if whole is None:
            return []
        clauses = [part for clause in question.clauses if (part := self._scoring.part(clause, allowed)) is not None]
        return _shared(whole, clauses) if clauses else [whole]

    def lift(self, parts: Sequence[Part], number: int) -> float:
        """How much better a tool fits because of its neighbours."""
        numbers, scores = self.combined(parts)
        at = int(numbers.searchsorted(number))
        return float(NEIGHBOURS * (self.helped(numbers, scores)[at] - scores[at]) / (1 + NEIGHBOURS))

    def combined(self, parts: Sequence[Part]) -> "tuple[NDArray[Any], NDArray[Any]]":
        """The share of the whole query plus that of the clause that fits best."""
        import numpy as np  # noqa: PLC0415

        whole, *clauses = parts
        if not clauses:
            return whole.numbers, whole.scores
        sums = np.zeros(len(self._postings.tools))
        for part in clauses:
            sums[part.numbers] = np.maximum(sums[part.numbers], part.share * part.scores)
        sums[whole.numbers] += whole.share * whole.scores
        numbers = np.flatnonzero(sums)
        return numbers, sums[numbers]

    def helped(self, numbers: "NDArray[Any]", scores: "NDArray[Any]") -> "NDArray[Any]":
        """For each tool the score of the best tool from the same place."""
        import numpy as np  # noqa: PLC0415

        groups = self._postings.groups(numbers)
        best = np.zeros(len(self._postings.tools))
        np.maximum.at(best, groups, scores)
        helped: NDArray[Any] = best[groups]
        return helped


def _shared(whole: Part, clauses: Sequence[Part]) -> list[Part]:
    """Clauses are measured by their best tool each, and all by how well the best tool fits.

    So a score means about the same whether a query has one clause or five.
    """
    best = max(part.best for part in clauses)
    fit = (1 - CLAUSE_SHARE) * whole.best + CLAUSE_SHARE * best
    shares = [CLAUSE_SHARE * (part.best / best) ** CLAUSE_TRUST * fit / part.best for part in clauses]
    shared = [replace(part, share=share) for part, share in zip(clauses, shares, strict=True)]
    return [replace(whole, share=(1 - CLAUSE_SHARE) * fit / whole.best), *shared]
