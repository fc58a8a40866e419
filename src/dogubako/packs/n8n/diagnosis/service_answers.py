"""What a service answered to a request that it refused, wherever n8n put it, as texts and as data."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.references import texts
from dogubako.packs.n8n.formatters.truncation import is_absent

LONGEST_ANSWER: Final = 4_000
DEEPEST: Final = 4
_LONGEST_BODY: Final = 100_000
_MOST_ANSWERS: Final = 20
_STATUS_FIRST = re.compile(r"[45]\d\d - ")
_IN_QUOTES = re.compile(r"(?<!\w)['\"`‘“]([^'\"`‘’“”\n]{1,100}+)['\"`’”](?!\w)")
WORDS_ONLY: Final = ("message", "error", "detail", "title", "description", "reason", "msg", "error_description")


def answers(failure: Failure) -> Iterator[str]:
    """What the service said, wherever n8n put it."""
    raw = failure.raw
    for key in ("message", "description", "messages"):
        yield from texts(raw.get(key))
    data = failure.context.get("data")
    yield from texts(data) if not is_absent(data) else ()


def decoded(text: Any) -> Any:
    """A text that is JSON, or JSON in JSON, as data."""
    for _ in range(2):
        if not isinstance(text, str) or len(text) > _LONGEST_BODY:
            break
        try:
            text = json.loads(text)
        except (ValueError, RecursionError):
            break
    return text


def told_by(text: str) -> Any:
    """The answer of a service in a message of n8n, as data where it is JSON."""
    return decoded(text.partition(" - ")[2]) if _STATUS_FIRST.match(text) else decoded(text)


def quoted_in(told: Any) -> Iterator[str]:
    """What stands in quotes in the sentences of an answer."""
    for text in islice(sentences(told), _MOST_ANSWERS):
        yield from _IN_QUOTES.findall(text)


def sentences(told: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(told, str):
        yield told[:LONGEST_ANSWER]
    elif isinstance(told, Mapping) and depth < DEEPEST:
        for key in WORDS_ONLY:
            yield from sentences(told.get(key), depth + 1)
    elif isinstance(told, list) and depth < DEEPEST:
        for one in told[:20]:
            yield from sentences(one, depth + 1)
