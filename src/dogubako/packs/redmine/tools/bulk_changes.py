"""Change many issues at once, after a preview."""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Message, example_call
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.all_rows import issues_by_id, too_many
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.bulk_plan import MOST_ISSUES, Plan, Planner
from dogubako.packs.redmine.bulk_write import BulkWriter, Result
from dogubako.packs.redmine.history import written_changes
from dogubako.packs.redmine.models import ISSUE, JsonObject, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.previews import KEPT_MINUTES, PlannedIssue
from dogubako.packs.redmine.tools.base import CustomFieldValues, Day, WritingTool
from dogubako.packs.redmine.tools.issue_changes import refuse_empty
from dogubako.packs.redmine.tools.issue_selection import FILTERS_HELP, Selection, issue_filters

BULK_CHANGE: Final = Kind(noun="bulk change", one="bulk_change", many="bulk_changes")


class IssueChanges(BaseModel):
    """The new values, the same for every issue. Null for none."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tracker_id: IdOrName | None = Field(None, description="Tracker, by id or name.")
    status_id: IdOrName | None = Field(None, description="Status, by id or name.")
    priority_id: IdOrName | None = Field(None, description="Priority, by id or name.")
    assigned_to_id: IdOrName | None = Field(None, description="Who: id, login, name or 'me'; null to unassign.")
    category_id: IdOrName | None = Field(None, description="Category, by id or name.")
    fixed_version_id: IdOrName | None = Field(None, description="Target version, by id or name.")
    parent_issue_id: int | None = Field(None, ge=1, description="Parent issue.")
    start_date: Day | None = Field(None, description="First day.")
    due_date: Day | None = Field(None, description="Due day.")
    estimated_hours: float | None = Field(None, ge=0, description="Estimated hours.")
    done_ratio: int | None = Field(None, ge=0, le=100, description="Per cent done.")
    is_private: bool | None = Field(None, description="Whether only some may see it.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields, as in update_issue.")
    notes: str | None = Field(None, min_length=1, description="A comment for each issue.")


class UpdateIssuesArgs(ToolArgs):
    ids: list[int] = Field(default_factory=list, description=f"Which issues, at most {MOST_ISSUES}; or give filters.")
    filters: dict[str, Any] = Field(default_factory=dict, description=f"Which issues, if not by ids. {FILTERS_HELP}")
    changes: IssueChanges
    dry_run: bool = Field(True, description="true: only show what would change. false: do it; needs preview.")
    preview: str | None = Field(
        None, min_length=1, description=f"With dry_run false: what the dry run returned, valid for {KEPT_MINUTES} min."
    )


class UpdateIssues(WritingTool[UpdateIssuesArgs]):
    """Change many issues alike. First a table of before and after; then, with its preview, the writing, verified."""

    name = "update_issues"
    kind = ISSUE
    act = "update"
    tags = ("issues",)
    timeout = 280_000
    talks = True
    examples = (
        ToolExample(
            description="See what moving all open issues of a version to the next one would do",
            parameters={
                "filters": {"project_id": "webshop", "fixed_version_id": "1.0", "status_id": "open"},
                "changes": {"fixed_version_id": "2.0"},
            },
        ),
    )
    keywords = {
        "en": "change many tickets at once; bulk edit; move all open tickets to the next version; "
        "reassign everything of somebody who leaves; close a list of bugs together; mass update; "
        "postpone all; give all tickets of somebody to another; "
        "shift everything open to the next release",
        "ja": "一括 まとめて 変更 全部 次のバージョン 移す 付け替え 担当替え 一斉に クローズ 複数 チケット 更新 "
        "全部移す",
    }

    async def work(self, args: UpdateIssuesArgs) -> Answered:
        changes = _changes(args)
        call = {"ids": args.ids, "filters": args.filters, "changes": changes}
        if not args.dry_run:
            return await self._write(args, call)
        rows = await self._rows(args)
        plan = await Planner(self.client, rows).plan(changes)
        return await self._previewed(args, call, rows, plan)

    async def _rows(self, args: UpdateIssuesArgs) -> list[JsonObject]:
        if not args.ids:
            return (await Selection(self.client).read(issue_filters(args.filters), most=MOST_ISSUES))[0]
        ids = list(dict.fromkeys(args.ids))
        if len(ids) > MOST_ISSUES:
            raise too_many(len(ids), MOST_ISSUES, ISSUE)
        found = await issues_by_id(self.client.records, ids)
        if missing := [id_ for id_ in ids if id_ not in found]:
            message = (
                f"Invalid value for parameter ids: {len(missing)} of {len(ids)} issues do not exist, or are hidden"
            )
            hint = f"Not found: {', '.join(map(str, missing[:20]))}. Nothing was changed."
            raise ValidationError.of("ids", message, hint=hint)
        return [found[id_] for id_ in ids]

    async def _previewed(
        self, args: UpdateIssuesArgs, call: JsonObject, rows: list[JsonObject], plan: Plan
    ) -> Answered:
        todo = [one for one in plan.issues if not one.refused and not one.unchanged]
        shown: JsonObject = {
            "dry_run": True,
            "would_change": len(todo),
            "unchanged": sum(one.unchanged for one in plan.issues),
            "would_be_refused": sum(bool(one.refused) for one in plan.issues),
        }
        if todo:
            token = await self.client.previews.save(call, self.context.caller.identity, plan.bodies, plan.issues)
            given = args.model_dump(exclude_unset=True, exclude={"dry_run", "preview"})
            shown |= {"preview": token, "valid_for_minutes": KEPT_MINUTES}
            shown["to_do_it"] = example_call(self.name, **given, dry_run=False, preview=token)
        shown["issues"] = await self._table(rows, plan, {one.id for one in todo})
        shown["refused"] = [_refused(one) for one in plan.issues if one.refused]
        message = Message(
            en=f"Nothing was changed yet; {len(todo)} of {len(rows)} issues would be",
            ja=f"まだ変更していません。{len(rows)}件中{len(todo)}件が変わります",
        )
        return self.answers.record(BULK_CHANGE, _filled(shown), message=message)

    async def _table(self, rows: list[JsonObject], plan: Plan, todo: set[int]) -> list[JsonObject]:
        table = []
        for row in rows:
            if row["id"] in todo:
                body = plan.bodies[str(row["project"]["id"])]
                lines = await written_changes(self.client.lookups, self.client.names, row, body)
                note = ["and a comment"] if "notes" in body else []
                table.append({"id": row["id"], "subject": row.get("subject"), "change": "; ".join([*lines, *note])})
        return table

    async def _write(self, args: UpdateIssuesArgs, call: JsonObject) -> Answered:
        if args.preview is None:
            hint = "Call it with dry_run: true first; its answer has the preview."
            raise ValidationError.of(
                "preview", "Invalid value for parameter preview: a dry run has to come first", hint=hint
            )
        preview = await self.client.previews.take(args.preview, call, self.context.caller.identity)

        async def progress(done: int, all_of_them: int) -> None:
            await self.context.progress(done, all_of_them, f"{done} of {all_of_them} issues")

        async with self.client.bulk:
            result = await BulkWriter(self.client, preview, progress).write()
        return self._answer(result)

    def _answer(self, result: Result) -> Answered:
        lists = {
            "refused": result.refused,
            "changed_meanwhile": result.changed_meanwhile,
            "also_changed": result.also_changed,
        }
        left_alone = len(result.refused) + len(result.changed_meanwhile) + len(result.not_tried)
        whole = len(result.changed) + left_alone
        if not result.changed:
            raise _nothing_done(result)
        shown = {"changed": len(result.changed), "not_changed": left_alone, **lists, "not_tried": result.not_tried}
        shown["stopped_by"] = result.stopped_by or None
        shown["changed_ids"] = ", ".join(map(str, result.changed))
        ending = "; the others are listed with the reason" if left_alone else ""
        message = Message(
            en=f"{len(result.changed)} of {whole} issues were changed{ending}",
            ja=f"{whole}件中{len(result.changed)}件を更新しました",
        )
        return self.answers.record(BULK_CHANGE, _filled(shown), message=message)


def _changes(args: UpdateIssuesArgs) -> JsonObject:
    """The changes as they were given. Contradictions are refused before any request."""
    if bool(args.ids) == bool(args.filters):
        raise ValidationError.of("ids", "Give either ids or filters")
    if any(id_ < 1 for id_ in args.ids):
        raise ValidationError.of("ids", "Invalid value for parameter ids: ids are positive numbers")
    changes = {key: value for key, value in args.changes.model_dump(exclude_unset=True).items() if value != []}
    if not changes:
        raise ValidationError.of("changes", "Nothing to change: name at least one field, or notes")
    refuse_empty(changes)
    if not changes.get("notes", "x").strip():
        raise ValidationError.of("notes", "Invalid value for parameter notes: it cannot be empty")
    return changes


def _refused(one: PlannedIssue) -> JsonObject:
    return {"id": one.id, "subject": one.subject, "reason": one.refused}


def _filled(shown: JsonObject) -> JsonObject:
    return {key: value for key, value in shown.items() if value not in ([], None)}


def _nothing_done(result: Result) -> ApiError:
    """An answer without one change must not look like a success."""
    rows = [*result.refused, *result.changed_meanwhile]
    told = "; ".join(f"#{one['id']}: {one['reason']}" for one in rows[:10])
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    if result.changed_meanwhile and not result.refused:
        told = f"somebody else has changed them since the preview: {told}"
    told = told or result.stopped_by or "nothing was to be changed"
    context = ApiErrorContext(operation="update issues", resource_type="Issue", error_details=told)
    hint = "A new dry run shows how they are now."
    return ApiError(f"No issue was changed: {told}{more}", context=context, hint=hint)


TOOLS = (UpdateIssues,)
