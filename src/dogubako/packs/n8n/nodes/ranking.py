"""Find node types by everyday words."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from dogubako.packs.n8n.nodes.channels import TOOL_SUFFIX
from dogubako.packs.n8n.nodes.descriptions import Match, Summary
from dogubako.packs.n8n.nodes.wishes import Term, terms_of, words_of

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPE, _TITLE, _ALIAS, _OPERATION, _TEXT = 6.0, 5.0, 3.0, 1.5, 1.0
# The node that people mean by a word comes before those that only have the word in their name.
_MEANT: Final = 1.05
# A word that only begins another one counts less, and says nothing if it is short.
_BEGINNING: Final = 0.5
_SHORTEST_BEGINNING: Final = 4
_EXACT: Final = 4.0
# Types of this package that end like tools are variants of others. The other package has tools of its own.
_BASE: Final = "n8n-nodes-base."


def ranked(summaries: Iterable[Summary], query: str, limit: int) -> list[Match]:
    """The best matches, best first. What n8n hides, and variants for agents, come after all others."""
    terms = terms_of(query)
    return best([one for summary in summaries if (one := _match(summary, terms)) is not None], limit)


def best(matches: Iterable[Match], limit: int) -> list[Match]:
    """The best of matches, which may come from several sources."""
    order = sorted(matches, key=lambda one: (one.last, -one.score, len(one.summary.type), one.summary.type))
    return order[:limit]


def _match(one: Summary, terms: Sequence[Term]) -> Match | None:
    short = one.type.rpartition(".")[2]
    title = words_of(one.title)
    fields = (
        (_parts(short), _TYPE),
        (title, _TITLE),
        ([word for alias in one.aliases for word in words_of(alias)], _ALIAS),
        ([word for name in (*one.resources, *one.operations) for word in _parts(name)], _OPERATION),
        (words_of(one.description), _TEXT),
    )
    total, matched, asked = 0.0, 0, 0
    for term in terms:
        best = max(_fits(term, parts) * weight for parts, weight in fields)
        total += best * term.size
        asked += term.size
        matched += term.size if best > 0 else 0
    if not matched:
        return None
    exact = "".join(term.written for term in terms) in (short.lower(), "".join(title))
    score = total * matched / asked + (_EXACT if exact else 0.0)
    variant = one.type.startswith(_BASE) and short.endswith(TOOL_SUFFIX)
    last = one.hidden or (variant and not exact)
    return Match(summary=one, score=score, share=matched / asked, last=last)


def _parts(name: str) -> list[str]:
    return [name.lower(), *words_of(_CAMEL.sub(" ", name))]


def _fits(term: Term, parts: Sequence[str]) -> float:
    if any(word in parts for word in term.meant):
        return _MEANT
    return max((_word_fits(word, parts, begins=not term.known) for word in term.words), default=0.0)


def _word_fits(word: str, parts: Sequence[str], *, begins: bool) -> float:
    if word in parts:
        return 1.0
    if word.endswith("s") and word[:-1] in parts:
        return 0.9
    begins = begins and len(word) >= _SHORTEST_BEGINNING
    return _BEGINNING if begins and any(part.startswith(word) for part in parts) else 0.0
