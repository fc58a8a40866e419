"""DuckDuckGo's instant answers. Types vary from query to query: what is odd is left out, no object is an error."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dogubako.packs.web.models import InstantAnswer, Topic
from dogubako.packs.web.providers.json_answers import MOST_ENTRIES, plain_text, read_object

_MOST_TOPICS: Final = 40


def read_instant_answer(body: bytes) -> InstantAnswer:
    """From the API's JSON, whatever content type it came with."""
    found = read_object(body)
    return InstantAnswer(
        heading=_text(found.get("Heading")),
        abstract=_text(found.get("AbstractText")) or _text(found.get("Abstract")),
        abstract_source=_text(found.get("AbstractSource")),
        abstract_url=_text(found.get("AbstractURL")),
        answer=_answer(found.get("Answer")),
        definition=_text(found.get("Definition")),
        definition_source=_text(found.get("DefinitionSource")),
        definition_url=_text(found.get("DefinitionURL")),
        topics=tuple(islice(_topics(found.get("RelatedTopics"), ""), _MOST_TOPICS)),
        facts=tuple(islice(_facts(found.get("Infobox")), MOST_ENTRIES)),
    )


def _answer(value: Any) -> str:
    """Text, or an object of which one part is the text."""
    if isinstance(value, Mapping):
        return next((text for key in ("result", "answer", "text", "value") if (text := _text(value.get(key)))), "")
    return _text(value)


def _topics(value: Any, group: str) -> Iterator[Topic]:
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, Mapping):
            continue
        if isinstance(one.get("Topics"), list):
            yield from _topics(one["Topics"], _text(one.get("Name")))
        elif text := _text(one.get("Text")):
            yield Topic(text=text, url=_text(one.get("FirstURL")), group=group)


def _facts(value: Any) -> Iterator[tuple[str, str]]:
    content = value.get("content") if isinstance(value, Mapping) else None
    for one in content if isinstance(content, list) else ():
        if isinstance(one, Mapping) and (label := _text(one.get("label"))):
            said = one.get("value")
            text = _text(said) if not isinstance(said, Mapping) else _answer(said)
            if text:
                yield label, text


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else plain_text(value)
