"""Group rows and add them up: issues and time entries by status, person, version, week, custom field."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any, Final

from dogubako.packs.redmine.models import JsonObject

NOBODY: Final = "(none)"
# What one row counts as under one heading. Several values: a row with a list counts under each of them.
Headings = Callable[[JsonObject], Sequence[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """One way to group: its name in the answer, and the values of a row."""

    name: str
    values: Headings


def reference(name: str) -> Heading:
    """By status, tracker, assignee, …: `{"id": 2, "name": "In Progress"}`."""
    return Heading(name=name, values=lambda row: [_short(row.get(name))])


def period(name: str, field: str, unit: str, zone: tzinfo) -> Heading:
    """By day, week or month of a date or timestamp, in the time zone of the user."""
    return Heading(name=name, values=lambda row: [_period(row.get(field), unit, zone)])


def custom_field(id_: int, labels: Mapping[str, str]) -> Heading:
    """By the values of a custom field. Ids stay beside their names: two people may have the same one."""

    def values(row: JsonObject) -> Sequence[Any]:
        return [_labelled(text, labels.get(text)) for text in field_values(row, id_)] or [NOBODY]

    return Heading(name=f"cf_{id_}", values=values)


def _labelled(text: str, label: str | None) -> Any:
    return text if label is None else {"id": int(text) if text.isdecimal() else text, "name": label}


def field_values(row: JsonObject, id_: int) -> list[str]:
    """The values of a custom field; none if it is empty."""
    fields: list[JsonObject] = row.get("custom_fields") or []
    found = next((one.get("value") for one in fields if one["id"] == id_), None)
    return [str(one) for one in (found if isinstance(found, list) else [found]) if one not in (None, "")]


def grouped(rows: Iterable[JsonObject], headings: Sequence[Heading]) -> list[tuple[JsonObject, list[JsonObject]]]:
    """Rows by the combinations of their headings, in a natural order: by day, else by size."""
    groups: dict[tuple[str, ...], tuple[JsonObject, list[JsonObject]]] = {}
    if not headings:
        return []
    for row in rows:
        for combination in _combinations([heading.values(row) for heading in headings]):
            key = tuple(map(_key, combination))
            named = {heading.name: value for heading, value in zip(headings, combination, strict=True)}
            groups.setdefault(key, (named, []))[1].append(row)
    sizes: dict[str, int] = {}
    for key, (_, found) in groups.items():
        sizes[key[0]] = sizes.get(key[0], 0) + len(found)
    return [groups[key] for key in sorted(groups, key=lambda key: _order(key, sizes, len(groups[key][1])))]


def _order(key: tuple[str, ...], sizes: Mapping[str, int], size: int) -> Any:
    """Days in their order; everything else largest first, with all parts of one first heading together."""
    is_day = key[0][:4].isdigit() and key[0][4:5] == "-"
    return (0, key) if is_day else (1, -sizes[key[0]], key[0], -size, key)


def _combinations(parts: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    combined: list[tuple[Any, ...]] = [()]
    for values in parts:
        combined = [(*known, value) for known in combined for value in values]
    return combined


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: value[key] for key in ("id", "name") if key in value}
    return NOBODY if value in (None, "") else value


def _key(value: Any) -> str:
    return f"#{value.get('id')}" if isinstance(value, Mapping) else str(value)


def day_of(value: Any, zone: tzinfo) -> date | None:
    """The day of a date, or of a timestamp in a time zone."""
    text = str(value or "")
    try:
        return date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text).astimezone(zone).date()
    except ValueError:
        return None


def _period(value: Any, unit: str, zone: tzinfo) -> str:
    day = day_of(value, zone)
    if day is None:
        return NOBODY
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def issue_sums(issues: Sequence[JsonObject], measures: Sequence[str], today: date) -> JsonObject:
    """The measures of a group of issues."""
    functions: Mapping[str, Callable[[], Any]] = {
        "count": lambda: len(issues),
        "open": lambda: sum(not one["closed"] for one in issues),
        "closed": lambda: sum(one["closed"] for one in issues),
        "overdue": lambda: sum(is_overdue(one, today) for one in issues),
        "estimated_hours": lambda: total(issues, "estimated_hours"),
        "spent_hours": lambda: total(issues, "spent_hours"),
        "remaining_hours": lambda: round(sum(map(remaining_hours, issues)), 2),
        "progress": lambda: progress(issues),
    }
    return {measure: functions[measure]() for measure in measures}


def is_overdue(issue: JsonObject, today: date) -> bool:
    """Whether an open issue is past its day."""
    return not issue["closed"] and bool(issue.get("due_date")) and str(issue["due_date"]) < today.isoformat()


def remaining_hours(issue: JsonObject) -> float:
    """The estimated hours that are not done, by the issue's per cent; none of a closed issue."""
    undone = 100 - float(issue.get("done_ratio") or 0)
    return 0.0 if issue["closed"] else float(issue.get("estimated_hours") or 0) * undone / 100


def total(rows: Iterable[JsonObject], field: str) -> float:
    return round(sum(float(row.get(field) or 0) for row in rows), 2)


def progress(issues: Sequence[JsonObject]) -> int:
    """Per cent done as Redmine's roadmap counts it: weighted by estimates, those without one as the average."""
    if not issues:
        return 0
    estimates = [float(one["estimated_hours"]) for one in issues if one.get("estimated_hours") is not None]
    average = (sum(estimates) / len(estimates) if estimates else 0) or 1.0

    def weight(issue: JsonObject) -> float:
        return average if issue.get("estimated_hours") is None else float(issue["estimated_hours"])

    done = sum(weight(one) * (100 if one["closed"] else float(one.get("done_ratio") or 0)) for one in issues)
    return 100 if all(one["closed"] for one in issues) else int(done / (average * len(issues)))
