"""A query becomes weighted terms, as a whole and clause by clause."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, takewhile

import msgspec

from dogubako.engine.search.constants import (
    FEW_TERMS,
    KIN_LIKENESS,
    KIN_PREFIX,
    KIN_WEIGHT,
    LEAST_SYNONYMS,
    LONGEST_QUERY,
    MANY_TERMS,
    MOST_CLAUSES,
    MOST_TERMS,
    NEAR_LIKENESS,
    OTHER_GLOSS_WEIGHT,
    TYPO_LONGEST,
    TYPO_SHORTEST,
    TYPO_WEIGHT,
)
from dogubako.engine.search.postings import Indexed, Postings
from dogubako.engine.search.text import joined, stem, terms, terms_as_typed
from dogubako.engine.search.thesaurus import synonyms

# The end of a sentence needs a space after it, or 3.14 and example.com would be two. Commas and “and” are not taken for
# ends: lists of things would fall apart.
_END = re.compile(r"(?<=[.!?])\s+|[;\n。！？；]+")


def clauses(text: str) -> list[str]:
    """The clauses of a text; of too many the last ones stay together."""
    return [clause for clause in _END.split(text, MOST_CLAUSES - 1) if clause.strip()]


Kin = tuple[tuple[str, float], ...]

_MOST_KIN_KEPT = 10_000
# Words that may be misspelt: all in small letters but for the first.
_LETTERS = re.compile(rf"(?<![^\W_])[A-Za-z][a-z]{{{TYPO_SHORTEST - 1},{TYPO_LONGEST}}}(?![^\W_])")


class Vocabulary:
    """All terms by their first letters, and words as they are spelled by what is left of them without one letter."""

    def __init__(self) -> None:
        self._families: dict[str, set[str]] = {}
        self._kin: dict[str, Kin] = {}
        self._spelled: dict[str, int] = {}
        self._shortened: dict[str, set[str]] = {}

    def add(self, terms: Iterable[str]) -> None:
        for term in filter(_has_family, terms):
            self._families.setdefault(term[:KIN_PREFIX], set()).add(term)
            self._kin.clear()

    def remove(self, terms: Iterable[str]) -> None:
        for term in filter(_has_family, terms):
            self._families[term[:KIN_PREFIX]].discard(term)
            self._kin.clear()

    def add_spelled(self, words: Iterable[str]) -> None:
        for word in words:
            self._spelled[word] = self._spelled.get(word, 0) + 1
            if self._spelled[word] == 1:
                for short in _shortened(word):
                    self._shortened.setdefault(short, set()).add(word)

    def remove_spelled(self, words: Iterable[str]) -> None:
        for word in words:
            self._spelled[word] -= 1
            if not self._spelled[word]:
                del self._spelled[word]
                for short in _shortened(word):
                    self._shortened[short].discard(word)

    def kin(self, term: str) -> Kin:
        """Other terms that begin like this one, and how much they count."""
        if not _has_family(term):
            return ()
        known = self._kin.get(term)
        if known is None:
            family = sorted(self._families.get(term[:KIN_PREFIX], ()))
            alike = [(one, _likeness(term, one)) for one in family if one != term]
            known = tuple((one, KIN_WEIGHT * like) for one, like in alike if like >= KIN_LIKENESS)
            # Callers may ask for any word; what they asked for is not kept for ever.
            if len(self._kin) >= _MOST_KIN_KEPT:
                self._kin.clear()
            self._kin[term] = known
        return known

    def meant(self, word: str) -> list[str]:
        """The words that differ from this one in one letter, or in the order of two."""
        return sorted({one for short in _shortened(word) for one in self._shortened.get(short, ())})


def _has_family(term: str) -> bool:
    return len(term) >= KIN_PREFIX and term.isascii() and term.isalpha()


def _likeness(one: str, other: str) -> float:
    """The share of their letters that two words have in common, from the beginning."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 2 * shared / (len(one) + len(other))


