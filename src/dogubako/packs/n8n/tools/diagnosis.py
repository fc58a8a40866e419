"""Diagnose an execution, with the executions of the sub-workflows that it called."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dogubako._lazy import load
from dogubako.contract.errors import DogubakoError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload, offload_if_large
from dogubako.contract.output import Json, Message
from dogubako.contract.tool import RawTool
from dogubako.packs.n8n.call_headers import without_secrets
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.flow import Place, item_at
from dogubako.packs.n8n.models import Execution
from dogubako.packs.n8n.nodes.ignored import ignored_parameters
from dogubako.packs.n8n.tools.executions import GetExecutionArgs, received

if TYPE_CHECKING:
    from dogubako.packs.n8n.diagnosis.report import Diagnosis

_DEEPEST: Final = 3
_MOST_CHILDREN: Final = 3
_LOOKED_AT: Final = 10
_MOST_ITEMS: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """An execution and those of its sub-workflows that may explain it."""

    execution: Execution
    children: tuple["Family", ...] = ()


class DiagnoseExecution(RawTool[GetExecutionArgs, Family, N8nClient]):
    """Find where an execution went wrong, also in sub-workflows and in successes: the first bad item, and its maker."""

    name = "diagnose_execution"
    effect = Effect.READ
    tags = ("executions", "repair")
    examples = (ToolExample(description="Why did it fail?", parameters={"id": "1042"}),)
    keywords = {
        "en": "why did it fail; what went wrong; root cause of an error; debug a broken run; "
        "which step crashed; troubleshoot a job; investigate a failure; "
        "where does the bad data come from; why did my automation break; why did the job crash; "
        "find the cause of a failed run; why did my flow blow up; "
        "it ended well but the result is wrong; find the culprit; why did the bot stop working; "
        "which item was bad",
        "ja": "なぜ失敗した どうして 処理 原因 エラー 調べる 突き止める 壊れた 不具合 調査 理由 こけた どこで "
        "おかしい 落ちた 究明 診断 止まった なんで 正常終了なのに "
        "データが空 間違えた 違う値 犯人",
    }

    async def execute_core(self, args: GetExecutionArgs) -> Family:
        execution = await self.client.executions.get(args.id)
        if getattr(args, "raw", False):
            return Family(execution=execution)
        # The rules are the largest part of the pack, and the start does without them. Imported beside the event loop.
        await offload(load, "dogubako.packs.n8n.diagnosis.report")
        execution.ignored = await ignored_parameters(self.client.executions, self.client.workflows, execution)
        return await self._family(execution, _DEEPEST)

    def format_response(self, data: Family, args: GetExecutionArgs, raw: bool) -> Json:
        message = Message(en="Diagnosis", ja="診断結果")
        if raw:
            return Json(data=received(data.execution), message=message)
        diagnosis = _diagnosed(data)
        report = diagnosis.report()
        if data.execution.ignored:
            report["n8nIgnored"] = data.execution.ignored
        shown = without_secrets(data.execution, report, list(_descendants(data)))
        return Json(data=shown, message=message, guidance=diagnosis.guidance())

    async def _family(self, execution: Execution, depth: int) -> Family:
        children = []
        # Below the execution itself a few are enough: each of them may call for each of its items again.
        most = _LOOKED_AT if depth == _DEEPEST else _MOST_CHILDREN
        numbers = await offload_if_large(execution, _child_ids, execution, most) if depth else []
        for number in numbers or (await self._unnamed_children(execution) if depth else ()):
            try:
                child = await self.client.executions.get(number)
            except DogubakoError:
                # Deleted meanwhile, or not for this key: the parent can still be explained.
                continue
            children.append(await self._family(child, depth - 1))
        return Family(execution=execution, children=tuple(children))

    async def _unnamed_children(self, execution: Execution) -> list[str]:
        """The failed execution of a sub-workflow that was called once for each item: n8n's error does not name it."""
        called = _failed_call(execution)
        if called is None or execution.started_at is None:
            return []
        try:
            page = await self.client.executions.page(workflowId=called, status="error", limit=_LOOKED_AT)
            for one in page["data"]:
                child = await self.client.executions.get(str(one["id"]))
                if str(child.parent_execution) == str(execution.id):
                    return [str(child.id)]
                if str(one.get("startedAt")) < execution.started_at:
                    break
        except DogubakoError:
            return []
        return []


def _failed_call(execution: Execution) -> str | None:
    """The workflow that a failed Execute Workflow node called."""
    for name, runs in execution.runs.items():
        node = execution.workflow.node(name)
        if node is not None and node.type.endswith(".executeWorkflow") and any(run.failed for run in runs):
            chosen = node.settings.get("workflowId")
            value = chosen.get("value") if isinstance(chosen, Mapping) else chosen
            return value if isinstance(value, str) and not value.startswith("=") else None
    return None


def _diagnosed(family: Family) -> "Diagnosis":
    diagnosis: type[Diagnosis] = load("dogubako.packs.n8n.diagnosis.report").Diagnosis
    return diagnosis(family.execution, [_diagnosed(one) for one in family.children])


def _descendants(family: Family) -> Iterator[Execution]:
    for child in family.children:
        yield child.execution
        yield from _descendants(child)


def _child_ids(execution: Execution, most: int) -> list[str]:
    """Executions of sub-workflows, those that failed first."""
    runs = [run for own in execution.runs.values() for run in own]
    failed = [run.error for run in runs if run.failed]
    called = [run.sub_execution for run in runs]
    holders = [one for one in (*failed, *called, *_calls_passed_on(execution)) if isinstance(one, Mapping)]
    numbers = [str(one["executionId"]) for one in holders if isinstance(one.get("executionId"), (str, int))]
    own = list(dict.fromkeys(numbers))[:_MOST_CHILDREN]
    return list(dict.fromkeys([*own, *_calls_for_each(execution)]))[:most]


def _calls_for_each(execution: Execution) -> list[str]:
    """Executions of a sub-workflow that was called once for each item: first those that gave an item with a null."""
    found = []
    for name, runs in execution.runs.items():
        node = execution.workflow.node(name)
        if node is None or not node.type.endswith(".executeWorkflow"):
            continue
        for index, run in enumerate(runs[:_LOOKED_AT]):
            for number in range(min(len(run.outputs[0] or ()) if run.outputs else 0, _MOST_ITEMS)):
                item = item_at(execution, Place(node=name, run=index, output=0, item=number)) or {}
                told, data = item.get("metadata"), item.get("json")
                called = told.get("subExecution") if isinstance(told, Mapping) else None
                if isinstance(called, Mapping) and isinstance(called.get("executionId"), (str, int)):
                    has_null = isinstance(data, Mapping) and None in data.values()
                    found.append((not has_null, str(called["executionId"])))
    return [number for _, number in sorted(found, key=lambda one: one[0])]


def _calls_passed_on(execution: Execution) -> Iterator[Any]:
    """What the first items of a call that went on after an error tell of it: the run itself tells nothing then."""
    for name, runs in execution.runs.items():
        node = execution.workflow.node(name)
        if node is None or not node.goes_on_after_errors or not node.type.endswith(".executeWorkflow"):
            continue
        for index, run in enumerate(runs[:_LOOKED_AT]):
            for output in range(len(run.outputs)):
                told = (item_at(execution, Place(node=name, run=index, output=output, item=0)) or {}).get("metadata")
                yield told.get("subExecution") if isinstance(told, Mapping) else None


TOOLS = (DiagnoseExecution,)
