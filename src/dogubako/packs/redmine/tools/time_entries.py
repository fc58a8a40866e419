"""Time entries: list, show, create, update and delete."""

from dataclasses import replace
from typing import Final

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import ACTIVITY, ISSUE, PROJECT, TIME_ENTRY, JsonObject
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.filters import DATE_HELP
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only, same
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.tools.base import (
    CustomFieldValues,
    Day,
    DeletingTool,
    Limit,
    Offset,
    ProjectId,
    ReadingTool,
    RecordArgs,
    WritingTool,
    changes,
    next_page,
    sent_arguments,
    with_unrequested,
)
from dogubako.response.tokens import count_tokens

_ROW_TOKENS: Final = 20
_SORTABLE: Final = ("spent_on", "created_on", "project", "user", "activity", "issue", "hours")


class TimeFilterArgs(ToolArgs):
    """Which time entries are meant."""

    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    issue_id: int | None = Field(None, ge=1, description="Only of this issue.")
    user_id: IdOrName | None = Field(None, description="Only of this user: id, login, name or 'me'; several as 'a|b'.")
    activity_id: IdOrName | None = Field(None, description="Only of this activity, by id or name; several as 'a|b'.")
    spent_on: str | None = Field(None, description=f"When: {DATE_HELP}.")


class ListTimeEntriesArgs(TimeFilterArgs):
    sort: str | None = Field(None, description="Columns: 'spent_on:desc'.")
    limit: Limit = 25
    offset: Offset = 0


class ListTimeEntries(ReadingTool[ListTimeEntriesArgs]):
    """List logged time, newest first, with the hours of this page added up."""

    name = "list_time_entries"
    kind = TIME_ENTRY
    act = "list"
    tags = ("time",)
    examples = (ToolExample(description="My week", parameters={"user_id": "me", "spent_on": "w", "limit": 100}),)
    keywords = {
        "en": "how many hours did I work; timesheet; time spent this week or month; who logged time; "
        "total hours of a project; effort report; did somebody log hours; "
        "how much time went into a ticket; how busy was the team; hours I put in; "
        "hours spent on a ticket in total",
        "ja": "何時間 働いた 工数 作業時間 今週 今月 合計 一覧 みんな 勤務 集計 先週 実績 使った時間 合計何時間",
    }

    async def work(self, args: ListTimeEntriesArgs) -> Answered:
        params, _ = await time_params(self.client.names, args)
        if args.sort is not None:
            params["sort"] = filters.sort(args.sort, _SORTABLE)
        page = await self.client.records.page(TIME_ENTRY, **params, limit=args.limit, offset=args.offset)
        rows = _fitting([view(row) for row in page.rows], self.context.responses.max_tokens)
        hours = round(sum(row.get("hours") or 0 for row in rows), 2)
        shown = replace(page, rows=page.rows[: len(rows)])
        return self.answers.listing(TIME_ENTRY, rows, shown, next_page(self.name, args), hours_on_this_page=hours)


async def time_params(names: Names, args: TimeFilterArgs) -> tuple[JsonObject, int | None]:
    """The query parameters, and the project."""
    project = None if args.project_id is None else await names.project(args.project_id)
    params: JsonObject = {"project_id": project, "issue_id": args.issue_id}
    if args.user_id is not None:
        params["user_id"] = await filters.person(names, args.user_id, "user_id", project)
    if args.activity_id is not None:
        params["activity_id"] = await filters.choice(names, ACTIVITY, args.activity_id, "activity_id")
    if args.spent_on is not None:
        params["spent_on"] = await filters.dates(names, args.spent_on, "spent_on", past=True)
    return params, project


def _fitting(rows: list[JsonObject], max_tokens: int) -> list[JsonObject]:
    """The first rows that certainly fit into the answer, so that their sum is of what is shown."""
    room, kept = max_tokens * 3 // 4, 0
    for row in rows:
        room -= count_tokens(str(row)) + _ROW_TOKENS
        if room < 0 and kept:
            break
        kept += 1
    return rows[:kept]


