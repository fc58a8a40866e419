"""Filters of lists, checked and spelled for Redmine, which ignores or misreads what it does not understand."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.models import STATUS, VERSION, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.names.people import ME

ANY: Final = "*"
NONE: Final = "!*"
_STATES: Final = {"open": "open", "o": "open", "closed": "closed", "c": "closed", ANY: ANY}

_DAY = r"\d{4}-\d{2}-\d{2}"
_MOMENT = rf"{_DAY}(?:T\d{{2}}:\d{{2}}:\d{{2}}Z)?"
_MOMENTS = re.compile(_MOMENT, re.ASCII)
_DATES = re.compile(
    rf"(?:[<>]?=)?{_MOMENT}|><{_MOMENT}\|{_MOMENT}|\*|!\*|t|ld|nd|w|lw|l2w|nw|m|lm|nm|y|(?:>|<|><)?t[+-]\d{{1,5}}",
    re.ASCII,
)
_NEVER_IN_THE_PAST: Final = ("nd", "nw", "nm")
DATE_HELP: Final = (
    "'2026-11-15', '>=2026-11-01', '<=2026-11-30', '><2026-11-01|2026-11-30', 't' (today), 'w' (this week), "
    "'lw' (last week), 'm' (this month), '>t-7' (the last 7 days), '*' (any), '!*' (none)"
)

# Redmine finds an operator at the beginning of any line, and takes "|" for "or".
_BREAKS_A_FILTER: Final = re.compile(r"[|\r\n]")
_BEGINS_LIKE_AN_OPERATOR: Final = re.compile(r"[~=!^$*<>]")
_TEXT_OPERATORS: Final = ("!~", "~", "^", "$")
_EXACT_NEVER: Final = ("!~", "!*", "~", "^", "$", "*")
_WORDS: Final = re.compile(r'"[^"]+"|\S+')
_MOST_WORDS: Final = 5
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
# More would not fit into the address of a request.
_LONGEST_FILTER: Final = 4_000


async def choice(names: Names, kind: Kind, given: IdOrName, parameter: str, project: int | None = None) -> str | None:
    """`'New|In Progress'`, `'!Bug'`, `'*'`, `'!*'`: ids for names, several of them, not these, any, none."""
    if isinstance(given, int):
        return str(given)
    text = given.strip()
    if text == ANY:
        # What every issue has needs no filter, and Redmine has none for it.
        return ANY if kind is VERSION else None
    if text == NONE:
        return _none(kind, parameter)
    negated = "!" if text.startswith("!") else ""
    ids = [str(await names.id_of(kind, part.strip(), parameter, project)) for part in _parts(text, parameter)]
    return negated + "|".join(ids)


def _none(kind: Kind, parameter: str) -> str:
    if kind is not VERSION:
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


async def status(names: Names, given: IdOrName) -> str | None:
    """As `choice`, and `open`, `closed`, `*`. A status may be called Closed: then only the small word means all."""
    text = str(given).strip()
    if text in _STATES:
        return _STATES[text]
    try:
        return await choice(names, STATUS, given, "status_id")
    except ValidationError:
        if text.casefold() not in _STATES:
            raise
        return _STATES[text.casefold()]


async def person(names: Names, given: IdOrName, parameter: str, project: int | None) -> str:
    """As `choice`, for users and groups, and `me`."""
    text = str(given).strip()
    if text in (ANY, NONE, ME):
        return text
    negated = "!" if text.startswith("!") else ""
    ids = [str(await names.people.id_of(part.strip(), parameter, project)) for part in _parts(text, parameter)]
    return negated + "|".join(ids)


def dates(given: str, parameter: str, *, past: bool = False) -> str:
    """A date filter that Redmine is known to understand."""
    text = given.strip()
    known = _DATES.fullmatch(text) and all(_is_a_moment(one) for one in _MOMENTS.findall(text))
    if not known or (past and (text in _NEVER_IN_THE_PAST or "t+" in text)):
        message = f"Invalid value for parameter {parameter}: expected a date filter"
        raise ValidationError.of(parameter, message, hint=f"For example {DATE_HELP}.")
    return text


def _is_a_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        return False
    return True


def text(given: str, parameter: str) -> str:
    """Words are looked for anywhere, all of them; `=`, `!~`, `^` and `$` before them say otherwise."""
    _check_length(given, parameter)
    wanted = given.strip()
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
    """Redmine forgets words of one letter beside others, and all after the fifth."""
    found = _WORDS.findall(words)
    return len(found) == 1 or (len(found) <= _MOST_WORDS and all(len(word.strip('"')) > 1 for word in found))


def _no_text(parameter: str, reason: str) -> ValidationError:
    hint = "'words', '\"a phrase\"', '=exactly this', '!~without this', '^at the beginning', '$at the end'."
    return ValidationError.of(parameter, f"Invalid value for parameter {parameter}: {reason}", hint=hint)


def values(given: Sequence[str], field_format: str | None) -> str:
    """Any of these values of a custom field; of an unknown format only what means the same in all of them."""
    if not given:
        return NONE
    if any(_BREAKS_A_FILTER.search(one) for one in given):
        raise _no_values("a filter cannot hold line breaks or '|'")
    if field_format in _FORMS and not all(_FORMS[field_format].fullmatch(one) for one in given):
        raise _no_values(f"this field holds values of the type {field_format}")
    if len(given) > 1 and field_format == "int":
        return ",".join(given)
    one_only = field_format in ("float", "date") or (
        field_format is None and any(_NUMBER_OR_DAY.fullmatch(one) for one in given)
    )
    if len(given) > 1 and one_only:
        raise _no_values("Redmine looks for one number or day at a time")
    if not _BEGINS_LIKE_AN_OPERATOR.match(given[0]):
        return "|".join(given)
    if field_format in (None, "text"):
        raise _no_values("the value begins like an operator of Redmine")
    return "=" + "|".join(given)


def may_be_read_as_days(given: Sequence[str]) -> bool:
    """In a field of dates Redmine takes 'tomorrow' for its operator 't', today, and does not mind the rest."""
    return any(_READ_AS_DAYS.match(one) for one in given)


def _no_values(reason: str) -> ValidationError:
    return ValidationError.of("custom_fields", f"Invalid value for parameter custom_fields: {reason}")


def sort(given: str, columns: tuple[str, ...]) -> str:
    """`'updated_on:desc,priority'`, of columns that Redmine can sort by; others it would ignore."""
    _check_length(given, "sort")
    parts = [part.strip().partition(":") for part in given.split(",")]
    names = [name for name, _, _ in parts]
    known = all(name in columns or (re.fullmatch(r"cf_\d{1,9}", name) and "cf" in columns) for name in names)
    if not known or any(direction not in ("", "asc", "desc") for _, _, direction in parts):
        listed = ", ".join("cf_<id>" if one == "cf" else one for one in columns)
        message = "Invalid value for parameter sort: expected columns with :asc or :desc"
        raise ValidationError.of("sort", message, hint=f"Columns: {listed}. For example '{columns[0]}:desc'.")
    if len(set(names)) < len(names) or len(names) > _MOST_SORTED:
        message = "Invalid value for parameter sort: expected up to three different columns"
        raise ValidationError.of("sort", message, hint="Redmine would ignore all others.")
    return ",".join(f"{name}{colon}{direction}" for name, colon, direction in parts)
