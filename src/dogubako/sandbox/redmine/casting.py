"""What a value of a request becomes in a column, as Rails reads it."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.clock import to_date
from dogubako.sandbox.redmine.store import to_id

_NO: Final = {"0", "f", "F", "false", "FALSE", "off", "OFF", "False"}
_PLAIN_HOURS: Final = re.compile(r"(\d+(?:[.,]\d+)?)h?")
_CLOCK: Final = re.compile(r"(\d+):(\d+)")
_WORDS: Final = re.compile(r"(?:(\d+)\s*(?:h|hours?))?\s*(?:(\d+)\s*(?:m|min)?)?", re.IGNORECASE)


def is_blank(value: Any) -> bool:
    """Whether Rails takes a value for none at all."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not str(value).strip(" []{}"))


def to_number(value: Any) -> int | None:
    """A column of whole numbers: an empty text is nothing, any other text its leading digits."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return to_id(value)


def to_truth(value: Any) -> bool | None:
    if value is None or value == "":
        return None
    return str(value) not in _NO


def to_text(value: Any) -> str | None:
    if value is None:
        return None
    return ("t" if value else "f") if isinstance(value, bool) else str(value)


def to_day(value: Any) -> tuple[str | None, bool]:
    """A day, and whether what stands there is one at all; nothing is fine too."""
    if not isinstance(value, str) or not value.strip():
        return None, True
    day = to_date(value.removesuffix(" 00:00:00"))
    return (day.isoformat(), True) if day else (None, False)


def to_hours(value: Any) -> tuple[float | None, bool]:
    """Hours, and whether they are some: 1.5, "1,5", "1:30", "1h30", "90m"."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None, True
    if isinstance(value, bool):
        return None, False
    hours = float(value) if isinstance(value, int | float) else _hours_in(str(value).strip())
    return (hours, hours >= 0) if hours is not None else (None, False)


def _hours_in(text: str) -> float | None:
    plain, clock, words = _PLAIN_HOURS.fullmatch(text), _CLOCK.fullmatch(text), _WORDS.fullmatch(text)
    if plain:
        return float(plain[1].replace(",", "."))
    if clock:
        return int(clock[1]) + int(clock[2]) / 60
    if words and (words[1] or words[2]):
        return int(words[1] or 0) + int(words[2] or 0) / 60
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
