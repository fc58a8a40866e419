"""Filters of lists, checked and spelled for Redmine, which ignores what it does not understand."""

import re
from typing import Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.models import STATUS, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.names.people import ME

_ANY: Final = ("*", "!*")
_STATES: Final = {"open": "open", "o": "open", "closed": "closed", "c": "closed", "*": "*"}

_DAY = r"\d{4}-\d{2}-\d{2}"
_MOMENT = rf"{_DAY}(?:T\d{{2}}:\d{{2}}:\d{{2}}Z)?"
_DATES = re.compile(
    rf"(?:[<>]?=)?{_MOMENT}|><{_MOMENT}\|{_MOMENT}|\*|!\*|t|ld|nd|w|lw|l2w|nw|m|lm|nm|y|(?:>|<|><)?t[+-]\d{{1,5}}"
)
_ONLY_OF_THE_PAST: Final = ("nd", "nw", "nm")
DATE_HELP: Final = (
    "'2026-11-15', '>=2026-11-01', '<=2026-11-30', '><2026-11-01|2026-11-30', 't' (today), 'w' (this week), "
    "'lw' (last week), 'm' (this month), '>t-7' (the last 7 days), '*' (any), '!*' (none)"
)
_TEXT_OPERATORS: Final = ("~", "!~", "=", "!", "^", "$", "*")


async def choice(names: Names, kind: Kind, given: IdOrName, parameter: str, project: int | None = None) -> str:
    """`'New|In Progress'`, `'!Bug'`, `'*'`, `'!*'`: ids for names, several of them, not these, any, none."""
    text = str(given).strip()
    if text in _ANY:
        return text
    negated = "!" if text.startswith("!") else ""
    parts = text.removeprefix("!").split("|")
    ids = [str(await names.id_of(kind, part.strip(), parameter, project)) for part in parts]
    return negated + "|".join(ids)


async def status(names: Names, given: IdOrName) -> str:
    """As `choice`, and `open`, `closed`, `*`."""
    text = str(given).strip().casefold()
    return _STATES[text] if text in _STATES else await choice(names, STATUS, given, "status_id")


async def person(names: Names, given: IdOrName, parameter: str, project: int | None) -> str:
    """As `choice`, for users and groups, and `me`."""
    text = str(given).strip()
    if text in (*_ANY, ME):
        return text
    negated = "!" if text.startswith("!") else ""
    parts = text.removeprefix("!").split("|")
    ids = [str(await names.people.id_of(part.strip(), parameter, project)) for part in parts]
    return negated + "|".join(ids)


def dates(given: str, parameter: str, *, past: bool = False) -> str:
    """A date filter that Redmine is known to understand."""
    text = given.strip()
    if not _DATES.fullmatch(text) or (past and (text in _ONLY_OF_THE_PAST or "t+" in text)):
        message = f"Invalid value for parameter {parameter}: expected a date filter"
        raise ValidationError.of(parameter, message, hint=f"For example {DATE_HELP}.")
    return text


def text(given: str) -> str:
    """Plain text is looked for anywhere; Redmine's own operators (`=`, `!~`, `^`, `$`, …) may stand before it."""
    return given if given.startswith(_TEXT_OPERATORS) else f"~{given}"


def sort(given: str, columns: tuple[str, ...]) -> str:
    """`'updated_on:desc,priority'`, of columns that Redmine can sort by; others it would ignore."""
    for part in given.split(","):
        column, _, direction = part.strip().partition(":")
        known = column in columns or (re.fullmatch(r"cf_\d+", column) and "cf" in columns)
        if not known or direction not in ("", "asc", "desc"):
            listed = ", ".join("cf_<id>" if one == "cf" else one for one in columns)
            message = "Invalid value for parameter sort: expected columns with :asc or :desc"
            raise ValidationError.of("sort", message, hint=f"Columns: {listed}. For example '{columns[0]}:desc'.")
    return given.replace(" ", "")
