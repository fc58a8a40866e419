"""How well each tool fits one clause: fielded BM25, and more for a tool of which much was asked for."""

from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import FACE_COVERED, FLOOR, MOST_MATCHES, NAME_COVERED
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.question import Clause

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_COVERED = 1 + NAME_COVERED + FACE_COVERED


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Who fits one clause and how well, between 0 and 1, and how much of that goes into the final score."""

    clause: Clause
    numbers: "NDArray[Any]"
    scores: "NDArray[Any]"
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
        return Part(clause=clause, numbers=chosen, scores=totals[chosen] * covered / (clause.ideal * _MOST_COVERED))


def best_of(totals: "NDArray[Any]") -> "NDArray[Any]":
    """The places of the best, and with the last of these all that are as good: who came first must not matter."""
    import numpy as np  # noqa: PLC0415

    lowest = FLOOR * totals.max(initial=0.0)
    chosen = np.flatnonzero(totals >= lowest) if lowest else np.flatnonzero(totals)
    if chosen.size > MOST_MATCHES:
        among = totals[chosen]
        chosen = chosen[among >= np.partition(among, -MOST_MATCHES)[-MOST_MATCHES]]
    return chosen
