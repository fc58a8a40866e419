"""Create, update, copy and delete issues."""

from typing import Final

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.errors import RedmineRefused, Undone
from dogubako.packs.redmine.formatters import chosen, issue_view
from dogubako.packs.redmine.models import ISSUE, TRACKER, JsonObject
from dogubako.packs.redmine.names.field_values import with_labels
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.preflight import descendants
from dogubako.packs.redmine.tools.base import (
    CustomFieldValues,
    Day,
    DeletingTool,
    ProjectId,
    RecordArgs,
    Uploads,
    WritingTool,
    sent_arguments,
    with_unrequested,
)
from dogubako.packs.redmine.transfer import Fit, with_cleared
from dogubako.packs.redmine.verification import one_line_end, place_of

READ_BACK: Final = ("children", "attachments", "watchers", "allowed_statuses")
_HIDDEN: Final = ("journals", "allowed_statuses", "children", "watchers")


class IssueFields(ToolArgs):
    """The fields that can be set on new and on existing issues."""

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


# Redmine gives a new issue one of these by itself, unless null says that it is to have none.
_HAS_A_DEFAULT: Final = ("start_date", "fixed_version_id")


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
    keywords = {
        "en": "report a bug; file a problem or defect; open a ticket; raise a request; add a task; "
        "put on the to-do list; feature request; something is broken, tell the developers; "
        "remind us to do something; make a new ticket; new bug; new task for somebody; "
        "add a to-do; write down what has to be done; file a ticket that something is broken; "
        "it does not work, please fix it",
        "ja": "バグ 不具合 報告 チケット 起票 新しい タスク やること 追加 課題 登録 要望 問題 作る 票を切る "
        "頼みたい 依頼 故障 作業 見つけた 作成 壊れた 故障した",
    }

    async def work(self, args: CreateIssueArgs) -> Answered:
        names = self.client.names
        project = await names.project(args.project_id)
        arguments = sent_arguments(args)
        arguments = {key: value for key, value in arguments.items() if value is not None or key in _HAS_A_DEFAULT}
        tracker = None if args.tracker_id is None else await names.id_of(TRACKER, args.tracker_id, "tracker_id")
        preflight = self.client.preflight
        example = await preflight.example_of_new(project, tracker, arguments.get("custom_fields") or ())
        fields = None if example is None else example.get("custom_fields") or []
        body = await Bodies(names).of(arguments, project, fields, example["id"] if example else None)
        await preflight.check_permissions(body, project, own=True, new=True)
        outcome = await self.client.writing.create(
            ISSUE, place("issues"), sent(body), include=READ_BACK, project=project
        )
        message = Message(en=f"Issue {outcome.record['id']} was created", ja="チケットを作成しました")
        return self.answers.record(
            ISSUE, with_unrequested(issue_view(outcome.record, without=_HIDDEN), outcome), message=message
        )


class CopyIssueArgs(RecordArgs):
    project_id: ProjectId | None = Field(None, description="Into this project; without it beside the original.")
    subject: str | None = Field(None, min_length=1, max_length=255, description="Another subject for the copy.")
    tracker_id: IdOrName | None = Field(None, description="Another tracker.")
    assigned_to_id: IdOrName | None = Field(None, description="Another assignee; null for none.")
    category_id: IdOrName | None = Field(None, description="Category; in another project none without it.")
    fixed_version_id: IdOrName | None = Field(None, description="Another target version; null for none.")
    start_date: Day | None = Field(None, description="Another first day; null for none.")
    due_date: Day | None = Field(None, description="Another due day; null for none.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Other custom field values.")
    copy_attachments: bool = Field(True, description="Whether the attachments are copied.")
    copy_subtasks: bool = Field(False, description="Whether its children are copied too.")
    link_copy: bool = Field(True, description="Whether the two become related.")


class CopyIssue(WritingTool[CopyIssueArgs]):
    """Copy an issue, into another project too. What the target cannot take is cleared and reported."""

    name = "copy_issue"
    kind = ISSUE
    act = "copy"
    tags = ("issues",)
    keywords = {
        "en": "duplicate a ticket; clone a task; make the same ticket again; use a ticket as a template",
        "ja": "複製 コピー チケット 写す 同じもの もう一つ 課題 雛形 クローン",
    }

    async def work(self, args: CopyIssueArgs) -> Answered:
        names = self.client.names
        include = ("children",) if args.copy_subtasks else ()
        original = await self.client.records.show(ISSUE, args.id, include, operation=to("copy", ISSUE, args.id))
        home = original["project"]["id"]
        arguments = sent_arguments(args, "id", "project_id", "copy_attachments", "copy_subtasks", "link_copy")
        arguments = {key: value for key, value in arguments.items() if value not in (None, []) or key in _CLEARABLE}
        project = await names.project(args.project_id) if args.project_id is not None else home
        fields = original.get("custom_fields") or None
        body = {"project_id": project, **await Bodies(names).of(arguments, project, fields, args.id)}
        cleared = await Fit(self.client.lookups, names).cleared(original, project) if project != home else {}
        body = with_cleared(body, cleared)
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
        return self.answers.record(ISSUE, _shown_copy(args, original, outcome.record, cleared), message=message)


