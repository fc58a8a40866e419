"""Validate and encode filters for Redmine, which ignores or misreads what it does not understand."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dogubako.contract.errors import ValidationError
from dogubako.contract.normalization import nfkc
from dogubako.packs.redmine.models import CATEGORY, STATUS, VERSION, Kind
from dogubako.packs.redmine.names.days import WORDS, written_day
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.names.people import ME

ANY: Final = "*"
NONE: Final = "!*"
_OPTIONAL: Final = (VERSION, CATEGORY)
_STATES: Final = {"open": "open", "o": "open", "closed": "closed", "c": "closed", ANY: ANY}

_DAY = r"\d{4}-\d{2}-\d{2}"
_MOMENT = rf"{_DAY}(?:T\d{{2}}:\d{{2}}:\d{{2}}Z)?"
_MOMENTS = re.compile(_MOMENT, re.ASCII)
_SPANS: Final = ("t", "ld", "nd", "w", "lw", "l2w", "nw", "m", "lm", "nm", "y")
_DATES = re.compile(
    rf"(?:[<>]?=)?{_MOMENT}|><{_MOMENT}\|{_MOMENT}|\*|!\*|{'|'.join(_SPANS)}|(?:>|<|><)?t[+-]\d{{1,5}}",
    re.ASCII,
)
_NEVER_IN_THE_PAST: Final = ("nd", "nw", "nm")
# Redmine knows these spans itself, in the time zone of its user.
_SPAN_WORDS: Final = {
    "today": "t",
    "今日": "t",
    "本日": "t",
    "yesterday": "ld",
    "昨日": "ld",
    "tomorrow": "nd",
    "明日": "nd",
    "this week": "w",
    "今週": "w",
    "last week": "lw",
    "先週": "lw",
    "next week": "nw",
    "来週": "nw",
    "this month": "m",
    "今月": "m",
    "last month": "lm",
    "先月": "lm",
    "next month": "nm",
    "来月": "nm",
    "this year": "y",
    "今年": "y",
}
_OPERATOR: Final = re.compile(r"><|>=|<=|=|")
_SPAN_OF_DAYS: Final = re.compile(r"\.\.|\||〜|~")
DATE_HELP: Final = (
    "'2026-11-15', '>=2026/11/01', '2026-11-01..2026-11-30', 'today', '昨日', 'w' (this week), 'lw' (last week), "
    "'m' (this month), '>t-7' (the last 7 days), '*' (any), '!*' (none)"
)
NUMBER_HELP: Final = "'50', '>=50', '<=8.5', '1..5', '*' (any), '!*' (none)"
_NUMBER_FILTER: Final = re.compile(r"(?:[<>]?=)?[+-]?\d+(?:\.\d*)?|\*|!\*", re.ASCII)

# Redmine finds an operator at the beginning of any line, and takes "|" for "or".
_BREAKS_A_FILTER: Final = re.compile(r"[|\r\n]")
_BEGINS_LIKE_AN_OPERATOR: Final = re.compile(r"[~=!^$*<>]")
_TEXT_OPERATORS: Final = ("!~", "~", "^", "$")
_EXACT_NEVER: Final = ("!~", "!*", "~", "^", "$", "*")
_WORDS: Final = re.compile(r'"[^"]+"|\S+')
_MOST_WORDS: Final = 5
_HAN: Final = re.compile(r"[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_NUMBER_OR_DAY: Final = re.compile(rf"[+-]?\d+(?:\.\d*)?|{_DAY}", re.ASCII)
_FORMS: Final = {
    "int": re.compile(r"[+-]?\d+", re.ASCII),
    "float": re.compile(r"[+-]?\d+(?:\.\d*)?", re.ASCII),
    "date": re.compile(_DAY, re.ASCII),
    "bool": re.compile(r"[01]"),
    "enumeration": re.compile(r"\d+", re.ASCII),
}
_READ_AS_DAYS: Final = re.compile(r"t|ld|nd|l?w|l2w|nw|[ln]?m|y")
_MOST_SORTED: Final = 3
# More would not fit into the URL of a request.
_LONGEST_FILTER: Final = 4_000


async def choice(names: Names, kind: Kind, value: IdOrName, parameter: str, project: int | None = None) -> str | None:
    """Resolve `'New|In Progress'`, `'!Bug'`, `'*'`, `'!*'`: several names, not these, any, none."""
    if isinstance(value, int):
        return str(value)
    text = value.strip()
    if text == ANY:
        # Every issue has one, and Redmine has no such filter.
        return ANY if kind in _OPTIONAL else None
    if text == NONE:
        return _none(kind, parameter)
    negated = "!" if text.startswith("!") else ""
    ids = [str(await names.id_of(kind, part.strip(), parameter, project)) for part in _parts(text, parameter)]
    return negated + "|".join(ids)


def _none(kind: Kind, parameter: str) -> str:
    if kind not in _OPTIONAL:
        message = f"Invalid value for parameter {parameter}: there is nothing without a {kind.noun}"
        raise ValidationError.of(parameter, message)
    return NONE


def _parts(text: str, parameter: str) -> list[str]:
    _check_length(text, parameter)
    return text.removeprefix("!").split("|")


def _check_length(text: str, parameter: str) -> None:
    if len(text) > _LONGEST_FILTER:
        message = f"Invalid value for parameter {parameter}: expected at most {_LONGEST_FILTER:,} characters"
        raise ValidationError.of(parameter, message)


async def status(names: Names, value: IdOrName) -> str | None:
    """Like `choice`, plus `open`, `closed`, `*`. If a status is named Closed, only lower case means all closed."""
    text = str(value).strip()
    if text in _STATES:
        return _STATES[text]
    try:
        return await choice(names, STATUS, value, "status_id")
    except ValidationError:
        if text.casefold() not in _STATES:
            raise
        return _STATES[text.casefold()]


async def person(names: Names, value: IdOrName, parameter: str, project: int | None) -> str:
    """Like `choice`, for users and groups, plus `me`."""
    text = str(value).strip()
    if text in (ANY, NONE, ME):
        return text
    negated = "!" if text.startswith("!") else ""
    ids = [str(await names.people.id_of(part.strip(), parameter, project)) for part in _parts(text, parameter)]
    return negated + "|".join(ids)


async def dates(names: Names, value: str, parameter: str, *, past: bool = False) -> str:
    """A date filter in a form that Redmine understands."""
    _check_length(value, parameter)
    text = await _plain_dates(names, value, parameter)
    valid = _DATES.fullmatch(text) and all(_is_a_moment(one) for one in _MOMENTS.findall(text))
    if not valid or (past and (text in _NEVER_IN_THE_PAST or "t+" in text)):
        message = f"Invalid value for parameter {parameter}: expected a date filter"
        raise ValidationError.of(parameter, message, hint=f"For example {DATE_HELP}.")
    return text


async def _plain_dates(names: Names, value: str, parameter: str) -> str:
    """Write days and words as Redmine does; what is neither stays as it is."""
    text = nfkc(value).strip()
    if text.casefold() in _SPAN_WORDS:
        return _SPAN_WORDS[text.casefold()]
    found = _OPERATOR.match(text)
    operator = found[0] if found else ""
    ends = [
        await _plain_day(names, part.strip(), parameter)
        for part in _SPAN_OF_DAYS.split(text.removeprefix(operator).strip())
    ]
    if len(ends) == 2 and operator in ("", "><") and all(_MOMENTS.fullmatch(one) for one in ends):
        return f"><{ends[0]}|{ends[1]}"
    return f"{operator}{ends[0]}" if len(ends) == 1 else text


async def _plain_day(names: Names, text: str, parameter: str) -> str:
    if text.casefold() in WORDS or written_day(text) is not None:
        return await names.days.day(text, parameter)
    return text


def numbers(value: str, parameter: str) -> str:
    """A filter by number: one, a comparison, or a range."""
    _check_length(value, parameter)
    text = nfkc(value).strip()
    ends = [end.strip() for end in _SPAN_OF_DAYS.split(text.removeprefix("><"))]
    if len(ends) == 2 and all(_NUMBER_OR_DAY.fullmatch(one) for one in ends):
        return f"><{ends[0]}|{ends[1]}"
    if not _NUMBER_FILTER.fullmatch(text):
        message = f"Invalid value for parameter {parameter}: expected a number or a range"
        raise ValidationError.of(parameter, message, hint=f"For example {NUMBER_HELP}.")
    return text


def _is_a_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        return False
    return True


def text(value: str, parameter: str) -> str:
    """A text filter: all words anywhere, unless `=`, `!~`, `^` or `$` precedes them."""
    _check_length(value, parameter)
    wanted = value.strip()
    if not wanted or _BREAKS_A_FILTER.search(wanted):
        raise _no_text(parameter, "expected one line of text without '|'")
    if wanted.startswith("="):
        exact = wanted.removeprefix("=")
        # Redmine has no operator for it: a text without one is compared as a whole.
        if not exact.strip() or exact.startswith(_EXACT_NEVER):
            raise _no_text(parameter, "Redmine cannot look for exactly this text")
        return exact
    operator = next((one for one in _TEXT_OPERATORS if wanted.startswith(one)), "")
    words = wanted.removeprefix(operator)
    if not words.strip() or (operator not in ("^", "$") and not _all_count(words)):
        raise _no_text(parameter, "expected up to five words, each of two letters or more")
    return f"{operator or '~'}{words}"


def _all_count(words: str) -> bool:
    """Whether Redmine would use all words: it drops words of one letter but Han, and those after the fifth."""
    matches = [word.strip('"') for word in _WORDS.findall(words)]
    counting = all(len(word) > 1 or _HAN.fullmatch(word) for word in matches)
    return len(matches) == 1 or (len(matches) <= _MOST_WORDS and counting)


def _no_text(parameter: str, reason: str) -> ValidationError:
    hint = "'words', '\"a phrase\"', '=exactly this', '!~without this', '^at the beginning', '$at the end'."
    return ValidationError.of(parameter, f"Invalid value for parameter {parameter}: {reason}", hint=hint)


def values(value: Sequence[str], field_format: str | None) -> str:
    """Any of these values of a custom field; for an unknown format, only values with one meaning in all formats."""
    if not value:
        return NONE
    if any(_BREAKS_A_FILTER.search(one) for one in value):
        raise _no_values("a filter cannot hold line breaks or '|'")
    if field_format in _FORMS and not all(_FORMS[field_format].fullmatch(one) for one in value):
        raise _no_values(f"this field holds values of the type {field_format}")
    if len(value) > 1 and field_format == "int":
        return ",".join(value)
    one_only = field_format in ("float", "date") or (
        field_format is None and any(_NUMBER_OR_DAY.fullmatch(one) for one in value)
    )
    if len(value) > 1 and one_only:
        raise _no_values("Redmine looks for one number or day at a time")
    if field_format is None and any(_READ_AS_DAYS.match(one) for one in value):
        # In a date field, 'tomorrow' begins with 't', today.
        raise _no_values("the format of this field is not known, and the value may be read as a date")
    if not _BEGINS_LIKE_AN_OPERATOR.match(value[0]):
        return "|".join(value)
    if field_format in (None, "text"):
        raise _no_values("the value begins like an operator of Redmine")
    return "=" + "|".join(value)


def _no_values(reason: str) -> ValidationError:
    return ValidationError.of("custom_fields", f"Invalid value for parameter custom_fields: {reason}")


def sort(value: str, columns: tuple[str, ...]) -> str:
    """`'updated_on:desc,priority'`, with columns that Redmine can sort by; others it would ignore."""
    _check_length(value, "sort")
    parts = [part.strip().partition(":") for part in value.split(",")]
    names = [name for name, _, _ in parts]
    valid = all(name in columns or (re.fullmatch(r"cf_\d{1,9}", name) and "cf" in columns) for name in names)
    if not valid or any(direction not in ("", "asc", "desc") for _, _, direction in parts):
        listed = ", ".join("cf_<id>" if one == "cf" else one for one in columns)
        message = "Invalid value for parameter sort: expected columns with :asc or :desc"
        raise ValidationError.of("sort", message, hint=f"Columns: {listed}. For example '{columns[0]}:desc'.")
    if len(set(names)) < len(names) or len(names) > _MOST_SORTED:
        message = "Invalid value for parameter sort: expected up to three different columns"
        raise ValidationError.of("sort", message, hint="Redmine would ignore all others.")
    return ",".join(f"{name}{colon}{direction}" for name, colon, direction in parts)
