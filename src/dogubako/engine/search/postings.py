"""The inverted index: which tools hold a term, and how strongly."""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import FIELD_RULES, LENGTH_PENALTY, SATURATION
from dogubako.engine.search.text import Document, terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NOBODY: Mapping[int, float] = {}


class Indexed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is kept of a document: enough to rank it, to explain that, and to forget it."""

    document: Document
    name_terms: frozenset[str]
    face_terms: tuple[str, ...]
    held: tuple[str, ...]


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """The holders of a term side by side in memory; for each its strength, and 1 if its name or face has the term."""

    numbers: "NDArray[Any]"
    strength_name_face: "NDArray[Any]"


class Postings:
    """For each term the tools that hold it, by number, with a strength from 0 to 1 that depends on that tool alone."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        # The number of a tool is its place here; a free place keeps its last tool until the next one comes.
        self.tools: list[Indexed] = []
        self.keys: list[str] = []
        self._free: list[int] = []
        self._holders: dict[str, dict[int, float]] = {}
        self._packed: dict[str, Packed] = {}
        self._rarity: dict[int, float] = {}
        self._masses: NDArray[Any] | None = None
        self._groups: NDArray[Any] | None = None

    def add(self, document: Document) -> list[str]:
        """Add a tool; return the terms that are new."""
        found = {field: terms(text) for field, text in document.fields.items()}
        strengths = _strengths(found)
        number = self._number(_indexed(document, found, strengths))
        fresh = [term for term in strengths if term not in self._holders]
        for term in fresh:
            self._holders[term] = {}
        for term, strength in strengths.items():
            self._holders[term][number] = strength / (strength + SATURATION)
        self._forget_what_depends_on(strengths)
        return fresh

    def remove(self, key: str) -> list[str]:
        """Remove a tool; return the terms that no tool has any more."""
        number = self.numbers.pop(key)
        held = self.tools[number].held
        for term in held:
            del self._holders[term][number]
        orphans = [term for term in held if not self._holders[term]]
        for term in orphans:
            del self._holders[term]
        self._free.append(number)
        self._forget_what_depends_on(held)
        return orphans

    def holders(self, term: str) -> Mapping[int, float]:
        return self._holders.get(term, _NOBODY)

    def packed(self, term: str) -> Packed:
        found = self._packed.get(term)
        if found is None:
            found = self._packed[term] = self._pack(term)
        return found

    def rarity(self, term: str) -> float:
        """BM25's inverse document frequency; a term that no tool has is the rarest."""
        holders = len(self.holders(term))
        found = self._rarity.get(holders)
        if found is None:
            found = self._rarity[holders] = log(1 + (len(self.numbers) - holders + 0.5) / (holders + 0.5))
        return found

    def masses(self, chosen: "NDArray[Any]") -> "NDArray[Any]":
        """How rare the words of each tool's name are together, and those of its name and description."""
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        if self._masses is None:
            self._masses = np.zeros((len(self.tools), 2))
        for number in chosen[self._masses[chosen, 0] == 0].tolist():
            tool = self.tools[number]
            self._masses[number] = (self._mass(tool.name_terms), self._mass(tool.face_terms))
        found: NDArray[Any] = self._masses[chosen]
        return found

    def groups(self, chosen: "NDArray[Any]") -> "NDArray[Any]":
        """Where each tool comes from, by number; a tool from nowhere is a place of its own."""
        import numpy as np  # noqa: PLC0415

        if self._groups is None:
            places: dict[str, int] = {}
            named = [tool.document.group or f" {at}" for at, tool in enumerate(self.tools)]
            self._groups = np.array([places.setdefault(group, len(places)) for group in named])
        found: NDArray[Any] = self._groups[chosen]
        return found

    def _pack(self, term: str) -> Packed:
        import numpy as np  # noqa: PLC0415

        holders, tools = self.holders(term), self.tools
        rows = (
            list(holders.values()),
            [term in tools[number].name_terms for number in holders],
            [term in tools[number].face_terms for number in holders],
        )
        return Packed(numbers=np.fromiter(holders, np.intp), strength_name_face=np.array(rows, np.float64))

    def _number(self, tool: Indexed) -> int:
        number = self._free.pop() if self._free else len(self.tools)
        self.tools[number : number + 1] = [tool]
        self.keys[number : number + 1] = [tool.document.key]
        self.numbers[tool.document.key] = number
        return number

    def _mass(self, held: Iterable[str]) -> float:
        # In the same order always: the last digit of a sum depends on it.
        return sum(map(self.rarity, sorted(held))) or 1.0

    def _forget_what_depends_on(self, held: Iterable[str]) -> None:
        for term in self._packed.keys() & set(held):
            del self._packed[term]
        self._rarity.clear()
        self._masses = self._groups = None


def strength_by_field(document: Document) -> dict[str, dict[str, float]]:
    """BM25F before saturation: for each field what it gives to each of its terms."""
    return {field: _strengths({field: terms(text)}) for field, text in document.fields.items()}


def _strengths(found: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """What all fields together give to each term; a long field gives less for each word."""
    strengths: dict[str, float] = {}
    for field, held in found.items():
        rule = FIELD_RULES[field]
        strength = rule.weight / (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(held) / rule.usual_length)
        for term in held:
            strengths[term] = strengths.get(term, 0.0) + strength
    return strengths


def _indexed(document: Document, found: Mapping[str, Sequence[str]], held: Iterable[str]) -> Indexed:
    name_terms = frozenset(found["name"])
    face_terms = tuple(sorted(name_terms.union(found["description"])))
    return Indexed(document=document, name_terms=name_terms, face_terms=face_terms, held=tuple(held))
