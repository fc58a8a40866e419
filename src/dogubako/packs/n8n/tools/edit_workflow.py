"""Change a workflow by operations, with a preview."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.edits.defaults import full_type
from dogubako.packs.n8n.edits.editor import WorkflowEditor
from dogubako.packs.n8n.edits.operations import Operation, check_fields, described
from dogubako.packs.n8n.formatters.diff import workflow_diff
from dogubako.packs.n8n.tools.change_messages import change_message, undo_guidance
from dogubako.packs.n8n.tools.workflow_changes import AllowInvalid, ExpectedVersion, Publish
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.workflow_change import Outcome, WorkflowChange
from dogubako.packs.n8n.workflow_writer import WorkflowWriter

JsonObject = dict[str, Any]

_OPERATIONS = (
    "All are applied in order, or none. Fields by op: "
    + described()
    + ". node, from, to: names of nodes. type: of the node ('set' or 'n8n-nodes-base.set'), credential or connection. "
    "path: 'options.timeout', 'values[0].name'. value: of the parameter; items to pin; a credential's id or name; "
    "new ends {to: 'B'} of a connection; null removes. addNode with from and to goes between them. "
    "removeNode joins its ends unless rewire is false."
)


class EditWorkflowArgs(ToolArgs):
    id: WorkflowId
    operations: Annotated[tuple[Operation, ...], Field(min_length=1, max_length=100, description=_OPERATIONS)]
    expectedVersionId: ExpectedVersion = None
    dryRun: bool = Field(False, description="Only show what would change.")
    allowInvalid: AllowInvalid = False
    publish: Publish = False


_GOING_LIVE = ("alsoPublished", "wouldAlsoPublish")


class EditWorkflow(BaseTool[EditWorkflowArgs, N8nClient]):
    """Change the draft of a workflow by small operations, and show the difference. Best for repairs and building."""

    name = "edit_workflow"
    keywords = {
        "en": "fix one step of an automation; change a setting of a node; "
        "add a step between two others; rename a step; connect two steps; switch a step off; "
        "build a flow piece by piece; swap one step for another; put a wait between two steps; "
        "use another login in a step; small change in a flow",
        "ja": "直す 修正 変更 ノードを追加 ステップ つなぐ 名前を変える 設定を変える 組み立てる 一部 差分 "
        "部分的に 待ち時間を入れる 入れ替える ステップを足す 差し替える",
    }
    effect = Effect.WRITE
    tags = ("workflows", "repair")
    examples = (
        ToolExample(
            description="Repair one parameter",
            parameters={
                "id": "bFqp5KICynapnI7k",
                "operations": [
                    {"op": "setParameter", "node": "HTTP Request", "path": "options.timeout", "value": 30000}
                ],
            },
        ),
        ToolExample(
            description="Put a node between two others, and look first",
            parameters={
                "id": "bFqp5KICynapnI7k",
                "operations": [{"op": "addNode", "name": "Wait", "type": "wait", "from": "Webhook", "to": "Send"}],
                "dryRun": True,
            },
        ),
    )

    async def execute(self, args: EditWorkflowArgs) -> Json:
        check_fields(args.operations)
        warnings: list[str] = []
        credentials = await self._credentials(args)
        versions = await self.client.nodes.versions_for_new(_types_without_version(args.operations))
        writer = WorkflowWriter(self.client)

        def edited(now: JsonObject) -> JsonObject:
            editor = WorkflowEditor(now, credentials, versions)
            changed = editor.apply(args.operations)
            warnings[:] = editor.loose_references()
            return changed

        change = WorkflowChange(
            workflow_id=args.id,
            change=edited,
            reason="before edit_workflow",
            expected_version=args.expectedVersionId,
            publish=args.publish,
            dry_run=args.dryRun,
            allow_invalid=args.allowInvalid,
            tag_ids=await self._tag_ids(args, writer),
        )
        return await self._report(await writer.apply(change), args, warnings)

    async def _credentials(self, args: EditWorkflowArgs) -> list[JsonObject]:
        wanted = any(one.op == "setCredential" and one.value is not None for one in args.operations)
        return await self.client.lookups.credentials() if wanted else []

    async def _tag_ids(self, args: EditWorkflowArgs, writer: WorkflowWriter) -> list[str] | None:
        """The ids of the tags that the last operation sets; None if there is none."""
        tags = [one.tags for one in args.operations if one.op == "setTags"]
        return await writer.tag_ids(tags[-1] or ()) if tags else None

    async def _report(self, outcome: Outcome, args: EditWorkflowArgs, warnings: list[str]) -> Json:
        after = outcome.workflow if outcome.written else outcome.meant
        diff = await offload_if_large(after, workflow_diff, outcome.before, after)
        told = await offload_if_large(after, outcome.report)
        kept = (
            "id",
            "name",
            "active",
            "versionId",
            "mergedWith",
            "savedSince",
            "takenBack",
            "publishedSince",
            "mayHaveBeenLive",
            "overwroteVersionId",
            "settingsPutBack",
            "unpublishedDraft",
            "wouldBeRefused",
            *_GOING_LIVE,
            "backup",
        )
        data = {key: told[key] for key in kept if key in told} | {"diff": diff}
        # Both lists are for what should alarm; an empty one would only cost tokens.
        data |= {key: told[key] for key in ("differences", "unrequested") if told[key]}
        found = [f"{one.get('node') or 'workflow'}: {one['message']}" for one in outcome.warnings]
        if warnings or found:
            data["warnings"] = [*warnings, *found]
        message = await offload_if_large(after, _message, outcome, args, bool(diff))
        return Json(data=data, message=message, guidance=await offload_if_large(after, _guidance, outcome))


def _types_without_version(operations: Sequence[Operation]) -> set[str]:
    added = [one for one in operations if one.op == "addNode" and not one.type_version]
    return {full_type(str(one.type)) for one in added}


_PREVIEW: Final = Message(en="Preview: nothing was saved", ja="プレビュー：保存していません")
_REFUSED_PREVIEW: Final = Message(
    en="Preview: this change would be refused (wouldBeRefused)",
    ja="プレビュー：この変更は拒否されます（wouldBeRefused）",
)


def _message(outcome: Outcome, args: EditWorkflowArgs, differs: bool) -> Message:
    if args.dryRun:
        return _REFUSED_PREVIEW if outcome.refused else _PREVIEW
    return change_message(outcome, differs=differs or outcome.retagged)


def _guidance(outcome: Outcome) -> Guidance | None:
    if not outcome.written or (undo := outcome.undo) is None:
        return None
    return undo_guidance(outcome, undo)


TOOLS = (EditWorkflow,)
