"""Backups of workflows: list them, and bring one back."""

from typing import Any

from pydantic import Field

from dogubako.contract.errors import NotFoundError
from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Message, Output
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.changes import differences
from dogubako.packs.n8n.rewriting import Rewriting, state_of
from dogubako.packs.n8n.tools.workflows import WorkflowId

_CONTENT = ("name", "nodes", "connections", "settings", "pinData")


class ListWorkflowBackupsArgs(ToolArgs):
    id: WorkflowId | None = Field(None, description="Only backups of this workflow.")


class ListWorkflowBackups(BaseTool[ListWorkflowBackupsArgs, N8nClient]):
    """List the copies that were kept before workflows were changed or deleted, newest first."""

    name = "list_workflow_backups"
    effect = Effect.READ
    open_world = False
    tags = ("workflows", "backups")
    keywords = {"ja": "バックアップ 一覧"}

    async def execute(self, args: ListWorkflowBackupsArgs) -> Output:
        found = await self.client.backups.of(args.id)
        guidance = None
        if found:
            example = example_call("restore_workflow", id=found[0].workflow_id, backup=found[0].id)
            guidance = Guidance(message="This would bring the newest back.", example=example)
        message = Message(en=f"{len(found)} backups", ja=f"バックアップ{len(found)}件")
        return Output(
            data={"backups": [_row(one) for one in found]}, message=message, guidance=guidance, count=len(found)
        )


class RestoreWorkflowArgs(ToolArgs):
    id: WorkflowId
    backup: str | None = Field(None, description="Which backup, by its id. Without it: the newest.")


class RestoreWorkflow(BaseTool[RestoreWorkflowArgs, N8nClient]):
    """Bring back a workflow as it was: content, tags and whether it was published. A deleted one gets a new id."""

    name = "restore_workflow"
    # Not idempotent: a deleted workflow that is brought back twice is there twice.
    effect = Effect.WRITE
    tags = ("workflows", "backups", "repair")
    keywords = {"ja": "復元 元に戻す"}

    async def execute(self, args: RestoreWorkflowArgs) -> Output:
        backup = await self.client.backups.get(args.id, args.backup)
        workflow_id, replaced = await self._write_back(backup)
        await self._set_state(workflow_id, backup)
        got = await self.client.workflows.get(workflow_id, "restore workflow")
        left = differences(_content(backup.workflow), _content(got))
        facts: dict[str, Any] = {
            "id": workflow_id,
            "restoredFrom": backup.id,
            "savedAt": backup.saved_at,
            "differences": left,
        }
        if workflow_id != args.id:
            facts["newId"] = workflow_id
        if replaced is not None:
            facts["backup"] = replaced
        en = "Workflow restored" if not left else "Workflow restored, with differences"
        return Output(
            data=facts,
            message=Message(en=en, ja="ワークフローを復元しました"),
            guidance=Guidance(message="See it.", example=example_call("get_workflow", id=workflow_id)),
        )

    async def _write_back(self, backup: Backup) -> tuple[str, str | None]:
        content = {key: backup.workflow.get(key) for key in _CONTENT}
        rewriting = Rewriting(self.client)
        try:
            outcome = await rewriting.replace(backup.workflow_id, content, "before restore_workflow")
        except NotFoundError:
            return str((await rewriting.create(content)).workflow["id"]), None
        return backup.workflow_id, outcome.backup.id if outcome.backup else None

    async def _set_state(self, workflow_id: str, backup: Backup) -> None:
        state, workflows = state_of(backup.workflow), self.client.workflows
        now = state_of(await workflows.get(workflow_id, "restore workflow"))
        if now["tags"] != state["tags"]:
            ids = await Rewriting(self.client).tag_ids(state["tags"], create=True)
            await workflows.set_tags(workflow_id, ids)
        if state["active"] and not now["active"]:
            await workflows.publish(workflow_id)
        elif now["active"] and not state["active"]:
            await workflows.unpublish(workflow_id)


def _content(workflow: dict[str, Any]) -> dict[str, Any]:
    return {**{key: workflow.get(key) for key in _CONTENT}, **state_of(workflow)}


def _row(backup: Backup) -> dict[str, Any]:
    return {
        "backup": backup.id,
        "workflowId": backup.workflow_id,
        "name": backup.workflow.get("name"),
        "savedAt": backup.saved_at,
        "reason": backup.reason,
        "nodes": len(backup.workflow.get("nodes") or []),
        **state_of(backup.workflow),
    }


TOOLS = (ListWorkflowBackups, RestoreWorkflow)
