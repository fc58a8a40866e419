"""Time: who worked how long on what."""

from typing import Final

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.bodies import Bodies
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import ACTIVITY, ISSUE, PROJECT, TIME_ENTRY, Json
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.filters import DATE_HELP
from dogubako.packs.redmine.names.matching import IdOrName, as_id, same
from dogubako.packs.redmine.tools.arguments import CustomFieldValues, Day, Limit, Offset, ProjectId, RecordArgs
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool, changes, given, next_page, told

_SORTABLE: Final = ("spent_on", "created_on", "project", "user", "activity", "issue", "hours")


class ListTimeEntriesArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    issue_id: int | None = Field(None, ge=1, description="Only of this issue.")
    user_id: IdOrName | None = Field(None, description="Only of this user: id, login, name or 'me'; several as 'a|b'.")
    activity_id: IdOrName | None = Field(None, description="Only of this activity, by id or name; several as 'a|b'.")
    spent_on: str | None = Field(None, description=f"When: {DATE_HELP}.")
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
    keywords = {"ja": "作業時間 工数 一覧"}

    async def work(self, args: ListTimeEntriesArgs) -> Answered:
        names = self.client.names
        project = None if args.project_id is None else await names.project(args.project_id)
        params: Json = {"project_id": project, "issue_id": args.issue_id}
        if args.user_id is not None:
            params["user_id"] = await filters.person(names, args.user_id, "user_id", project)
        if args.activity_id is not None:
            params["activity_id"] = await filters.choice(names, ACTIVITY, args.activity_id, "activity_id")
        if args.spent_on is not None:
            params["spent_on"] = filters.dates(args.spent_on, "spent_on", past=True)
        if args.sort is not None:
            params["sort"] = filters.sort(args.sort, _SORTABLE)
        page = await self.client.records.page(TIME_ENTRY, **params, limit=args.limit, offset=args.offset)
        hours = round(sum(row.get("hours") or 0 for row in page.rows), 2)
        rows = (view(row) for row in page.rows)
        return self.answers.listing(TIME_ENTRY, rows, page, next_page(self.name, args), hours_on_this_page=hours)


class ShowTimeEntry(ReadingTool[RecordArgs]):
    """Show one time entry."""

    name = "show_time_entry"
    kind = TIME_ENTRY
    tags = ("time",)
    keywords = {"ja": "作業時間 詳細"}

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
    keywords = {"ja": "作業時間 工数 記録 登録"}

    async def work(self, args: CreateTimeEntryArgs) -> Answered:
        if (args.issue_id is None) == (args.project_id is None):
            raise ValidationError.of("issue_id", "Give either issue_id or project_id")
        project = await self._project(args)
        said = {key: value for key, value in given(args).items() if value is not None}
        said["activity_id"] = await activity(self.client, args.activity_id, project)
        fields = await self.client.names.custom_fields.of("time_entry", self._newest) if args.custom_fields else []
        body = await Bodies(self.client.names).of(said, project, fields)
        outcome = await self.client.writing.create(TIME_ENTRY, place("time_entries"), body, project=project)
        message = Message(en=f"Time entry {outcome.record['id']} was created", ja="作業時間を記録しました")
        return self.answers.record(TIME_ENTRY, view(outcome.record), message=message)

    async def _project(self, args: CreateTimeEntryArgs) -> int:
        if args.project_id is not None:
            return await self.client.names.project(args.project_id)
        assert args.issue_id is not None
        issue = await self.client.records.show(ISSUE, args.issue_id, asked=to("create", TIME_ENTRY, args.issue_id))
        return int(issue["project"]["id"])

    async def _newest(self) -> list[Json]:
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
    keywords = {"ja": "作業時間 修正"}

    async def work(self, args: UpdateTimeEntryArgs) -> Answered:
        said = changes(args)
        before = await self.client.records.show(TIME_ENTRY, args.id, asked=to("update", TIME_ENTRY, args.id))
        project = before["project"]["id"]
        if args.activity_id is not None:
            said["activity_id"] = await activity(self.client, args.activity_id, project)
        body = await Bodies(self.client.names).of(said, project, before.get("custom_fields") or [])
        outcome = await self.client.writing.update(TIME_ENTRY, before, body, project=project)
        message = Message(en=f"Time entry {args.id} was changed", ja="作業時間を更新しました")
        return self.answers.record(TIME_ENTRY, told(view(outcome.record), outcome), message=message)


class DeleteTimeEntry(DeletingTool[RecordArgs]):
    """Delete a time entry for good."""

    name = "delete_time_entry"
    kind = TIME_ENTRY
    tags = ("time",)
    keywords = {"ja": "作業時間 削除"}

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete time entry {args.id} for good."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(TIME_ENTRY, args.id, asked=to("delete", TIME_ENTRY, args.id))
        what = f"{one['hours']:g} hours of {one['user']['name']} on {one['spent_on']}"
        return f"This would delete time entry {args.id} ({what}) for good."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(TIME_ENTRY, args.id, asked=to("delete", TIME_ENTRY, args.id))
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
    keywords = {"ja": "作業分類 一覧"}

    async def work(self, args: ListTimeEntryActivitiesArgs) -> Answered:
        if args.project_id is None:
            rows = await self.client.lookups.rows(ACTIVITY, since=self.client.lookups.now())
        else:
            project = await self.client.names.project(args.project_id)
            found = await self.client.records.show(PROJECT, project, ("time_entry_activities",))
            rows = found.get("time_entry_activities") or []
        return self.answers.whole(ACTIVITY, (view(row) for row in rows))


async def activity(client: RedmineClient, wanted: IdOrName, project: int) -> int:
    """A project may have activities of its own, under ids of their own."""
    if (id_ := as_id(wanted)) is not None:
        return id_
    found = await client.records.show(PROJECT, project, ("time_entry_activities",))
    own = [row for row in found.get("time_entry_activities") or () if same(str(row["name"]), str(wanted))]
    return int(own[0]["id"]) if len(own) == 1 else await client.names.id_of(ACTIVITY, wanted, "activity_id")


TOOLS = (
    ListTimeEntries,
    ShowTimeEntry,
    CreateTimeEntry,
    UpdateTimeEntry,
    DeleteTimeEntry,
    ListTimeEntryActivities,
)
