"""Does a sentence repeat something that it was told?"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

_WORD = re.compile(r"\w+")

# Shorter words are found in every sentence; longer ones are hardly there by chance.
_TELLING_LENGTH = 8

# A sentence that is longer, or data that has more, is not looked through: the answer is then yes.
_LONGEST_SENTENCE = 2_000
_MOST_CHARACTERS = 200_000
_MOST_VALUES = 5_000


def quotes(sentence: str, received: Any) -> bool:
    """Whether the sentence holds a whole value of the received data, or a telling word out of one.

    It rather says yes once too often: then a caller reads a plainer sentence.
    """
    return Told(received).is_quoted_in(sentence)


class Told:
    """Received data, whose words are looked for in several sentences and collected once."""

    def __init__(self, received: Any) -> None:
        self._received = received

    def at(self, path: Sequence[str | int]) -> Any:
        """The value in this place, which has to be there."""
        value = self._received
        for key in path:
            value = value[key]
        return value

    def is_quoted_in(self, sentence: str) -> bool:
        """As `quotes`, for this data."""
        if len(sentence) > _LONGEST_SENTENCE or self._words is None:
            return True
        sentence = sentence.casefold()
        words = set(_WORD.findall(sentence))
        return self._words.are_in(sentence, words)

    @cached_property
    def _words(self) -> "_Words | None":
        """What there is to look for, or None if it is too much."""
        values: set[str] = set()
        characters = 0
        for value in _values(self._received):
            values.add(value.casefold())
            characters += len(value)
            if characters > _MOST_CHARACTERS or len(values) > _MOST_VALUES:
                return None
        return _Words(values)


class _Words:
    """The words of some values."""

    def __init__(self, values: set[str]) -> None:
        self._long_values = [value for value in values if len(value) >= _TELLING_LENGTH]
        self._telling: set[str] = set()
        self._heard: set[frozenset[str]] = set()
        for value in values:
            heard = frozenset(_WORD.findall(value))
            self._heard.add(heard)
            self._telling.update(word for word in heard if len(word) >= _TELLING_LENGTH or not word.isalpha())
        self._heard.discard(frozenset())

    def are_in(self, sentence: str, words: set[str]) -> bool:
        return (
            not self._telling.isdisjoint(words)
            or any(heard <= words for heard in self._heard)
            or any(value in sentence for value in self._long_values)
        )


def _values(received: Any) -> Iterator[str]:
    if isinstance(received, Mapping):
        for value in received.values():
            yield from _values(value)
    elif isinstance(received, list | tuple):
        for value in received:
            yield from _values(value)
    elif received is not None and not isinstance(received, bool):
        yield str(received)
