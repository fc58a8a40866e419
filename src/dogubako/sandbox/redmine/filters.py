"""Filters of a list as they stand in a query string: `status_id=1|2`, `created_on=><2026-01-01|2026-01-31`, `cf_3=*`.

`asked_filters` reads them, `complaints_about` says what is wrong with them, `matches` tests a value. A filter that the
list does not know is ignored without a word, as Redmine does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dogubako.sandbox.redmine.day_ranges import date_range, is_date_operator, parsed_moment

_RELATIVE_PAST: Final = (">t-", "<t-", "><t-", "t-", "t", "ld", "w", "lw", "l2w", "m", "lm", "y")
_RELATIVE: Final = (*_RELATIVE_PAST, "<t+", ">t+", "><t+", "t+", "nd", "nw", "nm")
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("=", "!"),
    "list_status": ("o", "=", "!", "c", "*"),
    "list_optional": ("=", "!", "!*", "*"),
    "list_subprojects": ("*", "!*", "=", "!"),
    "date": ("=", ">=", "<=", "><", "!*", "*", *_RELATIVE),
    "date_past": ("=", ">=", "<=", "><", "!*", "*", *_RELATIVE_PAST),
    "string": ("~", "=", "!~", "!", "^", "$", "!*", "*"),
    "text": ("~", "!~", "^", "$", "!*", "*"),
    "integer": ("=", ">=", "<=", "><", "!*", "*"),
    "float": ("=", ">=", "<=", "><", "!*", "*"),
    "relation": ("=", "!", "=p", "=!p", "!p", "*o", "!o", "!*", "*"),
    "tree": ("=", "~", "!*", "*"),
}
_WITHOUT_VALUE: Final = {"o", "c", "!*", "*", "*o", "!o", "t", "ld", "nd", "w", "lw", "l2w", "nw", "m", "lm", "nm", "y"}
_NUMBERS: Final = {
    "integer": re.compile(r"[+-]?\d+(,[+-]?\d+)*"),
    "float": re.compile(r"[+-]?\d+(\.\d*)?"),
}
# Blanks are taken from their first one on, so that many of them are read once.
OUTER_QUOTES: Final = re.compile(r'^\s*+"\s*+|(?:(?<!\s)\s++)?"\s*+$')
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}(:?\d{2}){0,2}(Z|\d{2}:?\d{2})?)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    name: str
    kind: str
    operator: str
    values: tuple[str, ...]


def asked_filters(params: Mapping[str, Any], kinds: Mapping[str, str], *start: Filter) -> dict[str, Filter]:
    """What the parameters say, on top of what a list starts with; in the short way or as `f[]`, `op[…]`, `v[…][]`."""
    if "f" in params:
        return _long_way(params, kinds)
    found = {each.name: each for each in start}
    for name, kind in kinds.items():
        if params.get(name) is not None:
            found[name] = _short_way(name, kind, params[name])
    return found


def _short_way(name: str, kind: str, expression: Any) -> Filter:
    text = expression if isinstance(expression, str) else str(expression)
    # The longest operators come first in this order, and `open` happens to begin with one.
    for operator in sorted(OPERATORS[kind], reverse=True):
        if isinstance(expression, str) and text.startswith(operator):
            rest = text.removeprefix(operator)
            return Filter(name=name, kind=kind, operator=operator, values=_split(rest) if rest.strip() else ("",))
    return Filter(name=name, kind=kind, operator="=", values=_split(text))


def _split(text: str) -> tuple[str, ...]:
    """As Ruby splits: empty texts at the end are not there."""
    return tuple(text.rstrip("|").split("|")) if text.rstrip("|") else ()


def _long_way(params: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Filter]:
    names = params["f"] if isinstance(params["f"], list) else []
    operators, values = params.get("op") or {}, params.get("v") or {}
    return {
        name: Filter(
            name=name, kind=kinds[name], operator=str(operators.get(name)), values=tuple(values.get(name) or ("",))
        )
        for name in names
        if name in kinds and operators
    }


def complaints_about(filters: Mapping[str, Filter], labels: Mapping[str, str]) -> list[str]:
    """One sentence per wrong filter; a list with any is not answered."""
    found = []
    for each in filters.values():
        label = labels.get(each.name, each.name)
        if any(value.strip() and _is_wrong(each, value) for value in each.values):
            found.append(f"{label} is invalid")
        if not (each.values and each.values[0].strip()) and each.operator not in _WITHOUT_VALUE:
            found.append(f"{label} cannot be blank")
    return found


def _is_wrong(each: Filter, value: str) -> bool:
    if each.kind in _NUMBERS:
        return not _NUMBERS[each.kind].fullmatch(value)
    if each.kind not in ("date", "date_past"):
        return False
    if each.operator in ("=", ">=", "<=", "><"):
        return not _MOMENT.fullmatch(value) or parsed_moment(value) is None
    return each.operator.rstrip("-+").endswith("t") and each.operator != "t" and not value.isdigit()


def matches(each: Filter, value: Any, *, custom: bool = False) -> bool:
    """Whether a column has what the filter wants; custom fields keep everything as texts."""
    match each.operator:
        case "!*":
            return value is None or ((custom or each.kind in ("text", "string")) and value == "")
        case "*":
            return value is not None and not (custom and value == "")
        case "!":
            return value is None or str(value) not in each.values
    if value is None or (custom and value == "" and each.kind in ("integer", "float", "date")):
        return False
    if is_date_operator(each.kind, each.operator):
        return _in_range(each, str(value), custom=custom)
    if each.operator in ("=", ">=", "<=", "><"):
        return _equals_or_compares(each, value)
    return _contains(each, str(value))


def _in_range(each: Filter, value: str, *, custom: bool) -> bool:
    after, until = date_range(each.operator, each.values)
    cut = 19 if custom else None
    return (after is None or value > after[:cut]) and (until is None or value <= until[:cut])


def _equals_or_compares(each: Filter, value: Any) -> bool:
    if each.operator == "=" and each.kind == "integer":
        return _number(value) in [int(one) for one in re.findall(r"[+-]?\d+", each.values[0])]
    if each.operator == "=" and each.kind == "float":
        return abs(_number(value) - _number(each.values[0])) <= 1e-5
    if each.operator == "=":
        return str(value) in each.values
    first, last = _number(each.values[0]), _number(each.values[1] if len(each.values) > 1 else 0)
    match each.operator:
        case ">=":
            return _number(value) >= first
        case "<=":
            return _number(value) <= first
    return first <= _number(value) <= last


def _number(value: Any) -> float:
    """As Ruby's to_f reads a text: the number at its start, else 0."""
    found = re.match(r"\s*[+-]?\d+(\.\d+)?", str(value))
    return float(found.group()) if found else 0.0


def _contains(each: Filter, value: str) -> bool:
    text, wanted = ascii_lower(value), ascii_lower(each.values[0])
    match each.operator:
        case "^":
            return text.startswith(wanted)
        case "$":
            return text.endswith(wanted)
        case "!~":
            return all(word not in text for word in like_words(wanted))
    return each.operator == "~" and all(word in text for word in like_words(wanted))


def like_words(text: str) -> list[str]:
    """The words that have to be there, "two of them" in quotes as one; single letters do not count."""
    words = re.findall(r'(?:(?<=\s)|^)"[^"]+"(?=\s|$)|\S+', text)
    stripped = dict.fromkeys(OUTER_QUOTES.sub("", word) for word in words)
    return [word for word in stripped if len(word) > 1 or "\u4e00" <= word <= "\u9fff"][:5] or [text]


def ascii_lower(text: str) -> str:
    """The database compares without case only what ASCII has."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
