"""Everyday phrases for tools that have none, by the words of their names; and what people ask for elsewhere."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import SYNONYM_WEIGHT
from dogubako.engine.search.text import Document, stem, terms, words
from dogubako.engine.search.word_table import word_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A name gives so many phrases at most, and each word of it so many other words.
_MOST_PHRASES = 12
_MOST_VERBS = 4
_MOST_NOUNS = 3


class Thesaurus(msgspec.Struct, frozen=True, kw_only=True):
    """What people say for the verbs and nouns of tool names."""

    verbs: Mapping[str, Sequence[str]]
    nouns: Mapping[str, Sequence[str]]

    def phrases(self, name: str) -> list[str]:
        """`delete_chart` gives “remove the graph”, “throw away the diagram” and others."""
        parts = words(name)
        act = next((part for part in parts if part in self.verbs), None)
        things = [part for part in parts if part != act]
        if act is None and not any(part in self.nouns for part in things):
            return []
        acts = [act or "", *self.verbs.get(act or "", ())[:_MOST_VERBS]]
        others = [self._said(things, at) for at in range(len(things)) if things[at] in self.nouns]
        said = [" ".join(things), *(one for group in others for one in group)]
        pairs = [(one, thing) for thing in said for one in acts]
        return [f"{one} {thing}".strip() for one, thing in pairs[1:]][:_MOST_PHRASES]

    def _said(self, things: Sequence[str], at: int) -> list[str]:
        return [" ".join([*things[:at], noun, *things[at + 1 :]]) for noun in self.nouns[things[at]][:_MOST_NOUNS]]


@cache
def thesaurus() -> Thesaurus:
    """The thesaurus, read when the first tool is indexed that has no everyday words."""
    rows = [line.split("\t") for line in _lines("thesaurus.tsv")]
    of_kind = {
        kind: {word: tuple(said.split(";")) for one, word, said in rows if one == kind} for kind in ("verb", "noun")
    }
    return Thesaurus(verbs=of_kind["verb"], nouns=of_kind["noun"])


class Synonyms(msgspec.Struct, frozen=True, kw_only=True):
    """The thesaurus read backwards: for a term of a question, the terms of tool names that it may stand for."""

    terms: Mapping[str, tuple[tuple[str, float], ...]]
    # Two terms in a row: “rid of” is no word of a tool, “get rid” may mean `delete`.
    pairs: Mapping[tuple[str, str], tuple[tuple[str, float], ...]]


@cache
def synonyms() -> Synonyms:
    """Read on the first search."""
    singles: dict[str, dict[str, float]] = {}
    pairs: dict[tuple[str, str], dict[str, float]] = {}
    both = thesaurus()
    for word, said in [*both.verbs.items(), *both.nouns.items()]:
        meant = stem(word)
        for phrase in said:
            found = terms(phrase)
            if len(found) == 1 and found[0] != meant:
                singles.setdefault(found[0], {})[meant] = SYNONYM_WEIGHT
            elif len(found) == 2:
                pairs.setdefault((found[0], found[1]), {})[meant] = SYNONYM_WEIGHT
    return Synonyms(
        terms={term: tuple(sorted(others.items())) for term, others in singles.items()},
        pairs={pair: tuple(sorted(others.items())) for pair, others in pairs.items()},
    )


def phrases_of(document: Document) -> list[str]:
    """The everyday phrases that a tool was given, or those that its name suggests."""
    given = [one for one in document.fields.get("everyday", "").split(";") if one.strip()]
    return [said for one in given for said in spelled_out(one)] or thesaurus().phrases(document.name)


def spelled_out(phrase: str) -> list[str]:
    """`open|file a ticket|bug|feature_request` has three phrases: each word with others that go with it.

    Not every combination: a phrase is the sum of its words, and one that is between two others adds nothing.
    """
    slots = [slot.split("|") for slot in phrase.split()]
    count = max((len(slot) for slot in slots), default=0)
    return [" ".join(slot[at % len(slot)] for slot in slots).replace("_", " ") for at in range(count)]


@cache
def _elsewhere() -> "NDArray[Any]":
    return word_table().embed(_lines("elsewhere.txt"))


def nearest_elsewhere(asked: "NDArray[Any]") -> float:
    """How alike a question is to what few toolboxes do."""
    return float((_elsewhere() @ asked).max())


def _lines(name: str) -> list[str]:
    text = (files("dogubako.engine.search") / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
