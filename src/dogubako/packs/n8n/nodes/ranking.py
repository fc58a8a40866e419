"""Find node types by everyday words."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from dogubako.packs.n8n.nodes.descriptions import Summary

_WORD: Final = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_WORDS: Final = 12
_COMMON: Final = frozenset(
    {"a", "an", "the", "to", "of", "in", "on", "at", "for", "and", "or", "with", "node", "n8n", "from"}
)
# Words that people use for nodes that have another name.
_SYNONYMS: Final = {
    "condition": ("if", "switch", "filter"),
    "branch": ("if", "switch"),
    "loop": ("splitinbatches",),
    "cron": ("schedule",),
    "timer": ("schedule",),
    "javascript": ("code",),
    "python": ("code",),
    "api": ("http",),
    "call": ("http", "executeworkflow"),
    "rest": ("http",),
    "request": ("http",),
    "mail": ("email", "gmail"),
    "spreadsheet": ("sheets", "excel"),
    "database": ("postgres", "mysql"),
    "every": ("schedule",),
    "daily": ("schedule",),
    "hourly": ("schedule",),
    "weekly": ("schedule",),
    "periodically": ("schedule",),
    "delay": ("wait",),
    "subworkflow": ("executeworkflow",),
}
_TYPE, _TITLE, _ALIAS, _OPERATION, _TEXT = 6.0, 5.0, 3.0, 1.5, 1.0
# The node that people mean by a word comes before those that only have the word in their name.
_SYNONYM: Final = 1.05
# A word that only begins another one counts less.
_BEGINNING: Final = 0.5


def ranked(summaries: Iterable[Summary], query: str, limit: int) -> list[Summary]:
    """The best matches, best first. Nodes that match more of the words come first."""
    words = [word for word in _words(query) if word not in _COMMON][:_MOST_WORDS] or list(_words(query))[:_MOST_WORDS]
    scored = [(score, one) for one in summaries if (score := _score(one, words)) > 0]
    scored.sort(key=lambda pair: (-pair[0], len(pair[1].type), pair[1].type))
    return [one for _, one in scored[:limit]]


def _score(one: Summary, words: list[str]) -> float:
    short = one.type.rpartition(".")[2]
    fields = (
        ([short.lower(), *_words(_CAMEL.sub(" ", short))], _TYPE),
        (list(_words(one.title)), _TITLE),
        ([word for alias in one.aliases for word in _words(alias)], _ALIAS),
        ([word for name in (*one.resources, *one.operations) for word in _words(_CAMEL.sub(" ", name))], _OPERATION),
        (list(_words(one.description)), _TEXT),
    )
    total, matched = 0.0, 0
    for word in words:
        best = max((_match(word, parts) * weight for parts, weight in fields), default=0.0)
        total += best
        matched += best > 0
    exact = 4.0 if "".join(words) in (short.lower(), "".join(_words(one.title))) else 0.0
    return total * matched / max(len(words), 1) + exact if matched else 0.0


def _match(word: str, parts: list[str]) -> float:
    if word in parts:
        return 1.0
    if any(one in parts for one in _SYNONYMS.get(word, ())):
        return _SYNONYM
    if word.endswith("s") and word[:-1] in parts:
        return 0.9
    return _BEGINNING if len(word) > 2 and any(part.startswith(word) for part in parts) else 0.0


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(text.lower()))
