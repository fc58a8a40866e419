"""The words of a search, and whether texts have them."""

import re
from collections.abc import Iterable

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.filters import OUTER_QUOTES, ascii_lower

_WORDS = re.compile(r'(?:\s|^)"[^"]+"(?:\s|$)|\S+')
_MOST_WORDS = 5
_HAN = (("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff"))


def search_words(question: str) -> list[str]:
    """At most five; "several in quotes" are one, and a single letter is none unless it is Chinese."""
    words = dict.fromkeys(OUTER_QUOTES.sub("", each) for each in _WORDS.findall(question.strip()))
    return [each for each in words if len(each) > 1 or _is_han(each)][:_MOST_WORDS]


def _is_han(letter: str) -> bool:
    return any(start <= letter <= end for start, end in _HAN)


def flag(ask: Ask, name: str, *, default: bool) -> bool:
    """A switch of the search: any value but an empty one is yes, even `0`."""
    return bool(ask.text(name).strip()) if name in ask.params else default


def has_words(ask: Ask, texts: Iterable[str | None], words: list[str]) -> bool:
    """All words, or any of them if that is asked for, wherever in the texts."""
    lower = [ascii_lower(each) for each in texts if each]
    hits = [any(ascii_lower(word) in text for text in lower) for word in words]
    return all(hits) if flag(ask, "all_words", default=True) else any(hits)
