"""Words that are nearly those of the query: of the same family, or written correctly."""

from collections.abc import Iterable, Iterator
from itertools import takewhile

from dogubako.engine.search.constants import KIN_LIKENESS, KIN_PREFIX, KIN_WEIGHT, TYPO_LONGEST, TYPO_SHORTEST
from dogubako.engine.search.words import stem

Kin = tuple[tuple[str, float], ...]

_MOST_KIN_KEPT = 10_000


class Vocabulary:
    """All terms by their first letters, and the words of names by what is left of them without one letter."""

    def __init__(self) -> None:
        self._families: dict[str, set[str]] = {}
        self._kin: dict[str, Kin] = {}
        self._name_words: dict[str, int] = {}
        self._shortened: dict[str, set[str]] = {}

    def add(self, terms: Iterable[str]) -> None:
        for term in filter(_has_family, terms):
            self._families.setdefault(term[:KIN_PREFIX], set()).add(term)
            self._kin.clear()

    def remove(self, terms: Iterable[str]) -> None:
        for term in filter(_has_family, terms):
            self._families[term[:KIN_PREFIX]].discard(term)
            self._kin.clear()

    def add_name(self, words: Iterable[str]) -> None:
        for word in words:
            self._name_words[word] = self._name_words.get(word, 0) + 1
            if self._name_words[word] == 1:
                for short in _shortened(word):
                    self._shortened.setdefault(short, set()).add(word)

    def remove_name(self, words: Iterable[str]) -> None:
        for word in words:
            self._name_words[word] -= 1
            if not self._name_words[word]:
                del self._name_words[word]
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
        """The terms of names that differ from this word in one letter, or in the order of two."""
        found = {one for short in _shortened(word) for one in self._shortened.get(short, ())}
        return sorted({stem(one) for one in found})


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
