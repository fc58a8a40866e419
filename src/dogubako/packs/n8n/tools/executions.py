"""Look at executions: a list, one in short, one node of it, and where it went wrong."""

from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, Field

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Message, Output
from dogubako.contract.raw_tool import RawTool
from dogubako.contract.tool import ToolArgs
from dogubako.outbound.bounds import JSON_ANSWER
from dogubako.outbound.http import decode_json
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.diagnosis import Diagnosis
from dogubako.packs.n8n.formatters.node import NodeExecutionFormatter, Wanted
from dogubako.packs.n8n.formatters.summary import ExecutionFormatter
from dogubako.packs.n8n.formatters.times import milliseconds_between
from dogubako.packs.n8n.models import Execution

ExecutionId = Annotated[str, Field(min_length=1, max_length=64, description="Execution id, for example '1042'.")]
Status = Literal["canceled", "crashed", "error", "new", "running", "success", "unknown", "waiting"]

# What lets somebody go on with a waiting execution, or read its credentials, is nobody's business.
_SECRET_KEYS = ("resumeToken", "credentials")
_LESS: Final = "Leave out raw: get_execution summarises it, get_execution_by_node shows one node page by page."


class ListExecutionsArgs(ToolArgs):
    workflowId: str | None = Field(None, description="Only executions of this workflow.")
    status: Status | None = Field(None, description="Only executions with this status.")
    startedAfter: AwareDatetime | None = Field(
        None, description="Only those that started after this moment.", examples=["2026-11-15T00:00:00Z"]
    )
    startedBefore: AwareDatetime | None = Field(
        None, description="Only those that started before this moment.", examples=["2026-11-16T00:00:00Z"]
    )
    limit: int = Field(20, ge=1, le=250, description="How many at most; those that are still running come on top.")
    cursor: str | None = Field(None, description="Where the page before ended: its nextCursor.")


class ListExecutions(RawTool[ListExecutionsArgs, dict[str, Any], N8nClient]):
    """List executions, newest first: id, workflow, status and times. Start here to find a failed one."""

    name = "list_executions"
    effect = Effect.READ
    tags = ("executions",)
    examples = (ToolExample(description="The last failures", parameters={"status": "error", "limit": 5}),)
    keywords = {"ja": "実行 一覧 失敗 履歴"}

    async def execute_core(self, args: ListExecutionsArgs) -> dict[str, Any]:
        given = args.model_dump(mode="json", exclude_none=True, exclude={"raw"})
        return {"asked": given, **await self.client.executions.page(**given)}

    def format_response(self, data: dict[str, Any], raw: bool) -> Output:
        asked = data.pop("asked")
        found, cursor = data["data"], data.get("nextCursor")
        shown = data if raw else {"executions": [_row(one) for one in found], "nextCursor": cursor}
        message = Message(en=f"{len(found)} executions found", ja=f"実行を{len(found)}件取得しました")
        return Output(data=shown, message=message, guidance=_next_step(found, cursor, asked), count=len(found))


class GetExecutionArgs(ToolArgs):
    id: ExecutionId


class GetExecution(RawTool[GetExecutionArgs, Execution, N8nClient]):
    """Summarise one execution: status, timing, the error itself, and what each node did. Never large."""

    name = "get_execution"
    effect = Effect.READ
    tags = ("executions",)
    examples = (ToolExample(description="One execution in short", parameters={"id": "1042"}),)
    keywords = {"ja": "実行 概要 サマリー エラー"}

    async def execute_core(self, args: GetExecutionArgs) -> Execution:
        return await self.client.executions.get(args.id)

    def format_response(self, data: Execution, raw: bool) -> Output:
        message = Message(en="Execution summary", ja="実行サマリーを取得しました")
        if raw:
            return Output(data=received(data), message=message)
        formatter = ExecutionFormatter(data)
        summary, guidance = formatter.format_summary(), formatter.guidance()
        return Output(data=summary, message=message, guidance=guidance)


class GetExecutionByNodeArgs(ToolArgs):
    id: ExecutionId
    nodeName: str = Field(min_length=1, description="The node's name, as get_execution lists it.")
    runIndex: int | None = Field(
        None, ge=0, description="Which run of the node, from 0. Without it: the first that failed, else the last."
    )
    outputIndex: int | None = Field(
        None, ge=0, description="Which output, from 0. Without it: the first that gave something."
    )
    itemOffset: int = Field(0, ge=0, description="How many items to leave out at the beginning.")
    itemLimit: int | None = Field(None, ge=1, description="How many items at most. Without it: as many as fit.")
    fields: tuple[str, ...] = Field(
        (),
        description="Only these fields of each item, as dotted paths below json.",
        examples=[["id", "customer.name"]],
    )


