"""Which stretch of time a date filter means: a day, before, after, between, this week, the last 30 days."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from dogubako.sandbox.redmine.clock import today

Range = tuple[str | None, str | None]

_COMPARING: Final = ("=", ">=", "<=", "><")
_NAMED: Final = ("t", "ld", "nd", "w", "lw", "l2w", "nw", "m", "lm", "nm", "y")
_COUNTING: Final = (">t-", "<t-", "><t-", "t-", ">t+", "<t+", "><t+", "t+")


def is_date_operator(kind: str, operator: str) -> bool:
    return kind in ("date", "date_past") and operator in (*_COMPARING, *_NAMED, *_COUNTING)


def parsed_moment(text: str) -> date | datetime | None:
    """A day, or a moment of a day in UTC."""
    try:
        if "T" not in text:
            return date.fromisoformat(text)
        return datetime.fromisoformat(text).astimezone(UTC) if text.endswith("Z") else _in_utc(text)
    except ValueError:
        return None


def _in_utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def date_range(operator: str, values: Sequence[str]) -> Range:
    """After the first, and up to the second, as texts that compare like columns of the database."""
    first, last = _bounds(operator, values)
    return (None if first is None else _just_before(first)), (None if last is None else _end_of(last))


Moment = date | datetime | None


def _bounds(operator: str, values: Sequence[str]) -> tuple[Moment, Moment]:
    if operator in _NAMED:
        return _named(operator)
    if operator in _COUNTING:
        return _counted(operator, timedelta(days=int(values[0] or 0)))
    first = parsed_moment(values[0])
    match operator:
        case ">=":
            return first, None
        case "<=":
            return None, first
        case "><":
            return first, parsed_moment(values[1]) if len(values) > 1 else None
    return first, first


def _counted(operator: str, days: timedelta) -> tuple[Moment, Moment]:
    there = today() - days if operator.endswith("-") else today() + days
    match operator[:-2]:
        case ">":
            return there, None
        case "<":
            return None, there
        case "><":
            return min(there, today()), max(there, today())
    return there, there


def _named(operator: str) -> tuple[Moment, Moment]:
    now = today()
    # Weeks begin on Sunday where people speak English.
    sunday = now - timedelta(days=now.isoweekday() % 7)
    month = now.replace(day=1)
    match operator:
        case "ld" | "t" | "nd":
            day = now + timedelta(days={"ld": -1, "t": 0, "nd": 1}[operator])
            return day, day
        case "l2w":
            return sunday - timedelta(days=14), sunday - timedelta(days=1)
        case "w" | "lw" | "nw":
            start = sunday + timedelta(days={"w": 0, "lw": -7, "nw": 7}[operator])
            return start, start + timedelta(days=6)
        case "lm":
            return (month - timedelta(days=1)).replace(day=1), month - timedelta(days=1)
        case "nm":
            return _next_month(month), _next_month(_next_month(month)) - timedelta(days=1)
        case "m":
            return month, _next_month(month) - timedelta(days=1)
    return now.replace(month=1, day=1), now.replace(month=12, day=31)


def _next_month(first: date) -> date:
    return (first + timedelta(days=32)).replace(day=1)


def _just_before(moment: date | datetime) -> str:
    if isinstance(moment, datetime):
        return _text(moment - timedelta(seconds=1))
    return f"{moment - timedelta(days=1)} 23:59:59.999999"


def _end_of(moment: date | datetime) -> str:
    return _text(moment) if isinstance(moment, datetime) else f"{moment} 23:59:59.999999"


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")
