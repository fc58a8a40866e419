"""Search the sandbox's pages: every word must match; titles count first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dogubako_sandbox.web.documents import Document
from dogubako_sandbox.web.sites import DOCUMENTS

# These words select a special result page; they are not searched for.
_STAGE_DIRECTIONS: Final = ("captcha at page 2", "old encoding")
_PART: Final = re.compile(r'(-?)(?:site:(\S+)|"([^"]*)"|(\S+))')
_DAYS: Final[Mapping[str, int]] = {"d": 1, "w": 7, "m": 31, "y": 366}


@dataclass(kw_only=True)
class Terms:
    """A parsed query."""

    words: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    other_sites: list[str] = field(default_factory=list)

    def fit(self, document: Document) -> bool:
        return (
            all(_says(document, word) for word in self.words)
            and not any(_says(document, word) for word in self.without)
            and all(_is_on(document, site) for site in self.sites)
            and not any(_is_on(document, site) for site in self.other_sites)
        )


def search(query: str, time_range: str = "") -> Sequence[Document]:
    """Every matching page, best first."""
    terms = terms_of(query)
    youngest = _DAYS.get(time_range)
    matches = [one for one in DOCUMENTS if terms.fit(one) and (youngest is None or one.age_days <= youngest)]
    return sorted(matches, key=lambda one: -sum(word in one.title.lower() for word in terms.words))


def terms_of(query: str) -> Terms:
    text = query.lower()
    for direction in _STAGE_DIRECTIONS:
        text = text.replace(direction, " ")
    terms = Terms()
    for minus, site, phrase, word in _PART.findall(text):
        if site:
            (terms.other_sites if minus else terms.sites).append(site)
        elif term := phrase or word:
            (terms.without if minus else terms.words).append(term)
    return terms


def _says(document: Document, word: str) -> bool:
    # Japanese has no blanks between words, and a phrase contains some.
    return word in document.words if word.isascii() and word.isalnum() else word in document.searched


def _is_on(document: Document, site: str) -> bool:
    return document.host == site or document.host.endswith(f".{site}")
