"""Why a tool was found: which words, in which fields, with how much."""

from collections.abc import Iterator, Sequence

from dogubako.engine.search.match import Reason
from dogubako.engine.search.postings import Postings, strength_by_field
from dogubako.engine.search.question import Question
from dogubako.engine.search.ranking import Ranking
from dogubako.engine.search.scoring import Part

Shares = dict[tuple[str, str], float]
_LONGEST_WORD = 64
_ROUNDED_AWAY = 0.0001


class Explaining:
    """Takes a score apart again, into shares that add up to it."""

    def __init__(self, postings: Postings, ranking: Ranking) -> None:
        self._postings = postings
        self._ranking = ranking

    def reasons(self, question: Question, parts: Sequence[Part], number: int, score: float) -> tuple[Reason, ...]:
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

    def _shares(self, question: Question, parts: Sequence[Part], number: int) -> Shares:
        shares: Shares = {}
        for part, brought in _counted(parts, number):
            for what, share in self._by_word(question, part, number):
                shares[what] = shares.get(what, 0.0) + brought * share
        if shares:
            lift = self._ranking.lift(parts, number)
            shares |= {("", "neighbours"): lift} if lift > 0 else {}
        return shares

    def _by_word(self, question: Question, part: Part, number: int) -> Iterator[tuple[tuple[str, str], float]]:
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
