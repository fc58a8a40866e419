"""List executions, summarise one, and show one node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, Field

from dogubako.contract.errors import AnswerTooLargeError, ApiError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import RawTool, ToolArgs
from dogubako.outbound.bounds import JSON_ANSWER
from dogubako.outbound.json_answers import decode_json
from dogubako.packs.n8n.call_headers import without_secrets
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.facts import facts_of, milliseconds_between
from dogubako.packs.n8n.formatters.node import NodeExecutionFormatter, Wanted
from dogubako.packs.n8n.formatters.summary import ExecutionFormatter
from dogubako.packs.n8n.models import EXECUTION_ROW, Execution, page_schema, row_of
from dogubako.packs.n8n.nodes.ignored import ignored_parameters

ExecutionId = Annotated[str, Field(min_length=1, max_length=64, description="Execution id, for example '1042'.")]
Status = Literal["canceled", "crashed", "error", "new", "running", "success", "unknown", "waiting"]

_ERROR: Final = b'"error"'
# A resume token could resume a waiting execution, and credentials are secret.
_SECRET_KEYS = ("resumeToken", "credentials")
_LESS: Final = "Leave out raw: get_execution summarises it, get_execution_by_node shows one node page by page."


class ListExecutionsArgs(ToolArgs):
    workflowId: str | None = Field(None, description="Only executions of this workflow, by its id.")
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
    keywords = {
        "en": "latest runs; what ran today; what ran overnight; did anything fail; failed jobs; "
        "run history; which automations broke; jobs that are still running; "
        "are there jobs still running; runs of last night; what crashed lately; "
        "what has run since yesterday; did the job go off",
        "ja": "最近 実行 履歴 走った 失敗 した 処理 一覧 ログ 昨夜 今日 エラーになった 動いた 夜中 "
        "まだ動いている どれ こけた ジョブ 今週 動いたか",
    }

    def output_schema(self) -> dict[str, Any]:
        return page_schema("executions", EXECUTION_ROW)

    async def execute_core(self, args: ListExecutionsArgs) -> dict[str, Any]:
        page = await self.client.executions.page(**_filters(args))
        if args.workflowId and not page["data"] and not args.cursor:
            # n8n answers with an empty list for a workflow that does not exist.
            await self.client.workflows.find(args.workflowId)
        return page

    def format_response(self, data: dict[str, Any], args: ListExecutionsArgs, raw: bool) -> Json:
        executions, cursor = data["data"], data.get("nextCursor")
        shown = data if raw else {"executions": [_row(one) for one in executions], "nextCursor": cursor}
        message = Message(en=f"{len(executions)} executions found", ja=f"実行を{len(executions)}件取得しました")
        return Json(data=shown, message=message, guidance=_next_step(executions, cursor, args), count=len(executions))


class GetExecutionArgs(ToolArgs):
    id: ExecutionId


class ExecutionSummaryArgs(GetExecutionArgs):
    nodeOffset: int = Field(0, ge=0, description="How many nodes to leave out: nextNodeOffset of the page before.")
    compareVersions: bool = Field(
        False, description="Compare the version that ran with the present one. Asks n8n for the workflow too."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedExecution:
    """An execution, and its workflow as it is now if that was asked for."""

    execution: Execution
    present: Mapping[str, Any] | None = None


class GetExecution(RawTool[ExecutionSummaryArgs, LoadedExecution, N8nClient]):
    """Summarise one execution: status, timing, the error itself, and what each node did. Never large."""

    name = "get_execution"
    effect = Effect.READ
    tags = ("executions",)
    examples = (ToolExample(description="One execution in short", parameters={"id": "1042"}),)
    keywords = {
        "en": "how did a run go; result of a job; did it succeed or fail; error message of a run; "
        "how long did it take; short report about one run; is it finished; "
        "what happened in this run; short version of a run",
        "ja": "実行 結果 どうだった 成功 失敗 うまくいった 状況 要約 終わった かかった時間 一回の 番 概要 "
        "サマリー エラー 何が起きた",
    }

    async def execute_core(self, args: ExecutionSummaryArgs) -> LoadedExecution:
        execution = await self.client.executions.get(args.id)
        execution.ignored = await ignored_parameters(self.client.executions, self.client.workflows, execution)
        workflow_id = execution.workflow_id or execution.workflow.id
        if not args.compareVersions or workflow_id is None:
            return LoadedExecution(execution=execution)
        return LoadedExecution(execution=execution, present=await self.client.workflows.get(workflow_id))

    def format_response(self, data: LoadedExecution, args: ExecutionSummaryArgs, raw: bool) -> Json:
        message = Message(en="Execution summary", ja="実行サマリーを取得しました")
        if raw:
            return Json(data=received(data.execution), message=message)
        formatter = ExecutionFormatter(facts_of(data.execution), args.nodeOffset, data.present)
        summary, guidance = formatter.format_summary(), formatter.guidance()
        # Of all data a summary shows only what errors say.
        if _ERROR in data.execution.received:
            summary = without_secrets(data.execution, summary)
        return Json(data=summary, message=message, guidance=guidance)


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
    keywords = {
        "en": "what data went into a step; output of a node in a run; what came out of this step; "
        "items that a block received; look at the data between steps; "
        "what a node produced in a run; data of one step in a run; "
        "which rows did a step hand over",
        "ja": "ステップ ノード 出力 入力 データ 途中 結果 何が出た 中身 受け取った 渡した 流れた 実行 詳細",
    }

    async def execute_core(self, args: GetExecutionByNodeArgs) -> Execution:
        return await self.client.executions.get(args.id)

    def format_response(self, data: Execution, args: GetExecutionByNodeArgs, raw: bool) -> Json:
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
            return Json(data={"nodeName": args.nodeName, "runs": runs}, message=message)
        shown = formatter.format_node_execution(self.context.responses.max_tokens)
        return Json(data=without_secrets(data, shown), message=message, guidance=formatter.guidance())


def received(execution: Execution) -> dict[str, Any]:
    """n8n's own answer, with secrets masked."""
    # The short views decode single items; this decodes all of them at once.
    if (exceeded := JSON_ANSWER.exceeded_by(execution.received)) is not None:
        raise AnswerTooLargeError(f"The execution has more than {exceeded}, too many to show it raw.", hint=_LESS)
    try:
        answer: dict[str, Any] = decode_json(execution.received)
    except ValueError as error:
        raise ApiError(f"Failed to get execution: n8n's answer has {error}", hint=_LESS) from error
    body = answer.get("data")
    if isinstance(body, dict):
        runtime = (body.get("executionData") or {}).get("runtimeData") or {}
        for holder in (body, runtime):
            for key in _SECRET_KEYS:
                if key in holder:
                    holder[key] = "***"
    shown: dict[str, Any] = without_secrets(execution, answer)
    return shown


def _filters(args: ListExecutionsArgs) -> dict[str, Any]:
    return args.model_dump(mode="json", exclude_none=True, exclude={"raw"})


def _row(execution: dict[str, Any]) -> dict[str, Any]:
    row = row_of(execution, EXECUTION_ROW)
    took = milliseconds_between(row.get("startedAt"), row.get("stoppedAt"))
    return row | ({"duration": took} if took is not None and row.get("status") != "waiting" else {})


def _next_step(executions: list[dict[str, Any]], cursor: str | None, args: ListExecutionsArgs) -> Guidance | None:
    failed = (one for one in executions if one.get("status") in ("error", "crashed"))
    worth = next(failed, next(iter(executions), None))
    if worth is not None:
        return Guidance(message="Look at one of them.", example=example_call("get_execution", id=str(worth["id"])))
    if cursor:
        example = example_call("list_executions", **_filters(args) | {"cursor": cursor})
        return Guidance(message="There are more.", example=example)
    return None


TOOLS = (ListExecutions, GetExecution, GetExecutionByNode)
