"""Split a query into steps, and add the listing tools that later steps need: closing a ticket needs its id."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from dogubako.contract.normalization import nfkc
from dogubako.engine.search.constants import (
    FIRST_OF_WHOLE,
    MOST_ACTS,
    MOST_LISTERS,
    MOST_MATCHES,
    PLACE_OF_LISTERS,
    TOOLS_OF_AN_ACT,
)
from dogubako.engine.search.intent import begins_an_act
from dogubako.engine.search.japanese import is_japanese
from dogubako.engine.search.match import Hit, Ranked
from dogubako.engine.search.query import clauses
from dogubako.engine.search.text import Document, terms

# Where another act may begin: at “then” it does, after a comma or “and” only if a verb follows.
_THEN = re.compile(r",? (?:and )?(?:then|after that|afterwards|finally)\b,? ", re.IGNORECASE)
_MAYBE = re.compile(r", (?:and )?| and (?:also )?", re.IGNORECASE)
_THEN_JA = re.compile(r"[、,。]|それから|そのあと|その後|そして|てから|(?<=して)(?=[^い、。])")
# An act in fewer letters is a word like “thanks”.
_SHORTEST = 4


def acts(query: str) -> Sequence[str]:
    """The parts of a question that ask for one thing each; the question itself where it is one."""
    if is_japanese(query):
        found: Iterable[str] = _THEN_JA.split(nfkc(query))
    else:
        # With single spaces the patterns take linear time.
        spaced = " ".join(query.split())
        found = (act for clause in clauses(spaced) for part in _THEN.split(clause) for act in _at_verbs(part))
    several = [act.strip() for act in found if len(act.strip()) >= _SHORTEST]
    return several if 1 < len(several) <= MOST_ACTS else (query,)


def _at_verbs(text: str) -> list[str]:
    """Split at commas and “and”, but only where a verb follows: lists of things stay together."""
    parts, start = [], 0
    for found in _MAYBE.finditer(text):
        if begins_an_act(text[found.end() :]) and begins_an_act(text[start : found.start()]):
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def with_acts(whole: Ranked, parts: Sequence[Ranked]) -> Ranked:
    """The tools for the whole question, and behind the first of them the best ones for each of its acts."""
    certain = [part.hits[:TOOLS_OF_AN_ACT] for part in parts if not part.is_doubtful]
    if whole.is_doubtful and 2 * len(certain) <= len(parts):
        return whole
    by_turns = [hit for place in range(TOOLS_OF_AN_ACT) for hits in certain for hit in hits[place : place + 1]]
    hits = _each_once([*whole.hits[:FIRST_OF_WHOLE], *by_turns, *whole.hits])
    return Ranked(hits=_falling(hits[:MOST_MATCHES]), is_doubtful=False)


def _each_once(hits: Iterable[Hit]) -> list[Hit]:
    first: dict[str, float] = {}
    for key, score in hits:
        first.setdefault(key, score)
    return list(first.items())


def _falling(hits: Iterable[Hit]) -> list[Hit]:
    """No tool is shown as likelier than the one before it."""
    shown: list[Hit] = []
    for key, score in hits:
        shown.append((key, min(score, shown[-1][1]) if shown else score))
    return shown


class Listers:
    """Knows which tool lists the things that another tool needs the id of: `update_issue` needs `list_issues`."""

    def __init__(self) -> None:
        self._needs: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._lists: dict[str, tuple[str, frozenset[str]]] = {}
        self._listing: dict[tuple[str, frozenset[str]], str] = {}

    def put(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self.drop(document.key)
            named = frozenset(terms(document.name))
            if verb := next((verb for verb in _LISTING_VERBS if verb in named), None):
                self._listing[document.group, named - {verb}] = document.key
                self._lists[document.key] = (document.group, named - {verb})
            else:
                self._needs[document.key] = [(document.group, things) for things in _needed(document)]

    def drop(self, key: str) -> None:
        self._needs.pop(key, None)
        listed = self._lists.pop(key, None)
        if listed is not None and self._listing.get(listed) == key:
            del self._listing[listed]

    def of(self, key: str) -> Iterator[str]:
        """The tools that list what this one needs."""
        yield from (self._listing[what] for what in self._needs.get(key, ()) if what in self._listing)


# As stems.
_LISTING_VERBS = ("list", "search", "find")
# Only for the best tools it matters what they need.
_IN_NEED = 1
_ID = re.compile(r"(?:(?P<of>.*)_)?(?:id|key)s?|(?P<camel>.+)I[dD]s?")


def _needed(document: Document) -> Iterator[frozenset[str]]:
    """The things whose ids a tool requires: by the name of the argument, or for a plain `id` by its own name."""
    for name in document.requires:
        if (found := _ID.fullmatch(name)) is not None:
            named = found["of"] or found["camel"]
            yield frozenset(terms(named)) if named else frozenset(terms(document.name)[1:])


def with_listers(found: Ranked, listers: Listers, allowed: Set[str] | None) -> Ranked:
    """The same tools, and among the first of them those that list what the best ones need."""
    hits = found.hits
    seen = {key for key, _ in hits[: PLACE_OF_LISTERS + 1]}
    wanted = _each_once((lister, 0.0) for key, _ in hits[:_IN_NEED] for lister in listers.of(key))
    added = [key for key, _ in wanted if key not in seen and (allowed is None or key in allowed)][:MOST_LISTERS]
    if not added:
        return found
    place = PLACE_OF_LISTERS + 1 - len(added)
    score = hits[:place][-1][1]
    rest = [hit for hit in hits[place:] if hit[0] not in added]
    return Ranked(hits=[*hits[:place], *_falling([*((key, score) for key in added), *rest])], is_doubtful=False)
