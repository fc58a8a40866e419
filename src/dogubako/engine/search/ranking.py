"""Rank tools by fielded BM25 of the whole query and its clauses, and explain the score."""

from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import FACE_COVERED, FLOOR, MOST_MATCHES, NAME_COVERED
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.query import Clause

if TYPE_CHECKING:
    from numpy.typing import NDArray

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dogubako.engine.search.constants import CLAUSE_SHARE, CLAUSE_TRUST, NEIGHBOURS
from dogubako.engine.search.query import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

from collections.abc import Iterator

from dogubako.engine.search.match import Reason
from dogubako.engine.search.postings import strength_by_field

_MOST_COVERED = 1 + NAME_COVERED + FACE_COVERED


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Who fits one clause and how well, between 0 and 1, and how much of that goes into the final score."""

    clause: Clause
    numbers: "NDArray[Any]"
    scores: "NDArray[Any]"
    # How much of the tool's name the clause has, and how much of the clause the name has: both, or it is 0.
    named: "NDArray[Any]"
    share: float = 1.0

    @property
    def best(self) -> float:
        return float(self.scores.max())

    def score(self, number: int) -> float:
        at = int(self.numbers.searchsorted(number))
        return float(self.scores[at]) if at < self.numbers.size and self.numbers[at] == number else 0.0


class Scoring:
    """Adds up what the postings say, for all tools at once."""

    def __init__(self, postings: Postings) -> None:
        self._postings = postings

    def part(self, clause: Clause, allowed: "NDArray[Any] | None") -> Part | None:
        """The tools that fit the clause best, if any does."""
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        packed = [self._postings.packed(term) for term in clause.worth]
        if not packed:
            return None
        holders = np.concatenate([one.numbers for one in packed])
        worth = np.repeat(list(clause.worth.values()), [one.numbers.size for one in packed])
        rows = np.concatenate([one.strength_name_face for one in packed], axis=1) * worth
        totals, in_name, in_face = (np.bincount(holders, row) for row in rows)
        chosen = best_of(totals if allowed is None else totals * allowed[: totals.size])
        if not chosen.size:
            return None
        masses = self._postings.masses(chosen)
        # Worth more, the more of the tool's own name and description was asked for.
        covered = 1 + NAME_COVERED * in_name[chosen] / masses[:, 0] + FACE_COVERED * in_face[chosen] / masses[:, 1]
        held = in_name[chosen]
        return Part(
            clause=clause,
            numbers=chosen,
            scores=totals[chosen] * covered / (clause.ideal * _MOST_COVERED),
            named=2 * held / (masses[:, 0] + clause.ideal),
        )


def best_of(totals: "NDArray[Any]") -> "NDArray[Any]":
    """The places of the best, and with the last of these all that are as good: who came first must not matter."""
    import numpy as np  # noqa: PLC0415

    lowest = FLOOR * totals.max(initial=0.0)
    chosen = np.flatnonzero(totals >= lowest) if lowest else np.flatnonzero(totals)
    if chosen.size > MOST_MATCHES:
        among = totals[chosen]
        chosen = chosen[among >= np.partition(among, -MOST_MATCHES)[-MOST_MATCHES]]
    return chosen


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

    def parts(self, question: Query, allowed: "NDArray[Any] | None") -> list[Part]:
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


Shares = dict[tuple[str, str], float]
_LONGEST_WORD = 64
_ROUNDED_AWAY = 0.0001


class Explaining:
    """Takes a score apart again, into shares that add up to it."""

    def __init__(self, postings: Postings, ranking: Ranking) -> None:
        self._postings = postings
        self._ranking = ranking

    def reasons(self, question: Query, parts: Sequence[Part], number: int, score: float) -> tuple[Reason, ...]:
        """The largest share first. What a name brings beyond its words is the name's."""
        shares = self._shares(question, parts, number)
        fit = sum(shares.values())
        by_words = min(fit**0.5, score)
        shares = {what: share * by_words / fit for what, share in shares.items()}
        if score - by_words > _ROUNDED_AWAY:
            said = (question.text[:_LONGEST_WORD], "name")
            shares[said] = shares.get(said, 0.0) + score - by_words
        found = [Reason(word=word, field=field, share=share) for (word, field), share in shares.items()]
        return tuple(sorted(found, key=lambda one: (-one.share, one.word, one.field)))

    def _shares(self, question: Query, parts: Sequence[Part], number: int) -> Shares:
        shares: Shares = {}
        for part, brought in _counted(parts, number):
            for what, share in self._by_word(question, part, number):
                shares[what] = shares.get(what, 0.0) + brought * share
        if shares:
            lift = self._ranking.lift(parts, number)
            shares |= {("", "neighbours"): lift} if lift > 0 else {}
        return shares

    def _by_word(self, question: Query, part: Part, number: int) -> Iterator[tuple[tuple[str, str], float]]:
        """What each word in each field brings to one part; together 1."""
        typed, holders = question.words_of_terms, self._postings.holders
        fields = strength_by_field(self._postings.tools[number].document)
        held = {term: worth * holders(term).get(number, 0.0) for term, worth in part.clause.worth.items()}
        total = sum(held.values())
        for term, brought in held.items():
            by_field = {field: strengths[term] for field, strengths in fields.items() if term in strengths}
            for field, strength in by_field.items():
                yield (typed[term], field), brought / total * strength / sum(by_field.values())


def _counted(parts: Sequence[Part], number: int) -> Iterator[tuple[Part, float]]:
    """The whole query and the clause that fits best, with what each brings."""
    brought = [(part, part.share * part.score(number)) for part in parts]
    best_clause = sorted(brought[1:], key=lambda one: one[1])[-1:]
    yield from (one for one in [*brought[:1], *best_clause] if one[1])
