"""Create, copy and delete issues."""

from typing import Any, Final

from pydantic import Field

from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.bodies import Bodies
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import issue_view
from dogubako.packs.redmine.models import ISSUE, Json
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.arguments import CustomFieldValues, Day, ProjectId, RecordArgs, Uploads
from dogubako.packs.redmine.tools.base import DeletingTool, WritingTool, given, told

READ_BACK: Final = ("children", "attachments", "watchers", "allowed_statuses")
_HIDDEN: Final = ("journals", "allowed_statuses", "children", "watchers")


class IssueFields(ToolArgs):
    """What both a new and an old issue may be given."""

    tracker_id: IdOrName | None = Field(None, description="Tracker, by id or name.")
    status_id: IdOrName | None = Field(None, description="Status, by id or name.")
    priority_id: IdOrName | None = Field(None, description="Priority, by id or name.")
    description: str | None = Field(None, description="Description, in the markup of this Redmine.")
    category_id: IdOrName | None = Field(None, description="Category of the project, by id or name; null for none.")
    fixed_version_id: IdOrName | None = Field(None, description="Target version, by id or name; null for none.")
    assigned_to_id: IdOrName | None = Field(None, description="Who: id, login, name or 'me'; null to unassign.")
    parent_issue_id: int | None = Field(None, ge=1, description="Parent issue; null for none.")
    start_date: Day | None = Field(None, description="First day, for example '2026-11-15'; null for none.")
    due_date: Day | None = Field(None, description="Due day; null for none.")
    estimated_hours: float | None = Field(None, ge=0, description="Estimated hours; null for none.")
    done_ratio: int | None = Field(None, ge=0, le=100, description="Per cent done, in steps of ten.")
    is_private: bool | None = Field(None, description="Whether only some may see it.")
    custom_fields: CustomFieldValues = Field(
        default_factory=list, description="Custom fields: [{'name': 'Customer', 'value': 'ACME'}]."
    )
    uploads: Uploads = Field(default_factory=list, description="Files that upload_attachment has sent.")


class CreateIssueArgs(IssueFields):
    project_id: ProjectId
    subject: str = Field(min_length=1, max_length=255, description="One line that says what it is about.")
    watcher_user_ids: list[IdOrName] = Field(default_factory=list, description="Who is to be told of changes.")


class CreateIssue(WritingTool[CreateIssueArgs]):
    """Create an issue. What Redmine did not take is reported, and so is what it set by itself."""

    name = "create_issue"
    kind = ISSUE
    act = "create"
    tags = ("issues",)
    examples = (
        ToolExample(
            description="A bug for somebody",
            parameters={
                "project_id": "webshop",
                "tracker_id": "Bug",
                "subject": "Checkout fails",
                "assigned_to_id": "dev",
            },
        ),
    )
    keywords = {"ja": "チケット 課題 作成 登録 起票"}

    async def work(self, args: CreateIssueArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        said = {key: value for key, value in given(args).items() if value is not None}
        body = await Bodies(self.client.names).of(said, project)
        outcome = await self.client.writing.create(
            ISSUE, place("issues"), sent(body), include=READ_BACK, project=project
        )
        message = Message(en=f"Issue {outcome.record['id']} was created", ja="チケットを作成しました")
        return self.answers.record(ISSUE, told(issue_view(outcome.record, without=_HIDDEN), outcome), message=message)


class CopyIssueArgs(RecordArgs):
    project_id: ProjectId | None = Field(None, description="Into this project; without it beside the original.")
    subject: str | None = Field(None, min_length=1, max_length=255, description="Another subject for the copy.")
    tracker_id: IdOrName | None = Field(None, description="Another tracker.")
    assigned_to_id: IdOrName | None = Field(None, description="Another assignee.")
    category_id: IdOrName | None = Field(None, description="Category in another project; none without it.")
    copy_attachments: bool = Field(True, description="Whether the attachments are copied.")
    copy_subtasks: bool = Field(False, description="Whether its children are copied too.")
    link_copy: bool = Field(True, description="Whether the two become related.")


class CopyIssue(WritingTool[CopyIssueArgs]):
    """Copy an issue, into another project too."""

    name = "copy_issue"
    kind = ISSUE
    act = "copy"
    tags = ("issues",)
    keywords = {"ja": "チケット 課題 複製 コピー"}

    async def work(self, args: CopyIssueArgs) -> Answered:
        original = await self.client.records.show(ISSUE, args.id, asked=to("copy", ISSUE, args.id))
        home = original["project"]["id"]
        said = given(args, "id", "copy_attachments", "copy_subtasks", "link_copy")
        said = {key: value for key, value in said.items() if value is not None}
        project = await self.client.names.project(args.project_id) if args.project_id is not None else home
        if project != home and original.get("category"):
            # A category belongs to its project, and Redmine would refuse a copy that brings another's along.
            said = {"category_id": None, **said}
        body = {"project_id": project, **await Bodies(self.client.names).of(said, project)}
        flags = {name: "1" for name in ("copy_attachments", "copy_subtasks", "link_copy") if getattr(args, name)}
        outcome = await self.client.writing.create(
            ISSUE,
            place("issues"),
            body,
            include=("relations", *READ_BACK),
            project=home,
            act="copy",
            copy_from=args.id,
            **flags,
        )
        message = Message(en=f"Issue {outcome.record['id']} is a copy of issue {args.id}", ja="チケットを複製しました")
        return self.answers.record(ISSUE, issue_view(outcome.record, without=_HIDDEN), message=message)


class DeleteIssue(DeletingTool[RecordArgs]):
    """Delete an issue for good, with its children and their time entries."""

    name = "delete_issue"
    kind = ISSUE
    tags = ("issues",)
    keywords = {"ja": "チケット 課題 削除"}

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete issue {args.id} for good, with its children and all their time entries."

    async def foresee(self, args: RecordArgs) -> str:
        issue = await self.client.records.show(
            ISSUE, args.id, ("children", "attachments"), asked=to("delete", ISSUE, args.id)
        )
        children = sum(1 for _ in _descendants(issue.get("children") or []))
        hours = issue.get("total_spent_hours")
        also = [
            f"its {children} children" if children else "",
            f"{hours:g} hours of logged time" if hours else "",
            f"{len(issue['attachments'])} attachments" if issue.get("attachments") else "",
        ]
        listed = ", ".join(part for part in also if part)
        return f"This would delete issue {args.id} ({issue['subject']}) for good{f', with {listed}' if listed else ''}."

    async def work(self, args: RecordArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.id, asked=to("delete", ISSUE, args.id))
        await self.client.writing.delete(ISSUE, args.id, project=issue["project"]["id"])
        message = Message(en=f"Issue {args.id} was deleted", ja="チケットを削除しました")
        return self.answers.done(ISSUE, {"id": args.id, "subject": issue["subject"]}, message)


def _descendants(children: list[Json]) -> Any:
    for child in children:
        yield child
        yield from _descendants(child.get("children") or [])


def sent(body: Json) -> Json:
    """Uploads as Redmine wants them, and nothing that only we know."""
    return {key: value for key, value in body.items() if value != []}


TOOLS = (CreateIssue, CopyIssue, DeleteIssue)
