"""Names that are spelt alike: which one may be meant."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, Final
from unicodedata import combining

from dogubako.contract.normalization import nfkd

_NEAR: Final = 0.7
_NEAR_OTHER_SCRIPTS: Final = 0.6
_MOST_NAMES: Final = 200
_SHORTEST_PART: Final = 3
_LONGEST: Final = 100
_SAME_WORD: Final = 0.6
_SLIP: Final = 0.84
_SHORTEST_SLIP: Final = 4
# `firstName2` has three words.
_WORDS = re.compile(r"[A-Z]?[^\W\d_A-Z]++|[A-Z]++|\d++")
ONE_LETTER: Final = "differ in one letter"
_SHORTEST_WORD: Final = 6


def names_alike(data: Any, wanted: str) -> list[str]:
    """Names that may be meant; those without a value only if there is no other."""
    names = [str(key) for key in data][:_MOST_NAMES] if isinstance(data, Mapping) else []
    near = near_names(names, wanted)
    holding = [one for one in names if one != wanted and _holds(one.casefold(), wanted.casefold())]
    found = list(dict.fromkeys([*near, *holding]))
    return [one for one in found if data[one] not in (None, "")] or found


def _holds(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_PART and short in long


def near_name(data: Any, wanted: str) -> str | None:
    """The name that is spelt most alike, and has a value. An empty one is meant only if it has the same letters."""
    names = near_names([str(key) for key in data], wanted) if isinstance(data, Mapping) else []
    return next((one for one in names if data[one] not in (None, "") or _letters(one) == _letters(wanted)), None)


def near_names(names: Sequence[str], wanted: str) -> list[str]:
    """Names that are spelt alike, the most alike first."""
    scored = sorted(((_nearness(name, wanted), name) for name in names[:500] if name != wanted), reverse=True)
    enough = _NEAR if wanted.isascii() else _NEAR_OTHER_SCRIPTS
    return [name for score, name in scored if score >= enough]


def is_slip(one: str, other: str) -> bool:
    """Whether two names can hardly be two fields: they differ in case, signs between words, or a slip of the hand."""
    plain, wanted = _letters(one), _letters(other)
    if plain == wanted or sorted(plain) == sorted(wanted):
        return True
    if _are_siblings(_WORDS.findall(one[:_LONGEST]), _WORDS.findall(other[:_LONGEST])):
        return False
    long_enough = min(len(plain), len(wanted)) >= _SHORTEST_SLIP
    return long_enough and SequenceMatcher(None, plain, wanted).ratio() >= _SLIP


def is_same_name(one: str, other: str) -> bool:
    """Whether a name that nobody has can only be this one: by a slip, or without its accents."""
    return is_slip(one, other) or _without_accents(_letters(one)) == _without_accents(_letters(other))


def _letters(name: str) -> str:
    """The name without signs and capitals."""
    return re.sub(r"[\W_]", "", name[:_LONGEST]).casefold()


def _without_accents(text: str) -> str:
    return "".join(sign for sign in nfkd(text) if not combining(sign))


def _nearness(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1; `firstName` and `lastName`, `line1` and `line2` are two fields."""
    if _are_siblings(_WORDS.findall(one[:_LONGEST]), _WORDS.findall(other[:_LONGEST])):
        return 0.0
    plain, wanted = (text.casefold().replace("_", "").replace("-", "").replace(" ", "") for text in (one, other))
    return 1.0 if plain == wanted else SequenceMatcher(None, plain[:100], wanted[:100]).ratio()


def _are_siblings(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the names have the same words but for one, which is another word."""
    pairs = [(a.casefold(), b.casefold()) for a, b in zip(one, other, strict=False) if a.casefold() != b.casefold()]
    if len(one) != len(other) or len(one) < 2 or len(pairs) != 1:
        return False
    ((word, another),) = pairs
    abbreviated = word[0] == another[0] and max(len(word), len(another)) <= _SHORTEST_PART
    return not abbreviated and SequenceMatcher(None, word, another).ratio() < _SAME_WORD


def one_letter(value: Any, right: Any) -> str:
    """That two words are the same but for one letter: one of them may be misspelt."""
    if not isinstance(value, str) or not isinstance(right, str) or min(len(value), len(right)) < _SHORTEST_WORD:
        return ""
    before = _same_signs(value, right)
    after = _same_signs(value[before:][::-1], right[before:][::-1])
    rest = [value[before : len(value) - after], right[before : len(right) - after]]
    return f": they {ONE_LETTER}" if max(map(len, rest)) == 1 and "".join(rest).isalpha() else ""


def _same_signs(one: str, other: str) -> int:
    """With how many of the same signs two texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
