"""`NodeExecutionFormatter`: what one node received, was set to, and gave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext
from dogubako.contract.guidance import Guidance, example_call
from dogubako.packs.n8n.formatters.failures import error_facts
from dogubako.packs.n8n.formatters.flow import inputs_of, stored_inputs
from dogubako.packs.n8n.formatters.items import Narrowing, fitting_items
from dogubako.packs.n8n.formatters.shortening import tokens_of
from dogubako.packs.n8n.formatters.summary import node_status
from dogubako.packs.n8n.formatters.times import iso, iso_end
from dogubako.packs.n8n.models import Execution, Items, Run

# Output is what people look for; input helps to understand it.
_INPUT_SHARE: Final = 0.25
_MOST_RUNS: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which part of the node's data to show."""

    node_name: str
    run_index: int | None = None
    output_index: int | None = None
    item_offset: int = 0
    item_limit: int | None = None
    fields: Sequence[str] = ()


class NodeExecutionFormatter:
    """Makes `NodeExecutionData`. Counting starts at 0, as in n8n."""

    def __init__(self, execution: Execution, wanted: Wanted) -> None:
        self._execution = execution
        self._wanted = wanted
        self._runs = execution.runs.get(wanted.node_name) or self._not_found()
        self._run_index = self._chosen_run()
        self._run: Run = self._runs[self._run_index]
        self._output_index = self._chosen_output()
        self._narrowing = Narrowing(wanted.fields)
        self._shown = 0

    def format_node_execution(self, max_tokens: int) -> dict[str, Any]:
        """The node's data, with as many items as the tokens allow."""
        frame = self._frame()
        room = max(max_tokens - tokens_of(frame) - 400, 200)
        given = self._input(int(room * _INPUT_SHARE))
        room -= tokens_of(given)
        return {**frame, "input": given, "output": self._output(room)}

    def guidance(self) -> Guidance | None:
        """The call that shows the next items, or another run."""
        end = self._wanted.item_offset + self._shown
        total = len(self._output_items)
        if end < total:
            said = f"Items {self._wanted.item_offset} to {end - 1} of {total:,} are shown; this shows the next."
            return Guidance(message=said, example=self.next_call(end))
        if self._run.failed:
            example = example_call("diagnose_execution", id=str(self._execution.id))
            return Guidance(message="Find the first place where the data went wrong.", example=example)
        source = next((one for one in self._run.source or () if one is not None), None)
        if source is not None:
            example = example_call("get_execution_by_node", id=str(self._execution.id), nodeName=source.previous_node)
            return Guidance(message="Look at the node before.", example=example)
        return None

    def next_call(self, offset: int) -> str:
        wanted = self._wanted
        chosen = {
            "runIndex": self._run_index if len(self._runs) > 1 else None,
            "outputIndex": self._output_index or None,
            "itemOffset": offset,
            "itemLimit": wanted.item_limit,
            "fields": list(wanted.fields) or None,
        }
        given = {key: value for key, value in chosen.items() if value is not None}
        return example_call("get_execution_by_node", id=str(self._execution.id), nodeName=wanted.node_name, **given)

    def _frame(self) -> dict[str, Any]:
        run, node = self._run, self._execution.workflow.node(self._wanted.node_name)
        facts: dict[str, Any] = {
            "executionId": str(self._execution.id),
            "nodeName": self._wanted.node_name,
            "nodeType": node.type if node else "unknown",
            "status": run.status if run.status != "success" or not run.failed else "error",
            "executionTime": run.execution_time,
            "startTime": iso(run.start_time),
            "endTime": iso_end(run.start_time, run.execution_time),
            "runIndex": self._run_index,
            "outputIndex": self._output_index,
            "runs": [self._run_facts(index) for index in range(len(self._runs))][:_MOST_RUNS],
            "parameters": node.settings if node else {},
            "error": error_facts(run.error, self._wanted.node_name) if run.error else None,
        }
        if len(self._runs) > _MOST_RUNS:
            facts["runsOmitted"] = len(self._runs) - _MOST_RUNS
        if node is not None and node.disabled:
            facts["disabled"] = True
        if run.metadata and isinstance(run.metadata.get("subExecution"), Mapping):
            facts["subExecution"] = run.metadata["subExecution"]
        return facts

    def _run_facts(self, index: int) -> dict[str, Any]:
        run = self._runs[index]
        facts: dict[str, Any] = {"runIndex": index, "status": node_status([run])}
        facts["executionTime"] = run.execution_time
        facts["items"] = [len(items or []) for items in run.outputs]
        return facts

    def _input(self, room: int) -> dict[str, Any]:
        inputs = inputs_of(self._execution, self._run)
        stored: list[Items] = []
        if not any(one.items for one in inputs) and self._run.failed:
            stored = stored_inputs(self._execution, self._wanted.node_name)
        every = stored or [one.items for one in inputs]
        items = [item for one in every for item in one]
        shown = fitting_items(items, self._wanted.item_offset, self._wanted.item_limit, room, self._narrowing)
        origin = [{"nodeName": one.node, "runIndex": one.run, "outputIndex": one.output} for one in inputs]
        counts = [len(one) for one in every]
        return {
            "items": shown,
            "total": len(items),
            "from": origin,
            **({"perInput": counts} if len(counts) > 1 else {}),
        }

    def _output(self, room: int) -> dict[str, Any]:
        wanted, items = self._wanted, self._output_items
        shown = fitting_items(items, wanted.item_offset, wanted.item_limit, room, self._narrowing)
        self._shown = len(shown)
        return {"items": shown, "total": len(items), "offset": wanted.item_offset}

    @property
    def _output_items(self) -> Items:
        outputs = self._run.outputs
        return (outputs[self._output_index] if self._output_index < len(outputs) else None) or []

    def _chosen_run(self) -> int:
        """The first that failed, else the last: that is what people ask about."""
        wanted = self._wanted.run_index
        if wanted is None:
            failed = (index for index, run in enumerate(self._runs) if run.failed)
            return next(failed, len(self._runs) - 1)
        if wanted >= len(self._runs):
            raise self._missing(f"Run {wanted} of node '{self._wanted.node_name}'", f"It ran {len(self._runs)} times.")
        return wanted

    def _chosen_output(self) -> int:
        wanted, outputs = self._wanted.output_index, self._run.outputs
        if wanted is None:
            return next((index for index, items in enumerate(outputs) if items), 0)
        if wanted and wanted >= len(outputs):
            hint = f"It has {len(outputs)} outputs in this run."
            raise self._missing(f"Output {wanted} of node '{self._wanted.node_name}'", hint)
        return wanted

    def _not_found(self) -> list[Run]:
        name, ran = self._wanted.node_name, list(self._execution.runs)
        near = get_close_matches(name, ran, n=3, cutoff=0.4)
        in_workflow = self._execution.workflow.node(name) is not None
        hint = "It is part of the workflow, but did not run." if in_workflow else ""
        if near or ran:
            hint = f"{hint} Did you mean {' or '.join(repr(one) for one in near or ran[:3])}?".strip()
        raise self._missing(f"Node '{name}'", hint or "get_execution shows which nodes ran.")

    def _missing(self, what: str, hint: str) -> NotFoundError:
        context = NotFoundErrorContext(
            operation="get execution by node", resource_type="Node", resource_id=self._wanted.node_name
        )
        return NotFoundError(f"{what} not found in execution '{self._execution.id}'", context=context, hint=hint)
