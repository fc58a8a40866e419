"""Categories of a project's issues."""

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.bodies import Bodies
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import CATEGORY, ISSUE, Json
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.arguments import ProjectId, RecordArgs
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool, changes, given, told


class ProjectArgs(ToolArgs):
    project_id: ProjectId


class ListIssueCategories(ReadingTool[ProjectArgs]):
    """List the issue categories of a project."""

    name = "list_issue_categories"
    kind = CATEGORY
    act = "list"
    tags = ("issues", "categories")
    keywords = {"ja": "カテゴリ 一覧"}

    async def work(self, args: ProjectArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        rows = await self._rows(project)
        return self.answers.whole(CATEGORY, (view(row) for row in rows))

    async def _rows(self, project: int) -> list[Json]:
        """With who gets their issues; those who do not manage categories are shown the names only."""
        try:
            return await self.client.records.all(CATEGORY, place("projects", project, "issue_categories"))
        except RedmineRefused as refusal:
            if refusal.status_code != 403:
                raise
            return await self.client.lookups.rows(CATEGORY, project, since=self.client.lookups.now())


class CreateIssueCategoryArgs(ProjectArgs):
    name: str = Field(min_length=1, max_length=60, description="Name of the category.")
    assigned_to_id: IdOrName | None = Field(None, description="Who gets its issues: id, login, name or 'me'.")


class CreateIssueCategory(WritingTool[CreateIssueCategoryArgs]):
    """Create an issue category in a project."""

    name = "create_issue_category"
    kind = CATEGORY
    act = "create"
    tags = ("issues", "categories")
    keywords = {"ja": "カテゴリ 作成"}

    async def work(self, args: CreateIssueCategoryArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        body = await Bodies(self.client.names).of(given(args, "project_id"), project)
        path = place("projects", project, "issue_categories")
        outcome = await self.client.writing.create(CATEGORY, path, body, project=project)
        message = Message(en=f"Category {outcome.record['id']} was created", ja="カテゴリを作成しました")
        return self.answers.record(CATEGORY, view(outcome.record), message=message)


class UpdateIssueCategoryArgs(RecordArgs):
    name: str | None = Field(None, min_length=1, max_length=60, description="A new name.")
    assigned_to_id: IdOrName | None = Field(None, description="Who gets its issues; null for nobody.")


class UpdateIssueCategory(WritingTool[UpdateIssueCategoryArgs]):
    """Rename an issue category, or let somebody else have its issues."""

    name = "update_issue_category"
    kind = CATEGORY
    act = "update"
    tags = ("issues", "categories")
    keywords = {"ja": "カテゴリ 変更"}

    async def work(self, args: UpdateIssueCategoryArgs) -> Answered:
        before = await self.client.records.show(CATEGORY, args.id, asked=to("update", CATEGORY, args.id))
        project = before["project"]["id"]
        body = await Bodies(self.client.names).of(changes(args), project)
        outcome = await self.client.writing.update(CATEGORY, before, body, project=project)
        message = Message(en=f"Category {args.id} was changed", ja="カテゴリを変更しました")
        return self.answers.record(CATEGORY, told(view(outcome.record), outcome), message=message)


class DeleteIssueCategoryArgs(RecordArgs):
    reassign_to_id: IdOrName | None = Field(
        None, description="Category that gets its issues; without one they have none."
    )


class DeleteIssueCategory(DeletingTool[DeleteIssueCategoryArgs]):
    """Delete an issue category. Its issues stay, in another category or in none."""

    name = "delete_issue_category"
    kind = CATEGORY
    tags = ("issues", "categories")
    keywords = {"ja": "カテゴリ 削除"}

    def consequence(self, args: DeleteIssueCategoryArgs) -> str:
        return f"This would delete category {args.id}; its issues stay."

    async def foresee(self, args: DeleteIssueCategoryArgs) -> str:
        one = await self.client.records.show(CATEGORY, args.id, asked=to("delete", CATEGORY, args.id))
        issues = await self.client.records.page(
            # Without a project Redmine knows no filter by category, and counts all issues.
            ISSUE,
            project_id=one["project"]["id"],
            category_id=args.id,
            status_id="*",
            limit=1,
        )
        fate = "get another category" if args.reassign_to_id is not None else "lose their category"
        return f"This would delete category {args.id} ({one['name']}); its {issues.total} issues would {fate}."

    async def work(self, args: DeleteIssueCategoryArgs) -> Answered:
        one = await self.client.records.show(CATEGORY, args.id, asked=to("delete", CATEGORY, args.id))
        project = one["project"]["id"]
        heir = args.reassign_to_id
        to_id = None if heir is None else await self.client.names.id_of(CATEGORY, heir, "reassign_to_id", project)
        await self.client.writing.delete(CATEGORY, args.id, project=project, reassign_to_id=to_id)
        message = Message(en=f"Category {args.id} was deleted", ja="カテゴリを削除しました")
        return self.answers.done(CATEGORY, {"id": args.id, "name": one["name"]}, message)


TOOLS = (ListIssueCategories, CreateIssueCategory, UpdateIssueCategory, DeleteIssueCategory)
