"""Filters of a list as they stand in a query string: `status_id=1|2`, `created_on=><2026-01-01|2026-01-31`, `cf_3=*`.

`read_filters` reads them, `filter_errors` says what is wrong with them, `matches` tests a value. A list ignores
filters that it does not know, as Redmine does.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from dogubako_sandbox.redmine.store import Row, ascii_lower, today

_COMPARING: Final = ("=", ">=", "<=", "><")
_RELATIVE_PAST: Final = (">t-", "<t-", "><t-", "t-", "t", "ld", "w", "lw", "l2w", "m", "lm", "y")
_RELATIVE: Final = (*_RELATIVE_PAST, "<t+", ">t+", "><t+", "t+", "nd", "nw", "nm")
_OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("=", "!"),
    "list_status": ("o", "=", "!", "c", "*"),
    "list_optional": ("=", "!", "!*", "*"),
    "list_subprojects": ("*", "!*", "=", "!"),
    "date": (*_COMPARING, "!*", "*", *_RELATIVE),
    "date_past": (*_COMPARING, "!*", "*", *_RELATIVE_PAST),
    "string": ("~", "=", "!~", "!", "^", "$", "!*", "*"),
    "text": ("~", "!~", "^", "$", "!*", "*"),
    "integer": (*_COMPARING, "!*", "*"),
    "float": (*_COMPARING, "!*", "*"),
    "relation": ("=", "!", "=p", "=!p", "!p", "*o", "!o", "!*", "*"),
    "tree": ("=", "~", "!*", "*"),
}
_WITHOUT_VALUE: Final = {"o", "c", "!*", "*", "*o", "!o", "t", "ld", "nd", "w", "lw", "l2w", "nw", "m", "lm", "nm", "y"}
_NUMBERS: Final = {"integer": re.compile(r"[+-]?\d+(,[+-]?\d+)*"), "float": re.compile(r"[+-]?\d+(\.\d*)?")}
_DATES: Final = ("date", "date_past")
# Blanks are matched from their first one on, so that many of them are read once.
_OUTER_QUOTES: Final = re.compile(r'^\s*+"\s*+|(?:(?<!\s)\s++)?"\s*+$')
_WORDS: Final = re.compile(r'(?:(?<=\s)|^)"[^"]+"(?=\s|$)|\S+')
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}(:?\d{2}){0,2}(Z|\d{2}:?\d{2})?)?")
_MOST_WORDS: Final = 5
_MOST_CRITERIA: Final = 3

Moment = date | datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    name: str
    kind: str
    operator: str
    values: tuple[str, ...]

    @property
    def ids(self) -> set[int]:
        """The numbers in the first value."""
        return {int(number) for number in re.findall(r"\d+", self.values[0])} if self.values else set()

    def with_values(self, *values: str) -> "Filter":
        return replace(self, values=values)

    def positive(self) -> "Filter":
        """The filter for what this one leaves out, if it says not."""
        return replace(self, operator=self.operator.removeprefix("!") or "=")


def read_filters(params: Mapping[str, Any], kinds: Mapping[str, str], *defaults: Filter) -> dict[str, Filter]:
    """Read the filters of these kinds, on top of what a list starts with."""
    given = {name: _read(name, kind, params[name]) for name, kind in kinds.items() if params.get(name) is not None}
    return {**{each.name: each for each in defaults}, **given}


def _read(name: str, kind: str, expression: Any) -> Filter:
    text = str(expression)
    # The longest operators come first in this order, and `open` happens to begin with one.
    for operator in sorted(_OPERATORS[kind], reverse=True):
        if isinstance(expression, str) and text.startswith(operator):
            rest = text.removeprefix(operator)
            return Filter(name=name, kind=kind, operator=operator, values=_split(rest) if rest.strip() else ("",))
    return Filter(name=name, kind=kind, operator="=", values=_split(text))


def _split(text: str) -> tuple[str, ...]:
    """Split as Ruby does: empty texts at the end are not there."""
    return tuple(text.rstrip("|").split("|")) if text.rstrip("|") else ()


def filter_errors(filters: Mapping[str, Filter], labels: Mapping[str, str]) -> list[str]:
    """Return one sentence per wrong filter; a list with any is not answered."""
    sentences = []
    for each in filters.values():
        label = labels.get(each.name, each.name)
        if any(value.strip() and _is_wrong(each, value) for value in each.values):
            sentences.append(f"{label} is invalid")
        if not (each.values and each.values[0].strip()) and each.operator not in _WITHOUT_VALUE:
            sentences.append(f"{label} cannot be blank")
    return sentences


def _is_wrong(each: Filter, value: str) -> bool:
    if each.kind in _NUMBERS:
        return not _NUMBERS[each.kind].fullmatch(value)
    if each.kind not in _DATES:
        return False
    if each.operator in _COMPARING:
        return not _MOMENT.fullmatch(value) or _moment(value) is None
    return each.operator.rstrip("-+").endswith("t") and each.operator != "t" and not value.isdigit()


def matches(each: Filter, value: Any, *, custom: bool = False) -> bool:
    """Tell whether a column has what the filter wants; custom fields keep everything as texts."""
    match each.operator:
        case "!*":
            return value is None or ((custom or each.kind in ("text", "string")) and value == "")
        case "*":
            return value is not None and not (custom and value == "")
        case "!":
            return value is None or str(value) not in each.values
    if value is None or (custom and value == "" and each.kind in ("integer", "float", "date")):
        return False
    if each.kind in _DATES:
        after, until = _date_range(each.operator, each.values)
        cut = 19 if custom else None
        return (after is None or str(value) > after[:cut]) and (until is None or str(value) <= until[:cut])
    return _compares(each, value) if each.operator in _COMPARING else _contains(each, str(value))


def _compares(each: Filter, value: Any) -> bool:
    if each.operator == "=" and each.kind not in _NUMBERS:
        return str(value) in each.values
    number, first = _number(value), _number(each.values[0])
    match each.operator:
        case "=":
            wanted = [int(one) for one in re.findall(r"[+-]?\d+", each.values[0])]
            return number in wanted if each.kind == "integer" else abs(number - first) <= 1e-5
        case ">=":
            return number >= first
        case "<=":
            return number <= first
    return first <= number <= _number(each.values[1] if len(each.values) > 1 else 0)


def _number(value: Any) -> float:
    """Read a number as Ruby's to_f does: the number at the start of a text, else 0."""
    number = re.match(r"\s*[+-]?\d+(\.\d+)?", str(value))
    return float(number.group()) if number else 0.0