_CLEARABLE: Final = ("assigned_to_id", "category_id", "fixed_version_id", "start_date", "due_date")


def _shown_copy(args: CopyIssueArgs, original: JsonObject, copy: JsonObject, cleared: JsonObject) -> JsonObject:
    """The copy, what was cleared in it, and how many children came along."""
    shown = issue_view(copy, without=_HIDDEN)
    if cleared:
        shown["cleared"] = list(cleared.values())
    if args.copy_subtasks:
        counts = [len(descendants(one.get("children") or [])) for one in (copy, original)]
        shown["copied_children"] = f"{counts[0]} of {counts[1]}"
    return shown


class DeleteIssue(DeletingTool[RecordArgs]):
    """Delete an issue for good, with its children and their time entries."""

    name = "delete_issue"
    kind = ISSUE
    tags = ("issues",)
    keywords = {
        "en": "erase a ticket; remove a bug or task completely; throw a ticket away; it was spam or a test",
        "ja": "チケット 課題 消す 削除 捨てる 迷惑 完全に 間違えて作った タスク 抹消",
    }

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete issue {args.id} for good, with its children and all their time entries."

    async def foresee(self, args: RecordArgs) -> str:
        issue = await self.client.records.show(
            ISSUE, args.id, ("children", "attachments"), operation=to("delete", ISSUE, args.id)
        )
        children = len(descendants(issue.get("children") or []))
        hours = issue.get("total_spent_hours")
        also = [
            f"its {children} children" if children else "",
            f"{hours:g} hours of logged time" if hours else "",
            f"{len(issue['attachments'])} attachments" if issue.get("attachments") else "",
        ]
        listed = ", ".join(part for part in also if part)
        return f"This would delete issue {args.id} ({issue['subject']}) for good{f', with {listed}' if listed else ''}."

    async def work(self, args: RecordArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.id, operation=to("delete", ISSUE, args.id))
        await self.client.writing.delete(ISSUE, args.id, project=issue["project"]["id"])
        message = Message(en=f"Issue {args.id} was deleted", ja="チケットを削除しました")
        return self.answers.done(ISSUE, {"id": args.id, "subject": issue["subject"]}, message)


def sent(body: JsonObject) -> JsonObject:
    """The body for Redmine: uploads in its form, and no fields of our own."""
    return {key: value for key, value in body.items() if value != []}


# Null means "none", which these cannot be.
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
_NO_CHANGES: Final = ("id", "private_notes", "expected_updated_on")
_ALWAYS_SHOWN: Final = ("subject", "status", "updated_on")


