"""Create, change, publish, unpublish, delete and tag workflows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ConflictError, ValidationError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import has_unpublished_changes, publish_unless_changed, unpublished_draft
from dogubako.packs.n8n.formatters.workflow import tag_names
from dogubako.packs.n8n.node_changes import carried_nodes, groups_of, with_node_changes
from dogubako.packs.n8n.tools.change_messages import change_message, undo_guidance
from dogubako.packs.n8n.tools.workflows import GetWorkflowArgs, NodeName, WorkflowId
from dogubako.packs.n8n.workflow_change import Outcome, WorkflowChange, changed_settings, requested_parts
from dogubako.packs.n8n.workflow_writer import WorkflowWriter, version_to_publish

JsonObject = dict[str, Any]
_DELETES = "before delete_workflow"
_NODES = "Nodes as n8n has them: name, type, typeVersion, position, parameters, and credentials by id and name."
ExpectedVersion = Annotated[
    str | None,
    Field(
        None,
        min_length=1,
        max_length=64,
        description="The versionId that you read: what was saved since is merged, or a conflict.",
    ),
]
Publish = Annotated[bool, Field(False, description="Also publish the result. Without it only the draft changes.")]
_CONNECTIONS = "From a node's name, by type and output, to where it leads: {'A': {'main': [[{'node': 'B', …}]]}}."


AllowInvalid = Annotated[bool, Field(description="Save it although validation finds errors.")]


class CreateWorkflowArgs(ToolArgs):
    name: str = Field(min_length=1, description="The workflow's name.")
    nodes: list[JsonObject] = Field(description=_NODES)
    connections: JsonObject = Field(default_factory=dict, description=_CONNECTIONS)
    settings: JsonObject = Field(
        default_factory=dict, description="Settings of the workflow, for example executionOrder."
    )
    tags: tuple[str, ...] = Field((), description="Names of tags that exist.")
    allowInvalid: AllowInvalid = False


class CreateWorkflow(BaseTool[CreateWorkflowArgs, N8nClient]):
    """Create a workflow. It is not published; activate_workflow does that."""

    name = "create_workflow"
    effect = Effect.WRITE
    tags = ("workflows",)
    keywords = {
        "en": "build a new automation; make a new flow; set up a bot; automate something; "
        "when this happens do that; design a process; connect two apps; "
        "send a message automatically; put together a workflow with steps; "
        "post or mail something automatically when something happens; "
        "I want a bot that tells me when something comes in",
        "ja": "新しい 自動化 作る 組む 作成 フロー 自動処理 新規 仕組み 自動で 送る 通知する 毎日 連携 構築 "
        "ワークフロー",
    }

    async def execute(self, args: CreateWorkflowArgs) -> Json:
        content = args.model_dump(exclude={"tags", "allowInvalid"})
        outcome = await WorkflowWriter(self.client).create(content, args.tags, allow_invalid=args.allowInvalid)
        return await offload_if_large(outcome.workflow, created, outcome)


class NodeChange(BaseModel):
    """What to change in one node."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    nodeName: NodeName
    parameters: JsonObject | None = Field(
        None, description="Parameters to set, merged by key at every level; all others stay as they are."
    )
    removeParameters: tuple[str, ...] = Field((), description="Parameters to remove, by path: 'options.timeout'.")
    disabled: bool | None = Field(None, description="Whether the node is switched off.")
    onError: Literal["stopWorkflow", "continueRegularOutput", "continueErrorOutput"] | None = Field(
        None, description="What happens after an error."
    )
    credentials: JsonObject | None = Field(
        None, description="Credentials by type: {'httpBasicAuth': {'id': …, 'name': …}}."
    )
    typeVersion: float | None = Field(None, description="Version of the node type.")
    notes: str | None = Field(None, description="A note for people.")