def _contains(each: Filter, value: str) -> bool:
    text, wanted = ascii_lower(value), ascii_lower(each.values[0])
    match each.operator:
        case "^":
            return text.startswith(wanted)
        case "$":
            return text.endswith(wanted)
        case "!~":
            return all(word not in text for word in words_of(wanted) or [wanted])
    return each.operator == "~" and all(word in text for word in words_of(wanted) or [wanted])


def words_of(text: str) -> list[str]:
    """Split a question into at most five words; "several in quotes" are one, and a single letter is none unless Han."""
    words = dict.fromkeys(_OUTER_QUOTES.sub("", word) for word in _WORDS.findall(text.strip()))
    return [word for word in words if len(word) > 1 or _HAN.fullmatch(word)][:_MOST_WORDS]


def _moment(text: str) -> Moment:
    """Read a day, or a moment of a day in UTC."""
    try:
        if "T" not in text:
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if text.endswith("Z") else moment.replace(tzinfo=UTC)
    except ValueError:
        return None


def _date_range(operator: str, values: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the bounds "after" and "up to" as texts that compare like columns of the database."""
    first, last = _bounds(operator, values)
    after = until = None
    if isinstance(first, datetime):
        after = f"{first - timedelta(seconds=1):%Y-%m-%d %H:%M:%S.%f}"
    elif first:
        after = f"{first - timedelta(days=1)} 23:59:59.999999"
    if last:
        until = f"{last:%Y-%m-%d %H:%M:%S.%f}" if isinstance(last, datetime) else f"{last} 23:59:59.999999"
    return after, until


def _bounds(operator: str, values: Sequence[str]) -> tuple[Moment, Moment]:
    if operator not in _COMPARING:
        return _relative(operator, values)
    first = _moment(values[0])
    match operator:
        case ">=":
            return first, None
        case "<=":
            return None, first
        case "><":
            return first, _moment(values[1]) if len(values) > 1 else None
    return first, first


def _relative(operator: str, values: Sequence[str]) -> tuple[Moment, Moment]:
    now = today()
    if operator.endswith(("-", "+")):
        days = timedelta(days=int(values[0] or 0))
        there = now - days if operator.endswith("-") else now + days
        bounds = {">": (there, None), "<": (None, there), "><": (min(there, now), max(there, now))}
        return bounds.get(operator[:-2], (there, there))
    # Weeks begin on Sunday where people speak English.
    sunday, month = now - timedelta(days=now.isoweekday() % 7), now.replace(day=1)
    starts = {"t": now, "ld": now, "nd": now, "y": now.replace(month=1, day=1)}
    start = starts.get(operator) or (sunday if operator.endswith("w") else month)
    shift, length = {"ld": (-1, 1), "nd": (1, 1), "w": (0, 7), "lw": (-7, 7), "l2w": (-14, 14), "nw": (7, 7)}.get(
        operator, (0, 1)
    )
    if operator in ("m", "lm", "nm"):
        return _month(start, {"m": 0, "lm": -1, "nm": 1}[operator])
    if operator == "y":
        return start, now.replace(month=12, day=31)
    return start + timedelta(days=shift), start + timedelta(days=shift + length - 1)


def _month(first: date, shift: int) -> tuple[date, date]:
    """Return the first and last day of a month, of the next or of the one before."""
    start = (
        (first + timedelta(days=32 * shift)).replace(day=1)
        if shift >= 0
        else (first - timedelta(days=1)).replace(day=1)
    )
    return start, (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)


def sort_criteria(sort: Any) -> list[tuple[str, bool]]:
    """Read columns and whether each goes down, from a text or from the pairs of a saved query; three at most."""
    pairs = [each.split(":")[:2] for each in sort.split(",")] if isinstance(sort, str) else list(sort or ())
    criteria: dict[str, bool] = {}
    for pair in pairs:
        if pair and pair[0]:
            criteria.setdefault(pair[0], pair[-1] == "desc")
    return list(criteria.items())[:_MOST_CRITERIA]


def sort_rows(rows: list[Row], sort: Any, key_of: Callable[[str], Callable[[Row], Any] | None]) -> list[Row]:
    """Sort stably from the last criterion to the first; columns without a key are ignored."""
    for name, goes_down in reversed(sort_criteria(sort)):
        key = key_of(name)
        if key:
            rows.sort(key=key, reverse=goes_down)
    return rows


def comparable(value: Any) -> tuple[Any, ...]:
    """Sort nothing before everything."""
    return (0, 0) if value is None else (1, value)
