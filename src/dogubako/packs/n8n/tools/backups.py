"""List, restore, export and import workflows."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import Field

from dogubako.contract.metadata import Effect
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import unpublished_draft
from dogubako.packs.n8n.formatters.workflow import draft_flag
from dogubako.packs.n8n.node_changes import OF_THE_INSTANCE, carried_nodes
from dogubako.packs.n8n.restoration import Restoration
from dogubako.packs.n8n.tools.workflow_changes import ExpectedVersion, Publish, changed, created
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.workflow_change import WorkflowChange, state_of
from dogubako.packs.n8n.workflow_writer import WorkflowWriter

FilePath = Annotated[
    str, Field(min_length=1, description="A JSON file with an exported workflow, below a folder of DOGUBAKO_FILES.")
]


class CreateWorkflowFromFileArgs(ToolArgs):
    path: FilePath
    name: str | None = Field(None, min_length=1, description="Another name than the one in the file.")


class CreateWorkflowFromFile(BaseTool[CreateWorkflowFromFileArgs, N8nClient]):
    """Create a workflow from an exported JSON file."""

    name = "create_workflow_from_file"
    effect = Effect.WRITE
    tags = ("workflows", "files")
    keywords = {
        "en": "import an automation from a json file; load an exported flow as a new one; "
        "upload a template from disk; bring in somebody's export",
        "ja": "取り込む インポート 読み込む ファイル から 作る JSON 書き出した エクスポート 新しく 登録 作成",
    }

    async def execute(self, args: CreateWorkflowFromFileArgs) -> Json:
        content = await self.client.files.read(args.path)
        name = args.name or content.get("name") or args.path
        # What is wrong in a file is told and can be mended here: its credentials may be of another instance.
        tags = _tags_in(content)
        here = {str(tag["name"]) for tag in await self.client.lookups.tags()} if tags else set()
        outcome = await WorkflowWriter(self.client).create(
            {**content, "name": name}, [tag for tag in tags if tag in here], allow_invalid=True
        )
        answer = await offload_if_large(outcome.workflow, created, outcome)
        missing = [tag for tag in tags if tag not in here]
        return msgspec.structs.replace(answer, data={**answer.data, "missingTags": missing}) if missing else answer


def _tags_in(content: Mapping[str, Any]) -> list[str]:
    """The names of the tags in a file, as n8n exports them; what has another shape is none."""
    tags = content.get("tags")
    named = [one.get("name") if isinstance(one, Mapping) else one for one in tags] if isinstance(tags, list) else []
    return [name for name in dict.fromkeys(named) if isinstance(name, str) and name]


class ReplaceWorkflowFromFileArgs(ToolArgs):
    id: WorkflowId
    path: FilePath
    expectedVersionId: ExpectedVersion = None
    publish: Publish = False


class ReplaceWorkflowFromFile(BaseTool[ReplaceWorkflowFromFileArgs, N8nClient]):
    """Replace the draft of a workflow with an exported JSON file. It is backed up first."""

    name = "replace_workflow_from_file"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows", "files")
    keywords = {
        "en": "overwrite an automation with a local json file; swap the contents for a file; "
        "upload my edited version of an existing flow",
        "ja": "上書き 差し替え 置き換え ファイル 手元 編集した 入れ替え 既存の フロー 更新 置換 インポート",
    }

    async def execute(self, args: ReplaceWorkflowFromFileArgs) -> Json:
        content = await self.client.files.read(args.path)
        kept: dict[str, list[str]] = {}
        change = WorkflowChange(
            workflow_id=args.id,
            change=lambda now: _replaced(now, content, kept),
            reason="before replace_workflow_from_file",
            expected_version=args.expectedVersionId,
            publish=args.publish,
            allow_invalid=True,
        )
        outcome = await WorkflowWriter(self.client).apply(change)
        return await offload_if_large(outcome.workflow, changed, outcome, kept)


_REPLACED = ("name", "nodes", "connections", "settings", "pinData", "nodeGroups", "description")


def _replaced(now: dict[str, Any], content: dict[str, Any], kept: dict[str, list[str]]) -> dict[str, Any]:
    """The file's content. Exports have no credentials of this instance, so nodes keep what the file leaves out."""
    meant = {**now, **{part: content[part] for part in _REPLACED if content.get(part) is not None}}
    meant["nodes"], carried = carried_nodes(content["nodes"], now, OF_THE_INSTANCE)
    kept.update(carried)
    meant["settings"] = {**(now.get("settings") or {}), **(content.get("settings") or {})}
    return meant


