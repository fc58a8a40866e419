"""Values of JavaScript as Python holds them: what is empty, what is the same, and functions of the language."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dogubako.packs.n8n.formatters.truncation import is_absent, value_at

ABSENT: Final = value_at({}, ("undefined",))
UNKNOWN: Final = object()
# Python would also take the digits of other scripts.
_NUMBER = re.compile(r"[+-]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]{1,3}+)?+")

# Python reads `nan`, `inf` and `1_000` as numbers; JavaScript does not.
_NO_DIGIT = re.compile(r"[a-df-zA-DF-Z_]")


def is_empty(value: Any) -> bool:
    return value is None or is_absent(value) or is_nan(value) or (isinstance(value, (str, list, dict)) and not value)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def is_numeric(value: Any) -> bool:
    """Whether JavaScript can calculate with it."""
    if isinstance(value, str):
        if not value.isascii() or _NO_DIGIT.search(value):
            return False
        try:
            float(value.strip() or "0")
        except ValueError:
            return False
        return True
    return value is None or isinstance(value, (int, float))


def is_number_text(value: Any) -> bool:
    """Whether it is a text that a number would be written as."""
    return isinstance(value, str) and value.strip() != "" and is_numeric(value)


def is_true(value: Any) -> bool | None:
    """Whether JavaScript takes it as true; None if it is not known."""
    if value is UNKNOWN:
        return None
    if isinstance(value, (bool, int, float, str)):
        return bool(value) and not is_nan(value)
    return value is not None and not is_absent(value)


def _is_same(one: Any, other: Any) -> bool:
    if is_absent(one) or is_absent(other):
        return is_absent(one) and is_absent(other)
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_alike(one: Any, other: Any) -> bool:
    nothing = [each is None or is_absent(each) for each in (one, other)]
    return all(nothing) if any(nothing) else str(one) == str(other) or bool(one == other)


def type_of(value: Any) -> str:
    """What `typeof` says."""
    if is_absent(value):
        return "undefined"
    names = {bool: "boolean", int: "number", float: "number", str: "string"}
    return names.get(type(value), "object")


def _to_number(value: Any) -> float:
    if is_absent(value):
        return math.nan
    if isinstance(value, str):
        return float(value.strip() or "0") if _NUMBER.fullmatch(value.strip() or "0") else math.nan
    return float(value or 0) if value is None or isinstance(value, (bool, int, float)) else math.nan


def _leading_number(value: Any) -> float:
    match = re.match(r"\s*([+-]?[0-9]+(?:\.[0-9]+)?)", str(value))
    return float(match[1]) if match else math.nan


def _leading_whole(value: Any) -> float:
    """Only what `parseInt` reads in the decimal system."""
    number = _leading_number(value)
    return number if math.isnan(number) else math.trunc(number)


COMPUTE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "===": _is_same,
    "!==": lambda one, other: not _is_same(one, other),
    "==": _is_alike,
    "!=": lambda one, other: not _is_alike(one, other),
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    "<=": lambda one, other: one <= other,
    ">=": lambda one, other: one >= other,
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
    "%": lambda one, other: one % other,
}
STATIC: Final = frozenset({"Number", "Array", "Object", "Math", "JSON", "Date", "String", "DateTime"})
FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Number": _to_number,
    "parseInt": _leading_whole,
    "parseFloat": _leading_number,
    "String": str,
    "Boolean": is_true,
    "isNaN": lambda value: math.isnan(_to_number(value)),
    "Number.isNaN": is_nan,
    "Number.isFinite": lambda value: isinstance(value, (int, float)) and math.isfinite(value),
    "Number.isInteger": lambda value: isinstance(value, (int, float)) and float(value).is_integer(),
    "Array.isArray": lambda value: isinstance(value, (list, tuple)),
    "Object.keys": lambda value: list(value) if isinstance(value, Mapping) else UNKNOWN,
    "Object.values": lambda value: list(value.values()) if isinstance(value, Mapping) else UNKNOWN,
}
