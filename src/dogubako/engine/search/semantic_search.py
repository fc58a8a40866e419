"""Finds tools by words and, once their vectors are there, by meaning too."""

import unicodedata
from collections import deque
from collections.abc import Mapping, Set
from heapq import nlargest
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from dogubako.engine.search.constants import (
    FLOOR,
    KNOWN_LETTERS,
    LONGEST_QUERY,
    MEANING_LEAST,
    MEANING_SHARE,
    MOST_MATCHES,
    NEAR_NAME,
)
from dogubako.engine.search.fields import Document, document_of
from dogubako.engine.search.match import Match, Reason
from dogubako.engine.search.meanings import Meanings
from dogubako.engine.search.sentence_model import ModelError, SentenceModel, fingerprint, packaged_model
from dogubako.engine.search.tool_search import LexicalSearch
from dogubako.engine.search.vector_store import VectorStore
from dogubako.engine.search.words import words

if TYPE_CHECKING:
    from dogubako.engine.entry import ToolRegistryEntry

Scores = dict[str, float]


class SemanticSearch:
    """The lexical search, blended with likeness of meaning. Until that is known, it is the lexical search."""

    def __init__(self, meanings: Meanings) -> None:
        self._lexical = LexicalSearch()
        self._meanings = meanings
        self._entries: dict[str, ToolRegistryEntry] = {}
        self._changes: deque[tuple[str, ToolRegistryEntry | None]] = deque()
        self._catching_up = Lock()

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Take a tool in, or what has become of it."""
        self._lexical.put(entry)
        self._changes.append((entry.name, entry))

    def drop(self, name: str) -> None:
        """Forget a tool, if it is known."""
        self._lexical.drop(name)
        self._changes.append((name, None))

    def find(self, query: str, allowed: Set[str] | None, *, explain: bool = False) -> list[Match]:
        """Tools that fit, best first; of those whose names are allowed, if that is said."""
        with self._catching_up:
            self._catch_up()
            entries = self._entries
        matches = self._lexical.find(query, allowed, explain=explain)
        alike = self._meanings.likeness(query[:LONGEST_QUERY]) if is_known_script(query) else {}
        alike = {name: like for name, like in alike.items() if name in entries and (allowed is None or name in allowed)}
        return self._blended(matches, alike, entries, explain) if alike else matches

    def _catch_up(self) -> None:
        """Searches that run already keep the entries that they began with."""
        if not self._changes:
            return
        entries = dict(self._entries)
        while self._changes:
            name, entry = self._changes.popleft()
            if entry is None:
                entries.pop(name, None)
                self._meanings.drop(name)
            elif entries.get(name) is not entry:
                entries[name] = entry
                self._meanings.put(name, spoken(document_of(entry)))
        self._entries = entries

    def _blended(
        self, matches: list[Match], alike: Scores, entries: "Mapping[str, ToolRegistryEntry]", explain: bool
    ) -> list[Match]:
        known = {**entries, **{match.entry.name: match.entry for match in matches}}
        by_words = {match.entry.name: match.score for match in matches}
        why = {match.entry.name: match.why for match in matches}
        found = blend(by_words, alike)
        return [
            Match(
                entry=known[name],
                score=score,
                why=_reasons(score, by_words.get(name, 0.0), why.get(name, ())) if explain else (),
            )
            for name, score in sorted(found.items(), key=lambda one: (-one[1], one[0]))
        ]


def search_with(model: str, data: Path) -> SemanticSearch:
    """As a setting says: `auto` for the model of an installed package, else a folder."""
    if model != "auto":
        return semantic_search(Path(model), data)
    packaged = packaged_model()
    if packaged is None:
        raise ModelError("no installed package brings a model; name the folder of one.")
    return semantic_search(packaged, data)


def semantic_search(model: Path, data: Path) -> SemanticSearch:
    """A search with the model of one folder, which keeps vectors in the other. A bad model is refused at once."""
    store = VectorStore(data / "tool-vectors.db", fingerprint(model))
    return SemanticSearch(Meanings(lambda: SentenceModel(model), store))


def blend(by_words: Mapping[str, float], alike: Mapping[str, float]) -> Scores:
    """Both measured by their best tool, then added. Tools that were named, or nearly, stay as they are."""
    named = {name: score for name, score in by_words.items() if score >= NEAR_NAME}
    # A score is the root of how much fits (see Ranking); likeness is compared with what fits.
    fits = {name: score * score for name, score in by_words.items() if name not in named}
    near = dict(nlargest(MOST_MATCHES, alike.items(), key=lambda one: (one[1], one[0])))
    near = {name: like for name, like in near.items() if like >= MEANING_LEAST}
    best_fit, best_like = max(fits.values(), default=0.0), max(near.values(), default=0.0)
    quality = min(max(best_fit**0.5, best_like), NEAR_NAME - 0.01)
    found = {
        name: (1 - MEANING_SHARE) * _share(fits.get(name, 0.0), best_fit)
        + MEANING_SHARE * _share(max(alike.get(name, 0.0), 0.0), best_like)
        for name in fits.keys() | near.keys() - named.keys()
    }
    return {**{name: round(quality * share, 4) for name, share in found.items() if share >= FLOOR}, **named}


def spoken(document: Document) -> str:
    """What a tool is embedded as: a line that reads like a sentence about it."""
    name = " ".join(words(document.name))
    return f"{document.group} {name}: {document.fields['description']} {document.fields.get('parameters', '')}".strip()


def is_known_script(query: str) -> bool:
    """Whether a model that learned English can make something of these letters."""
    letters = [letter for letter in unicodedata.normalize("NFKC", query[:LONGEST_QUERY]) if letter.isalpha()]
    latin = sum(1 for letter in letters if letter < "\u0250")
    return bool(letters) and latin >= KNOWN_LETTERS * len(letters)


def _share(part: float, most: float) -> float:
    return part / most if most else 0.0


def _reasons(score: float, by_words: float, why: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """The words' reasons, and what is left is the meaning's."""
    words_share = score if by_words >= NEAR_NAME else min(score, (1 - MEANING_SHARE) * by_words)
    scale = words_share / by_words if by_words else 0.0
    scaled = [Reason(word=one.word, field=one.field, share=one.share * scale) for one in why]
    meaning = [Reason(word="", field="meaning", share=score - words_share)] if score > words_share else []
    return tuple(sorted([*scaled, *meaning], key=lambda one: (-one.share, one.word, one.field)))
