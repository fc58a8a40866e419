"""A query becomes what is looked for: weighed terms, as a whole and clause by clause."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from dogubako.engine.search.clauses import clauses
from dogubako.engine.search.constants import LONGEST_QUERY, MOST_TERMS, TYPO_WEIGHT
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.vocabulary import Kin, Vocabulary
from dogubako.engine.search.words import joined, terms_as_typed

# Written as names are, not as sentences are.
_LONGEST_IDENTIFIER = 200
_IDENTIFIER = re.compile(r"(?<![^\W_])[^\W_]++(?:[_-][^\W_]++)+|(?<![a-z])[a-z]++(?:[A-Z][a-z0-9]*+)+")


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """What each held term is worth, and what a tool would be worth that is all about the clause."""

    worth: dict[str, float]
    ideal: float


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The whole query, its clauses if it has several, and the names that it may mean literally."""

    text: str
    whole: Clause
    clauses: tuple[Clause, ...]
    typed: Mapping[str, str]
    near: Mapping[str, Kin]
    spelled: str
    is_one_word: bool
    names: frozenset[str]

    @property
    def words_of_terms(self) -> dict[str, str]:
        """For each term that is looked for, the word of the query that it stands for."""
        others = {other: self.typed[term] for term, kin in self.near.items() for other, _ in kin}
        return {**others, **self.typed}


class Reader:
    """Reads queries knowing the words of all tools."""

    def __init__(self, postings: Postings, vocabulary: Vocabulary) -> None:
        self._postings = postings
        self._vocabulary = vocabulary

    def read(self, query: str) -> Question:
        text = query[:LONGEST_QUERY].strip()
        parts = [terms_as_typed(part) for part in clauses(text)]
        typed = {term: word for part in parts for term, word in part.items()}
        near = {term: self._near(term, typed[term]) for term in self._rarest(typed)}
        several = parts if len(parts) > 1 else ()
        known = tuple(clause for part in several if (clause := self._clause(part, near)).worth)
        return Question(
            text=text,
            whole=self._clause(near, near),
            clauses=known if len(known) > 1 else (),
            typed=typed,
            near=near,
            spelled=joined(text),
            is_one_word=len(text.split(maxsplit=1)) == 1,
            names=frozenset(joined(name) for name in (text, *_identifiers(text))),
        )

    def _rarest(self, asked: Collection[str]) -> Collection[str]:
        """All terms, or of too many those that somebody holds, and of these the rarest."""
        if len(asked) <= MOST_TERMS:
            return asked
        held, rarity = self._postings.holders, self._postings.rarity
        return sorted(asked, key=lambda term: (not held(term), -rarity(term), term))[:MOST_TERMS]

    def _near(self, term: str, word: str) -> Kin:
        """The term itself and its kin; for a word that nobody has and that has no kin, what it may be a slip of."""
        kin = self._vocabulary.kin(term)
        if self._postings.holders(term):
            return ((term, 1.0), *kin)
        return kin or tuple((meant, TYPO_WEIGHT) for meant in self._vocabulary.meant(word))

    def _clause(self, asked: Iterable[str], near: Mapping[str, Kin]) -> Clause:
        rarity, kept = self._postings.rarity, [term for term in asked if term in near]
        weights: dict[str, float] = {}
        for term in kept:
            for other, weight in near[term]:
                if weight > weights.get(other, 0.0):
                    weights[other] = weight
        return Clause(
            worth={term: weight * rarity(term) for term, weight in weights.items()},
            ideal=sum(map(rarity, kept)),
        )


def _identifiers(text: str) -> Iterator[str]:
    """Names as they are written in code. What is far longer than a name is not looked through: it may take for ever."""
    for word in text.split():
        if len(word) <= _LONGEST_IDENTIFIER and not (word.isalpha() and word[1:].islower()):
            yield from _IDENTIFIER.findall(word)