class UpdateWorkflowArgs(ToolArgs):
    id: WorkflowId
    name: str | None = Field(None, min_length=1, description="A new name.")
    updateNodes: list[NodeChange] = Field(
        default_factory=list, description="Changes to single nodes; all others stay as they are. Best for repairs."
    )
    nodes: list[JsonObject] | None = Field(None, description=f"All nodes anew. {_NODES}")
    connections: JsonObject | None = Field(None, description=f"All connections anew. {_CONNECTIONS}")
    settings: JsonObject | None = Field(None, description="Settings to change; the others stay as they are.")
    expectedVersionId: ExpectedVersion = None
    publish: Publish = False
    allowInvalid: AllowInvalid = False


class UpdateWorkflow(BaseTool[UpdateWorkflowArgs, N8nClient]):
    """Change the draft of a workflow: what you name changes, all else stays. It is backed up and read back."""

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
    keywords = {
        "en": "change an automation; edit a flow; rename it; add a step; adjust a node; "
        "use another address, time or schedule in it; modify a process; change the address in a step; "
        "use another schedule; replace a value in a node",
        "ja": "変更 編集 直す 修正 名前 変える ステップ 追加 自動化 宛先 フロー 時刻 設定 書き換える 改良 "
        "ワークフロー 更新",
    }

    async def execute(self, args: UpdateWorkflowArgs) -> Json:
        if args.updateNodes and args.nodes is not None:
            message = "Invalid value for parameter updateNodes: give either updateNodes or nodes, not both"
            raise ValidationError.of("updateNodes", message)
        changes: JsonObject = args.model_dump(include={"name", "nodes", "connections", "settings"}, exclude_none=True)
        if not changes and not args.updateNodes:
            raise ValidationError.of(
                "id", "Nothing to change: name at least one of name, updateNodes, nodes, connections, settings"
            )
        kept: dict[str, list[str]] = {}
        change = WorkflowChange(
            workflow_id=args.id,
            change=lambda now: _changed(now, changes, args.updateNodes, kept),
            reason="before update_workflow",
            expected_version=args.expectedVersionId,
            publish=args.publish,
            allow_invalid=args.allowInvalid,
        )
        outcome = await WorkflowWriter(self.client).apply(change)
        return await offload_if_large(outcome.workflow, changed, outcome, kept)


def _changed(
    now: JsonObject, changes: JsonObject, updates: Sequence[NodeChange], kept: dict[str, list[str]]
) -> JsonObject:
    """The workflow with named parts replaced, and with single nodes and settings merged into what is there."""
    meant = {**now, **changes}
    if "nodes" in changes:
        meant["nodes"], carried = carried_nodes(changes["nodes"], now)
        meant |= groups_of(now, meant["nodes"])
        kept.update(carried)
    if updates:
        meant["nodes"] = with_node_changes(now, [one.model_dump(exclude_none=True) for one in updates])
    if "settings" in changes:
        meant["settings"] = changed_settings(now, changes["settings"])
    return meant


class ActivateWorkflowArgs(GetWorkflowArgs):
    expectedVersionId: str | None = Field(None, description="Else it is a conflict.")


class ActivateWorkflow(BaseTool[ActivateWorkflowArgs, N8nClient]):
    """Publish the draft of a workflow: from now on its triggers and webhooks start it."""

    name = "activate_workflow"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows",)
    keywords = {
        "en": "turn on an automation; switch a flow on; enable it; make it live; go live; "
        "put into production; publish it; let it run by itself; start listening for events; "
        "unpause a bot; the bot is ready to work",
        "ja": "自動化 有効にする オンにする 動かし始める 公開する 本番にする 稼働 フロー 使い始める 再開する "
        "動くようにする 有効化 公開",
    }

    async def execute(self, args: ActivateWorkflowArgs) -> Json:
        async with self.client.locks.hold(args.id):
            before = await self.client.workflows.get(args.id, "activate workflow")
            if args.expectedVersionId not in (None, before.get("versionId")):
                message = f"Workflow '{args.id}' was changed since the expected version"
                call = example_call("get_workflow", id=args.id)
                raise ConflictError(message, hint=f"Nothing was published. See with {call} what would go live.")
            draft = await unpublished_draft(self.client, before)
            changes = not before.get("active") or draft is not None
            # Else the newest backup is from before an earlier change, and bringing that back undoes more than this.
            backup = (
                await self.client.backups.save(before, "before activate_workflow", ["published"]) if changes else None
            )
            version = version_to_publish(before)
            try:
                await publish_unless_changed(self.client, before, version)
            except (ApiError, ConflictError):
                if backup is not None:
                    await self.client.backups.discard(backup)
                raise
            return await state(self.client, before, wanted=True, backup=backup, draft=draft, version=version)


