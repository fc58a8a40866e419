"""Which tool fits this query. Simple here; the interface is the one that stays."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dogubako.engine.entry import ToolRegistryEntry

_WORD = re.compile(r"[^\W_]+")
_WEIGHTS = {"name": 4.0, "tags": 2.0, "category": 2.0, "description": 1.0, "parameters": 0.5}


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A tool that fits, how well (0 to 1), and which fields made it fit."""

    entry: "ToolRegistryEntry"
    score: float
    why: tuple[str, ...]


class ToolSearch(Protocol):
    """A ranker over registry entries."""

    def search(self, query: str, entries: "Sequence[ToolRegistryEntry]") -> list[Match]: ...


class TermSearch:
    """Counts which of the query's words each field of a tool holds."""

    def search(self, query: str, entries: "Sequence[ToolRegistryEntry]") -> list[Match]:
        terms = _terms(query)
        if not terms:
            return []
        matches = [match for entry in entries if (match := _match(entry, terms)) is not None]
        return sorted(matches, key=lambda match: (-match.score, match.entry.name))


def _match(entry: "ToolRegistryEntry", terms: frozenset[str]) -> Match | None:
    hits = {field: _share(terms, text) for field, text in _fields(entry).items()}
    score = sum(_WEIGHTS[field] * share for field, share in hits.items()) / sum(_WEIGHTS.values())
    if score == 0:
        return None
    return Match(entry=entry, score=round(score, 4), why=tuple(field for field, share in hits.items() if share))


def _fields(entry: "ToolRegistryEntry") -> dict[str, str]:
    metadata = entry.metadata
    return {
        "name": metadata.name,
        "tags": " ".join(entry.tags),
        "category": entry.category,
        "description": " ".join([metadata.description, *metadata.keywords.values()]),
        "parameters": " ".join(f"{parameter.name} {parameter.description}" for parameter in metadata.parameters),
    }


def _share(terms: frozenset[str], text: str) -> float:
    """How much of the query the text holds; a word counts half where it is only the beginning of one."""
    words = _terms(text)
    whole = terms & words
    partly = sum(1 for term in terms - whole if any(word.startswith(term) or term in word for word in words))
    return (len(whole) + partly / 2) / len(terms)


def _terms(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
