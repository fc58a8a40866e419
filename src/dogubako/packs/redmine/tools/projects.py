"""Look at projects, create and change them, close and archive them."""

from typing import Final, Literal

from pydantic import Field

from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.bodies import Bodies
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import project_view
from dogubako.packs.redmine.models import ISSUE, PROJECT, Json
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.arguments import CustomFieldValues, Limit, Offset, ProjectId
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool, changes, given, next_page, told

Include = Literal["trackers", "issue_categories", "time_entry_activities", "enabled_modules", "issue_custom_fields"]
_ALL: Final = ("trackers", "issue_categories", "time_entry_activities", "enabled_modules")
_STATES: Final = {"active": "1", "closed": "5", "*": "1|5"}


class ListProjectsArgs(ToolArgs):
    status: Literal["active", "closed", "*"] = Field("*", description="Which: active, closed, or both ('*').")
    name: str | None = Field(None, min_length=1, description="Only with this text in the name.")
    include: tuple[Include, ...] = Field((), description="What to show in addition.")
    limit: Limit = 25
    offset: Offset = 0


class ListProjects(ReadingTool[ListProjectsArgs]):
    """List projects that you can see, closed ones too. Archived ones are never listed by Redmine."""

    name = "list_projects"
    kind = PROJECT
    act = "list"
    tags = ("projects",)
    keywords = {"ja": "プロジェクト 一覧"}

    async def work(self, args: ListProjectsArgs) -> Answered:
        page = await self.client.records.page(
            PROJECT,
            status=_STATES[args.status],
            name=f"~{args.name}" if args.name else None,
            include=",".join(args.include) or None,
            limit=args.limit,
            offset=args.offset,
        )
        rows = (project_view(row) for row in page.rows)
        return self.answers.listing(PROJECT, rows, page, next_page(self.name, args))


class ProjectRecordArgs(ToolArgs):
    id: ProjectId


class ShowProjectArgs(ProjectRecordArgs):
    include: tuple[Include, ...] = Field(_ALL, description="What to show with it.")


class ShowProject(ReadingTool[ShowProjectArgs]):
    """Show a project with its trackers, categories, activities and modules."""

    name = "show_project"
    kind = PROJECT
    tags = ("projects",)
    examples = (ToolExample(description="One project", parameters={"id": "webshop"}),)
    keywords = {"ja": "プロジェクト 詳細"}

    async def work(self, args: ShowProjectArgs) -> Answered:
        id_ = await self.client.names.project(args.id, "id")
        return self.answers.record(PROJECT, project_view(await self.client.records.show(PROJECT, id_, args.include)))


class ProjectFields(ToolArgs):
    description: str | None = Field(None, description="What it is about.")
    homepage: str | None = Field(None, description="Address of its web page.")
    is_public: bool | None = Field(None, description="Whether everybody may see it.")
    parent_id: ProjectId | None = Field(None, description="Parent project; null for none.")
    inherit_members: bool | None = Field(None, description="Whether it has the members of its parent.")
    tracker_ids: list[IdOrName] | None = Field(None, description="Trackers, by id or name.")
    enabled_module_names: list[str] | None = Field(None, description="Modules: 'issue_tracking', 'wiki', …")
    issue_custom_field_ids: list[int] | None = Field(None, description="Custom fields for its issues, by id.")
    default_version_id: IdOrName | None = Field(None, description="Default target version; null for none.")
    default_assigned_to_id: IdOrName | None = Field(None, description="Default assignee; null for none.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields of the project, by id.")


class CreateProjectArgs(ProjectFields):
    name: str = Field(min_length=1, max_length=255, description="Its name.")
    identifier: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$", description="Its name in addresses, for example 'web-shop'. It stays."
    )


