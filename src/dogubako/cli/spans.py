"""Time as people type it: spans like 30m, 12h, 90d and 4w, and moments like 2026-11-16T09:00."""

import re
from datetime import UTC, datetime, timedelta

SPANS = "30m, 12h, 90d or 4w"

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"([0-9]{1,5})([mhdw])")


def read_span(text: str) -> timedelta | None:
    """How long that is; nothing for what is no span, or none of any length."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or found[1].strip("0") == "":
        return None
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def span_text(seconds: int | None) -> str:
    """So many seconds in the largest unit that they fill: 45s, 30m, 12h, 90d; `?` for what nobody knows."""
    if seconds is None:
        return "?"
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def read_moment(text: str) -> datetime | None:
    """So long ago, or at that moment, which is one of UTC unless it says otherwise; nothing for anything else."""
    if (span := read_span(text)) is not None:
        return datetime.now(UTC) - span
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
