"""Notes in the history of issues: edit and delete."""

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import missing, place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import Undone
from dogubako.packs.redmine.models import ISSUE, NOTE, JsonObject
from dogubako.packs.redmine.tools.base import DeletingTool, WritingTool
from dogubako.packs.redmine.verification import one_line_end


class NoteArgs(ToolArgs):
    issue_id: int = Field(ge=1, description="Id of the issue.")
    id: int = Field(ge=1, description="Id of the journal with the note, as show_issue has it.")


class UpdateIssueNoteArgs(NoteArgs):
    notes: str = Field(min_length=1, description="The new text.")


class UpdateIssueNote(WritingTool[UpdateIssueNoteArgs]):
    """Change a note in the history of an issue. The text before is not kept."""

    name = "update_issue_note"
    keywords = {
        "en": "correct a comment that I wrote; fix a typo in a remark; change what was said on a ticket",
        "ja": "コメントを直す 修正 書き間違い 注記を変更 発言を訂正 メモを編集 書き直す",
    }
    kind = NOTE
    act = "update"
    idempotent = True
    tags = ("issues",)

    async def work(self, args: UpdateIssueNoteArgs) -> Answered:
        issue, journal = await _note(self.client, args)
        await _write(self.client, args, issue, args.notes)
        _, after = await _note(self.client, args)
        if one_line_end(after.get("notes") or "") != one_line_end(args.notes):
            undone = [Undone(field="notes", reason="the note has another text")]
            await self.client.writing.check(NOTE, "update", {}, {"id": args.id}, undone)
        message = Message(en=f"Note {args.id} was changed", ja="注記を更新しました")
        shown = {"id": args.id, "issue": {"id": args.issue_id}, "before": journal.get("notes"), "notes": after["notes"]}
        return self.answers.record(NOTE, shown, message=message)


class DeleteIssueNote(DeletingTool[NoteArgs]):
    """Delete a note from the history of an issue. Changes that were made with it stay in the history."""

    name = "delete_issue_note"
    keywords = {
        "en": "remove a comment from a ticket; take back a remark; erase what was said; take my comment back",
        "ja": "コメントを消す 注記を削除 取り消す 発言を消去 メモを消す 書き込みを削除",
    }
    kind = NOTE
    tags = ("issues",)

    def consequence(self, args: NoteArgs) -> str:
        return f"This would delete note {args.id} of issue {args.issue_id} for good."

    async def foresee(self, args: NoteArgs) -> str:
        _, journal = await _note(self.client, args)
        author = (journal.get("user") or {}).get("name")
        return f"This would delete note {args.id} of {author} ({len(journal.get('notes') or '')} characters) for good."

    async def work(self, args: NoteArgs) -> Answered:
        issue, journal = await _note(self.client, args)
        await _write(self.client, args, issue, "")
        after = await self.client.records.show(ISSUE, args.issue_id, ("journals",))
        kept = [one for one in after.get("journals") or () if one["id"] == args.id and one.get("notes")]
        if kept:
            undone = [Undone(field="id", reason="the note is still there")]
            await self.client.writing.check(NOTE, "delete", {}, {"id": args.id}, undone)
        message = Message(en=f"Note {args.id} was deleted", ja="注記を削除しました")
        return self.answers.done(NOTE, {"id": args.id, "issue": {"id": args.issue_id}, **_user(journal)}, message)


async def _note(client: RedmineClient, args: NoteArgs) -> tuple[JsonObject, JsonObject]:
    """The issue and the journal, which Redmine shows only with its issue."""
    issue = await client.records.show(ISSUE, args.issue_id, ("journals",))
    for journal in issue.get("journals") or ():
        if journal["id"] == args.id and journal.get("notes"):
            return issue, journal
    raise missing(to("show", NOTE, args.id), "show_issue has the ids of the notes.")


async def _write(client: RedmineClient, args: NoteArgs, issue: JsonObject, notes: str) -> None:
    operation, project = to("update", NOTE, args.id), issue["project"]["id"]
    body = {"journal": {"notes": notes}}
    await client.writing.sent("PUT", place("journals", args.id), operation, NOTE, "update", body, project)


def _user(journal: JsonObject) -> JsonObject:
    return {"user": journal["user"]} if journal.get("user") else {}


TOOLS = (UpdateIssueNote, DeleteIssueNote)
