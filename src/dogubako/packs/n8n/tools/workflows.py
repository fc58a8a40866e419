"""Look at workflows: a list, one in short, one node, the connections."""

from typing import Annotated, Any

from pydantic import Field

from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Message, Output
from dogubako.contract.raw_tool import RawTool
from dogubako.contract.tool import ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters import workflow as show

WorkflowId = Annotated[
    str, Field(min_length=1, max_length=64, description="Workflow id, for example 'bFqp5KICynapnI7k'.")
]
NodeName = Annotated[str, Field(min_length=1, description="The node's name, as get_workflow lists it.")]
Json = dict[str, Any]


class ListWorkflowsArgs(ToolArgs):
    active: bool | None = Field(None, description="Only published ones, or only those that are not.")
    tags: tuple[str, ...] = Field((), description="Only workflows that have all of these tags.")
    name: str | None = Field(None, description="Only workflows with this name.")
    projectId: str | None = Field(None, description="Only workflows of this project.")
    limit: int = Field(50, ge=1, le=250, description="How many at most.")
    cursor: str | None = Field(None, description="Where the page before ended: its nextCursor.")


class ListWorkflows(RawTool[ListWorkflowsArgs, Json, N8nClient]):
    """List workflows: id, name, whether published, tags and size."""

    name = "list_workflows"
    effect = Effect.READ
    tags = ("workflows",)
    examples = (ToolExample(description="Everything that is switched on", parameters={"active": True}),)
    keywords = {"ja": "ワークフロー 一覧"}

    async def execute_core(self, args: ListWorkflowsArgs) -> Json:
        given = args.model_dump(exclude_none=True, exclude={"raw", "tags"})
        tags = {"tags": ",".join(args.tags)} if args.tags else {}
        return await self.client.workflows.page(**given, **tags, excludePinnedData=True)

    def format_response(self, data: Json, raw: bool) -> Output:
        found, cursor = data["data"], data.get("nextCursor")
        shown = data if raw else {"workflows": [show.row(one) for one in found], "nextCursor": cursor}
        message = Message(en=f"{len(found)} workflows found", ja=f"ワークフローを{len(found)}件取得しました")
        guidance = None
        if found:
            example = example_call("get_workflow", id=str(found[0]["id"]))
            guidance = Guidance(message="Look at one of them.", example=example)
        return Output(data=shown, message=message, guidance=guidance, count=len(found))


class GetWorkflowArgs(ToolArgs):
    id: WorkflowId


class GetWorkflow(RawTool[GetWorkflowArgs, Json, N8nClient]):
    """Show what a workflow is made of: its nodes, how they are connected, its settings and tags."""

    name = "get_workflow"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {"ja": "ワークフロー 構成 ノード"}

    async def execute_core(self, args: GetWorkflowArgs) -> Json:
        return await self.client.workflows.get(args.id)

    def format_response(self, data: Json, raw: bool) -> Output:
        message = Message(en="Workflow overview", ja="ワークフローを取得しました")
        if raw:
            return Output(data=data, message=message)
        guidance = None
        if data["nodes"]:
            example = example_call("get_workflow_node", id=str(data["id"]), nodeName=data["nodes"][-1]["name"])
            guidance = Guidance(message="See how a node is set up.", example=example)
        return Output(data=show.overview(data), message=message, guidance=guidance)


class GetWorkflowNodeArgs(ToolArgs):
    id: WorkflowId
    nodeName: NodeName


class GetWorkflowNode(RawTool[GetWorkflowNodeArgs, tuple[Json, str], N8nClient]):
    """Show one node of a workflow whole: parameters, credentials by name, and its neighbours."""

    name = "get_workflow_node"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {"ja": "ノード 設定 パラメータ"}

    async def execute_core(self, args: GetWorkflowNodeArgs) -> tuple[Json, str]:
        return await self.client.workflows.get(args.id), args.nodeName

    def format_response(self, data: tuple[Json, str], raw: bool) -> Output:
        workflow, name = data
        message = Message(en="Node of a workflow", ja="ノードを取得しました")
        if raw:
            return Output(data=show.find_node(workflow, name), message=message)
        return Output(data=show.node_details(workflow, name), message=message)


class GetWorkflowConnections(RawTool[GetWorkflowArgs, Json, N8nClient]):
    """List every connection of a workflow: from which output of which node to which input of which."""

    name = "get_workflow_connections"
    effect = Effect.READ
    tags = ("workflows",)
    keywords = {"ja": "接続 つながり"}

    async def execute_core(self, args: GetWorkflowArgs) -> Json:
        return await self.client.workflows.get(args.id)

    def format_response(self, data: Json, raw: bool) -> Output:
        message = Message(en="Connections of a workflow", ja="接続を取得しました")
        if raw:
            return Output(data=data.get("connections") or {}, message=message)
        found = list(show.connections(data))
        connected = {name for one in found for name in (one["from"], one["to"])}
        alone = [node["name"] for node in data["nodes"] if node["name"] not in connected]
        shown = {"workflowId": data["id"], "connections": found, "unconnectedNodes": alone}
        return Output(data=shown, message=message, count=len(found))


TOOLS = (ListWorkflows, GetWorkflow, GetWorkflowNode, GetWorkflowConnections)
