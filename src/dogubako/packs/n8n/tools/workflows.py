"""List workflows, summarise one, show one node, and list connections."""

from typing import Annotated, Any, NamedTuple

from pydantic import Field

from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Guidance, Json, Message, NextPage, example_call
from dogubako.contract.tool import RawTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import GRAPH, unpublished_draft
from dogubako.packs.n8n.formatters import workflow as show
from dogubako.packs.n8n.models import WORKFLOW_ROW, page_schema
from dogubako.response.continuation import READ_MORE

WorkflowId = Annotated[
    str, Field(min_length=1, max_length=64, description="Workflow id, for example 'bFqp5KICynapnI7k'.")
]
NodeName = Annotated[str, Field(min_length=1, description="The node's name, as get_workflow lists it.")]
JsonObject = dict[str, Any]


class ListWorkflowsArgs(ToolArgs):
    active: bool | None = Field(None, description="Only published ones, or only those that are not.")
    tags: tuple[str, ...] = Field((), description="Only workflows that have all of these tags.")
    name: str | None = Field(None, description="Only workflows with this in the name.")
    projectId: str | None = Field(None, description="Only workflows of this project.")
    limit: int = Field(50, ge=1, le=250, description="How many at most.")
    cursor: str | None = Field(None, description="Where the page before ended: its nextCursor.")


class ListWorkflows(RawTool[ListWorkflowsArgs, JsonObject, N8nClient]):
    """List workflows: id, name, whether published, tags and size."""

    name = "list_workflows"
    effect = Effect.READ
    tags = ("workflows",)
    examples = (ToolExample(description="Everything that is switched on", parameters={"active": True}),)
    keywords = {
        "en": "which automations do I have; show all flows; find an automation by name; my bots; "
        "which ones are switched on; overview of processes; where is my workflow; list of flows",
        "ja": "どんな 自動化 フロー 一覧 全部 見せる 持っている 探す 動いている 有効な ワークフロー いくつ",
    }

    def output_schema(self) -> JsonObject:
        return page_schema("workflows", WORKFLOW_ROW)

    async def execute_core(self, args: ListWorkflowsArgs) -> JsonObject:
        filters = args.model_dump(exclude_none=True, exclude={"raw", "tags"})
        tags = {"tags": ",".join(args.tags)} if args.tags else {}
        return await self.client.workflows.page(**filters, **tags, excludePinnedData=True)

    def format_response(self, data: JsonObject, args: ListWorkflowsArgs, raw: bool) -> Json:
        workflows, cursor = data["data"], data.get("nextCursor")
        shown = data if raw else {"workflows": [show.row(one) for one in workflows], "nextCursor": cursor}
        message = Message(en=f"{len(workflows)} workflows found", ja=f"ワークフローを{len(workflows)}件取得しました")
        guidance = None
        if workflows:
            example = example_call("get_workflow", id=str(workflows[0]["id"]))
            guidance = Guidance(message="Look at one of them.", example=example)
        return Json(data=shown, message=message, guidance=guidance, count=len(workflows))


class GetWorkflowArgs(ToolArgs):
    id: WorkflowId


class WorkflowView(NamedTuple):
    """A workflow, and what is known of a draft that is not published."""

    workflow: JsonObject
    draft: JsonObject | None


