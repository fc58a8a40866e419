"""Versions of a workflow: list them, compare them, publish one, and archive the workflow."""

from typing import Annotated, Any

import msgspec
from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ConflictError, NotFoundError, NotFoundErrorContext
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.backups import Backup, is_backup_id
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import GRAPH, publish_unless_changed, published_graph, saved_draft
from dogubako.packs.n8n.formatters.diff import workflow_diff
from dogubako.packs.n8n.tools.workflow_changes import state
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.workflow_change import Outcome, WorkflowChange
from dogubako.packs.n8n.workflow_writer import WorkflowWriter

JsonObject = dict[str, Any]
VersionId = Annotated[str, Field(min_length=1, max_length=64, description="A versionId of workflow_history.")]
_BEFORE_PUBLISH = "before publish_version"
_SIDE = "'draft', 'published', a versionId, or a backup's id."


class WorkflowHistoryArgs(ToolArgs):
    id: WorkflowId
    limit: int = Field(20, ge=1, le=250, description="How many at most.")
    cursor: str | None = Field(None, description="Where the page before ended: its nextCursor.")


class WorkflowHistory(BaseTool[WorkflowHistoryArgs, N8nClient]):
    """List the versions of a workflow, newest first: who saved them, when, and which is draft or published."""

    name = "workflow_history"
    keywords = {
        "en": "who changed this automation and when; list of saved versions; "
        "what happened to the flow last week; log of edits",
        "ja": "変更履歴 誰が変えた いつ 版の一覧 更新の記録 過去の編集 ログ 保存の履歴",
    }
    effect = Effect.READ
    tags = ("workflows", "versions")

    async def execute(self, args: WorkflowHistoryArgs) -> Json:
        page = await self.client.workflows.history(args.id, args.limit, args.cursor)
        if page is None:
            context = ApiErrorContext(operation="list versions", resource_type="Workflow", resource_id=args.id)
            hint = "list_workflow_backups has the copies that we kept."
            raise ApiError(
                "This n8n has no history of versions in its API", status_code=404, context=context, hint=hint
            )
        workflow = await self.client.workflows.get(args.id)
        rows = [_row(version, workflow) for version in page["data"]]
        guidance = None
        if len(rows) > 1:
            example = example_call("diff_workflow", id=args.id, before=rows[1]["versionId"], after=rows[0]["versionId"])
            guidance = Guidance(message="See what the newest version changed.", example=example)
        data = {"versions": rows, "nextCursor": page.get("nextCursor")}
        message = Message(en=f"{len(rows)} versions", ja=f"バージョン{len(rows)}件")
        return Json(data=data, message=message, guidance=guidance, count=len(rows))


class DiffWorkflowArgs(ToolArgs):
    id: WorkflowId
    before: str = Field("published", min_length=1, max_length=64, description=_SIDE)
    after: str = Field("draft", min_length=1, max_length=64, description=_SIDE)


class DiffWorkflow(BaseTool[DiffWorkflowArgs, N8nClient]):
    """Show how two versions of a workflow differ. Without more: what publishing the draft would change."""

    name = "diff_workflow"
    keywords = {
        "en": "what changed between two versions; compare the draft with what is live; "
        "what would go live; before and after",
        "ja": "違い 差分 比較 何が変わった 比べる 下書きと公開 変更点 前後",
    }
    effect = Effect.READ
    tags = ("workflows", "versions")
    examples = (ToolExample(description="What would go live", parameters={"id": "bFqp5KICynapnI7k"}),)

    async def execute(self, args: DiffWorkflowArgs) -> Json:
        workflow = await self.client.workflows.get(args.id)
        before, after = [await self._side(workflow, args.id, side) for side in (args.before, args.after)]
        # Versions hold the graph only. What one side does not have is no difference.
        shared = [part for part in before if part in after]
        sides = [{part: side[part] for part in shared} for side in (before, after)]
        diff = await offload_if_large(workflow, workflow_diff, *sides)
        message = (
            Message(en="The two differ", ja="差分があります")
            if diff
            else Message(en="No difference", ja="差分はありません")
        )
        return Json(data={"id": args.id, "before": args.before, "after": args.after, "diff": diff}, message=message)

    async def _side(self, workflow: JsonObject, workflow_id: str, side: str) -> JsonObject:
        if side == "draft":
            return workflow
        if side == "published":
            graph = published_graph(workflow)
            if graph is None:
                context = NotFoundErrorContext(
                    operation="compare workflow", resource_type="Version", resource_id=workflow_id
                )
                hint = "Compare the draft with a version of workflow_history or with a backup."
                raise NotFoundError("Failed to compare: nothing is published", context=context, hint=hint)
            return graph
        if is_backup_id(side):
            return (await self.client.backups.get(workflow_id, side)).workflow
        version = await self.client.workflows.version(workflow_id, side)
        return {part: version.get(part) for part in GRAPH}


class PublishVersionArgs(ToolArgs):
    id: WorkflowId
    versionId: VersionId
    alsoDraft: bool = Field(False, description="Also make it the draft; the draft of now is backed up.")