class ListWorkflowBackupsArgs(ToolArgs):
    id: WorkflowId | None = Field(None, description="Only backups of this workflow.")


class ListWorkflowBackups(BaseTool[ListWorkflowBackupsArgs, N8nClient]):
    """List the copies that were kept before workflows were changed or deleted, newest first."""

    name = "list_workflow_backups"
    effect = Effect.READ
    open_world = False
    tags = ("workflows", "backups")
    keywords = {
        "en": "saved old versions of automations; history of changes to a flow; earlier states; "
        "copies from before an edit; are there backups",
        "ja": "バックアップ 控え 前の版 古い版 履歴 コピー 残っている 以前の フロー 保存された 一覧",
    }

    async def execute(self, args: ListWorkflowBackupsArgs) -> Json:
        backups = await self.client.backups.of(args.id)
        guidance = None
        if backups:
            newest = backups[0]
            example = example_call("restore_workflow", id=newest.workflow_id, backup=newest.id, draftOnly=True)
            guidance = Guidance(message="This would bring the newest back as a draft.", example=example)
        message = Message(en=f"{len(backups)} backups", ja=f"バックアップ{len(backups)}件")
        rows = await offload_if_large([one.workflow for one in backups], lambda: [_row(one) for one in backups])
        return Json(data={"backups": rows}, message=message, guidance=guidance, count=len(backups))


class RestoreWorkflowArgs(ToolArgs):
    id: WorkflowId
    backup: str | None = Field(None, description="Its id; without it, the newest.")
    draftOnly: bool = Field(False, description="Not what is published, nor tags.")
    expectedVersionId: str | None = Field(None, description="Else it is a conflict.")


class RestoreWorkflow(BaseTool[RestoreWorkflowArgs, N8nClient]):
    """Bring back a workflow as it was: draft, published version and tags. A deleted one gets a new id."""

    name = "restore_workflow"
    # Not idempotent: restoring a deleted workflow twice creates it twice.
    effect = Effect.WRITE
    tags = ("workflows", "backups", "repair")
    keywords = {
        "en": "undo a change of an automation; bring back a deleted flow; roll back; "
        "go back to an earlier version; recover what I broke; as it was yesterday; "
        "get back a flow that I removed by accident",
        "ja": "元に戻す 復元 戻したい 取り消し 間違って 消した 復活 以前の状態 フロー 壊した 前の版 ロールバック "
        "間違って消した",
    }

    async def execute(self, args: RestoreWorkflowArgs) -> Json:
        backup = await self.client.backups.get(args.id, args.backup)
        async with self.client.locks.hold(backup.workflow_id):
            restored = await Restoration(
                self.client, backup, draft_only=args.draftOnly, expected_version=args.expectedVersionId
            ).run()
        workflow_id = str(restored.workflow["id"])
        facts: dict[str, Any] = {
            "id": workflow_id,
            "restoredFrom": backup.id,
            "savedAt": backup.saved_at,
            "versionId": restored.workflow.get("versionId"),
            "active": bool(restored.workflow.get("active")),
            "changed": restored.changed or None,
            "changedSince": restored.left or None,
            "warnings": restored.warnings or None,
            "differences": restored.differences,
            "unpublishedDraft": await unpublished_draft(self.client, restored.workflow),
            "newId": workflow_id if workflow_id != args.id else None,
            "backup": restored.replaced.id if restored.replaced else None,
        }
        en, ja = "Workflow restored", "ワークフローを復元しました"
        if restored.left:
            en, ja = (
                f"{en}, but for what somebody changed since (changedSince)",
                f"{ja}（後の変更を除く：changedSince）",
            )
        elif restored.differences:
            en = f"{en}, with differences"
        if live := await offload_if_large(restored.workflow, lambda: restored.went_live):
            en, ja = f"{en}. {live.en}", f"{ja}（{live.ja}）"
        return Json(
            data={key: value for key, value in facts.items() if value is not None},
            message=Message(en=en, ja=ja),
            guidance=Guidance(message="See it.", example=example_call("get_workflow", id=workflow_id)),
        )


def _row(backup: Backup) -> dict[str, Any]:
    return {
        "backup": backup.id,
        "workflowId": backup.workflow_id,
        "name": backup.workflow.get("name"),
        "savedAt": backup.saved_at,
        "reason": backup.reason,
        "nodes": len(backup.workflow.get("nodes") or []),
        **state_of(backup.workflow),
        **draft_flag(backup.workflow),
    }


TOOLS = (
    CreateWorkflowFromFile,
    ReplaceWorkflowFromFile,
    ListWorkflowBackups,
    RestoreWorkflow,
)
