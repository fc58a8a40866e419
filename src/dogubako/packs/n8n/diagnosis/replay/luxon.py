"""Dates of Luxon that are none, because the text does not have the format that the code names."""

import math
import re
from typing import Final

from dogubako.packs.n8n.diagnosis.javascript_values import UNKNOWN
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
_NOT_ISO: Final = re.compile(r"\s*\d{1,4}[./]\d{1,2}[./]\d{1,4}")
_KEEP: Final = re.compile(r"plus|minus|startOf|endOf|set\w{0,20}|to(?:UTC|Local)|reconfigure")
_TEXTS: Final = frozenset({"toFormat", "toLocaleString", "toString", "toLocaleParts"})
_NUMBERS: Final = frozenset({"toMillis", "valueOf", "toSeconds", "toUnixInteger"})


def luxon_call(name: str, given: list[Val]) -> Val:
    """`DateTime.fromFormat(text, format)` and `DateTime.fromISO(text)`. Only dates that cannot be read are known."""
    text = given[0].value if given else None
    form = given[1].value if name == "fromFormat" and len(given) > 1 else ""
    unread = isinstance(text, str) and (
        does_not_fit(text, form) if name == "fromFormat" else name == "fromISO" and bool(_NOT_ISO.match(text))
    )
    if not unread:
        return made_of(UNKNOWN, *given[:1]) if given else Val(UNKNOWN)
    told = f"{name} with '{form}'" if form else name
    return Val(Obj({"·unread": Val(told)}, kind="luxon"), None, given[0].spots)


def luxon_method(held: Val, value: Obj, name: str) -> Val:
    """A method of a date that is none."""
    if _KEEP.fullmatch(name):
        return held
    if name in _TEXTS:
        return made_of("Invalid DateTime", held)
    if name in _NUMBERS:
        return made_of(math.nan, held)
    nothing = name.startswith(("toISO", "toSQL", "toHTTP", "toRFC"))
    return Val(None if nothing else UNKNOWN, None, held.spots, unread=value.fields["·unread"].value if nothing else "")


def luxon_field(held: Val, name: str) -> Val:
    return tested(False, held) if name == "isValid" else made_of(UNKNOWN, held)


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
