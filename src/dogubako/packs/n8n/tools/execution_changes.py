"""Retry, stop or delete executions."""

from typing import Any, Final

from pydantic import Field

from dogubako.contract.errors import ApiError
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.tools.executions import ExecutionId, GetExecutionArgs

_RUNNING: Final = ("new", "running")


class RetryExecutionArgs(ToolArgs):
    id: ExecutionId
    loadWorkflow: bool = Field(
        False, description="Use the workflow as it is now, instead of as it was when the execution failed."
    )


class RetryExecution(BaseTool[RetryExecutionArgs, N8nClient]):
    """Run a failed execution again from where it failed, and wait until it has ended (up to two minutes)."""

    name = "retry_execution"
    effect = Effect.WRITE
    keywords = {
        "en": "try again; rerun a failed job; repeat the run that crashed; "
        "run it once more from where it failed; try the failed run again; "
        "run the crashed job again; give it another go",
        "ja": "もう一度 もう一回 やり直す 再実行 失敗した 処理 リトライ 再試行 再度",
    }
    tags = ("executions",)
    # n8n answers when the retried execution has ended.
    timeout = 115_000

    async def execute(self, args: RetryExecutionArgs) -> Json:
        new = await self.client.executions.retry(args.id, with_current_workflow=args.loadWorkflow)
        made = str(new.get("id"))
        kept = {key: new.get(key) for key in ("status", "startedAt", "stoppedAt", "workflowId")}
        return Json(
            data={"id": made, "retryOf": args.id, **{key: value for key, value in kept.items() if value is not None}},
            message=Message(en=f"Retried as execution {made}", ja=f"実行{made}として再実行しました"),
            guidance=Guidance(message="See how it went.", example=example_call("get_execution", id=made)),
        )


class StopExecution(BaseTool[GetExecutionArgs, N8nClient]):
    """Stop an execution that is running or waiting. It ends as canceled."""

    name = "stop_execution"
    effect = Effect.WRITE
    idempotent = True
    keywords = {
        "en": "cancel a running job; kill a run; abort it; it hangs or is stuck; takes too long; "
        "halt what is running now; cut it off; it has been running for hours",
        "ja": "止める 中止 キャンセル 動きっぱなし 実行中 終わらない 固まった 強制終了 処理 中断 暴走 打ち切る "
        "回りっぱなし",
    }
    tags = ("executions",)

    async def execute(self, args: GetExecutionArgs) -> Json:
        await self.client.executions.stop(args.id)
        now = await self.client.executions.brief(args.id, "stop execution")
        return Json(
            data={"id": args.id, **_kept(now, "status", "startedAt", "stoppedAt", "workflowId")},
            message=Message(en=f"Execution {args.id} is {now.get('status')}", ja=f"実行{args.id}を停止しました"),
            guidance=Guidance(message="See how far it came.", example=example_call("get_execution", id=args.id)),
        )


class DeleteExecution(BaseTool[GetExecutionArgs, N8nClient]):
    """Delete the record of an execution for good."""

    name = "delete_execution"
    effect = Effect.DESTROY
    keywords = {
        "en": "erase the record of a run; remove a run from the history; clean up old logs of jobs; forget a job",
        "ja": "実行 記録 履歴 消す 削除 ログ 掃除 実行結果 抹消",
    }
    tags = ("executions",)

    def consequence(self, args: GetExecutionArgs) -> str:
        return f"This would delete the record of execution '{args.id}' for good."

    async def execute(self, args: GetExecutionArgs) -> Json:
        try:
            gone = await self.client.executions.delete(args.id)
        except ApiError as error:
            if error.status_code == 400 and (await self.client.executions.brief(args.id)).get("status") in _RUNNING:
                error.hint = f"Stop it first: {example_call('stop_execution', id=args.id)}"
            raise
        return Json(
            data={"id": args.id, "deleted": True, **_kept(gone, "status", "startedAt", "workflowId")},
            message=Message(en=f"Execution {args.id} was deleted", ja=f"実行{args.id}を削除しました"),
        )


def _kept(answer: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: answer[key] for key in keys if answer.get(key) is not None}


TOOLS = (
    RetryExecution,
    StopExecution,
    DeleteExecution,
)
