"""Change an issue: checked before, read back after."""

from typing import Final

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.bodies import Bodies
from dogubako.packs.redmine.errors import RedmineRefused, Undone
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import chosen, issue_view
from dogubako.packs.redmine.models import ISSUE, Json
from dogubako.packs.redmine.reasons import workflow_refusal
from dogubako.packs.redmine.tools.arguments import ProjectId, RecordArgs
from dogubako.packs.redmine.tools.base import WritingTool, given, told
from dogubako.packs.redmine.tools.issue_changes import READ_BACK, IssueFields, sent
from dogubako.packs.redmine.verifying import one_line_end, place_of

# Null means "none", and these cannot be none.
_NEVER_EMPTY: Final = (
    "subject",
    "tracker_id",
    "status_id",
    "priority_id",
    "project_id",
    "notes",
    "done_ratio",
    "is_private",
)
_ALWAYS_SHOWN: Final = ("subject", "status", "updated_on")


class UpdateIssueArgs(RecordArgs, IssueFields):
    subject: str | None = Field(None, min_length=1, max_length=255, description="A new subject.")
    project_id: ProjectId | None = Field(None, description="Move it to this project.")
    notes: str | None = Field(None, min_length=1, description="A comment for its history.")
    private_notes: bool = Field(False, description="Whether the comment is for those only who may see private notes.")


class UpdateIssue(WritingTool[UpdateIssueArgs]):
    """Change an issue or comment on it. Only what you name changes; it is read back and compared."""

    name = "update_issue"
    kind = ISSUE
    act = "update"
    tags = ("issues",)
    examples = (
        ToolExample(
            description="Give it to somebody and say why",
            parameters={"id": 1, "status_id": "In Progress", "assigned_to_id": "dev", "notes": "Please have a look."},
        ),
    )
    keywords = {"ja": "チケット 課題 更新 変更 コメント 担当者 ステータス"}

    async def work(self, args: UpdateIssueArgs) -> Answered:
        said = _said(args)
        before = await self.client.records.show(
            ISSUE, args.id, ("journals", *READ_BACK), asked=to("update", ISSUE, args.id)
        )
        project = before["project"]["id"]
        await self._keep_private(args, project)
        target = await self.client.names.project(args.project_id) if args.project_id is not None else project
        body = await Bodies(self.client.names).of(said, target, await self._fields(args, before, target))
        _check_status(body, before)
        if args.notes is not None and args.private_notes:
            body["private_notes"] = True
        return await self._changed(args, before, body, project)

    async def _changed(self, args: UpdateIssueArgs, before: Json, body: Json, project: int) -> Answered:
        writing = self.client.writing
        asked = to("update", ISSUE, args.id)
        await writing.sent("PUT", place("issues", args.id), asked, ISSUE, "update", {"issue": sent(body)}, project)
        after = await writing.read_back(ISSUE, "update", args.id, ("journals", *READ_BACK))
        outcome = await writing.compared(ISSUE, before, after, body, _note_lost(args, before, after))
        message = Message(en=f"Issue {args.id} was changed", ja="チケットを更新しました")
        return self.answers.record(ISSUE, told(_shown(after, body), outcome), message=message)

    async def _fields(self, args: UpdateIssueArgs, before: Json, project: int) -> list[Json]:
        """The issue's custom fields; another tracker or project brings others."""
        seen = before.get("custom_fields") or []
        if args.custom_fields and (args.tracker_id is not None or args.project_id is not None):
            seen = [*seen, *await self.client.names.custom_fields.of_issues(project)]
        return list({field["id"]: field for field in seen}.values())

    async def _keep_private(self, args: UpdateIssueArgs, project: int) -> None:
        """Without the permission Redmine would make the note public, for everybody to read."""
        if args.private_notes and not await self.client.access.holds("set_notes_private", project):
            asked = to("update", ISSUE, args.id)
            reason = (
                "your role lacks the permission set_notes_private, so the note would be public; nothing was written"
            )
            refusal = RedmineRefused(
                asked, reason, status=403, hint=await self.client.access.who_might("set_notes_private")
            )
            refusal.explained = True
            raise refusal


def _shown(after: Json, body: Json) -> Json:
    """What was asked for as it is now; show_issue has the rest."""
    fields = {place_of(field) for field in body if field not in ("description", "custom_fields")}
    asked = [field["id"] for field in body.get("custom_fields") or ()]
    return chosen(issue_view(after), {*fields, *_ALWAYS_SHOWN}, asked)


def _said(args: UpdateIssueArgs) -> Json:
    """What is to change. What makes no sense is refused before anybody is asked."""
    if args.private_notes and args.notes is None:
        raise ValidationError.of("private_notes", "Invalid value for parameter private_notes: there are no notes")
    said = {key: value for key, value in given(args, "id", "private_notes").items() if value != []}
    if not said:
        raise ValidationError.of("id", "Nothing to change: name at least one field, or notes")
    for field in _NEVER_EMPTY:
        if field in said and said[field] is None:
            raise ValidationError.of(field, f"Invalid value for parameter {field}: it cannot be empty")
    return said


def _check_status(body: Json, before: Json) -> None:
    """Refused before anything is written, where it is certain that the workflow would."""
    wanted, allowed = body.get("status_id"), before.get("allowed_statuses")
    may_differ = {"tracker_id", "project_id", "assigned_to_id"} & body.keys()
    if wanted is None or allowed is None or may_differ or wanted == before["status"]["id"]:
        return
    if wanted not in [status["id"] for status in allowed]:
        message = f"Invalid value for parameter status_id: {workflow_refusal(before)}"
        raise ValidationError.of("status_id", message, hint="Nothing was changed.")


def _note_lost(args: UpdateIssueArgs, before: Json, after: Json) -> list[Undone]:
    if args.notes is None:
        return []
    known = {journal["id"] for journal in before.get("journals") or ()}
    wanted = one_line_end(args.notes)
    for journal in after.get("journals") or ():
        if journal["id"] not in known and one_line_end(journal.get("notes") or "") == wanted:
            if bool(journal.get("private_notes")) == args.private_notes:
                return []
            return [Undone(field="private_notes", reason="the note can be read by everybody")]
    return [Undone(field="notes", reason="the comment is not in the issue's history")]


TOOLS = (UpdateIssue,)