class DeactivateWorkflow(BaseTool[GetWorkflowArgs, N8nClient]):
    """Unpublish a workflow: nothing starts it any more, and it can be deleted."""

    name = "deactivate_workflow"
    effect = Effect.WRITE
    idempotent = True
    tags = ("workflows",)
    keywords = {
        "en": "turn off an automation; switch a flow off; disable it; pause a bot; take offline; "
        "it should not start any more; suspend for a while; unpublish; "
        "stop a workflow from being triggered; make a bot quit for now; no more firing; "
        "take it off the air",
        "ja": "自動化 止める 無効 オフ 停止 一時停止 休ませる 非公開 フロー 始まらないように 無効化 しばらく "
        "しばらく止めておく オフにする",
    }

    async def execute(self, args: GetWorkflowArgs) -> Json:
        async with self.client.locks.hold(args.id):
            before = await self.client.workflows.get(args.id, "deactivate workflow")
            live = await offload_if_large(before, has_unpublished_changes, before)
            # Nothing but the history holds the published version then, and a deletion takes that away.
            backup = await self.client.backups.save(before, "before deactivate_workflow") if live else None
            await self.client.workflows.unpublish(args.id)
            return await state(self.client, before, wanted=False, backup=backup)


class DeleteWorkflow(BaseTool[GetWorkflowArgs, N8nClient]):
    """Delete a workflow. A backup is kept; restore_workflow brings it back under a new id."""

    name = "delete_workflow"
    effect = Effect.DESTROY
    tags = ("workflows",)
    keywords = {
        "en": "get rid of an automation; throw a flow away; remove a bot for good; bin an old process; "
        "an automation is no longer needed",
        "ja": "ワークフロー フロー 自動化 消す 捨てる 削除 いらない 不要 使わない",
    }

    def consequence(self, args: GetWorkflowArgs) -> str:
        return f"This would delete workflow '{args.id}' with the records of its executions. A backup of it is kept."

    async def execute(self, args: GetWorkflowArgs) -> Json:
        async with self.client.locks.hold(args.id):
            return await self._delete(args)

    async def _delete(self, args: GetWorkflowArgs) -> Json:
        workflow = await self.client.workflows.get(args.id, "delete workflow")
        if workflow.get("active"):
            hint = f"Unpublish it first: {example_call('deactivate_workflow', id=args.id)}"
            context = ApiErrorContext(operation="delete workflow", resource_type="Workflow", resource_id=args.id)
            raise ApiError("Failed to delete workflow: it is published", status_code=409, context=context, hint=hint)
        backup = await self.client.backups.save(workflow, _DELETES)
        # Nobody can save an archived workflow: what is read now is what is deleted.
        await self._archived(args.id, archived=True)
        now = await self.client.workflows.get(args.id, "delete workflow")
        if await offload_if_large(now, requested_parts, workflow, now):
            older, backup = backup, await self.client.backups.save(now, _DELETES)
            await self.client.backups.discard(older)
        try:
            await self.client.workflows.delete(args.id)
        except ApiError:
            await self._archived(args.id, archived=False)
            raise
        example = example_call("restore_workflow", id=args.id, backup=backup.id)
        return Json(
            data={"id": args.id, "name": workflow.get("name"), "deleted": True, "backup": backup.id},
            message=Message(en="Workflow deleted", ja="ワークフローを削除しました"),
            guidance=Guidance(message="This would bring it back.", example=example),
        )

    async def _archived(self, workflow_id: str, *, archived: bool) -> None:
        # Older versions of n8n archive nothing.
        with suppress(ApiError):
            await self.client.workflows.archive(workflow_id, archived=archived)


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
    keywords = {
        "en": "label an automation; put a tag on a flow; categorise a bot; mark automations; change its labels",
        "ja": "タグ ラベル 付ける 印 分類 フロー つける 整理 目印 設定",
    }

    async def execute(self, args: SetWorkflowTagsArgs) -> Json:
        writer = WorkflowWriter(self.client)
        if args.createMissing:
            # No tag is created for a workflow that is not there.
            await self.client.workflows.get(args.id, "set tags of workflow")
        ids = await writer.tag_ids(args.tags, create=args.createMissing)
        change = WorkflowChange(
            workflow_id=args.id, change=lambda now: now, reason="before set_workflow_tags", tag_ids=ids
        )
        outcome = await writer.apply(change)
        undo = undo_guidance(outcome, outcome.undo) if outcome.undo else None
        facts = {
            "id": args.id,
            "tags": sorted(tag_names(outcome.workflow)),
            "unpublishedDraft": outcome.draft,
            "backup": outcome.backup.id if outcome.backup is not None else None,
        }
        message = Message(en="Tags set", ja="タグを設定しました")
        if outcome.written and {str(one.get("id")) for one in outcome.workflow.get("tags") or ()} != set(ids):
            message = Message(en="Somebody set other tags right after", ja="直後に別のタグが設定されました")
        return Json(data={key: one for key, one in facts.items() if one is not None}, message=message, guidance=undo)


