"""Create, change, publish, unpublish, delete and tag workflows."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Message, Output
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.rewriting import Outcome, Rewriting, with_node_changes
from dogubako.packs.n8n.tools.workflows import GetWorkflowArgs, NodeName, WorkflowId

Json = dict[str, Any]
_NODES = "Nodes as n8n has them: name, type, typeVersion, position, parameters, and credentials by id and name."
_CONNECTIONS = "From a node's name, by type and output, to where it leads: {'A': {'main': [[{'node': 'B', …}]]}}."


class CreateWorkflowArgs(ToolArgs):
    name: str = Field(min_length=1, description="The workflow's name.")
    nodes: list[Json] = Field(description=_NODES)
    connections: Json = Field(default_factory=dict, description=_CONNECTIONS)
    settings: Json = Field(default_factory=dict, description="Settings of the workflow, for example executionOrder.")
    tags: tuple[str, ...] = Field((), description="Names of tags that exist.")


class CreateWorkflow(BaseTool[CreateWorkflowArgs, N8nClient]):
    """Create a workflow. It is not published; activate_workflow does that."""

    name = "create_workflow"
    effect = Effect.WRITE
    tags = ("workflows",)
    keywords = {"ja": "ワークフロー 作成"}

    async def execute(self, args: CreateWorkflowArgs) -> Output:
        outcome = await Rewriting(self.client).create(args.model_dump(exclude={"tags"}), args.tags)
        return created(outcome)


class NodeChange(BaseModel):
    """What to change in one node."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    nodeName: NodeName
    parameters: Json | None = Field(None, description="Parameters to set; the node's others stay as they are.")
    disabled: bool | None = Field(None, description="Whether the node is switched off.")
    onError: Literal["stopWorkflow", "continueRegularOutput", "continueErrorOutput"] | None = Field(
        None, description="What happens after an error."
    )
    credentials: Json | None = Field(None, description="Credentials by type: {'httpBasicAuth': {'id': …, 'name': …}}.")
    typeVersion: float | None = Field(None, description="Version of the node type.")
    notes: str | None = Field(None, description="A note for people.")


class UpdateWorkflowArgs(ToolArgs):
    id: WorkflowId
    name: str | None = Field(None, min_length=1, description="A new name.")
    updateNodes: list[NodeChange] = Field(
        default_factory=list, description="Changes to single nodes; all others stay as they are. Best for repairs."
    )
    nodes: list[Json] | None = Field(None, description=f"All nodes anew. {_NODES}")
    connections: Json | None = Field(None, description=f"All connections anew. {_CONNECTIONS}")
    settings: Json | None = Field(None, description="Settings to change; the others stay as they are.")


class UpdateWorkflow(BaseTool[UpdateWorkflowArgs, N8nClient]):
    """Change a workflow: what you name changes, all else stays. It is backed up first and compared afterwards."""

    name = "update_workflow"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows", "repair")
    examples = (
        ToolExample(
            description="Repair the code of one node",
            parameters={
                "id": "bFqp5KICynapnI7k",
                "updateNodes": [{"nodeName": "Code", "parameters": {"jsCode": "return $input.all();"}}],
            },
        ),
    )
    keywords = {"ja": "ワークフロー 更新 修正 変更"}

    async def execute(self, args: UpdateWorkflowArgs) -> Output:
        changes: Json = args.model_dump(exclude={"id", "updateNodes"}, exclude_none=True)
        if args.updateNodes and args.nodes is not None:
            message = "Invalid value for parameter updateNodes: give either updateNodes or nodes, not both"
            raise ValidationError.of("updateNodes", message)
        if args.updateNodes:
            workflow = await self.client.workflows.get(args.id, "update workflow")
            updates = [one.model_dump(exclude_none=True) for one in args.updateNodes]
            changes["nodes"] = with_node_changes(workflow, updates)
        if not changes:
            raise ValidationError.of("id", "Nothing to change: name at least one of name, updateNodes, nodes, settings")
        outcome = await Rewriting(self.client).replace(args.id, changes, "before update_workflow")
        return changed(outcome)


class ActivateWorkflow(BaseTool[GetWorkflowArgs, N8nClient]):
    """Publish a workflow: from now on its triggers and webhooks start it."""

    name = "activate_workflow"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows",)
    keywords = {"ja": "有効化 公開"}

    async def execute(self, args: GetWorkflowArgs) -> Output:
        await self.client.workflows.publish(args.id)
        return await _state(self.client, args.id, wanted=True)


