"""Texts that JavaScript would read as a date."""

import re
from typing import Final

_ISO_DATE = re.compile(r"\s*+(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_SLASHED_DATE = re.compile(r"\s*+(\d{1,4})[/.](\d{1,2})[/.](\d{1,4})(?!\d)")
_MONTH: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_NAMED_DATE = re.compile(rf"{_MONTH}[a-z]{{0,6}}\.? \d|\d {_MONTH}", re.IGNORECASE)


def looks_like_date(text: str) -> bool:
    """Whether JavaScript would parse it: an ISO date, or day, month and year with numbers in their ranges."""
    if (iso := _ISO_DATE.match(text)) is not None:
        return 1 <= int(iso[2]) <= 12 and 1 <= int(iso[3] or 1) <= 31
    if (slashed := _SLASHED_DATE.match(text)) is not None:
        month, day = (slashed[2], slashed[3]) if len(slashed[1]) == 4 else (slashed[1], slashed[2])
        return 1 <= int(month) <= 12 and 1 <= int(day) <= 31
    return _NAMED_DATE.search(text) is not None