class CreateProject(WritingTool[CreateProjectArgs]):
    """Create a project."""

    name = "create_project"
    kind = PROJECT
    act = "create"
    tags = ("projects",)
    keywords = {"ja": "プロジェクト 作成"}

    async def work(self, args: CreateProjectArgs) -> Answered:
        said = {key: value for key, value in given(args).items() if value is not None}
        fields = await self.client.names.custom_fields.of("project", lambda: self.client.lookups.rows(PROJECT))
        body = await Bodies(self.client.names).of(said, None, fields)
        await _see_parent(self.client, body)
        outcome = await self.client.writing.create(PROJECT, place("projects"), body, include=_read_back(body))
        message = Message(en=f"Project {outcome.record['id']} was created", ja="プロジェクトを作成しました")
        return self.answers.record(PROJECT, project_view(outcome.record), message=message)


class UpdateProjectArgs(ProjectRecordArgs, ProjectFields):
    name: str | None = Field(None, min_length=1, max_length=255, description="A new name.")


class UpdateProject(WritingTool[UpdateProjectArgs]):
    """Change a project. Only what you name changes."""

    name = "update_project"
    kind = PROJECT
    act = "update"
    tags = ("projects",)
    keywords = {"ja": "プロジェクト 更新 変更"}

    async def work(self, args: UpdateProjectArgs) -> Answered:
        said = changes(args)
        id_ = await self.client.names.project(args.id, "id")
        include = _read_back(said)
        before = await self.client.records.show(PROJECT, id_, include, asked=to("update", PROJECT, id_))
        body = await Bodies(self.client.names).of(said, id_, before.get("custom_fields") or [])
        await _see_parent(self.client, body)
        outcome = await self.client.writing.update(PROJECT, before, body, include=include, project=id_)
        message = Message(en=f"Project {id_} was changed", ja="プロジェクトを更新しました")
        return self.answers.record(PROJECT, told(project_view(outcome.record), outcome), message=message)


class DeleteProject(DeletingTool[ProjectRecordArgs]):
    """Delete a project for good, with its subprojects, issues, time entries, wiki and files."""

    name = "delete_project"
    kind = PROJECT
    tags = ("projects",)
    keywords = {"ja": "プロジェクト 削除"}

    def consequence(self, args: ProjectRecordArgs) -> str:
        return "This would delete the project for good, with its subprojects, issues, time entries, wiki and files."

    async def foresee(self, args: ProjectRecordArgs) -> str:
        id_ = await self.client.names.project(args.id, "id")
        one = await self.client.records.show(PROJECT, id_, asked=to("delete", PROJECT, id_))
        below = await self.client.records.page(PROJECT, status="1|5", parent_id=id_, limit=1)
        return (
            f"This would delete project {id_} ({one['name']}) for good, with {await self._issues(id_)}, "
            f"{below.total} subprojects, and all their time entries, wiki pages and files. "
            "archive_project only hides it."
        )

    async def _issues(self, project: int) -> str:
        try:
            page = await self.client.records.page(ISSUE, project_id=project, status_id="*", limit=1)
        except RedmineRefused:
            return "all its issues"
        return f"{page.total} issues"

    async def work(self, args: ProjectRecordArgs) -> Answered:
        id_ = await self.client.names.project_or_archived(args.id, "id")
        await self.client.writing.delete(PROJECT, id_, project=id_)
        return self.answers.done(
            PROJECT, {"id": id_}, Message(en=f"Project {id_} was deleted", ja="プロジェクトを削除しました")
        )


async def _see_parent(client: RedmineClient, body: Json) -> None:
    """Redmine falls over a parent that is not there."""
    if body.get("parent_id"):
        await client.records.show(PROJECT, body["parent_id"])


def _read_back(said: dict[str, object]) -> tuple[str, ...]:
    """Only what was asked for has to be read back, and lists of trackers and modules only on request."""
    wanted = {"tracker_ids": "trackers", "enabled_module_names": "enabled_modules"}
    wanted["issue_custom_field_ids"] = "issue_custom_fields"
    return tuple(include for field, include in wanted.items() if field in said)


TOOLS = (ListProjects, ShowProject, CreateProject, UpdateProject, DeleteProject)
