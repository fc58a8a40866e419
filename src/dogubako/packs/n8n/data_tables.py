"""Conditions and values of data tables: what n8n is asked for, and which of the rows that it finds are meant.

n8n's public API compares dates wrongly where it keeps them in SQLite: what it has begins with `2026-11-18 00:00`, what
it compares with is written `2026-11-18T00:00`, so it can only tell days apart. A condition on a date is sent as bounds
at the ends of days, which every database compares correctly, and we look at the rows ourselves.

A date without a zone is UTC here. n8n reads it in the zone of whichever workflow ran last.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.n8n.nodes.problems import near_names, quoted

JsonObject = dict[str, Any]

_COMPARISONS: Final = ("eq", "neq", "like", "ilike", "gt", "gte", "lt", "lte")
_OF_DATES: Final = ("eq", "neq", "gt", "gte", "lt", "lte")
_SYSTEM: Final[Mapping[str, str]] = {"id": "number", "createdAt": "date", "updatedAt": "date"}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
# As SQLite has it; a preview shows it like this.
_KEPT_DATE: Final = re.compile(r"(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)")
_MILLISECOND: Final = timedelta(milliseconds=1)
_ONE_DAY: Final = timedelta(days=1)
# They go into the address of a request, and SQLite refuses long conditions.
_MOST_IDS: Final = 100
_MOST_DIFFERENCES: Final = 20
_FORM: Final = "dates are like '2026-11-18', which is the whole day in UTC, or '2026-11-18T09:00:00Z'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """What a date of a condition covers, to the millisecond: one, or a whole day."""

    column: str
    how: str
    first: datetime
    last: datetime

    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """The earliest and the latest date that meets the condition; None where nothing bounds it."""
        match self.how:
            case "eq":
                return self.first, self.last
            case "gt":
                return self.last + _MILLISECOND, None
            case "gte":
                return self.first, None
            case "lt":
                return None, self.first - _MILLISECOND
            case "lte":
                return None, self.last
            case _:
                return None, None

    def meets(self, row: Mapping[str, Any]) -> bool:
        found = moment(row.get(self.column))
        if self.how == "neq":
            return found is None or not self.first <= found <= self.last
        earliest, latest = self.bounds()
        return found is not None and (earliest is None or found >= earliest) and (latest is None or found <= latest)

    def filters(self) -> Iterator[JsonObject]:
        """Conditions that all rows meet that are meant, at the ends of days."""
        earliest, latest = self.bounds()
        if earliest is not None:
            yield _filter(self.column, "gt", written(_midnight(earliest) - _MILLISECOND))
        if latest is not None:
            yield _filter(self.column, "lte", written(_midnight(latest) + _ONE_DAY - _MILLISECOND))
        if self.how == "neq":
            yield _filter(self.column, "neq", written(self.first))

    @property
    def exact(self) -> bool:
        """Whether no other rows meet these conditions."""
        earliest, latest = self.bounds()
        starts = earliest is None or earliest == _midnight(earliest)
        ends = latest is None or latest + _MILLISECOND == _midnight(latest + _MILLISECOND)
        return self.how != "neq" and starts and ends


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which rows are meant: the filter that n8n gets, and what of its dates we have to look at ourselves."""

    filter: JsonObject
    spans: Sequence[Span] = ()

    def meets(self, row: Mapping[str, Any]) -> bool:
        return all(span.meets(row) for span in self.spans)

    def filter_for(self, found: Sequence[JsonObject]) -> JsonObject | None:
        """The filter for exactly those that are meant of the rows that n8n found; None if it is none of them."""
        meant = [row for row in found if self.meets(row)]
        if len(meant) == len(found):
            return self.filter
        if len(meant) > _MOST_IDS:
            message = f"{len(meant)} rows meet it, and n8n can only tell days apart: give whole days, or fewer rows"
            raise _wrong(message)
        filters = [_filter("id", "eq", row.get("id")) for row in meant]
        return {"type": "or", "filters": filters} if filters else None


def selected(where: Mapping[str, Any], table: Mapping[str, Any]) -> Selection:
    """n8n's form of the conditions. A plain value means equality."""
    types = {**_SYSTEM, **columns_of(table)}
    filters: list[JsonObject] = []
    spans: list[Span] = []
    for column, wanted in where.items():
        check_column(column, types, "where")
        comparisons = wanted if isinstance(wanted, dict) else {"eq": wanted}
        if not comparisons or not set(comparisons) <= set(_COMPARISONS):
            raise _wrong(f"comparisons are {', '.join(_COMPARISONS)}")
        for how, value in comparisons.items():
            _check_scalar(column, value, "where")
            if types[column] == "date" and value is not None:
                span = _span(column, how, value)
                spans += [] if span.exact else [span]
                filters += span.filters()
            else:
                filters.append(_filter(column, how, value))
    return Selection(filter={"type": "and", "filters": filters}, spans=spans)