class ShowTimeEntry(ReadingTool[RecordArgs]):
    """Show one time entry."""

    name = "show_time_entry"
    kind = TIME_ENTRY
    tags = ("time",)
    keywords = {
        "en": "details of one booking of hours; look at a single time entry",
        "ja": "作業記録 工数 詳細 一件 時間 記録 確認 作業時間",
    }

    async def work(self, args: RecordArgs) -> Answered:
        return self.answers.record(TIME_ENTRY, view(await self.client.records.show(TIME_ENTRY, args.id)))


class CreateTimeEntryArgs(ToolArgs):
    issue_id: int | None = Field(None, ge=1, description="On which issue; or give project_id.")
    project_id: ProjectId | None = Field(None, description="In which project; or give issue_id.")
    hours: float = Field(gt=0, le=1000, description="Hours, for example 1.5.")
    activity_id: IdOrName = Field(description="Activity, by id or name, for example 'Development'.")
    spent_on: Day | None = Field(None, description="Which day; today without it.")
    comments: str | None = Field(None, max_length=1024, description="What was done.")
    user_id: IdOrName | None = Field(None, description="Whose time, if not yours: id, login or name.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields of time entries, by id.")


class CreateTimeEntry(WritingTool[CreateTimeEntryArgs]):
    """Log time on an issue or a project."""

    name = "create_time_entry"
    kind = TIME_ENTRY
    act = "create"
    tags = ("time",)
    examples = (
        ToolExample(
            description="Two hours of work on an issue",
            parameters={"issue_id": 1, "hours": 2, "activity_id": "Development", "comments": "Found the cause"},
        ),
    )
    keywords = {
        "en": "log hours; book time; record work; I worked; fill in the timesheet; track time spent; "
        "put minutes on a ticket; put 90 minutes on a project",
        "ja": "作業時間 工数 つける 記録 働いた 何時間 登録 勤務 タイムシート 時間 入力 かかった 付ける 入れる",
    }

    async def work(self, args: CreateTimeEntryArgs) -> Answered:
        if (args.issue_id is None) == (args.project_id is None):
            raise ValidationError.of("issue_id", "Give either issue_id or project_id")
        project = await self._project(args)
        arguments = {key: value for key, value in sent_arguments(args).items() if value is not None}
        arguments["activity_id"] = await activity(self.client, args.activity_id, project)
        fields = await self.client.names.custom_fields.of("time_entry", self._newest) if args.custom_fields else []
        body = await Bodies(self.client.names).of(arguments, project, fields)
        outcome = await self.client.writing.create(TIME_ENTRY, place("time_entries"), body, project=project)
        message = Message(en=f"Time entry {outcome.record['id']} was created", ja="作業時間を記録しました")
        return self.answers.record(TIME_ENTRY, view(outcome.record), message=message)

    async def _project(self, args: CreateTimeEntryArgs) -> int:
        if args.project_id is not None:
            return await self.client.names.project(args.project_id)
        assert args.issue_id is not None
        issue = await self.client.records.show(ISSUE, args.issue_id, operation=to("create", TIME_ENTRY, args.issue_id))
        return int(issue["project"]["id"])

    async def _newest(self) -> list[JsonObject]:
        return (await self.client.records.page(TIME_ENTRY, limit=1)).rows


class UpdateTimeEntryArgs(RecordArgs):
    issue_id: int | None = Field(None, ge=1, description="Another issue.")
    hours: float | None = Field(None, gt=0, le=1000, description="Other hours.")
    activity_id: IdOrName | None = Field(None, description="Another activity, by id or name.")
    spent_on: Day | None = Field(None, description="Another day.")
    comments: str | None = Field(None, max_length=1024, description="Another comment; null for none.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields of the entry.")


class UpdateTimeEntry(WritingTool[UpdateTimeEntryArgs]):
    """Correct a time entry."""

    name = "update_time_entry"
    kind = TIME_ENTRY
    act = "update"
    tags = ("time",)
    keywords = {
        "en": "correct hours; fix the date on my timesheet; I booked too much time; change a time entry",
        "ja": "工数 作業時間 直す 訂正 間違えた 本当は 修正 付けた時間 変更 間違っていた",
    }

    async def work(self, args: UpdateTimeEntryArgs) -> Answered:
        arguments = changes(args)
        before = await self.client.records.show(TIME_ENTRY, args.id, operation=to("update", TIME_ENTRY, args.id))
        project = before["project"]["id"]
        if args.activity_id is not None:
            arguments["activity_id"] = await activity(self.client, args.activity_id, project)
        body = await Bodies(self.client.names).of(arguments, project, before.get("custom_fields") or [])
        outcome = await self.client.writing.update(TIME_ENTRY, before, body, project=project)
        message = Message(en=f"Time entry {args.id} was changed", ja="作業時間を更新しました")
        return self.answers.record(TIME_ENTRY, with_unrequested(view(outcome.record), outcome), message=message)


