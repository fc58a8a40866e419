"""Run a workflow through its webhook: n8n offers no other way from outside."""

from collections.abc import Mapping
from typing import Any, Final

import anyio
from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext
from dogubako.contract.guidance import Guidance, example_call
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Message, Output
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.outbound.http import Answer, Asked
from dogubako.packs.n8n.api.webhooks import nobody_listens, webhook_of
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.shortening import small_json
from dogubako.packs.n8n.tools.workflows import WorkflowId

_PAUSE_SECONDS: Final = 0.3
_CALL_SECONDS: Final = 60.0
_FIND_SECONDS: Final = 5.0


class RunWorkflowArgs(ToolArgs):
    id: WorkflowId
    data: dict[str, Any] = Field(default_factory=dict, description="What to send to the webhook, as JSON.")
    wait: bool = Field(True, description="Wait until the execution has ended.")
    waitSeconds: int = Field(60, ge=1, le=100, description="How long to wait at most.")


class RunWorkflow(BaseTool[RunWorkflowArgs, N8nClient]):
    """Run a published workflow through its webhook, and tell how the execution went."""

    name = "run_workflow"
    effect = Effect.WRITE
    tags = ("workflows", "executions")
    timeout = 115_000
    keywords = {"ja": "ワークフロー 実行 起動"}

    async def execute(self, args: RunWorkflowArgs) -> Output:
        asked = Asked(operation="run workflow", resource_type="Workflow", resource_id=args.id)
        workflow = await self.client.workflows.get(args.id, "run workflow")
        node = _startable(workflow)
        before = await self._newest(args.id)
        answer = await self.client.webhooks.call(node, args.data, asked, _CALL_SECONDS)
        if nobody_listens(answer):
            raise _cannot(
                "its webhook is not registered", "Publish it again, and look whether another workflow has its path."
            )
        if answer.status in (401, 403):
            raise _cannot("its webhook asks for credentials that we do not have", None)
        execution = await self._new_one(args.id, before, answer)
        if execution is not None and args.wait:
            execution = await self._ended(str(execution["id"]), args.waitSeconds)
        return _told(workflow, answer, await _said(answer), execution)

    async def _newest(self, workflow_id: str) -> int:
        page = await self.client.executions.page(workflowId=workflow_id, limit=1)
        return int(page["data"][0]["id"]) if page["data"] else 0

    async def _new_one(self, workflow_id: str, before: int, answer: Answer) -> dict[str, Any] | None:
        """The execution that our call started: the oldest that is newer than all before."""
        with anyio.move_on_after(_FIND_SECONDS if answer.ok or answer.status >= 500 else 0.5):
            while True:
                page = await self.client.executions.page(workflowId=workflow_id, limit=20)
                new = [one for one in page["data"] if int(one["id"]) > before]
                if new:
                    return dict(min(new, key=lambda one: int(one["id"])))
                await anyio.sleep(_PAUSE_SECONDS)
        return None

    async def _ended(self, execution_id: str, seconds: int) -> dict[str, Any]:
        execution = await self.client.executions.brief(execution_id, "run workflow")
        with anyio.move_on_after(seconds):
            while execution.get("status") in ("new", "running"):
                await anyio.sleep(_PAUSE_SECONDS)
                execution = await self.client.executions.brief(execution_id, "run workflow")
        return execution


def _startable(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """The webhook, or an honest word about why there is no way."""
    node = webhook_of(workflow)
    if node is None:
        raise _cannot(
            "it has no webhook, and n8n lets nobody start other workflows from outside",
            "Add a Webhook node as its trigger, or start it in n8n's editor.",
        )
    if not workflow.get("active"):
        hint = f"Publish it first: {example_call('activate_workflow', id=str(workflow.get('id')))}"
        raise _cannot("it is not published, and only published workflows have webhooks", hint)
    authentication = (node.get("parameters") or {}).get("authentication")
    if authentication not in (None, "none"):
        raise _cannot(f"its webhook asks for credentials ({authentication}) that we do not have", None)
    return node


def _cannot(reason: str, hint: str | None) -> ApiError:
    context = ApiErrorContext(operation="run workflow", resource_type="Workflow", error_details=reason)
    return ApiError(f"Failed to run workflow: {reason}", context=context, hint=hint)


async def _said(answer: Answer) -> Any:
    try:
        said = small_json(await answer.json())
    except ValueError:
        said = small_json(answer.body.decode("utf-8", "replace"))
    if isinstance(said, dict):
        said.pop("stacktrace", None)
    return said


def _told(workflow: Mapping[str, Any], answer: Answer, said: Any, execution: dict[str, Any] | None) -> Output:
    workflow_id = str(workflow["id"])
    facts: dict[str, Any] = {"workflowId": workflow_id, "response": {"status": answer.status, "body": said}}
    if execution is None:
        # A workflow may be told to keep no record of its executions.
        facts["execution"] = None
        message = Message(en="Called; n8n shows no execution of it", ja="呼び出しましたが、実行記録がありません")
        example = example_call("list_executions", workflowId=workflow_id)
        return Output(data=facts, message=message, guidance=Guidance(message="Look again.", example=example))
    facts["execution"] = {key: execution.get(key) for key in ("id", "status", "startedAt", "stoppedAt")}
    if execution.get("workflowVersionId") not in (None, workflow.get("versionId")):
        facts["note"] = "This was not the newest version of the workflow: n8n had not published it yet. Run it again."
    number, status = str(execution["id"]), str(execution.get("status"))
    message = Message(en=f"Execution {number} is {status}", ja=f"実行{number}の状態: {status}")
    tool = "diagnose_execution" if status in ("error", "crashed") else "get_execution"
    example = example_call(tool, id=number)
    return Output(data=facts, message=message, guidance=Guidance(message="See how it went.", example=example))


TOOLS = (RunWorkflow,)
