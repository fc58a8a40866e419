"""Look at issues: a list with every filter, and one with all that belongs to it."""

import re
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.guidance import example_call
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Page
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import chosen, issue_view
from dogubako.packs.redmine.history import History
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import ISSUE, Json
from dogubako.packs.redmine.tools.arguments import Offset, RecordArgs
from dogubako.packs.redmine.tools.base import ReadingTool, next_page
from dogubako.packs.redmine.tools.issue_filters import IssueFilters, ListIssuesArgs, check_rows

_FIELDS: Final = (
    "id",
    "project",
    "tracker",
    "status",
    "priority",
    "author",
    "assigned_to",
    "category",
    "fixed_version",
    "parent",
    "subject",
    "description",
    "start_date",
    "due_date",
    "done_ratio",
    "is_private",
    "estimated_hours",
    "total_estimated_hours",
    "spent_hours",
    "total_spent_hours",
    "custom_fields",
    "created_on",
    "updated_on",
    "closed_on",
    "attachments",
    "relations",
)
_CF = re.compile(r"cf_(\d{1,9})")

ShowInclude = Literal["children", "attachments", "relations", "changesets", "journals", "watchers", "allowed_statuses"]
_ON_EVERY_PAGE: Final = ("id", "project", "tracker", "status", "subject", "updated_on")
_USUAL: Final = ("children", "attachments", "relations", "journals", "allowed_statuses")


class ListIssues(ReadingTool[ListIssuesArgs]):
    """List issues: filtered, sorted, page by page. Open ones only, unless status_id says otherwise."""

    name = "list_issues"
    kind = ISSUE
    act = "list"
    tags = ("issues",)
    examples = (
        ToolExample(
            description="My open issues, most urgent first",
            parameters={"assigned_to_id": "me", "sort": "priority:desc"},
        ),
        ToolExample(
            description="What changed in a project this week, in few words",
            parameters={
                "project_id": "webshop",
                "status_id": "*",
                "updated_on": "w",
                "fields": ["subject", "status", "assigned_to"],
            },
        ),
    )
    keywords = {"ja": "チケット 課題 一覧 検索 担当 期日"}

    async def work(self, args: ListIssuesArgs) -> Answered:
        params, project = await IssueFilters(self.client.names).params(args)
        fields, custom_fields = await self._fields(args, project)
        page = await self.client.records.page(
            ISSUE, **params, include=",".join(args.include) or None, limit=args.limit, offset=args.offset
        )
        check_rows(params, page.rows)
        rows = (issue_view(row, without=() if "description" in fields else ("description",)) for row in page.rows)
        if args.fields:
            shown = {*fields, *args.include}
            rows = (chosen(row, shown, custom_fields) for row in rows)
        return self.answers.listing(ISSUE, rows, page, next_page(self.name, args))

    async def _fields(self, args: ListIssuesArgs, project: int | None) -> tuple[set[str], set[int]]:
        """Standard fields by name, custom fields by id. One that nobody knows is refused, not left out."""
        standard = {field for field in args.fields if field in _FIELDS}
        custom = set()
        for field in args.fields:
            if field not in standard:
                numbered = _CF.fullmatch(field)
                try:
                    custom.add(
                        await self.client.names.custom_fields.id_of(
                            int(numbered[1]) if numbered else field, "fields", project
                        )
                    )
                except ValidationError as error:
                    error.hint = f"Fields: {', '.join(_FIELDS)}, and custom fields. {error.hint or ''}".strip()
                    raise
        return standard, custom


class ShowIssueArgs(RecordArgs):
    include: tuple[ShowInclude, ...] = Field(_USUAL, description="What to show with it.")
    journal_limit: int = Field(20, ge=1, le=500, description="How many journals at most, newest first.")
    journal_offset: Offset = Field(0, description="How many of the newest journals to leave out.")


class ShowIssue(ReadingTool[ShowIssueArgs]):
    """Show an issue with its history, children, relations, attachments and the statuses it may get next."""

    name = "show_issue"
    kind = ISSUE
    tags = ("issues",)
    examples = (ToolExample(description="All about one issue", parameters={"id": 1}),)
    keywords = {"ja": "チケット 課題 詳細 履歴 コメント"}

    async def work(self, args: ShowIssueArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.id, args.include)
        shown = await shown_issue(self.client.lookups, issue, args.journal_limit, args.journal_offset)
        return self.answers.record(ISSUE, shown, page=journal_page(shown))


async def shown_issue(lookups: Lookups, issue: Json, limit: int, offset: int) -> Json:
    """An issue as it is shown, with its history told in names."""
    shown = issue_view(issue, without=("journals",))
    if offset:
        # Who reads on in the history has seen the rest already.
        shown = {key: value for key, value in shown.items() if key in _ON_EVERY_PAGE}
    if issue.get("journals"):
        shown["journals"] = await History(lookups, issue).page(limit, offset)
    return shown


def journal_page(shown: Json) -> Page | None:
    """How the history of a shown issue goes on."""
    journals = shown.get("journals")
    if journals is None:
        return None
    begin, end = journals["offset"], journals["offset"] + len(journals["rows"])

    def call(offset: int) -> str:
        wanted = {"include": ["journals"], "journal_limit": journals["limit"], "journal_offset": offset}
        return example_call("show_issue", id=shown["id"], **wanted)

    after = call(end) if journals["rows"] and end < journals["total_count"] else None
    return Page("journals", lambda shown: call(begin + shown), after)


TOOLS = (ListIssues, ShowIssue)