def created(outcome: Outcome) -> Json:
    example = example_call("activate_workflow", id=str(outcome.workflow["id"]))
    return Json(
        data=outcome.report(),
        message=Message(en="Workflow created", ja="ワークフローを作成しました"),
        guidance=Guidance(message="Publish it when it is ready.", example=example),
    )


def changed(outcome: Outcome, kept: Mapping[str, Sequence[str]] | None = None) -> Json:
    data, message = outcome.report() | ({"kept": kept} if kept else {}), change_message(outcome)
    if not outcome.written:
        return Json(data=data, message=message)
    undo = outcome.undo or example_call("restore_workflow", id=str(outcome.workflow["id"]))
    return Json(data=data, message=message, guidance=undo_guidance(outcome, undo))


async def state(
    client: N8nClient,
    before: JsonObject,
    *,
    wanted: bool,
    backup: Backup | None = None,
    draft: JsonObject | None = None,
    version: str | None = None,
) -> Json:
    """The published state as n8n reports it now, and which version was published before; `draft` went live.

    `version` was published by us: somebody may have published another one since.
    """
    workflow = await client.workflows.get(str(before["id"]))
    active = bool(workflow.get("active"))
    if active is not wanted:
        raise ApiError(
            f"n8n took the request, but workflow '{before['id']}' is {'still' if active else 'not'} published"
        )
    published = Message(en="Workflow published", ja="ワークフローを公開しました")
    if before.get("active") and workflow.get("activeVersionId") == before.get("activeVersionId") is not None:
        published = Message(en="It was published already", ja="すでに公開されています")
    if active and version not in (None, workflow.get("activeVersionId")):
        published = Message(
            en="It was published, and somebody published another version right after (publishedVersionId)",
            ja="公開しましたが、直後に別の版が公開されました（publishedVersionId）",
        )
    unpublished = Message(en="Workflow unpublished", ja="ワークフローを非公開にしました")
    if not before.get("active"):
        unpublished = Message(en="It was not published", ja="公開されていません")
    facts = {
        "id": workflow["id"],
        "name": workflow.get("name"),
        "active": active,
        "publishedVersionId": workflow.get("activeVersionId"),
        "publishedBefore": before.get("activeVersionId"),
        "publishedDraft": {key: draft[key] for key in ("savedBy", "savedAt") if key in draft} if draft else None,
        "unpublishedDraft": await unpublished_draft(client, workflow),
        "backup": backup.id if backup else None,
    }
    data = {key: value for key, value in facts.items() if value is not None}
    return Json(data=data, message=published if active else unpublished)


TOOLS = (CreateWorkflow, UpdateWorkflow, ActivateWorkflow, DeactivateWorkflow, DeleteWorkflow, SetWorkflowTags)
