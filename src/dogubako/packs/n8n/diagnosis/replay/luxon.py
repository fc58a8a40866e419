"""Dates of Luxon that are none, because the text does not have the format that the code names."""

import math
import re
from typing import Final

from dogubako.packs.n8n.diagnosis.javascript_dates import is_date
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.values import Obj, Val, made_of, tested

_TOKEN: Final = re.compile(r"'[^']{0,40}'|([A-Za-z])\1{0,5}|[^A-Za-z']")
# What a token of a format takes. A format with others is not judged.
_TAKES: Final = {
    "yyyy": r"\d{4}", "yy": r"\d{2}", "MM": r"(?P<MM>\d{2})", "M": r"(?P<M>\d{1,2})", "dd": r"(?P<dd>\d{2})",
    "d": r"(?P<d>\d{1,2})", "HH": r"\d{2}", "H": r"\d{1,2}", "hh": r"\d{2}", "h": r"\d{1,2}", "mm": r"\d{2}",
    "m": r"\d{1,2}", "ss": r"\d{2}", "s": r"\d{1,2}", "SSS": r"\d{3}", "a": r"[AaPp][Mm]",
}  # fmt: skip
_LARGEST: Final = {"MM": 12, "M": 12, "dd": 31, "d": 31}
_LONGEST_FORMAT: Final = 40
# What Luxon takes as ISO 8601, and a little more: a date or a time, or both with a T between them.
_TIME: Final = r"\d\d(?::?\d\d(?::?\d\d(?:[.,]\d{1,30})?)?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?(?:\[[^\]]{1,60}\])?"
_ISO: Final = re.compile(
    r"(?:(?:[+-]\d{6}|\d{4})(?:-?(?P<month>\d\d)(?:-?(?P<day>\d\d))?)?|\d{4}-?[Ww]\d\d(?:-?\d)?|\d{4}-?\d{3})"
    rf"(?:[Tt](?:{_TIME})?)?|[Tt]?{_TIME}"
)
_MONTHS: Final = range(1, 13)
_DAYS: Final = range(1, 32)
BY_LANGUAGE: Final = "new Date()"
_KEEP: Final = re.compile(r"plus|minus|startOf|endOf|set\w{0,20}|to(?:UTC|Local)|reconfigure|diff(?:Now)?")
_PARTS: Final = frozenset(
    """
    year quarter month weekYear weekNumber weekday ordinal day hour minute second millisecond
    years quarters months weeks days hours minutes seconds milliseconds
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_TEXTS: Final = frozenset({"toFormat", "toLocaleString", "toString", "toLocaleParts"})
_NUMBERS: Final = frozenset({"toMillis", "valueOf", "toSeconds", "toUnixInteger", "as"})


def luxon_call(name: str, given: list[Val]) -> Val:
    """`DateTime.fromFormat(text, format)` and `DateTime.fromISO(text)`. Only dates that cannot be read are known."""
    text = given[0].value if given else None
    form = given[1].value if name == "fromFormat" and len(given) > 1 else ""
    unread = isinstance(text, str) and (
        does_not_fit(text, form) if name == "fromFormat" else name == "fromISO" and not _may_be_iso(text)
    )
    if not unread:
        return made_of(UNKNOWN, *given[:1]) if given else Val(UNKNOWN)
    told = f"{name} with '{form}'" if form else name
    return Val(Obj({"·unread": Val(told)}, kind="luxon"), None, given[0].spots)


def _may_be_iso(text: str) -> bool:
    found = _ISO.fullmatch(text.strip())
    return found is not None and int(found["month"] or 1) in _MONTHS and int(found["day"] or 1) in _DAYS


def luxon_method(held: Val, value: Obj, name: str) -> Val:
    """A method of a date that is none."""
    if _KEEP.fullmatch(name):
        return held
    if name in _TEXTS:
        return Val("Invalid DateTime", None, held.spots, unread=value.fields["·unread"].value)
    if name in _NUMBERS:
        return _as_number(held)
    nothing = name.startswith(("toISO", "toSQL", "toHTTP", "toRFC"))
    return Val(None if nothing else UNKNOWN, None, held.spots, unread=value.fields["·unread"].value if nothing else "")


def luxon_field(held: Val, name: str) -> Val:
    if name == "isValid":
        return tested(False, held)
    return _as_number(held) if name in _PARTS else made_of(UNKNOWN, held)


def unread_date(held: Val) -> Val | None:
    """The NaN that a calculation makes of a date which could not be read; None for anything else."""
    value = held.value
    if isinstance(value, Obj) and value.kind == "luxon":
        return _as_number(held)
    if not isinstance(value, Obj) or value.kind != "date":
        return None
    given: Val = value.fields["·given"]
    if isinstance(given.value, str) and not is_date(given.value):
        return Val(math.nan, None, given.spots, unread=BY_LANGUAGE)
    return made_of(math.nan, given) if is_no_date(given) else None


def is_no_date(value: Val) -> bool:
    """Whether a date made of it is none."""
    return (value.at is not None and value.value is ABSENT) or (
        isinstance(value.value, float) and math.isnan(value.value)
    )


def _as_number(held: Val) -> Val:
    return Val(math.nan, None, held.spots, unread=held.value.fields["·unread"].value)


def does_not_fit(text: str, form: object) -> bool:
    """Whether Luxon cannot read the text by this format, as far as its tokens are known."""
    if not isinstance(form, str) or not 0 < len(form) <= _LONGEST_FORMAT or len(text) > _LONGEST_FORMAT * 2:
        return False
    parts: list[str] = []
    for token in (one[0] for one in _TOKEN.finditer(form)):
        taken = _TAKES.get(token) if token[0].isalpha() else re.escape(token.strip("'") if len(token) > 1 else token)
        if taken is None:
            return False
        parts.append(taken)
    if sum(map(len, (one[0] for one in _TOKEN.finditer(form)))) != len(form):
        return False
    try:
        found = re.fullmatch("".join(parts), text)
    except re.error:
        # A token that comes twice.
        return False
    held = found.groupdict() if found is not None else {}
    return found is None or any(not 1 <= int(held[one]) <= most for one, most in _LARGEST.items() if held.get(one))
