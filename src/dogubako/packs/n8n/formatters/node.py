"""`NodeExecutionFormatter`: input, parameters and output of one node."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext
from dogubako.contract.output import Guidance, example_call
from dogubako.packs.n8n.formatters.facts import error_facts
from dogubako.packs.n8n.formatters.flow import Input, inputs_of, stored_inputs
from dogubako.packs.n8n.formatters.truncation import Narrowing, fitting_items, smaller, tokens_of
from dogubako.packs.n8n.models import Execution, Items, Run

# Most questions are about the output; the input helps to understand it.
_INPUT_SHARE: Final = 0.25
# Parameters hold whole programs, errors whole pages: neither may displace the items.
_PART_SHARE: Final = 5
_MOST_RUNS: Final = 50
# A recovered run counts in seconds, all others in milliseconds. No execution is older than this in milliseconds.
_EARLIEST_MILLISECONDS: Final = 100_000_000_000
# An unknown name is compared and repeated up to this length.
_LONGEST_SHOWN: Final = 100


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
    """Builds `NodeExecutionData`. Indexes start at 0, as in n8n."""

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
        """The node's data, with as many items as the budget allows."""
        frame = self._frame(max_tokens // _PART_SHARE)
        # The call for the next items is part of the answer; if it were cut, items would be lost.
        following = self.next_call(len(self._output_items))
        room = max(max_tokens - tokens_of(frame) - tokens_of(following) - 400, 200)
        node_input = self._input(int(room * _INPUT_SHARE))
        room -= tokens_of(node_input)
        return {**frame, "input": node_input, "output": self._output(room)}

    def guidance(self) -> Guidance | None:
        """The call for the next items, or for another run."""
        end = self._wanted.item_offset + self._shown
        total = len(self._output_items)
        if end < total:
            message = f"Items {self._wanted.item_offset} to {end - 1} of {total:,} are shown; this shows the next."
            return Guidance(message=message, example=self.next_call(end))
        if self._run.failed:
            example = example_call("diagnose_execution", id=str(self._execution.id))
            return Guidance(message="Find the first place where the data went wrong.", example=example)
        received = next(iter(inputs_of(self._execution, self._run)), None)
        if received is not None:
            return Guidance(message="Look at the node before.", example=self._call_of(received))
        return None

    def _call_of(self, received: Input) -> str:
        """The call that shows the received items: a loop has many runs, a condition two outputs."""
        several = len(self._execution.runs.get(received.node, ())) > 1
        chosen = {"runIndex": received.run if several else None, "outputIndex": received.output or None}
        where = {key: value for key, value in chosen.items() if value is not None}
        return example_call("get_execution_by_node", id=str(self._execution.id), nodeName=received.node, **where)

    def next_call(self, offset: int) -> str:
        wanted = self._wanted
        chosen = {
            "runIndex": self._run_index if len(self._runs) > 1 else None,
            "outputIndex": self._output_index or None,
            "itemOffset": offset,
            "itemLimit": wanted.item_limit,
            "fields": list(wanted.fields) or None,
        }
        arguments = {key: value for key, value in chosen.items() if value is not None}
        return example_call("get_execution_by_node", id=str(self._execution.id), nodeName=wanted.node_name, **arguments)

    def _frame(self, most: int) -> dict[str, Any]:
        run, node = self._run, self._execution.workflow.node(self._wanted.node_name)
        parameters = node.settings if node else {}
        error = error_facts(run.error, self._wanted.node_name) if run.error else None
        facts: dict[str, Any] = {
            "executionId": str(self._execution.id),
            "nodeName": self._wanted.node_name,
            "nodeType": node.type if node else "unknown",
            "status": run.status,
            "executionTime": run.execution_time,
            "startTime": _iso(run.start_time),
            "endTime": _iso_end(run.start_time, run.execution_time),
            "runIndex": self._run_index,
            "outputIndex": self._output_index,
            "runs": [self._run_facts(index) for index in range(len(self._runs))][:_MOST_RUNS],
            "parameters": _within(parameters, most),
            "error": _within(error, most),
        }
        if facts["parameters"] != parameters:
            facts["allParameters"] = self._call_for_parameters()
        if len(self._runs) > _MOST_RUNS:
            facts["runsOmitted"] = len(self._runs) - _MOST_RUNS
        if node is not None and node.disabled:
            facts["disabled"] = True
        if (child := run.sub_execution) is not None:
            facts["subExecution"] = child
        return facts

    def _call_for_parameters(self) -> str:
        workflow_id = self._execution.workflow_id or self._execution.workflow.id
        return example_call("get_workflow_node", id=workflow_id, nodeName=self._wanted.node_name)

    def _run_facts(self, index: int) -> dict[str, Any]:
        run = self._runs[index]
        facts: dict[str, Any] = {"runIndex": index, "status": run.status}
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
        """The first failed run, else the last."""
        wanted = self._wanted.run_index
        if wanted is None:
            failed = (index for index, run in enumerate(self._runs) if run.failed)
            return next(failed, len(self._runs) - 1)
        if wanted >= len(self._runs):
            hint = f"It has {_counted(len(self._runs), 'run')}, counted from 0."
            raise self._missing(f"Run {wanted} of node '{self._wanted.node_name}'", hint)
        return wanted

    def _chosen_output(self) -> int:
        wanted, outputs = self._wanted.output_index, self._run.outputs
        if wanted is None:
            return next((index for index, items in enumerate(outputs) if items), 0)
        if wanted and wanted >= len(outputs):
            hint = f"It has {_counted(len(outputs), 'output')} in this run, counted from 0."
            raise self._missing(f"Output {wanted} of node '{self._wanted.node_name}'", hint)
        return wanted

    def _not_found(self) -> list[Run]:
        hint = self._why_absent() if self._execution.workflow.node(self._wanted.node_name) is not None else ""
        name, ran = self._wanted.node_name[:_LONGEST_SHOWN], list(self._execution.runs)
        near = get_close_matches(name, ran, n=3, cutoff=0.4)
        if near or ran:
            hint = f"{hint} Did you mean {' or '.join(repr(one) for one in near or ran[:3])}?".strip()
        raise self._missing(f"Node '{name}'", hint or "get_execution shows which nodes ran.")

    def _why_absent(self) -> str:
        """Why a node of the workflow has no data in this execution."""
        if self._execution.withheld:
            return "It is part of the workflow, but n8n holds the data back: it is too large to be shown."
        if not self._execution.ended:
            return "It is part of the workflow, but the execution has not ended, and nothing of it is known yet."
        if not self._execution.tells_what_ran:
            return "It is part of the workflow, but n8n kept no data of it: it may have run, or not."
        return "It is part of the workflow, but did not run."

    def _missing(self, what: str, hint: str) -> NotFoundError:
        context = NotFoundErrorContext(
            operation="get execution by node", resource_type="Node", resource_id=self._wanted.node_name
        )
        return NotFoundError(f"{what} not found in execution '{self._execution.id}'", context=context, hint=hint)


def _iso(start_time: float) -> str | None:
    """The start time of a run."""
    if not start_time:
        return None
    seconds = start_time / 1000 if start_time >= _EARLIEST_MILLISECONDS else start_time
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _iso_end(start_time: float, milliseconds: float) -> str | None:
    scale = 1 if start_time >= _EARLIEST_MILLISECONDS else 1000
    return _iso(start_time + milliseconds / scale) if start_time else None


def _within(value: Any, tokens: int) -> Any:
    return value if tokens_of(value) <= tokens else smaller(value, tokens) or {}


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