def _span(column: str, how: str, value: Any) -> Span:
    if how not in _OF_DATES:
        raise _wrong(f"the column {quoted(column)} has dates, which are compared by {', '.join(_OF_DATES)}")
    first = moment(value)
    if first is None or not 1 < first.year < 9999:
        raise _wrong(f"the column {quoted(column)} has dates, and {_FORM}")
    last = first + _ONE_DAY - _MILLISECOND if _DAY.fullmatch(value.strip()) else first
    return Span(column=column, how=how, first=first, last=last)


def moment(value: Any) -> datetime | None:
    """The date in a text, in UTC and to the millisecond, as n8n keeps it. None if we cannot read it."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found.replace(microsecond=found.microsecond // 1000 * 1000)


def written(found: datetime) -> str:
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _midnight(found: datetime) -> datetime:
    return found.replace(hour=0, minute=0, second=0, microsecond=0)


def columns_of(table: Mapping[str, Any]) -> dict[str, str]:
    """The types of the table's own columns by name, in order."""
    columns = sorted(table.get("columns") or (), key=lambda one: one.get("index", 0))
    return {str(one.get("name")): str(one.get("type")) for one in columns}


def listed_columns(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in columns_of(table).items())


def check_column(name: str, known: Mapping[str, str], parameter: str) -> None:
    if name not in known:
        near = near_names(name, known)
        advice = f" Did you mean {' or '.join(near)}?" if near else ""
        message = f"the table has no column {quoted(name)}. It has {', '.join(known)}.{advice}"
        raise ValidationError.of(parameter, f"Invalid value for parameter {parameter}: {message}")


def _check_scalar(column: str, value: Any, parameter: str) -> None:
    if isinstance(value, list | dict):
        message = f"the column {quoted(column)} takes one text, number, boolean, date or null, no list or object"
        raise ValidationError.of(parameter, f"Invalid value for parameter {parameter}: {message}")


def values_for(rows: Iterable[Mapping[str, Any]], table: Mapping[str, Any]) -> list[JsonObject]:
    """The rows as n8n gets them: a date without a zone gets one."""
    types = columns_of(table)
    return [{name: _value_for(name, value, types) for name, value in row.items()} for row in rows]


def _value_for(column: str, value: Any, types: Mapping[str, str]) -> Any:
    check_column(column, types, "rows")
    _check_scalar(column, value, "rows")
    found = moment(value) if types[column] == "date" else None
    return value if found is None else written(found)


def shown_rows(rows: Iterable[Mapping[str, Any]], table: Mapping[str, Any]) -> list[JsonObject]:
    """Rows with all dates in one form: a preview of n8n has them as its database writes them."""
    dates = [name for name, kind in columns_of(table).items() if kind == "date"]
    return [{**row, **{name: _shown_date(row[name]) for name in dates if name in row}} for row in rows]


def _shown_date(value: Any) -> Any:
    kept = _KEPT_DATE.fullmatch(value) if isinstance(value, str) else None
    return f"{kept[1]}T{kept[2]}Z" if kept else value


def differences(sent: Sequence[JsonObject], stored: Sequence[JsonObject], table: JsonObject) -> list[JsonObject]:
    """Where n8n has other values than it was given: it rounds numbers, and turns 30 February into 2 March."""
    types = columns_of(table)
    found = [
        {"row": row.get("id"), "column": name, "sent": value, "stored": row.get(name)}
        for given, row in zip(sent, stored, strict=False)
        for name, value in given.items()
        if not _is_same(value, row.get(name), types.get(name))
    ]
    return found[:_MOST_DIFFERENCES]


def _is_same(sent: Any, stored: Any, kind: str | None) -> bool:
    if sent is None or stored is None or type(sent) is type(stored) is str:
        if kind == "date" and sent is not None and stored is not None:
            return moment(sent) is not None and moment(sent) == moment(stored)
        return bool(sent == stored)
    # A number for a text, or the text of a number or a boolean, is what it says.
    return sent == stored or str(sent).lower() == str(stored).lower()


def _filter(column: str, how: str, value: Any) -> JsonObject:
    return {"columnName": column, "condition": how, "value": value}


def _wrong(reason: str) -> ValidationError:
    return ValidationError.of("where", f"Invalid value for parameter where: {reason}")