class GetWorkflow(RawTool[GetWorkflowArgs, WorkflowView, N8nClient]):
    """Show the draft of a workflow: nodes, connections, settings, tags, and whether it differs from what runs."""

    name = "get_workflow"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {
        "en": "what does an automation do; open a flow; its steps; look inside a bot; "
        "explain this process; details of an automation; how is a flow built; "
        "read how the bot works inside",
        "ja": "ワークフロー フロー 内容 中身 何をしている 開く 見せる 手順 詳細 構成 説明 自動化 ノード 作り 仕組み",
    }

    async def execute_core(self, args: GetWorkflowArgs) -> WorkflowView:
        workflow = await self.client.workflows.get(args.id)
        return WorkflowView(workflow, await unpublished_draft(self.client, workflow))

    def format_response(self, data: WorkflowView, args: GetWorkflowArgs, raw: bool) -> Json:
        message = Message(en="Workflow overview", ja="ワークフローを取得しました")
        workflow = data.workflow
        if raw:
            return Json(data=_without_copy(workflow), message=message, page=_node_page(args))
        guidance = None
        if data.draft is not None:
            example = example_call("diff_workflow", id=str(workflow["id"]))
            guidance = Guidance(message="See how the draft differs from what is published.", example=example)
        elif workflow["nodes"]:
            example = example_call("get_workflow_node", id=str(workflow["id"]), nodeName=workflow["nodes"][-1]["name"])
            guidance = Guidance(message="See how a node is set up.", example=example)
        return Json(data=show.overview(workflow, data.draft), message=message, guidance=guidance)


def _without_copy(workflow: JsonObject) -> JsonObject:
    """n8n's answer without the nodes of the published version, which would fill half of it."""
    published = workflow.get("activeVersion")
    if not isinstance(published, dict):
        return workflow
    kept = {key: value for key, value in published.items() if key not in GRAPH}
    call = example_call("diff_workflow", id=str(workflow.get("id")))
    return {**workflow, "activeVersion": {**kept, "leftOut": f"{' and '.join(GRAPH)}; {call} compares them"}}


def _node_page(args: GetWorkflowArgs) -> NextPage:
    arguments = {"id": args.id, "raw": True}
    return NextPage(
        "nodes",
        lambda shown: example_call(READ_MORE, tool="get_workflow", arguments=arguments, path="nodes", offset=shown),
    )


class GetWorkflowNodeArgs(ToolArgs):
    id: WorkflowId
    nodeName: NodeName


class GetWorkflowNode(RawTool[GetWorkflowNodeArgs, JsonObject, N8nClient]):
    """Show one node of a workflow whole: parameters, credentials by name, and its neighbours."""

    name = "get_workflow_node"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {
        "en": "settings of one step; configuration of a node; look at a single block; "
        "parameters of that step; what is a node set to; how is a step configured; "
        "how is this step of my flow set up",
        "ja": "一つの ノード ステップ 設定 確認 パラメータ 中の 個別 設定値 ステップの設定 どうなってる",
    }

    async def execute_core(self, args: GetWorkflowNodeArgs) -> JsonObject:
        return await self.client.workflows.get(args.id)

    def format_response(self, data: JsonObject, args: GetWorkflowNodeArgs, raw: bool) -> Json:
        message = Message(en="Node of a workflow", ja="ノードを取得しました")
        if raw:
            return Json(data=show.find_node(data, args.nodeName), message=message)
        return Json(data=show.node_details(data, args.nodeName), message=message)


class GetWorkflowConnections(RawTool[GetWorkflowArgs, JsonObject, N8nClient]):
    """List every connection of a workflow: from which output of which node to which input of which."""

    name = "get_workflow_connections"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {
        "en": "how the steps are wired; what comes after what; which node feeds which; order of the steps; "
        "arrows between the boxes",
        "ja": "つながり 接続 配線 順番 どこから どこへ ノード同士 つながっている 次のステップ 線",
    }

    async def execute_core(self, args: GetWorkflowArgs) -> JsonObject:
        return await self.client.workflows.get(args.id)

    def format_response(self, data: JsonObject, args: GetWorkflowArgs, raw: bool) -> Json:
        message = Message(en="Connections of a workflow", ja="接続を取得しました")
        if raw:
            return Json(data=data.get("connections") or {}, message=message)
        connections = list(show.connections(data))
        connected = {name for one in connections for name in (one["from"], one["to"])}
        unconnected = [node["name"] for node in data["nodes"] if node["name"] not in connected]
        shown = {"workflowId": data["id"], "connections": connections, "unconnectedNodes": unconnected}
        shown |= show.draft_flag(data)
        return Json(data=shown, message=message, count=len(connections))


TOOLS = (ListWorkflows, GetWorkflow, GetWorkflowNode, GetWorkflowConnections)