class DeleteTimeEntry(DeletingTool[RecordArgs]):
    """Delete a time entry for good."""

    name = "delete_time_entry"
    kind = TIME_ENTRY
    tags = ("time",)
    keywords = {
        "en": "remove wrong hours; undo a booking on the timesheet; I logged time by mistake",
        "ja": "工数 作業時間 消す 削除 間違えた 取り消し 記録 取り消す 間違えて",
    }

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete time entry {args.id} for good."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(TIME_ENTRY, args.id, operation=to("delete", TIME_ENTRY, args.id))
        what = f"{one['hours']:g} hours of {one['user']['name']} on {one['spent_on']}"
        return f"This would delete time entry {args.id} ({what}) for good."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(TIME_ENTRY, args.id, operation=to("delete", TIME_ENTRY, args.id))
        await self.client.writing.delete(TIME_ENTRY, args.id, project=one["project"]["id"])
        message = Message(en=f"Time entry {args.id} was deleted", ja="作業時間を削除しました")
        return self.answers.done(TIME_ENTRY, view(one), message)


class ListTimeEntryActivitiesArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Those of a project, which may have its own.")


class ListTimeEntryActivities(ReadingTool[ListTimeEntryActivitiesArgs]):
    """List what time can be logged for."""

    name = "list_time_entry_activities"
    kind = ACTIVITY
    act = "list"
    tags = ("time", "look-ups")
    keywords = {
        "en": "kinds of work to book time on; activities such as design, development, meeting",
        "ja": "作業 種類 分類 活動 選べる 工数 作業分類 時間を付けるとき 一覧",
    }

    async def work(self, args: ListTimeEntryActivitiesArgs) -> Answered:
        if args.project_id is None:
            rows = await self.client.lookups.rows(ACTIVITY, since=self.client.lookups.now())
        else:
            project = await self.client.names.project(args.project_id)
            record = await self.client.records.show(PROJECT, project, ("time_entry_activities",))
            rows = record.get("time_entry_activities") or []
        return self.answers.whole(ACTIVITY, (view(row) for row in rows))


async def activity(client: RedmineClient, wanted: IdOrName, project: int) -> int:
    """The id of an activity that the project has: it may have its own ones, and may have switched others off."""
    if isinstance(wanted, int):
        return wanted
    record = await client.records.show(PROJECT, project, ("time_entry_activities",))
    offered = record.get("time_entry_activities")
    if offered is None:
        return await client.names.id_of(ACTIVITY, wanted, "activity_id")
    candidates = [Candidate(id=row["id"], names=(row["name"],)) for row in offered]
    id_ = as_id(wanted)
    found = [one for one in candidates if one.id == id_] if id_ is not None else matching(str(wanted), candidates)
    if found:
        return only(found, ACTIVITY.noun, "activity_id")
    hint = f"Activities of this project: {', '.join(one.names[0] for one in candidates) or 'none'}."
    known = id_ in [row["id"] for row in await client.lookups.rows(ACTIVITY)] if id_ is not None else True
    if not known or not any(same(str(row["name"]), str(wanted)) for row in await client.lookups.rows(ACTIVITY)):
        raise absent(ACTIVITY.noun, "activity_id", candidates, ACTIVITY.finder)
    message = "Invalid value for parameter activity_id: the project has switched this activity off"
    raise ValidationError.of("activity_id", message, hint=hint)


TOOLS = (
    ListTimeEntries,
    ShowTimeEntry,
    CreateTimeEntry,
    UpdateTimeEntry,
    DeleteTimeEntry,
    ListTimeEntryActivities,
)
