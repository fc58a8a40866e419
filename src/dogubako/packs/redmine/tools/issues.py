"""List issues with filters, and show one with everything that belongs to it."""

import re
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import NextPage, example_call
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import MOST_PER_PAGE, RecordsApi
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters import chosen, issue_view
from dogubako.packs.redmine.history import History
from dogubako.packs.redmine.models import ISSUE, JsonObject
from dogubako.packs.redmine.names.field_values import with_labels
from dogubako.packs.redmine.tools.base import Offset, ReadingTool, RecordArgs, next_page
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
_OF_RELATED: Final = ("tracker", "status", "assigned_to", "subject", "due_date")
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
    keywords = {
        "en": "what should I work on; my tasks; open bugs; tickets assigned to somebody; "
        "overdue and late; urgent tickets; what is left to do; backlog; find tickets; "
        "workload of a person; everything assigned to me; all tickets of a project; "
        "what is on my plate; what is still open for me; unassigned bugs; which ones are due; "
        "what did we finish; what did the team finish this month",
        "ja": "自分の 担当 やること 今日 タスク 一覧 未完了 終わっていない バグ 締め切り 期限切れ 過ぎた 急ぎ "
        "チケット 課題 残り 仕事 直っていない 遅れている 抱えている "
        "検索 期日 残り仕事 担当のいない 急ぎ順 締め切りの",
    }

    async def work(self, args: ListIssuesArgs) -> Answered:
        params, project = await IssueFilters(self.client.names).params(args, args.sort)
        fields, custom_fields = await self._fields(args, project)
        page = await self.client.records.page(
            ISSUE, **params, include=",".join(args.include) or None, limit=args.limit, offset=args.offset
        )
        check_rows(params, page.rows)
        named = page.rows
        if custom_fields or "custom_fields" in args.fields:
            # Whoever asks for them wants to read them; a list of everything does without the look-up.
            named = await with_labels(self.client.names, _with_values(page.rows, args, custom_fields), project)
        rows = (issue_view(row, without=() if "description" in fields else ("description",)) for row in named)
        if args.fields:
            shown = {*fields, *args.include}
            rows = (chosen(row, shown, custom_fields) for row in rows)
        return self.answers.listing(ISSUE, rows, page, next_page(self.name, args))

    async def _fields(self, args: ListIssuesArgs, project: int | None) -> tuple[set[str], set[int]]:
        """Standard fields by name, custom fields by id. Unknown ones are refused."""
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
    keywords = {
        "en": "read a ticket; open a bug or task; what is it about; latest comments; any reply; "
        "history of a ticket; what happened to it; what is the latest on a bug; "
        "has anybody replied to my ticket; who is following a ticket; look at one ticket; "
        "tell me all about a ticket; who commented and what did they say; status of a ticket",
        "ja": "チケット 番 中身 詳細 読む 開く どうなった 進み具合 返事 コメント 経緯 課題 内容 やりとり 履歴 "
        "ことを全部 状況",
    }

    async def work(self, args: ShowIssueArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.id, args.include)
        shown = await shown_issue(self.client, issue, args.journal_limit, args.journal_offset)
        return self.answers.record(ISSUE, shown, page=journal_page(shown))


def _with_values(rows: list[JsonObject], args: ListIssuesArgs, custom_fields: set[int]) -> list[JsonObject]:
    """The rows without custom fields that are not shown: what is not shown needs no names."""
    if "custom_fields" in args.fields:
        return rows
    kept = ([one for one in row.get("custom_fields") or () if one["id"] in custom_fields] for row in rows)
    return [{**row, "custom_fields": fields} for row, fields in zip(rows, kept, strict=True)]


async def shown_issue(client: RedmineClient, issue: JsonObject, limit: int, offset: int) -> JsonObject:
    """The view of an issue, with names in its history, its custom fields and its relations."""
    project = (issue.get("project") or {}).get("id")
    named = issue if offset else (await with_labels(client.names, [issue], project))[0]
    shown = issue_view(named, without=("journals",))
    if offset:
        # Later pages of the history do not repeat the rest.
        shown = {key: value for key, value in shown.items() if key in _ON_EVERY_PAGE}
    if issue.get("journals"):
        shown["journals"] = await History(client.lookups, client.names, issue).page(limit, offset)
    if shown.get("relations"):
        shown["relations"] = await related(client.records, shown["relations"], issue["id"])
    return shown


async def related(records: RecordsApi, relations: list[JsonObject], issue: int) -> list[JsonObject]:
    """Relations with subject, status and assignee of the other issue, read in one request."""
    others = [one["issue_to_id"] if one["issue_id"] == issue else one["issue_id"] for one in relations]
    wanted = ",".join(str(one) for one in dict.fromkeys(others[:MOST_PER_PAGE]))
    try:
        rows = (await records.page(ISSUE, issue_id=wanted, status_id="*", limit=MOST_PER_PAGE)).rows if others else []
    except DogubakoError:
        # The relations themselves are known.
        return relations
    seen = {row["id"]: {key: row[key] for key in ("id", *_OF_RELATED) if row.get(key)} for row in rows}
    # An issue that our user may not see has only its id.
    return [{**one, "issue": seen.get(other, {"id": other})} for one, other in zip(relations, others, strict=True)]


def journal_page(shown: JsonObject) -> NextPage | None:
    """How to continue the history of a shown issue."""
    journals = shown.get("journals")
    if journals is None:
        return None
    begin, end = journals["offset"], journals["offset"] + len(journals["rows"])

    def call(offset: int) -> str:
        wanted = {"include": ["journals"], "journal_limit": journals["limit"], "journal_offset": offset}
        return example_call("show_issue", id=shown["id"], **wanted)

    after = call(end) if journals["rows"] and end < journals["total_count"] else None
    return NextPage("journals", lambda shown: call(begin + shown), after)


TOOLS = (ListIssues, ShowIssue)
