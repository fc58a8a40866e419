"""Texts that JavaScript would read as a date."""

import re
from typing import Final

_ISO_DATE = re.compile(r"\s*+(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?=[TtZz\s]|$)")
_SLASHED_DATE = re.compile(r"\s*+(\d{1,4})[/.-](\d{1,2})[/.-](\d{1,4})(?!\d)")
_MONTH: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_LAST_MONTH: Final = 12
_NAMED_DATE = re.compile(rf"{_MONTH}[a-z]{{0,6}}\.? \d|\d {_MONTH}", re.IGNORECASE)


_YEAR_LAST = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})")


def ordered_otherwise(one: str, other: str) -> bool:
    """Whether two texts that are dates with the year at their end stand in another order than the dates do.

    Where it is not known which number is the month, it has to hold for both readings.
    """
    first, second = _YEAR_LAST.fullmatch(one.strip()), _YEAR_LAST.fullmatch(other.strip())
    if first is None or second is None or one == other:
        return False
    orders = [
        _date(first, month, day) < _date(second, month, day)
        for month, day in ((3, 1), (1, 3))
        if max(int(first[month]), int(second[month])) <= _LAST_MONTH
    ]
    return bool(orders) and all(order is not (one < other) for order in orders)


def _date(found: re.Match[str], month: int, day: int) -> tuple[int, int, int]:
    return int(found[4]), int(found[month]), int(found[day])


def looks_like_date(text: str) -> bool:
    """Whether JavaScript would parse it: an ISO date, or day, month and year with numbers in their ranges."""
    if (iso := _ISO_DATE.match(text)) is not None:
        return 1 <= int(iso[2]) <= 12 and 1 <= int(iso[3] or 1) <= 31
    if (slashed := _SLASHED_DATE.match(text)) is not None:
        month, day = (slashed[2], slashed[3]) if len(slashed[1]) == 4 else (slashed[1], slashed[2])
        return 1 <= int(month) <= 12 and 1 <= int(day) <= 31
    return _NAMED_DATE.search(text) is not None
