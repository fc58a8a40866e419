"""What charts show, calculated from issues."""

from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from typing import Any, Final

import msgspec

from dogubako.outbound.parsing.protocol import ParseFailure
from dogubako.packs.redmine.models import JsonObject
from dogubako.packs.redmine.sums import NOBODY, day_of, is_overdue, remaining_hours

MOST_BARS: Final = 40
_MOST_POINTS: Final = 60


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One issue of a Gantt chart."""

    label: str
    assignee: str
    start: str
    end: str
    done: int
    closed: bool
    late: bool


class Gantt(msgspec.Struct, frozen=True, kw_only=True, tag="gantt"):
    """Issues by their first and last day."""

    title: str
    today: str
    bars: list[Bar]


class Burndown(msgspec.Struct, frozen=True, kw_only=True, tag="burndown"):
    """Open issues and hours at the end of each day; ideally none on the due day."""

    title: str
    today: str
    due: str | None
    days: list[str]
    open_issues: list[int]
    open_hours: list[float]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The open work of one person."""

    name: str
    hours: float
    late_hours: float
    issues: int
    late: int
    without_estimate: int


class Workload(msgspec.Struct, frozen=True, kw_only=True, tag="workload"):
    """Open work by person, most first."""

    title: str
    today: str
    loads: list[Load]


class Drawing(msgspec.Struct, frozen=True, kw_only=True, tag="drawing"):
    """A finished PNG."""

    data: bytes


Chart = Gantt | Burndown | Workload
Reply = Drawing | ParseFailure
REQUESTS: Final = msgspec.msgpack.Decoder(Gantt | Burndown | Workload)
REPLIES: Final = msgspec.msgpack.Decoder(Drawing | ParseFailure)


def gantt(title: str, issues: Sequence[JsonObject], today: date) -> Gantt:
    """Bars by first day. An issue with one day only is a bar of this day; those without any are left out."""
    dated = [one for one in issues if one.get("start_date") or one.get("due_date")]
    bars = [_bar(one, today) for one in dated]
    return Gantt(title=title, today=today.isoformat(), bars=sorted(bars, key=lambda bar: (bar.start, bar.end)))


def _bar(issue: JsonObject, today: date) -> Bar:
    start = str(issue.get("start_date") or issue.get("due_date"))
    end = str(issue.get("due_date") or start)
    return Bar(
        label=f"#{issue['id']} {issue.get('subject')}",
        assignee=_assignee(issue),
        start=start,
        end=max(start, end),
        done=100 if issue["closed"] else int(issue.get("done_ratio") or 0),
        closed=issue["closed"],
        late=is_overdue(issue, today),
    )


def burndown(title: str, issues: Sequence[JsonObject], due: str | None, today: date, zone: tzinfo) -> Burndown:
    """From the day of the first issue until today, or until the due day if that is later."""
    created = {one["id"]: day_of(one.get("created_on"), zone) or today for one in issues}
    closed = {one["id"]: day_of(one.get("closed_on") or one.get("updated_on"), zone) for one in issues if one["closed"]}
    first = min(created.values(), default=today)
    days = _steps(first, today)

    def still_open(issue: JsonObject, day: date) -> bool:
        end = closed.get(issue["id"])
        return created[issue["id"]] <= day and (end is None or end > day)

    left = [[one for one in issues if still_open(one, day)] for day in days]
    return Burndown(
        title=title,
        today=today.isoformat(),
        due=due,
        days=[day.isoformat() for day in days],
        open_issues=[len(rows) for rows in left],
        open_hours=[round(sum(float(one.get("estimated_hours") or 0) for one in rows), 2) for rows in left],
    )


def _steps(first: date, last: date) -> list[date]:
    """Every day, or fewer of a long time, always with the last one."""
    step = max(1, -(-((last - first).days + 1) // _MOST_POINTS))
    return [last - timedelta(days=back) for back in range(0, (last - first).days + 1, step)][::-1]


def workload(title: str, issues: Sequence[JsonObject], today: date) -> Workload:
    """Open issues by assignee: the estimated hours that are not done."""
    by_person: dict[Any, list[JsonObject]] = {}
    for issue in issues:
        if not issue["closed"]:
            by_person.setdefault((issue.get("assigned_to") or {}).get("id"), []).append(issue)
    loads = [_load(rows, today) for rows in by_person.values()]
    order = sorted(loads, key=lambda load: (-load.hours, -load.issues, load.name))
    return Workload(title=title, today=today.isoformat(), loads=order)


def _load(issues: Sequence[JsonObject], today: date) -> Load:
    late = [one for one in issues if is_overdue(one, today)]
    return Load(
        name=_assignee(issues[0]),
        hours=round(sum(map(remaining_hours, issues)), 2),
        late_hours=round(sum(map(remaining_hours, late)), 2),
        issues=len(issues),
        late=len(late),
        without_estimate=sum(one.get("estimated_hours") is None for one in issues),
    )


def _assignee(issue: JsonObject) -> str:
    return str((issue.get("assigned_to") or {}).get("name") or NOBODY)