class UpdateIssueArgs(RecordArgs, IssueFields):
    subject: str | None = Field(None, min_length=1, max_length=255, description="A new subject.")
    project_id: ProjectId | None = Field(None, description="Move it to this project.")
    notes: str | None = Field(None, min_length=1, description="A comment for its history.")
    private_notes: bool = Field(False, description="Whether the comment is for those only who may see private notes.")
    expected_updated_on: str | None = Field(
        None, description="updated_on as you have read it; if somebody changed the issue since, nothing is written."
    )


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
    keywords = {
        "en": "assign a ticket to someone; hand a task over; close a ticket; "
        "it is fixed, done or resolved; comment on a bug; reply to a ticket; "
        "change the status or priority; move the deadline; reschedule a task; "
        "put in a milestone; start working on it; close a bug; mark a bug as fixed; "
        "move a ticket to another project; tell the others that I am working on it; "
        "make a ticket more urgent; change who is responsible; hand a ticket to somebody; "
        "tell them on the ticket that it is done; add a remark; we are done with it; "
        "bump a ticket to urgent",
        "ja": "担当 任せる 割り当て 終わった 完了 閉じる コメント 返信 期限 延ばす 状態 変更 優先度 上げる "
        "チケット 進行中 件 クローズ 解決 締め切り 変える 渡す "
        "書き込む 課題 更新 担当者 ステータス ひとこと 書いておく 至急に上げる",
    }

    async def work(self, args: UpdateIssueArgs) -> Answered:
        arguments = _changes(args)
        before = await self.client.records.show(
            ISSUE, args.id, ("relations", *READ_BACK), operation=to("update", ISSUE, args.id)
        )
        _check_unchanged(args, before)
        project = before["project"]["id"]
        await self._keep_private(args, project)
        target = await self.client.names.project(args.project_id) if args.project_id is not None else project
        fields = await self._fields(args, before, target)
        body = await Bodies(self.client.names).of(arguments, target, fields, args.id)
        await self.client.preflight.check_status(body, before)
        own = before.get("author", {}).get("id") == (await self.client.service.me())["id"]
        await self.client.preflight.check_permissions(body, project, own=own, new=False)
        if args.notes is not None and args.private_notes:
            body["private_notes"] = True
        return await self._changed(args, before, body, project)

    async def _changed(self, args: UpdateIssueArgs, before: JsonObject, body: JsonObject, project: int) -> Answered:
        writing = self.client.writing
        operation = to("update", ISSUE, args.id)
        await writing.sent("PUT", place("issues", args.id), operation, ISSUE, "update", {"issue": sent(body)}, project)
        # The history may be long, and is only needed to find the note in it.
        history = ("journals",) if args.notes is not None else ()
        after = await writing.read_back(ISSUE, "update", args.id, (*history, "relations", *READ_BACK))
        me = (await self.client.service.me())["id"]
        outcome = await writing.compared(ISSUE, before, after, body, _note_lost(args, before, after, me))
        message = Message(en=f"Issue {args.id} was changed", ja="チケットを更新しました")
        named = await self._with_labels(after, body)
        return self.answers.record(ISSUE, with_unrequested(_shown(named, body), outcome), message=message)

    async def _with_labels(self, after: JsonObject, body: JsonObject) -> JsonObject:
        """The issue with the names behind the custom field values that were written, which are ids."""
        ids = [field["id"] for field in body.get("custom_fields") or ()]
        fields = [field for field in after.get("custom_fields") or () if field["id"] in ids]
        shown = {**after, "custom_fields": fields}
        return (await with_labels(self.client.names, [shown], after["project"]["id"]))[0]

    async def _fields(self, args: UpdateIssueArgs, before: JsonObject, project: int) -> list[JsonObject]:
        """The issue's custom fields; another tracker or project has others."""
        seen = before.get("custom_fields") or []
        if args.custom_fields and (args.tracker_id is not None or args.project_id is not None):
            seen = [*seen, *await self.client.names.custom_fields.of_issues(project)]
        return list({field["id"]: field for field in seen}.values())

    async def _keep_private(self, args: UpdateIssueArgs, project: int) -> None:
        """Refuse a private note without the permission: Redmine would make it public."""
        if args.private_notes and not await self.client.access.holds("set_notes_private", project):
            operation = to("update", ISSUE, args.id)
            reason = (
                "your role lacks the permission set_notes_private, so the note would be public; nothing was written"
            )
            refusal = RedmineRefused(
                operation, reason, status=403, hint=await self.client.access.who_might("set_notes_private")
            )
            refusal.explained = True
            raise refusal


def _shown(after: JsonObject, body: JsonObject) -> JsonObject:
    """The requested fields with their current values; show_issue has the rest."""
    fields = {place_of(field) for field in body if field not in ("description", "custom_fields")}
    custom_field_ids = [field["id"] for field in body.get("custom_fields") or ()]
    return chosen(issue_view(after), {*fields, *_ALWAYS_SHOWN}, custom_field_ids)


def _changes(args: UpdateIssueArgs) -> JsonObject:
    """The requested changes. Contradictions are refused before any request."""
    if args.private_notes and args.notes is None:
        raise ValidationError.of("private_notes", "Invalid value for parameter private_notes: there are no notes")
    arguments = {key: value for key, value in sent_arguments(args, *_NO_CHANGES).items() if value != []}
    if not arguments:
        raise ValidationError.of("id", "Nothing to change: name at least one field, or notes")
    refuse_empty(arguments)
    return arguments


def refuse_empty(arguments: JsonObject) -> None:
    """Refuse null for fields that always have a value."""
    for field in _NEVER_EMPTY:
        if field in arguments and arguments[field] is None:
            raise ValidationError.of(field, f"Invalid value for parameter {field}: it cannot be empty")


def _check_unchanged(args: UpdateIssueArgs, before: JsonObject) -> None:
    """Refuse to overwrite what the caller has not seen."""
    expected = args.expected_updated_on
    if expected is not None and expected.strip() != before.get("updated_on"):
        reason = f"somebody else has changed it: it was last changed on {before.get('updated_on')}"
        hint = "Nothing was written. Read it again with show_issue, and decide anew."
        refusal = RedmineRefused(to("update", ISSUE, args.id), reason, status=409, hint=hint)
        refusal.explained = True
        raise refusal


def _note_lost(args: UpdateIssueArgs, before: JsonObject, after: JsonObject, me: int) -> list[Undone]:
    """Look for our note among those that are not older than the last change before."""
    if args.notes is None:
        return []
    wanted, since = one_line_end(args.notes), str(before.get("updated_on") or "")
    for journal in reversed(after.get("journals") or []):
        own = (journal.get("user") or {}).get("id") == me and str(journal.get("created_on") or "") >= since
        if own and one_line_end(journal.get("notes") or "") == wanted:
            if bool(journal.get("private_notes")) == args.private_notes:
                return []
            return [Undone(field="private_notes", reason="the note can be read by everybody")]
    return [Undone(field="notes", reason="the comment is not in the issue's history")]


TOOLS = (
    CreateIssue,
    CopyIssue,
    DeleteIssue,
    UpdateIssue,
)