def _shortened(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters: two words that share one of these are a slip apart."""
    if not word.isalpha() or not TYPO_SHORTEST <= len(word) <= TYPO_LONGEST:
        return
    yield word
    yield from (word[:at] + word[at + 1 :] for at in range(len(word)))


# Written as names are, not as sentences are.
_LONGEST_IDENTIFIER = 200
_IDENTIFIER = re.compile(r"(?<![^\W_])[^\W_]++(?:[_-][^\W_]++)+|(?<![a-z])[a-z]++(?:[A-Z][a-z0-9]*+)+")


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """What each held term is worth, and what a tool would be worth that is all about the clause."""

    worth: dict[str, float]
    ideal: float


class Query(msgspec.Struct, frozen=True, kw_only=True):
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

    def read(self, query: str) -> Query:
        text = query[:LONGEST_QUERY].strip()
        parts = [terms_as_typed(part) for part in clauses(text)]
        typed = {term: word for part in parts for term, word in part.items()}
        share = _synonyms_share(len(typed))
        near = {term: self._near(term, typed[term], share) for term in self._rarest(typed)}
        for term, meant in _meant_by_pairs(list(typed)):
            if term in near:
                near[term] = (*near[term], *((other, weight * share) for other, weight in meant))
        several = parts if len(parts) > 1 else ()
        known = tuple(clause for part in several if (clause := self._clause(part, near)).worth)
        return Query(
            text=text,
            whole=self._clause(near, near),
            clauses=known if len(known) > 1 else (),
            typed=typed,
            near=near,
            spelled=joined(text),
            is_one_word=len(text.split(maxsplit=1)) == 1,
            names=frozenset(joined(name) for name in (text, *_identifiers(text))),
        )

    def without_slips(self, text: str, is_word: Callable[[str], bool]) -> str:
        """The text with the words that are meant by those that nobody knows."""
        return _LETTERS.sub(lambda found: self._meant(found[0], is_word), text)

    def _meant(self, word: str, is_word: Callable[[str], bool]) -> str:
        known = word.lower()
        if is_word(known) or self._postings.holders(stem(known)):
            return word
        meant = self._vocabulary.meant(known)
        return meant[0] if len(meant) == 1 else word

    def read_glosses(self, glosses: Sequence[Sequence[str]]) -> Query:
        """A question as groups of words, of which each means one word: a tool that has one of a group has it."""
        groups = [_each_once(terms(" ".join(group))) for group in glosses[:MOST_TERMS]]
        near = {f"{at} {group[0]}": self._alternatives(group) for at, group in enumerate(groups) if group}
        rarity = self._postings.rarity
        weights: dict[str, float] = {}
        for alternatives in near.values():
            for term, weight in alternatives:
                weights[term] = max(weight, weights.get(term, 0.0))
        whole = Clause(
            worth={term: weight * rarity(term) for term, weight in weights.items() if self._postings.holders(term)},
            ideal=sum(max(weight * rarity(term) for term, weight in group) for group in near.values()),
        )
        return Query(
            text="",
            whole=whole,
            clauses=(),
            typed={},
            near=near,
            spelled="",
            is_one_word=False,
            names=frozenset(),
        )

    def _alternatives(self, group: Sequence[str]) -> Kin:
        own = [(term, 1.0 if not at else OTHER_GLOSS_WEIGHT) for at, term in enumerate(group)]
        kin = [(other, weight * share) for term, share in own for other, weight in self._vocabulary.kin(term)]
        alike = [one for term, share in own for one in self._synonyms(term, share)]
        return (*own, *kin, *alike)

    def _rarest(self, asked: Collection[str]) -> Collection[str]:
        """All terms, or of too many those that somebody holds, and of these the rarest."""
        if len(asked) <= MOST_TERMS:
            return asked
        held, rarity = self._postings.holders, self._postings.rarity
        return sorted(asked, key=lambda term: (not held(term), -rarity(term), term))[:MOST_TERMS]

    def _near(self, term: str, word: str, share: float) -> Kin:
        """The term itself, its kin and its synonyms; for a word that has none of these, what it may be a slip of."""
        kin = (*self._vocabulary.kin(term), *self._synonyms(term, share))
        if self._postings.holders(term):
            return ((term, 1.0), *kin)
        meant = {stem(one) for one in self._vocabulary.meant(word)}
        return kin or tuple((one, TYPO_WEIGHT) for one in sorted(meant))

    def _synonyms(self, term: str, share: float) -> Iterator[tuple[str, float]]:
        """What else a term may be called. A rare synonym must not count more than the term itself."""
        rarity, held = self._postings.rarity, self._postings.holders
        for other, weight in synonyms().terms.get(term, ()):
            if held(other):
                yield other, weight * share * (min(1.0, rarity(term) / rarity(other)) if held(term) else 1.0)

    def _clause(self, asked: Iterable[str], near: Mapping[str, Kin]) -> Clause:
        rarity, kept = self._postings.rarity, [term for term in asked if term in near]
        weights: dict[str, float] = {}
        for term in kept:
            for other, weight in near[term]:
                if weight > weights.get(other, 0.0):
                    weights[other] = weight
        return Clause(
            worth={term: weight * rarity(term) for term, weight in weights.items() if self._postings.holders(term)},
            ideal=sum(map(rarity, kept)),
        )


def _synonyms_share(count: int) -> float:
    """A short question has few words that could fit, so synonyms count most there; a long one says what it means."""
    return min(1.0, max(LEAST_SYNONYMS, (FEW_TERMS + MANY_TERMS - count) / MANY_TERMS))


def _each_once(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))


def _meant_by_pairs(typed: Sequence[str]) -> Iterator[tuple[str, Kin]]:
    """For terms that mean something together, the first of them and what they mean."""
    known = synonyms().pairs
    for pair in pairwise(typed):
        if pair in known:
            yield pair[0], known[pair]


def _identifiers(text: str) -> Iterator[str]:
    """Names as they are written in code. What is far longer than a name is not looked through: it may take for ever."""
    for word in text.split():
        if len(word) <= _LONGEST_IDENTIFIER and not (word.isalpha() and word[1:].islower()):
            yield from _IDENTIFIER.findall(word)


class ToolNames:
    """Finds the numbers of tools by their names: however these are written, and whatever the order of their words."""

    def __init__(self) -> None:
        self._spelled: dict[str, set[int]] = {}
        self._worded: dict[frozenset[str], set[int]] = {}

    def add(self, tool: Indexed, number: int) -> None:
        self._spelled.setdefault(joined(tool.document.name), set()).add(number)
        self._worded.setdefault(tool.name_terms, set()).add(number)

    def remove(self, tool: Indexed, number: int) -> None:
        self._spelled[joined(tool.document.name)].discard(number)
        self._worded[tool.name_terms].discard(number)

    def meant(self, question: Query) -> set[int]:
        """Tools whose name is the query, and tools that the query calls by a name as it is written in code."""
        return {number for name in question.names for number in self._spelled.get(name, ())}

    def nearly_meant(self, question: Query, fitting: Iterable[tuple[int, Indexed]]) -> set[int]:
        """Tools whose name has the same words, in other forms or order, or is a slip away from the query."""
        same = self._worded.get(frozenset(question.typed), set())
        if not question.is_one_word:
            return set(same)
        return same | {number for number, tool in fitting if _is_a_slip(question.spelled, joined(tool.document.name))}


def _is_a_slip(query: str, name: str) -> bool:
    alike = SequenceMatcher(None, query, name, autojunk=False)
    return alike.real_quick_ratio() >= NEAR_LIKENESS and alike.ratio() >= NEAR_LIKENESS
