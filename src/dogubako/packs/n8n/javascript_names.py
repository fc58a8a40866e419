"""Names in JavaScript, in any script: patterns for expressions and code of workflows."""

import re
from functools import lru_cache
from typing import Final
from unicodedata import category


def _marks() -> str:
    """The vowel signs and accents that a name may have, and that Python takes for no part of a word: `भाषाएँ`."""
    blocks = ((0x300, 0x3100), (0xA600, 0xAC00), (0xFE00, 0xFE30))
    signs = (chr(one) for first, last in blocks for one in range(first, last))
    return "".join(one for one in signs if category(one) in ("Mn", "Mc")) + "\u200c\u200d"


_LETTERS: Final = rf"[\w{_marks()}"


@lru_cache(maxsize=500)
def of_names(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern in which `[\w…]` stands for the letters of JavaScript's names in any script."""
    return re.compile(pattern.replace(r"[\w", _LETTERS))


NAME: Final = rf"(?:[^\W\d]|[$_]){_LETTERS}$]*+"
