"""Copy workflows from one n8n to another, and name what the copy lacks there."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pydantic import Field

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.workflow_writer import WorkflowWriter

JsonObject = dict[str, Any]

_COPIED: Final = ("nodes", "connections", "pinData")
_SUB_WORKFLOW: Final = "workflowId"
_MOST_LOOKED_FOR: Final = 50
# Settings that name something of the instance that they come from.
_OF_ONE_INSTANCE: Final = ("errorWorkflow", "callerIds", "availableInMCP")


class CopyWorkflowArgs(ToolArgs):
    id: WorkflowId
    target: str = Field(min_length=1, max_length=32, description="The instance that gets the copy.")
    name: str | None = Field(None, min_length=1, description="Another name for the copy.")


class CopyWorkflow(BaseTool[CopyWorkflowArgs, N8nClient]):
    """Copy the draft of a workflow to another n8n, unpublished, and report what is missing there."""

    name = "copy_workflow"
    effect = Effect.WRITE
    tags = ("workflows",)
    between_instances = True
    keywords = {
        "en": "move an automation to production; bring a flow from test to live; "
        "transfer it to the other server; deploy from dev to prod; "
        "bring a bot over to another server",
        "ja": "本番に移す 別の環境 コピー 複製 移行 テスト環境から 転送 もう一つのサーバー 持っていく ステージング",
    }

    async def execute(self, args: CopyWorkflowArgs) -> Json:
        if args.target == getattr(args, "instance", None):
            raise ValidationError.of("target", "Invalid value for parameter target: it is where the workflow is")
        target: N8nClient = self.context.in_instance(args.target)
        source = await self.client.workflows.get(args.id, "copy workflow")
        existing = await target.lookups.credentials()
        nodes, lacking = _with_credentials_of(source.get("nodes") or [], existing)
        copy = {
            **{key: source[key] for key in _COPIED if source.get(key) is not None},
            "nodes": nodes,
            "name": args.name or source.get("name"),
            "settings": _portable(source.get("settings") or {}),
        }
        # What is missing there is told and can be added: the copy is a draft.
        outcome = await WorkflowWriter(target).create(copy, allow_invalid=True)
        facts = {
            "copied": {"from": args.id, "to": args.target, **_short(await offload_if_large(source, outcome.report))},
            "missing": {
                "credentials": lacking,
                "subWorkflows": await _missing_workflows(nodes, target),
                "settings": [key for key in _OF_ONE_INSTANCE if (source.get("settings") or {}).get(key)],
                "tags": [tag["name"] for tag in source.get("tags") or [] if isinstance(tag, Mapping) and "name" in tag],
            },
        }
        facts["missing"] = {key: value for key, value in facts["missing"].items() if value}
        example = example_call("get_workflow", id=str(outcome.workflow["id"]), instance=args.target)
        guidance = Guidance(message="See the copy. It is not published.", example=example)
        message = Message(en="Workflow copied", ja="ワークフローをコピーしました")
        return Json(data=facts, message=message, guidance=guidance)


def _with_credentials_of(
    nodes: Sequence[Any], existing: Sequence[Mapping[str, Any]]
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The nodes with credentials of the same type and name there, and those that there are none of."""
    known = {(str(one.get("type")), str(one.get("name"))): one for one in existing}
    copied, lacking = [], []
    for node in (node for node in nodes if isinstance(node, Mapping)):
        kept = {}
        for kind, used in (node.get("credentials") or {}).items():
            name = str(used.get("name")) if isinstance(used, Mapping) else ""
            there = known.get((kind, name))
            if there is None:
                lacking.append({"node": node.get("name"), "type": kind, "name": name})
            else:
                kept[kind] = {"id": there.get("id"), "name": name}
        without = {key: value for key, value in node.items() if key not in ("credentials", "webhookId")}
        copied.append({**without, **({"credentials": kept} if kept else {})})
    return copied, lacking


def _portable(settings: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in settings.items() if key not in _OF_ONE_INSTANCE}


async def _missing_workflows(nodes: Sequence[JsonObject], target: N8nClient) -> list[JsonObject]:
    """Sub-workflows that the nodes call by an id that the target does not have."""
    missing = []
    for called in islice(_called_workflows(nodes), _MOST_LOOKED_FOR):
        try:
            await target.workflows.get(called["id"], "copy workflow")
        except NotFoundError:
            missing.append(called)
    return missing


def _called_workflows(nodes: Sequence[JsonObject]) -> Iterator[JsonObject]:
    for node in nodes:
        parameters = node.get("parameters")
        used = parameters.get(_SUB_WORKFLOW) if isinstance(parameters, Mapping) else None
        id_ = used.get("value") if isinstance(used, Mapping) else used
        if isinstance(id_, str) and id_ and not id_.startswith("="):
            yield {"node": node.get("name"), "id": id_}


def _short(report: JsonObject) -> JsonObject:
    return {key: report[key] for key in ("id", "name", "versionId", "warnings", "differences") if report.get(key)}


TOOLS = (CopyWorkflow,)
