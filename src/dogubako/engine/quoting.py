"""Does a sentence repeat something that it was told?"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_WORD = re.compile(r"\w+")

# Shorter words are found in every sentence; longer ones are hardly there by chance.
_TELLING_LENGTH = 8


def quotes(sentence: str, received: Any) -> bool:
    """Whether the sentence holds a whole value of the received data, or a telling word out of one.

    It rather says yes once too often: then a caller reads a plainer sentence.
    """
    sentence = sentence.casefold()
    words = set(_WORD.findall(sentence))
    return any(_is_in(value.casefold(), sentence, words) for value in _values(received))


def _is_in(value: str, sentence: str, words: set[str]) -> bool:
    if len(value) >= _TELLING_LENGTH and value in sentence:
        return True
    heard = set(_WORD.findall(value))
    telling = {word for word in heard if len(word) >= _TELLING_LENGTH or not word.isalpha()}
    return bool(telling & words) or (len(heard) > 0 and heard <= words)


def _values(received: Any) -> Iterator[str]:
    if isinstance(received, Mapping):
        for value in received.values():
            yield from _values(value)
    elif isinstance(received, list | tuple):
        for value in received:
            yield from _values(value)
    elif received is not None and not isinstance(received, bool):
        yield str(received)
