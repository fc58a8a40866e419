"""Sums over all matching issues and time entries, and the progress of versions."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.packs.redmine.all_rows import AllRows, issues_by_id
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.models import ISSUE, TIME_ENTRY, JsonObject, Kind, Listing
from dogubako.packs.redmine.names.field_values import Labels
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.sums import (
    Heading,
    custom_field,
    field_values,
    grouped,
    issue_sums,
    period,
    reference,
    total,
)
from dogubako.packs.redmine.tools.base import Limit, Offset, ReadingTool, next_page
from dogubako.packs.redmine.tools.issue_selection import Selection, SelectionArgs, issue_filters
from dogubako.packs.redmine.tools.time_entries import TimeFilterArgs, time_params

GROUP_OF_ROWS: Final = Kind(noun="group", one="group", many="groups", needs={"list": "view_issues"})
_REFERENCES: Final = (
    *("status", "tracker", "priority", "assigned_to", "author", "category", "fixed_version", "project", "parent"),
)
_DAYS_OF_ISSUES: Final = {"created": "created_on", "closed": "closed_on", "due": "due_date", "start": "start_date"}
_UNITS: Final = ("day", "week", "month", "year")
_OF_TIME: Final = ("user", "activity", "project", "issue")
_OF_ISSUES_OF_TIME: Final = ("status", "tracker", "priority", "assigned_to", "category", "fixed_version")
Measure = Literal["count", "open", "closed", "overdue", "estimated_hours", "spent_hours", "remaining_hours", "progress"]
_USUAL: Final = ("count", "open", "estimated_hours", "spent_hours", "progress")
_MOST_HEADINGS: Final = 3


class ReportIssuesArgs(SelectionArgs):
    group_by: tuple[str, ...] = Field(
        ("status",),
        max_length=_MOST_HEADINGS,
        description=f"{', '.join(_REFERENCES)}; created_week, closed_month, due_day, start_week, …; "
        "a custom field by name or 'cf_7'. Empty: one sum.",
    )
    measures: tuple[Measure, ...] = Field(_USUAL, min_length=1, description="progress is Redmine's per cent done.")
    limit: Limit = Field(100, description="How many groups at most.")
    offset: Offset = Field(0, description="How many groups to leave out before the first.")


class ReportIssues(ReadingTool[ReportIssuesArgs]):
    """Count and add up issues by status, assignee, version, week, custom field: right for all matching issues."""

    name = "report_issues"
    kind = ISSUE
    act = "list"
    tags = ("issues", "reports")
    timeout = 110_000
    examples = (
        ToolExample(description="A project by status", parameters={"project_id": "webshop", "group_by": ["status"]}),
        ToolExample(
            description="Who has how much open work",
            parameters={
                "project_id": "webshop",
                "status_id": "open",
                "group_by": ["assigned_to"],
                "measures": ["count", "overdue", "remaining_hours"],
            },
        ),
    )
    keywords = {
        "en": "how many tickets; count bugs by status; statistics of a project; "
        "numbers for the weekly report; total estimated hours; how many were closed last month; "
        "breakdown by person or version; tickets per week; number of bugs per person",
        "ja": "何件 件数 集計 合計 統計 状態別 担当者別 バージョン別 週ごと 月別 内訳 数える 割合 進捗率 "
        "レポート 人ごと 数",
    }

    async def work(self, args: ReportIssuesArgs) -> Answered:
        chosen = issue_filters(args.filters, project_id=args.project_id, status_id=args.status_id)
        _check_headings(args.group_by)
        issues, project = await Selection(self.client).read(chosen)
        headings, fields = await _Headings(self, project).of(args.group_by, issues)
        today = await self.client.names.days.today()
        rows = [{**named, **issue_sums(rows, args.measures, today)} for named, rows in grouped(issues, headings)]
        facts = {"issues": len(issues), **issue_sums(issues, args.measures, today), **fields, **_unseen(issues, args)}
        return _table(self, args, rows, facts)


def _unseen(issues: Sequence[JsonObject], args: ReportIssuesArgs) -> JsonObject:
    """How many issues do not show their spent hours: a permission is missing, or the module is off."""
    hidden = sum("spent_hours" not in one for one in issues) if "spent_hours" in args.measures else 0
    return {"issues_without_visible_spent_hours": hidden} if hidden else {}


class ReportTimeArgs(TimeFilterArgs):
    group_by: tuple[str, ...] = Field(
        ("user",),
        max_length=_MOST_HEADINGS,
        description=f"{', '.join(_OF_TIME)}, day, week, month, year; of the issue: {', '.join(_OF_ISSUES_OF_TIME)}; "
        "a custom field of time entries by name or 'cf_7'. Empty: one sum.",
    )
    limit: Limit = Field(100, description="How many groups at most.")
    offset: Offset = Field(0, description="How many groups to leave out before the first.")


class ReportTime(ReadingTool[ReportTimeArgs]):
    """Add up logged hours by person, activity, project, issue, version, day, week or month: of all matching entries."""

    name = "report_time"
    kind = TIME_ENTRY
    act = "list"
    tags = ("time", "reports")
    timeout = 110_000
    examples = (
        ToolExample(
            description="Hours of a project last month, by person and activity",
            parameters={"project_id": "webshop", "spent_on": "lm", "group_by": ["user", "activity"]},
        ),
    )
    keywords = {
        "en": "total hours; how many hours did somebody work; time sheet sums; "
        "hours per person, week or month; how much time went into a version; "
        "effort of a project; billing; overtime; who worked most",
        "ja": "工数 集計 合計 何時間 作業時間 人別 月別 週別 総時間 残業 請求 プロジェクト別 時間の内訳 稼働 "
        "いちばん働いた",
    }

    async def work(self, args: ReportTimeArgs) -> Answered:
        _check_headings(args.group_by)
        params, project = await time_params(self.client.names, args)
        fields = ("project", "issue", "user", "activity", "hours", "spent_on", "custom_fields")
        entries = await AllRows(self.client.records, TIME_ENTRY, fields).read(params)
        if any(name in _OF_ISSUES_OF_TIME for name in args.group_by):
            entries = await self._with_issues(entries)
        headings, facts = await _Headings(self, project).of(args.group_by, entries)
        rows = [
            {**named, "hours": total(rows, "hours"), "entries": len(rows)} for named, rows in grouped(entries, headings)
        ]
        sums = {"entries": len(entries), "hours": total(entries, "hours")}
        return _table(self, args, rows, {**sums, **facts})

    async def _with_issues(self, entries: Sequence[JsonObject]) -> list[JsonObject]:
        """Entries with what their issues have. Of an issue that our user may not see nothing is known."""
        ids = sorted({entry["issue"]["id"] for entry in entries if entry.get("issue")})
        issues = await issues_by_id(self.client.records, ids)
        return [{**_of_issue(issues.get((one.get("issue") or {}).get("id", 0), {})), **one} for one in entries]


def _of_issue(issue: JsonObject) -> JsonObject:
    return {name: issue[name] for name in _OF_ISSUES_OF_TIME if name in issue}


class _Headings:
    """Makes headings from names, with labels for the values of custom fields."""

    def __init__(self, tool: ReportIssues | ReportTime, project: int | None) -> None:
        self._client = tool.client
        self._of_time = isinstance(tool, ReportTime)
        self._project = project

    async def of(self, group_by: Sequence[str], rows: Sequence[JsonObject]) -> tuple[list[Heading], JsonObject]:
        """The headings, and the names of custom fields and where rows count twice."""
        headings: list[Heading] = []
        facts: JsonObject = {}
        known = (*_OF_TIME, *_OF_ISSUES_OF_TIME) if self._of_time else _REFERENCES
        for name in group_by:
            if name in known:
                headings.append(reference(name))
            elif (dated := self._period_of(name)) is not None:
                headings.append(period(name, *dated, await self._client.names.days.zone()))
            else:
                id_, shown = await self._custom_field(name, rows)
                stored = {one for row in rows for one in field_values(row, id_)}
                labels = await Labels(self._client.names, self._project).of({id_: stored})
                headings.append(custom_field(id_, labels.get(id_, {})))
                facts[f"cf_{id_}"] = shown
                if any(len(field_values(row, id_)) > 1 for row in rows):
                    facts["note"] = "Rows with several values count in each of these groups, but once in the totals."
        return headings, facts

    def _period_of(self, name: str) -> tuple[str, str] | None:
        if self._of_time:
            return ("spent_on", name) if name in _UNITS else None
        which, _, unit = name.partition("_")
        return (_DAYS_OF_ISSUES[which], unit) if which in _DAYS_OF_ISSUES and unit in _UNITS else None

    async def _custom_field(self, name: str, rows: Sequence[JsonObject]) -> tuple[int, str]:
        fields = self._client.names.custom_fields
        number = name.removeprefix("cf_")
        which: IdOrName = int(number) if name.startswith("cf_") and number.isdecimal() else name
        seen: dict[int, JsonObject] = {one["id"]: one for row in rows for one in row.get("custom_fields") or ()}
        try:
            id_ = await fields.id_of(which, "group_by", self._project, list(seen.values()) or None)
        except ValidationError as error:
            names = _OF_TIME + _OF_ISSUES_OF_TIME + _UNITS if self._of_time else (*_REFERENCES, "created_week, …")
            error.hint = f"Group by: {', '.join(names)}, or a custom field. {error.hint or ''}".strip()
            raise
        return id_, str(seen.get(id_, {}).get("name") or name)


def _check_headings(group_by: Sequence[str]) -> None:
    """Refuse what no list can be grouped by, before any request."""
    if len(set(group_by)) < len(group_by):
        raise ValidationError.of("group_by", "Invalid value for parameter group_by: a heading is given twice")
    if any(not name.strip() for name in group_by):
        raise ValidationError.of("group_by", "Invalid value for parameter group_by: a name is empty")


def _table(
    tool: ReportIssues | ReportTime, args: ReportIssuesArgs | ReportTimeArgs, rows: list[JsonObject], facts: JsonObject
) -> Answered:
    shown = rows[args.offset : args.offset + args.limit]
    page = Listing(rows=shown, total=len(rows), offset=args.offset, limit=args.limit)
    return tool.answers.listing(GROUP_OF_ROWS, shown, page, next_page(tool.name, args), **facts)


TOOLS = (ReportIssues, ReportTime)