class DeactivateWorkflow(BaseTool[GetWorkflowArgs, N8nClient]):
    """Unpublish a workflow: nothing starts it any more, and it can be deleted."""

    name = "deactivate_workflow"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows",)
    keywords = {"ja": "無効化 停止"}

    async def execute(self, args: GetWorkflowArgs) -> Output:
        await self.client.workflows.unpublish(args.id)
        return await _state(self.client, args.id, wanted=False)


class DeleteWorkflow(BaseTool[GetWorkflowArgs, N8nClient]):
    """Delete a workflow. A backup is kept; restore_workflow brings it back under a new id."""

    name = "delete_workflow"
    effect = Effect.DESTROY
    tags = ("workflows",)
    keywords = {"ja": "ワークフロー 削除"}

    def consequence(self, args: GetWorkflowArgs) -> str:
        return f"This would delete workflow '{args.id}' with the records of its executions. A backup of it is kept."

    async def execute(self, args: GetWorkflowArgs) -> Output:
        workflow = await self.client.workflows.get(args.id, "delete workflow")
        if workflow.get("active"):
            hint = f"Unpublish it first: {example_call('deactivate_workflow', id=args.id)}"
            context = ApiErrorContext(operation="delete workflow", resource_type="Workflow", resource_id=args.id)
            raise ApiError("Failed to delete workflow: it is published", status_code=409, context=context, hint=hint)
        backup = await self.client.backups.save(workflow, "before delete_workflow")
        await self.client.workflows.delete(args.id)
        example = example_call("restore_workflow", id=args.id, backup=backup.id)
        return Output(
            data={"id": args.id, "name": workflow.get("name"), "deleted": True, "backup": backup.id},
            message=Message(en="Workflow deleted", ja="ワークフローを削除しました"),
            guidance=Guidance(message="This would bring it back.", example=example),
        )


class SetWorkflowTagsArgs(ToolArgs):
    id: WorkflowId
    tags: tuple[str, ...] = Field(description="Names of the tags that the workflow shall have, all others go.")
    createMissing: bool = Field(False, description="Create tags that do not exist yet.")


class SetWorkflowTags(BaseTool[SetWorkflowTagsArgs, N8nClient]):
    """Set the tags of a workflow by their names."""

    name = "set_workflow_tags"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows", "tags")
    keywords = {"ja": "タグ 設定"}

    async def execute(self, args: SetWorkflowTagsArgs) -> Output:
        ids = await Rewriting(self.client).tag_ids(args.tags, create=args.createMissing)
        now = await self.client.workflows.set_tags(args.id, ids)
        names = sorted(str(tag.get("name")) for tag in now)
        return Output(data={"id": args.id, "tags": names}, message=Message(en="Tags set", ja="タグを設定しました"))


def created(outcome: Outcome) -> Output:
    example = example_call("activate_workflow", id=str(outcome.workflow["id"]))
    return Output(
        data=outcome.told(),
        message=Message(en="Workflow created", ja="ワークフローを作成しました"),
        guidance=Guidance(message="Publish it when it is ready.", example=example),
    )


def changed(outcome: Outcome) -> Output:
    workflow_id = str(outcome.workflow["id"])
    backup = {"backup": outcome.backup.id} if outcome.backup else {}
    example = example_call("restore_workflow", id=workflow_id, **backup)
    as_meant = not outcome.differences and not outcome.unrequested
    en = "Workflow updated" if as_meant else "Workflow updated, but n8n made something else of it: see the differences"
    ja = "ワークフローを更新しました" if as_meant else "ワークフローを更新しましたが、差異があります"
    return Output(
        data=outcome.told(),
        message=Message(en=en, ja=ja),
        guidance=Guidance(message="This would undo it.", example=example),
    )


async def _state(client: N8nClient, workflow_id: str, *, wanted: bool) -> Output:
    """What n8n says now, not what it was asked."""
    workflow = await client.workflows.get(workflow_id)
    active = bool(workflow.get("active"))
    if active is not wanted:
        raise ApiError(
            f"n8n took the request, but workflow '{workflow_id}' is {'still' if active else 'not'} published"
        )
    en, ja = (
        ("Workflow published", "ワークフローを公開しました")
        if active
        else (
            "Workflow unpublished",
            "ワークフローを非公開にしました",
        )
    )
    data = {"id": workflow_id, "name": workflow.get("name"), "active": active}
    return Output(data=data, message=Message(en=en, ja=ja))


TOOLS = (CreateWorkflow, UpdateWorkflow, ActivateWorkflow, DeactivateWorkflow, DeleteWorkflow, SetWorkflowTags)