class GetExecutionByNode(RawTool[GetExecutionByNodeArgs, Execution, N8nClient]):
    """Show what one node of an execution received, was set to, and gave out, run by run and page by page."""

    name = "get_execution_by_node"
    effect = Effect.READ
    tags = ("executions",)
    examples = (
        ToolExample(description="The failing run of a node", parameters={"id": "1042", "nodeName": "HTTP Request"}),
    )
    keywords = {"ja": "ノード 実行 詳細 入力 出力"}

    async def execute_core(self, args: GetExecutionByNodeArgs) -> Execution:
        self._args = args
        return await self.client.executions.get(args.id)

    def format_response(self, data: Execution, raw: bool) -> Output:
        args = self._args
        message = Message(en="Node execution details", ja="ノード実行詳細を取得しました")
        wanted = Wanted(
            node_name=args.nodeName,
            run_index=args.runIndex,
            output_index=args.outputIndex,
            item_offset=args.itemOffset,
            item_limit=args.itemLimit,
            fields=args.fields,
        )
        formatter = NodeExecutionFormatter(data, wanted)
        if raw:
            runs = received(data)["data"]["resultData"]["runData"][args.nodeName]
            return Output(data={"nodeName": args.nodeName, "runs": runs}, message=message)
        shown = formatter.format_node_execution(self.context.responses.max_tokens)
        return Output(data=shown, message=message, guidance=formatter.guidance())


class DiagnoseExecution(RawTool[GetExecutionArgs, Execution, N8nClient]):
    """Find where an execution really went wrong: from the failing node back to the first bad item and its maker."""

    name = "diagnose_execution"
    effect = Effect.READ
    tags = ("executions", "repair")
    examples = (ToolExample(description="Why did it fail?", parameters={"id": "1042"}),)
    keywords = {"ja": "診断 原因 調査 失敗"}

    async def execute_core(self, args: GetExecutionArgs) -> Execution:
        return await self.client.executions.get(args.id)

    def format_response(self, data: Execution, raw: bool) -> Output:
        message = Message(en="Diagnosis", ja="診断結果")
        if raw:
            return Output(data=received(data), message=message)
        diagnosis = Diagnosis(data)
        return Output(data=diagnosis.told(), message=message, guidance=diagnosis.guidance())


def received(execution: Execution) -> dict[str, Any]:
    """n8n's own answer, without what would open doors."""
    # The short views decode single items; this is all of them at once.
    if (exceeded := JSON_ANSWER.exceeded_by(execution.received)) is not None:
        raise AnswerTooLargeError(f"The execution has more than {exceeded}, too many to show it raw.", hint=_LESS)
    answer: dict[str, Any] = decode_json(execution.received)
    body = answer.get("data")
    if isinstance(body, dict):
        runtime = (body.get("executionData") or {}).get("runtimeData") or {}
        for holder in (body, runtime):
            for key in _SECRET_KEYS:
                if key in holder:
                    holder[key] = "***"
    return answer


def _row(execution: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "workflowId", "status", "mode", "startedAt", "stoppedAt", "retryOf", "retrySuccessId", "waitTill")
    row = {key: execution[key] for key in kept if execution.get(key) is not None}
    took = milliseconds_between(execution.get("startedAt"), execution.get("stoppedAt"))
    return row | ({"duration": took} if took is not None and execution.get("status") != "waiting" else {})


def _next_step(found: list[dict[str, Any]], cursor: str | None, asked: dict[str, Any]) -> Guidance | None:
    worth = next((one for one in found if one.get("status") in ("error", "crashed")), next(iter(found), None))
    if worth is not None:
        return Guidance(message="Look at one of them.", example=example_call("get_execution", id=str(worth["id"])))
    if cursor:
        return Guidance(
            message="There are more.", example=example_call("list_executions", **asked | {"cursor": cursor})
        )
    return None


TOOLS = (ListExecutions, GetExecution, GetExecutionByNode, DiagnoseExecution)
