"""Projects: list, show, create, update, close, archive and delete."""

from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import NotFoundError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused, Undone
from dogubako.packs.redmine.formatters import project_view
from dogubako.packs.redmine.models import ACTIVE, ARCHIVED, CLOSED, ISSUE, PROJECT, PROJECT_STATES, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.tools.base import (
    CustomFieldValues,
    DeletingTool,
    Limit,
    Offset,
    ProjectId,
    ReadingTool,
    WritingTool,
    changes,
    next_page,
    sent_arguments,
    with_unrequested,
)

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
    keywords = {
        "en": "which projects are there; all my projects; find a project by name; "
        "what are we working on; what is the company working on",
        "ja": "どんな 案件 プロジェクト 一覧 全部 見せる ある 探す",
    }

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
    keywords = {
        "en": "tell me about a project; overview and details of one project; its modules and trackers",
        "ja": "プロジェクト 案件 について 詳細 概要 説明 一つの",
    }

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
    keywords = {
        "en": "start a new project; set up a workspace for a customer; open a project for a campaign; "
        "a place for a new customer's tickets; start a project for a client",
        "ja": "新しい 案件 プロジェクト 立ち上げ 作る 開始 新規 始める 用意 作成",
    }

    async def work(self, args: CreateProjectArgs) -> Answered:
        arguments = {key: value for key, value in sent_arguments(args).items() if value is not None}
        fields = await self.client.names.custom_fields.of("project", lambda: self.client.lookups.rows(PROJECT))
        body = await Bodies(self.client.names).of(arguments, None, fields)
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
    keywords = {
        "en": "rename a project; make a project public or private; edit its description; change project settings",
        "ja": "プロジェクト 案件 名 変える 直す 公開 説明 変更 設定 書き換える 非公開 更新",
    }

    async def work(self, args: UpdateProjectArgs) -> Answered:
        arguments = changes(args)
        id_ = await self.client.names.project(args.id, "id")
        include = _read_back(arguments)
        before = await self.client.records.show(PROJECT, id_, include, operation=to("update", PROJECT, id_))
        body = await Bodies(self.client.names).of(arguments, id_, before.get("custom_fields") or [])
        await _see_parent(self.client, body)
        outcome = await self.client.writing.update(PROJECT, before, body, include=include, project=id_)
        message = Message(en=f"Project {id_} was changed", ja="プロジェクトを更新しました")
        return self.answers.record(PROJECT, with_unrequested(project_view(outcome.record), outcome), message=message)


class DeleteProject(DeletingTool[ProjectRecordArgs]):
    """Delete a project for good, with its subprojects, issues, time entries, wiki and files."""

    name = "delete_project"
    kind = PROJECT
    tags = ("projects",)
    keywords = {
        "en": "wipe a whole project; erase a project with everything in it",
        "ja": "プロジェクト 案件 丸ごと 消す 削除 完全に 全部 まるごと",
    }

    def consequence(self, args: ProjectRecordArgs) -> str:
        return "This would delete the project for good, with its subprojects, issues, time entries, wiki and files."

    async def foresee(self, args: ProjectRecordArgs) -> str:
        id_ = await self.client.names.project(args.id, "id")
        one = await self.client.records.show(PROJECT, id_, operation=to("delete", PROJECT, id_))
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


async def _see_parent(client: RedmineClient, body: JsonObject) -> None:
    """Check that the parent exists: Redmine fails otherwise."""
    if body.get("parent_id"):
        await client.records.show(PROJECT, body["parent_id"])


def _read_back(arguments: dict[str, object]) -> tuple[str, ...]:
    """The lists to include when reading back: only those that were sent."""
    wanted = {"tracker_ids": "trackers", "enabled_module_names": "enabled_modules"}
    wanted["issue_custom_field_ids"] = "issue_custom_fields"
    return tuple(include for field, include in wanted.items() if field in arguments)


Turn = Literal["close", "reopen", "archive", "unarchive"]
_STATE_AFTER: Final = {"close": CLOSED, "reopen": ACTIVE, "archive": ARCHIVED, "unarchive": ACTIVE}


class _StateTool(WritingTool[ProjectRecordArgs]):
    """Changes the state of a project, and verifies it."""

    kind = PROJECT
    idempotent = True
    tags = ("projects",)

    async def turned(self, args: ProjectRecordArgs, turn: Turn) -> Answered:
        id_ = await self.client.names.project_or_archived(args.id, "id")
        operation = to(turn, PROJECT, id_)
        await self.client.writing.sent("PUT", place("projects", id_, turn), operation, PROJECT, turn, None, id_)
        now, wanted = await self._now(id_), _STATE_AFTER[turn]
        state = int(now.get("status", 0))
        if state != wanted:
            reason = f"the project is {PROJECT_STATES.get(state, 'not visible')} now"
            undone = [Undone(field="status", reason=reason)]
            await self.client.writing.check(PROJECT, "update", {}, {"id": id_}, undone)
        shown = {"id": now["id"], "status": {"id": state, "name": PROJECT_STATES[state]}}
        message = Message(en=f"Project {now['id']} is {PROJECT_STATES[state]}", ja="プロジェクトの状態を変更しました")
        return self.answers.record(PROJECT, shown, message=message)

    async def _now(self, id_: IdOrName) -> JsonObject:
        """The project now. Redmine shows an archived project to nobody; 403 is the only sign of it."""
        try:
            return await self.client.records.show(PROJECT, id_)
        except RedmineRefused as refusal:
            if refusal.status_code == 403:
                return {"id": id_, "status": ARCHIVED}
            raise
        except NotFoundError:
            return {"id": id_}


class CloseProject(_StateTool):
    """Close a project: everything in it can be read, and nothing changed."""

    name = "close_project"
    act = "close"
    keywords = {
        "en": "make a project read only; freeze a finished project; lock it; end a project; "
        "the whole project is done; a project is over, freeze it",
        "ja": "閉じる 終了 読み取り専用 凍結 変更できない 案件 プロジェクト 終える 締める 読むだけ",
    }

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "close")


class ReopenProject(_StateTool):
    """Open a closed project again."""

    name = "reopen_project"
    act = "reopen"
    keywords = {
        "en": "unlock a closed project; work on a closed project again; make it writable; "
        "unlock a project that is read-only; continue in a closed project",
        "ja": "また使う 再開 閉じた 案件 開き直す 解除 プロジェクト もう一度 書き込めるように",
    }

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "reopen")


class ArchiveProject(_StateTool):
    """Archive a project with its subprojects: nobody can see them until they are unarchived."""

    name = "archive_project"
    act = "archive"
    keywords = {
        "en": "hide an old project; put a project away; nobody should see it any more; shelve a finished project",
        "ja": "しまう 隠す 見えなくする 終わった 案件 アーカイブ 片付ける 保管 プロジェクト 過去の",
    }

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "archive")


class UnarchiveProject(_StateTool):
    """Bring an archived project back."""

    name = "unarchive_project"
    act = "unarchive"
    keywords = {
        "en": "make a hidden project visible again; get a project back from the archive",
        "ja": "アーカイブ 戻す 見えるように しまった 案件 復活 隠した 元に 解除 プロジェクト アーカイブ解除",
    }

    async def work(self, args: ProjectRecordArgs) -> Answered:
        return await self.turned(args, "unarchive")


TOOLS = (
    ListProjects,
    ShowProject,
    CreateProject,
    UpdateProject,
    DeleteProject,
    CloseProject,
    ReopenProject,
    ArchiveProject,
    UnarchiveProject,
)
