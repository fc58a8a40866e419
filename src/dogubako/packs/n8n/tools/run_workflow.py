"""Run a workflow through whichever trigger it has, and tell how the execution went."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Literal

import anyio
from pydantic import Field

from dogubako.contract.errors import ApiError, NotFoundError, ValidationError
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
from dogubako.packs.n8n.draft_calls import DraftCall, started, tested
from dogubako.packs.n8n.draft_items import pinned_item, started_item
from dogubako.packs.n8n.drafts import has_unpublished_changes
from dogubako.packs.n8n.nodes.ignored import ignored_parameters, told_ignored
from dogubako.packs.n8n.nodes.problems import near_names
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.trigger_calls import FIND_SECONDS, PAUSE_SECONDS, TriggerCall, shown_answer
from dogubako.packs.n8n.trigger_choice import (
    cannot_run,
    chosen_trigger,
    nodes_that_run,
    not_startable,
    other_triggers,
)
from dogubako.packs.n8n.trigger_requests import check_taken, request_for
from dogubako.packs.n8n.triggers import CALLABLE, Call, Trigger

JsonObject = dict[str, Any]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

# Above this an execution is not read again only to compare its parameters.
_LARGEST_COMPARED: Final = 1_000_000
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
            raise cannot_run("it is archived", archived_hint(workflow))
        if args.pinData is not None:
            return await self._test(workflow, args, operation)
        trigger = chosen_trigger(workflow, nodes_that_run(workflow), args.trigger)
        starts_over_mcp = trigger.is_private_chat and self.client.mcp is not None
        if trigger.kind in CALLABLE and workflow.get("active") and not starts_over_mcp:
            return await self._call(workflow, trigger, args, operation)
        return await self._start(workflow, trigger, args, operation)

    async def _call(self, workflow: JsonObject, trigger: Trigger, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Call the published address."""
        until = anyio.current_time() + args.waitSeconds
        check_headers(args.headers)
        request = request_for(trigger, _call(args))
        login = self._login(trigger, args)
        sent = replace(request, headers=joined(request.headers, login))
        called = await TriggerCall(self.client, args.id, trigger, sent).run(
            operation, wait=args.wait, seconds=args.waitSeconds
        )
        answer, execution = called.answer, called.execution
        has_run = execution is not None or bool(called.candidates)
        if answer is not None and nobody_listens(answer) and not has_run:
            reason = "its webhook is not registered"
            raise cannot_run(reason, "Publish it again, and look whether another workflow has its path.")
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
        return await self._report(workflow, args, execution, facts, trigger.kind)

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
            raise cannot_run(reason, _LOGIN_HINT)
        return {}

    async def _start(self, workflow: JsonObject, trigger: Trigger, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Run the draft over n8n's MCP server, which can start what has no published address."""
        if trigger.started_by is not None:
            reason = f"its trigger '{trigger.name[:100]}' is started only by {trigger.started_by}"
            raise cannot_run(
                reason, "Let that happen, or add a Webhook or Manual Trigger node that leads to the same nodes."
            )
        if self.client.mcp is None:
            raise not_startable(workflow, trigger)
        item = started_item(args.id, trigger, _draft_call(args), self.client.address)
        if trigger.kind == "webhook" and item is not None:
            return await self._run_draft(workflow, trigger, args, item, workflow.get("pinData") or {}, operation)
        arguments: JsonObject = {"workflowId": args.id, "executionMode": "manual", "triggerNodeName": trigger.name}
        if item is not None:
            is_chat = trigger.kind == "chat"
            arguments["inputs"] = {"chatInput": item["chatInput"]} if is_chat else {"formData": item}
        execution_id = started(await self.client.mcp.call("execute_workflow", arguments, operation), args.id)
        found = {"id": execution_id, "status": "running"}
        execution = await self._ended(execution_id, args.waitSeconds) if args.wait else found
        return await self._report(workflow, args, execution, {"trigger": trigger.name, "ran": "draft"})

    async def _test(self, workflow: JsonObject, args: RunWorkflowArgs, operation: Operation) -> Json:
        """Run the draft with pinned data instead of its outside world."""
        if self.client.mcp is None:
            raise cannot_run("pinned data needs n8n's own MCP server", "An operator has to set N8N_MCP_TOKEN.")
        pinned = {name: [_item(one) for one in items] for name, items in (args.pinData or {}).items()}
        trigger, call = chosen_trigger(workflow, workflow["nodes"], args.trigger), _draft_call(args)
        if trigger.name in pinned:
            check_taken(trigger, call, (), "beside its own pinData")
        elif trigger.kind == "webhook":
            item = pinned_item(trigger, call, self.client.address)
            return await self._run_draft(workflow, trigger, args, item, pinned, operation)
        elif call.given:
            pinned[trigger.name] = [{"json": pinned_item(trigger, call, self.client.address)}]
        limit, seconds = args.waitSeconds, args.waitSeconds + FIND_SECONDS
        result = await tested(self.client, args.id, trigger, pinned, operation, stop_after=limit, seconds=seconds)
        execution = await self._ended(started(result, args.id), args.waitSeconds)
        facts: JsonObject = {"trigger": trigger.name, "ran": "draft", "pinned": list(pinned)}
        if execution is not None and execution.get("status") == "canceled":
            facts["note"] = f"n8n stopped it after {limit} seconds: a test with pinned data runs no longer."
        return await self._report(workflow, args, execution, facts)

    async def _run_draft(
        self,
        workflow: JsonObject,
        trigger: Trigger,
        args: RunWorkflowArgs,
        item: JsonObject,
        pinned: Mapping[str, Any],
        operation: Operation,
    ) -> Json:
        """Run the draft as if its webhook had been called."""
        secrets = caller_secrets(args.headers, asks_for_login=trigger.asks_for_login is not None)
        until = anyio.current_time() + args.waitSeconds
        run = DraftCall(self.client, args.id, trigger, item, pinned)
        try:
            called = await run.run(operation, wait=args.wait, seconds=args.waitSeconds)
        except ApiError as error:
            raise masked_error(error, secrets) from None
        execution = called.execution
        if execution is not None and args.wait:
            execution = await self._ended(str(execution["id"]), max(until - anyio.current_time(), 0))
        facts: JsonObject = {"trigger": trigger.name, "ran": "draft"}
        # Data that are saved with the workflow stand for their nodes as well, which did not run then.
        stood_in = (
            [trigger.name, *pinned] if args.pinData is not None else [one for one in pinned if one != trigger.name]
        )
        facts |= {"pinned": stood_in} if stood_in else {}
        return await self._report(workflow, args, execution, facts)

    async def _ended(self, execution_id: str, seconds: float) -> JsonObject | None:
        """The execution when it has ended, or as it is after this time; None where n8n keeps none."""
        with suppress(NotFoundError):
            execution = await self.client.executions.brief(execution_id, "run workflow")
            with anyio.move_on_after(seconds):
                while execution.get("status") in ("new", "running"):
                    await anyio.sleep(PAUSE_SECONDS)
                    execution = await self.client.executions.brief(execution_id, "run workflow")
            return execution
        return None

    async def _report(
        self,
        workflow: JsonObject,
        args: RunWorkflowArgs,
        execution: JsonObject | None,
        facts: JsonObject,
        asked: str = "",
    ) -> Json:
        facts = {"workflowId": str(workflow["id"]), **facts}
        nodes = workflow["nodes"] if facts.get("ran") == "draft" else nodes_that_run(workflow)
        if args.trigger is None and (others := other_triggers(nodes, facts["trigger"])):
            facts["otherTriggers"] = others
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
    raise cannot_run(f"the login '{name[:100]}' of the settings has a value that HTTP cannot carry", hint)


def _refused(trigger: Trigger, answer: ServiceResponse) -> ApiError:
    """What n8n said itself when it did not start the workflow, and which of the node's settings may be the reason."""
    said = " ".join(answer.body.decode("utf-8", "replace").split())[:200]
    told = f"with status {answer.status}{f' ({said})' if said else ''}"
    if is_about_address(answer):
        hint = "Its option ipWhitelist has no address of ours: somebody has to add it there."
        return cannot_run(f"its {trigger.kind} refused the call {told}", hint)
    options = trigger.parameters.get("options")
    ignores_bots = isinstance(options, Mapping) and bool(options.get("ignoreBots"))
    if trigger.asks_for_login is not None and not ignores_bots:
        return cannot_run(f"its {trigger.kind} refused the login {told}", _LOGIN_HINT)
    # n8n answers a program in the words for a wrong login.
    bots = "Its option ignoreBots refuses programs: give the header User-Agent of a browser." if ignores_bots else ""
    login = _LOGIN_HINT if trigger.asks_for_login is not None else ""
    return cannot_run(f"its {trigger.kind} refused the call {told}", " ".join(filter(None, (bots, login))) or None)


def _call(args: RunWorkflowArgs) -> Call:
    return Call(
        data=args.data,
        query=args.query,
        headers=args.headers,
        path_parameters=args.pathParameters,
        method=args.method,
    )


def _draft_call(args: RunWorkflowArgs) -> Call:
    if args.authentication is not None:
        message = "Invalid value for parameter authentication: a run of the draft asks for no login"
        raise ValidationError.of("authentication", message)
    return _call(args)


def _item(one: JsonObject) -> JsonObject:
    return one if isinstance(one.get("json"), dict) else {"json": one}


def _listed(execution: Mapping[str, Any]) -> JsonObject:
    return {key: execution.get(key) for key in ("id", "status", "startedAt", "stoppedAt")}


def _not_found(workflow: Mapping[str, Any], facts: JsonObject) -> Json:
    """Tell that the execution is not known. A workflow may store none, or n8n shows nothing to tell ours by."""
    workflow_id = str(workflow["id"])
    facts["execution"] = None
    example = example_call("list_executions", workflowId=workflow_id)
    message = Message(en="Called; n8n shows no execution of it", ja="呼び出しましたが、実行記録がありません")
    guidance = Guidance(message="Look again.", example=example)
    settings, is_draft = workflow.get("settings") or {}, facts.get("ran") == "draft"
    if is_draft and settings.get("saveManualExecutions") is False:
        message = Message(
            en="Called; the workflow stores no runs of drafts (saveManualExecutions)",
            ja="呼び出しました（下書きの実行は保存しない設定です：saveManualExecutions）",
        )
    elif not is_draft and settings.get("saveDataSuccessExecution") == "none":
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


TOOLS = (RunWorkflow,)