class PublishVersion(BaseTool[PublishVersionArgs, N8nClient]):
    """Publish a chosen version of a workflow, for example to roll back. The draft stays unless you say otherwise."""

    name = "publish_version"
    keywords = {
        "en": "put an earlier version live; go back to last week's version in production; "
        "make this version the live one; go back to yesterday's version",
        "ja": "公開 本番に出す 前の版を公開 リリース 巻き戻す 本番 版を指定 切り戻し 昨日の版",
    }
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows", "versions", "repair")

    async def execute(self, args: PublishVersionArgs) -> Json:
        async with self.client.locks.hold(args.id):
            before = await self.client.workflows.get(args.id, "publish version")
            version = await self.client.workflows.version(args.id, args.versionId)
            is_live = before.get("active") and before.get("activeVersionId") == args.versionId
            backup = None if is_live else await self.client.backups.save(before, _BEFORE_PUBLISH)
            try:
                await publish_unless_changed(self.client, before, args.versionId)
            except (ApiError, ConflictError):
                if backup is not None:
                    await self.client.backups.discard(backup)
                raise
            change = _as_draft(before, version, backup)
            drafted = await self._replace_draft(change) if args.alsoDraft else None
            kept = drafted.backup if drafted is not None and drafted.written else backup
            answer = await state(self.client, before, wanted=True, backup=kept, version=args.versionId)
            return answer if drafted is None else await self._with_draft(answer, before, drafted, kept)

    async def _replace_draft(self, change: WorkflowChange) -> Outcome:
        try:
            return await WorkflowWriter(self.client).apply_locked(change)
        except ConflictError as error:
            error.hint = "The version is published. The draft is as somebody saved it meanwhile."
            raise

    async def _with_draft(self, answer: Json, before: JsonObject, drafted: Outcome, backup: Backup | None) -> Json:
        """The answer with the draft that there is now, the one that it replaced, and the call that undoes both."""
        data = {**answer.data, "versionId": drafted.workflow.get("versionId")}
        if drafted.written:
            data["replacedDraft"] = await saved_draft(self.client, drafted.before)
        guidance = None
        if backup is not None:
            expected = {"expectedVersionId": data["versionId"]} if data["versionId"] else {}
            example = example_call("restore_workflow", id=str(before["id"]), backup=backup.id, **expected)
            told = "It is the draft now, too. " if drafted.written else ""
            guidance = Guidance(message=f"{told}This would undo it.", example=example)
        return msgspec.structs.replace(answer, data=data, guidance=guidance)


def _as_draft(before: JsonObject, version: JsonObject, backup: Backup | None) -> WorkflowChange:
    """An older version as the draft, as it was. The backup, if there is one, is from before it went live."""
    graph: JsonObject = {part: version[part] for part in (*GRAPH, "nodeGroups") if part in version}
    return WorkflowChange(
        workflow_id=str(before["id"]),
        change=lambda now: {**now, **graph},
        reason=_BEFORE_PUBLISH,
        # What somebody saves from now on is merged, or is a conflict.
        expected_version=before.get("versionId"),
        allow_invalid=True,
        backup=backup,
    )


class ArchiveWorkflowArgs(ToolArgs):
    id: WorkflowId
    unarchive: bool = Field(False, description="Take it out of the archive again. It stays unpublished.")


class ArchiveWorkflow(BaseTool[ArchiveWorkflowArgs, N8nClient]):
    """Archive a workflow: it is unpublished and hidden, but nothing is lost. Safer than deleting it."""

    name = "archive_workflow"
    keywords = {
        "en": "put an automation away without deleting it; hide an old flow; shelve it; "
        "take it out of sight; bring it back from the archive",
        "ja": "アーカイブ しまう 隠す 使わない 保管 片付ける 非表示 書庫",
    }
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows",)

    async def execute(self, args: ArchiveWorkflowArgs) -> Json:
        wanted = not args.unarchive
        async with self.client.locks.hold(args.id):
            before = await self.client.workflows.get(args.id, "archive workflow")
            # To archive it unpublishes it. Without a backup, bringing back the newest would undo an earlier change.
            backup = (
                await self.client.backups.save(before, "before archive_workflow", ["published"])
                if wanted and before.get("active")
                else None
            )
            if bool(before.get("isArchived")) is not wanted:
                await self.client.workflows.archive(args.id, archived=wanted)
            now = await self.client.workflows.get(args.id, "archive workflow")
        archived = bool(now.get("isArchived"))
        if archived is not wanted:
            raise ApiError(
                f"n8n took the request, but workflow '{args.id}' is {'still' if archived else 'not'} archived"
            )
        facts = {"id": args.id, "name": now.get("name"), "archived": archived, "active": bool(now.get("active"))}
        facts |= {"backup": backup.id} if backup is not None else {}
        was = before.get("activeVersionId")
        if archived:
            message = Message(en="Workflow archived", ja="ワークフローをアーカイブしました")
            example = example_call("archive_workflow", id=args.id, unarchive=True)
            guidance = Guidance(message="This would bring it back, unpublished.", example=example)
            return Json(data=facts | ({"publishedBefore": was} if was else {}), message=message, guidance=guidance)
        if not before.get("isArchived"):
            return Json(data=facts, message=Message(en="It was not archived", ja="アーカイブされていません"))
        return Json(data=facts, message=Message(en="Workflow is back", ja="アーカイブから戻しました"))


def _row(version: JsonObject, workflow: JsonObject) -> JsonObject:
    facts = {
        "versionId": version["versionId"],
        "savedAt": version.get("createdAt"),
        "savedBy": version.get("authors"),
        "name": version.get("name"),
        "description": version.get("description"),
        "draft": version["versionId"] == workflow.get("versionId") or None,
        "published": version["versionId"] == workflow.get("activeVersionId") or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


TOOLS = (WorkflowHistory, DiffWorkflow, PublishVersion, ArchiveWorkflow)
