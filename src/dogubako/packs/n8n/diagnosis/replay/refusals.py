"""Functions of the language that refuse some values: BigInt, RegExp, decodeURIComponent, toFixed and their like."""

import math
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from dogubako.packs.n8n.diagnosis.javascript_values import FUNCTIONS, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.values import Arr, Obj, Thrown, Val, made_of, text_of

REFUSING: Final = frozenset({"BigInt", "RegExp", "decodeURIComponent", "decodeURI"})
# The smallest and the largest number that a method of numbers takes.
_DIGITS: Final = {"toFixed": (0, 100), "toExponential": (0, 100), "toPrecision": (1, 100)}
_WHOLE = re.compile(r"[+-]?[0-9]++|0[xX][0-9a-fA-F]++|0[oO][0-7]++|0[bB][01]++|")
_ESCAPED = re.compile(r"%(?![0-9a-fA-F]{2})")


def refusing_call(name: str, given: Sequence[Val], line: int) -> Val:
    """`BigInt(x)` and its like. Whether a regular expression can be read is known from the message alone."""
    if not given or not given[0].is_known or isinstance(given[0].value, (Obj, Arr)):
        return made_of(UNKNOWN, *given)
    text = text_of(given[0].value)
    if name == "BigInt" and _is_no_whole_number(given[0]):
        raise Thrown("bigint", None, line, given[0])
    if name in ("decodeURIComponent", "decodeURI") and isinstance(text, str) and not _is_encoded(text):
        raise Thrown("uri", None, line, given[0])
    return made_of(UNKNOWN, *given)


def check_digits(name: str, given: Sequence[Val], line: int) -> None:
    """RangeError of `toFixed(digits)`."""
    if name not in _DIGITS or not given or not isinstance(given[0].value, (int, float, str)):
        return
    number = FUNCTIONS["Number"](given[0].value)
    least, most = _DIGITS[name]
    if math.isinf(number) or not least <= (0 if math.isnan(number) else int(number)) <= most:
        raise Thrown("digits", None, line, given[0])


def _is_no_whole_number(given: Val) -> bool:
    value = given.value
    if isinstance(value, str):
        return _WHOLE.fullmatch(value.strip()) is None
    return given.is_nothing or (isinstance(value, float) and not value.is_integer())


def _is_encoded(text: str) -> bool:
    if _ESCAPED.search(text) is not None:
        return False
    try:
        unquote_to_bytes(text).decode()
    except UnicodeError:
        return False
    return True
