"""Categories of a project's issues."""

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import CATEGORY, ISSUE, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.tools.base import (
    DeletingTool,
    ProjectId,
    ReadingTool,
    RecordArgs,
    WritingTool,
    changes,
    sent_arguments,
    with_unrequested,
)


class ProjectArgs(ToolArgs):
    project_id: ProjectId


class ListIssueCategories(ReadingTool[ProjectArgs]):
    """List the issue categories of a project."""

    name = "list_issue_categories"
    kind = CATEGORY
    act = "list"
    tags = ("issues", "categories")
    keywords = {
        "en": "components that tickets are sorted into; categories of a project; "
        "which components can I file bugs under; components that a ticket can be filed under",
        "ja": "分類 カテゴリ 一覧 区分 選べる プロジェクトの",
    }

    async def work(self, args: ProjectArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        rows = await self._rows(project)
        return self.answers.whole(CATEGORY, (view(row) for row in rows))

    async def _rows(self, project: int) -> list[JsonObject]:
        """Categories with their assignees; users who do not manage categories see only the names."""
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
    keywords = {
        "en": "new category for tickets; add a component or area; another section to sort tickets into",
        "ja": "分類 カテゴリ 追加 増やす 新しい 区分 作る 設ける 作成",
    }

    async def work(self, args: CreateIssueCategoryArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        body = await Bodies(self.client.names).of(sent_arguments(args, "project_id"), project)
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
    keywords = {
        "en": "rename a category; another person is responsible for a component; call a category by another name",
        "ja": "分類 カテゴリ 名前 変える 担当 変更 直す",
    }

    async def work(self, args: UpdateIssueCategoryArgs) -> Answered:
        before = await self.client.records.show(CATEGORY, args.id, operation=to("update", CATEGORY, args.id))
        project = before["project"]["id"]
        body = await Bodies(self.client.names).of(changes(args), project)
        outcome = await self.client.writing.update(CATEGORY, before, body, project=project)
        message = Message(en=f"Category {args.id} was changed", ja="カテゴリを変更しました")
        return self.answers.record(CATEGORY, with_unrequested(view(outcome.record), outcome), message=message)


class DeleteIssueCategoryArgs(RecordArgs):
    reassign_to_id: IdOrName | None = Field(
        None, description="Category that gets its issues; without one they have none."
    )


class DeleteIssueCategory(DeletingTool[DeleteIssueCategoryArgs]):
    """Delete an issue category. Its issues stay, in another category or in none."""

    name = "delete_issue_category"
    kind = CATEGORY
    tags = ("issues", "categories")
    keywords = {
        "en": "remove a category nobody uses; drop a component",
        "ja": "分類 カテゴリ 消す 削除 使っていない なくす",
    }

    def consequence(self, args: DeleteIssueCategoryArgs) -> str:
        return f"This would delete category {args.id}; its issues stay."

    async def foresee(self, args: DeleteIssueCategoryArgs) -> str:
        one = await self.client.records.show(CATEGORY, args.id, operation=to("delete", CATEGORY, args.id))
        issues = await self.client.records.page(
            # Without a project Redmine ignores the filter by category, and counts all issues.
            ISSUE,
            project_id=one["project"]["id"],
            category_id=args.id,
            status_id="*",
            limit=1,
        )
        fate = "get another category" if args.reassign_to_id is not None else "lose their category"
        return f"This would delete category {args.id} ({one['name']}); its {issues.total} issues would {fate}."

    async def work(self, args: DeleteIssueCategoryArgs) -> Answered:
        one = await self.client.records.show(CATEGORY, args.id, operation=to("delete", CATEGORY, args.id))
        project = one["project"]["id"]
        heir = args.reassign_to_id
        to_id = None if heir is None else await self.client.names.id_of(CATEGORY, heir, "reassign_to_id", project)
        await self.client.writing.delete(CATEGORY, args.id, project=project, reassign_to_id=to_id)
        message = Message(en=f"Category {args.id} was deleted", ja="カテゴリを削除しました")
        return self.answers.done(CATEGORY, {"id": args.id, "name": one["name"]}, message)


TOOLS = (ListIssueCategories, CreateIssueCategory, UpdateIssueCategory, DeleteIssueCategory)
