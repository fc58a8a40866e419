"""Run a workflow through whichever trigger it has, and tell how the execution went."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import anyio
from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.outbound.http import Operation, ServiceResponse
from dogubako.packs.n8n.api.executions import is_about_address, nobody_listens, refused_by_n8n
from dogubako.packs.n8n.api.workflows import archived_hint
from dogubako.packs.n8n.call_headers import (
    caller_secrets,
    can_be_sent,
    check_headers,
    header,
    joined,
    masked,
    masked_error,
)
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import has_unpublished_changes
from dogubako.packs.n8n.nodes.ignored import ignored_parameters, told_ignored
from dogubako.packs.n8n.nodes.problems import near_names
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.trigger_calls import PAUSE_SECONDS, TriggerCall, shown_answer
from dogubako.packs.n8n.trigger_requests import as_query, request_for
from dogubako.packs.n8n.triggers import CALLABLE, Call, Trigger, triggers_of

JsonObject = dict[str, Any]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

# Above this an execution is not read again only to compare its parameters.
_LARGEST_COMPARED: Final = 1_000_000
_LISTED: Final = 10
# An execution may be a success although its caller was answered with one of these.
_REFUSALS: Final = 400
_FAILURES: Final = 500


class RunWorkflowArgs(ToolArgs):
    id: WorkflowId
    trigger: str | None = Field(None, max_length=200, description="Name of the trigger, if there are several.")
    data: JsonObject = Field(
        default_factory=dict,
        description="Body of a webhook (query of a GET), fields of a form by label, or {chatInput} of a chat.",
    )
    query: JsonObject = Field(default_factory=dict, description="Query of its address.")
    headers: dict[str, str] = Field(default_factory=dict, description="Headers for the webhook. Logins are not shown.")
    pathParameters: dict[str, str] = Field(default_factory=dict, description="Values of :parameters in its path.")
    method: Method | None = Field(None, description="If the webhook takes several.")
    authentication: str | None = Field(
        None, max_length=200, description="Name of a login in the settings; else that of the node's credential."
    )
    pinData: dict[str, list[JsonObject]] | None = Field(
        None, description="Test the draft with these items as the output of nodes, by name. Needs N8N_MCP_TOKEN."
    )
    wait: bool = Field(True, description="Wait until it has ended; the webhook's answer needs it.")
    waitSeconds: int = Field(60, ge=1, le=100, description="How long to wait at most; it runs on.")


class RunWorkflow(BaseTool[RunWorkflowArgs, N8nClient]):
    """Run a workflow and tell how it went: a published webhook, form or chat; any trigger with N8N_MCP_TOKEN."""

    name = "run_workflow"
    effect = Effect.WRITE
    tags = ("workflows", "executions")
    timeout = 115_000
    examples = (ToolExample(description="Call its webhook", parameters={"id": "bFqp5KICynapnI7k", "data": {"a": 1}}),)
    keywords = {
        "en": "start an automation now; kick it off; trigger by hand; execute a flow; launch a bot; "
        "fire the webhook; fire a bot once with these inputs; do the report now",
        "ja": "今すぐ 実行 走らせる 動かす 起動 開始 手動 処理 フロー 試しに 回す 呼び出す ワークフロー 手で起動 "
        "走らせて",
    }

    async def execute(self, args: RunWorkflowArgs) -> Json:
        workflow = await self.client.workflows.get(args.id, "run workflow")
        operation = Operation(name="run workflow", resource_type="Workflow", resource_id=args.id)
        if workflow.get("isArchived"):
            raise _cannot("it is archived", archived_hint(workflow))
        if args.pinData is not None:
            return await self._test(workflow, args, operation)
        trigger = _chosen(workflow, args.trigger)
        starts_over_mcp = trigger.is_private_chat and self.client.mcp is not None
        if trigger.kind in CALLABLE and workflow.get("active") and not starts_over_mcp:
            return await self._call(workflow, trigger, args, operation)
        return await self._start(workflow, trigger, args, operation)

    async def _call(self, workflow: JsonObject, trigger: Trigger, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Call the published address."""
        until = anyio.current_time() + args.waitSeconds
        check_headers(args.headers)
        call = Call(
            data=args.data,
            query=args.query,
            headers=args.headers,
            path_parameters=args.pathParameters,
            method=args.method,
        )
        request = request_for(trigger, call)
        login = self._login(trigger, args)
        sent = replace(request, headers=joined(request.headers, login))
        called = await TriggerCall(self.client, args.id, trigger, sent).run(
            operation, wait=args.wait, seconds=args.waitSeconds
        )
        answer, execution = called.answer, called.execution
        has_run = execution is not None or bool(called.candidates)
        if answer is not None and nobody_listens(answer) and not has_run:
            reason = "its webhook is not registered"
            raise _cannot(reason, "Publish it again, and look whether another workflow has its path.")
        secrets = [*caller_secrets(args.headers, asks_for_login=trigger.asks_for_login is not None), *login.values()]
        if answer is not None and not has_run and refused_by_n8n(answer):
            raise masked_error(_refused(trigger, answer), secrets)
        if execution is not None and args.wait:
            execution = await self._ended(str(execution["id"]), max(until - anyio.current_time(), 0))
        response = None
        if answer is not None:
            response = masked(await shown_answer(answer), secrets)
        facts: JsonObject = {"response": response, "trigger": trigger.name}
        if await offload_if_large(workflow, has_unpublished_changes, workflow):
            facts["ran"] = "the published version; the draft differs"
        if called.candidates:
            facts["candidates"] = [_listed(one) for one in called.candidates]
        return await self._report(workflow, execution, facts, trigger.kind)

    def _login(self, trigger: Trigger, args: RunWorkflowArgs) -> dict[str, str]:
        """The headers of the login that the settings have for this webhook."""
        names = [args.authentication] if args.authentication is not None else trigger.credential_names
        known = self.client.webhook_logins
        for name in names:
            if name in known:
                login = _sendable(name, known[name].headers())
                if args.authentication is not None and any(header(args.headers, one) is not None for one in login):
                    message = "Invalid value for parameter headers: authentication gives the same header"
                    raise ValidationError.of("headers", message)
                return login
        if args.authentication is not None:
            near = near_names(args.authentication, known)
            advice = f" Did you mean {' or '.join(near)}?" if near else ""
            message = f"Invalid value for parameter authentication: the settings have no such login.{advice}"
            raise ValidationError.of("authentication", message)
        if trigger.asks_for_login is not None and not args.headers:
            reason = f"its webhook asks for credentials ({trigger.asks_for_login}) that we do not have"
            raise _cannot(reason, _LOGIN_HINT)
        return {}

    async def _start(self, workflow: JsonObject, trigger: Trigger, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Run the draft over n8n's MCP server, which can start what has no published address."""
        if trigger.started_by is not None:
            reason = f"its trigger '{trigger.name[:100]}' is started only by {trigger.started_by}"
            raise _cannot(
                reason, "Let that happen, or add a Webhook or Manual Trigger node that leads to the same nodes."
            )
        if self.client.mcp is None:
            raise _not_startable(workflow, trigger)
        arguments: JsonObject = {"workflowId": args.id, "executionMode": "manual", "triggerNodeName": trigger.name}
        inputs = _inputs(trigger, args)
        secrets = caller_secrets(args.headers, asks_for_login=trigger.asks_for_login is not None)
        try:
            result = await self.client.mcp.call("execute_workflow", arguments | inputs, operation)
        except ApiError as error:
            raise masked_error(error, secrets) from None
        result = masked(result, secrets)
        execution_id = _started(result, args.id)
        found = {"id": execution_id, "status": "running"}
        execution = await self._ended(execution_id, args.waitSeconds) if args.wait else found
        return await self._report(workflow, execution, {"trigger": trigger.name, "ran": "draft"})

    async def _test(self, workflow: JsonObject, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Run the draft with pinned data instead of its outside world."""
        if self.client.mcp is None:
            raise _cannot("pinned data needs n8n's own MCP server", "An operator has to set N8N_MCP_TOKEN.")
        pinned = {name: [_item(one) for one in items] for name, items in (args.pinData or {}).items()}
        trigger = _chosen(workflow, args.trigger, nodes=workflow["nodes"])
        if args.data:
            pinned.setdefault(trigger.name, [{"json": args.data}])
        arguments: JsonObject = {"workflowId": args.id, "pinData": pinned, "triggerNodeName": trigger.name}
        arguments["timeout"] = args.waitSeconds
        result = await self.client.mcp.call("test_workflow", arguments, operation, seconds=args.waitSeconds + 10.0)
        execution = await self._ended(_started(result, args.id), args.waitSeconds)
        return await self._report(
            workflow, execution, {"trigger": trigger.name, "ran": "draft", "pinned": list(pinned)}
        )

    async def _ended(self, execution_id: str, seconds: float) -> JsonObject:
        execution = await self.client.executions.brief(execution_id, "run workflow")
        with anyio.move_on_after(seconds):
            while execution.get("status") in ("new", "running"):
                await anyio.sleep(PAUSE_SECONDS)
                execution = await self.client.executions.brief(execution_id, "run workflow")
        return execution

    async def _report(
        self, workflow: JsonObject, execution: JsonObject | None, facts: JsonObject, asked: str = ""
    ) -> Json:
        workflow_id = str(workflow["id"])
        facts = {"workflowId": workflow_id, **facts}
        if execution is None:
            return _not_found(workflow, facts)
        facts["execution"] = _listed(execution)
        if execution.get("workflowVersionId") not in (None, workflow.get("versionId"), workflow.get("activeVersionId")):
            facts["note"] = "This was another version of the workflow: n8n had not published the newest. Run it again."
        facts |= await self._ignored(execution)
        number, status = str(execution["id"]), str(execution.get("status"))
        message = Message(en=f"Execution {number} is {status}", ja=f"実行{number}の状態: {status}")
        code = (facts.get("response") or {}).get("status", 0)
        if status == "success" and code >= _REFUSALS:
            message = Message(
                en=f"Execution {number} is success, and the {asked} answered {code}",
                ja=f"実行{number}の状態: {status}。ただし、呼び出しへの応答は{code}",
            )
        failed = status in ("error", "crashed") or code >= _FAILURES
        tool = "diagnose_execution" if failed else "get_execution"
        guidance = Guidance(message="See how it went.", example=example_call(tool, id=number))
        return Json(data=facts, message=message, guidance=guidance)

    async def _ignored(self, execution: JsonObject) -> JsonObject:
        ended = execution.get("status") in ("success", "error")
        if not ended or (execution.get("jsonSizeBytes") or _LARGEST_COMPARED) >= _LARGEST_COMPARED:
            return {}
        whole = await self.client.executions.get(str(execution["id"]))
        whole.ignored = await ignored_parameters(self.client.executions, self.client.workflows, whole)
        return told_ignored(whole)


_LOGIN_HINT: Final = (
    "An operator can add the login to dogubako.toml, as [n8n.webhook_logins.NAME] with the name of the credential; "
    "or give headers."
)


def _sendable(name: str, login: dict[str, str]) -> dict[str, str]:
    if all(map(can_be_sent, login.values())):
        return login
    hint = "An operator has to mend it in dogubako.toml: only letters of ASCII, and no blanks at its ends."
    raise _cannot(f"the login '{name[:100]}' of the settings has a value that HTTP cannot carry", hint)


def _refused(trigger: Trigger, answer: ServiceResponse) -> ApiError:
    """What n8n said itself when it did not start the workflow, and which of the node's settings may be the reason."""
    said = " ".join(answer.body.decode("utf-8", "replace").split())[:200]
    told = f"with status {answer.status}{f' ({said})' if said else ''}"
    if is_about_address(answer):
        hint = "Its option ipWhitelist has no address of ours: somebody has to add it there."
        return _cannot(f"its {trigger.kind} refused the call {told}", hint)
    options = trigger.parameters.get("options")
    ignores_bots = isinstance(options, Mapping) and bool(options.get("ignoreBots"))
    if trigger.asks_for_login is not None and not ignores_bots:
        return _cannot(f"its {trigger.kind} refused the login {told}", _LOGIN_HINT)
    # n8n answers a program in the words for a wrong login.
    bots = "Its option ignoreBots refuses programs: give the header User-Agent of a browser." if ignores_bots else ""
    login = _LOGIN_HINT if trigger.asks_for_login is not None else ""
    return _cannot(f"its {trigger.kind} refused the call {told}", " ".join(filter(None, (bots, login))) or None)


def _chosen(workflow: Mapping[str, Any], name: str | None, nodes: Sequence[Mapping[str, Any]] | None = None) -> Trigger:
    """The named trigger, or the only one that fits. Published ones count where the workflow is published."""
    found = triggers_of(nodes or _nodes_that_run(workflow))
    if name is not None:
        for one in found:
            if one.name == name:
                return one
        listed = ", ".join(one.name for one in found[:_LISTED]) or "none"
        raise ValidationError.of("trigger", f"Invalid value for parameter trigger: the triggers are {listed}")
    callable_ones = [one for one in found if one.kind in CALLABLE]
    candidates = callable_ones or found
    if len(candidates) > 1:
        listed = ", ".join(f"'{one.name[:100]}' ({one.kind})" for one in candidates[:_LISTED])
        raise ValidationError.of("trigger", f"Required parameter missing: trigger. The workflow has {listed}")
    if not candidates:
        has_one = triggers_of(nodes or _nodes_that_run(workflow), disabled=True)
        reason = "all its triggers are disabled" if has_one else "it has no trigger"
        raise _cannot(reason, _switched_off(workflow, CALLABLE) or "Add a Webhook node as its trigger.")
    return candidates[0]


def _nodes_that_run(workflow: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    published = workflow.get("activeVersion")
    live = published.get("nodes") if workflow.get("active") and isinstance(published, Mapping) else None
    return live or workflow.get("nodes") or ()


def _switched_off(workflow: Mapping[str, Any], kinds: Sequence[str]) -> str | None:
    """How to switch on a trigger of these kinds that the workflow has already."""
    found = [one for one in triggers_of(_nodes_that_run(workflow), disabled=True) if one.kind in kinds]
    if not found:
        return None
    changes = [{"nodeName": found[0].name, "disabled": False}]
    example = example_call("update_workflow", id=str(workflow.get("id")), updateNodes=changes)
    return f"Its {found[0].kind} '{found[0].name[:100]}' is disabled. Switch it on with {example}, and publish it."


def _not_startable(workflow: Mapping[str, Any], trigger: Trigger) -> ApiError:
    if trigger.kind not in CALLABLE:
        webhook = _switched_off(workflow, CALLABLE) or "Add a Webhook node as its trigger."
        hint = f"{webhook} Or start it in n8n's editor, or let an operator set N8N_MCP_TOKEN."
        reason = f"n8n lets nobody start its trigger '{trigger.name[:100]}' ({trigger.kind}) from outside"
        return _cannot(reason, hint)
    hint = f"Publish it first: {example_call('activate_workflow', id=str(workflow.get('id')))}"
    return _cannot("it is not published, and only published workflows have webhooks", hint)


def _listed(execution: Mapping[str, Any]) -> JsonObject:
    return {key: execution.get(key) for key in ("id", "status", "startedAt", "stoppedAt")}


def _not_found(workflow: Mapping[str, Any], facts: JsonObject) -> Json:
    """Tell that the execution is not known. A workflow may store none, or n8n shows nothing to tell ours by."""
    workflow_id = str(workflow["id"])
    facts["execution"] = None
    example = example_call("list_executions", workflowId=workflow_id)
    message = Message(en="Called; n8n shows no execution of it", ja="呼び出しましたが、実行記録がありません")
    guidance = Guidance(message="Look again.", example=example)
    if (workflow.get("settings") or {}).get("saveDataSuccessExecution") == "none":
        message = Message(
            en="Called; the workflow stores no successful executions (saveDataSuccessExecution)",
            ja="呼び出しました（成功した実行は保存しない設定です：saveDataSuccessExecution）",
        )
    if facts.get("candidates"):
        message = Message(
            en="Called; which of the candidates is its execution cannot be told",
            ja="呼び出しましたが、どの候補がその実行かは分かりません",
        )
        guidance = Guidance(message="See what they did; others may have called it at the same time.", example=example)
    return Json(data=facts, message=message, guidance=guidance)


def _inputs(trigger: Trigger, args: RunWorkflowArgs) -> JsonObject:
    """What n8n's MCP server takes as the trigger's data."""
    match trigger.kind:
        case "webhook":
            # n8n takes nothing but texts here.
            texts = as_query(args.query).items()
            query = {key: one if isinstance(one, str) else ",".join(one) for key, one in texts}
            data = {"query": query, "body": args.data, "headers": args.headers}
            return {"inputs": {"webhookData": data | ({"method": args.method} if args.method else {})}}
        case "form":
            return {"inputs": {"formData": args.data}}
        case "chat":
            return {"inputs": {"chatInput": str(args.data.get("chatInput") or "")}}
        case _:
            return {}


def _started(result: Mapping[str, Any], workflow_id: str) -> str:
    """The id of the execution, or an error with n8n's own reason."""
    if result.get("executionId") is None:
        reason = str(result.get("error") or result.get("text") or "n8n did not start it")[:500]
        hint = None
        if "not available in MCP" in reason:
            example = example_call("update_workflow", id=workflow_id, settings={"availableInMCP": True})
            hint = f"The workflow has to allow it: {example}"
        raise _cannot(reason, hint)
    return str(result["executionId"])


def _item(one: JsonObject) -> JsonObject:
    return one if isinstance(one.get("json"), dict) else {"json": one}


def _cannot(reason: str, hint: str | None) -> ApiError:
    context = ApiErrorContext(operation="run workflow", resource_type="Workflow", error_details=reason)
    return ApiError(f"Failed to run workflow: {reason}", context=context, hint=hint)


TOOLS = (RunWorkflow,)
