"""`ExecutionFormatter`: one execution in at most a thousand tokens, whatever its size."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.guidance import Guidance, example_call
from dogubako.packs.n8n.formatters.failures import failing_run, main_error, swallowed_errors
from dogubako.packs.n8n.formatters.shortening import shortened, tokens_of, within
from dogubako.packs.n8n.formatters.times import milliseconds_between
from dogubako.packs.n8n.models import Execution, Run

# The envelope and the guidance around the summary have to fit too.
MOST_TOKENS: Final = 1_000
_FRAME_TOKENS: Final = 60
_FACT_TOKENS: Final = 600
# Half a name is no name, so one that costs more than this is not part of an example.
_NAME_TOKENS: Final = 200
_LONGEST_WORKFLOW_NAME: Final = 60
# Texts are cut to the first of these lengths with which the facts fit: scripts differ in what a character costs.
_TEXT_LENGTHS: Final = (150, 60, 20, 5)
_MOST_SWALLOWED: Final = 3


class ExecutionFormatter:
    """Makes an `ExecutionSummary`."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def format_summary(self) -> dict[str, Any]:
        """Everything but the list of nodes, and then as many nodes as there is room for: failed ones first."""
        guidance = self.guidance()
        summary = {**self._fitting_facts(), "availableNodes": [], "availableNodesOmitted": 0}
        room = MOST_TOKENS - _FRAME_TOKENS
        nodes = self._nodes()
        shown = within(nodes, room, frame={**summary, "_guidance": [guidance.message, guidance.example]})
        summary["availableNodes"] = nodes[:shown]
        if shown == len(nodes):
            del summary["availableNodesOmitted"]
        else:
            summary["availableNodesOmitted"] = len(nodes) - shown
        return summary

    def guidance(self) -> Guidance:
        """The next call that is worth making."""
        execution, name = self._execution, self._worth_a_look()
        if name is not None and _is_long(name):
            example = example_call("diagnose_execution", id=str(execution.id))
            return Guidance(
                message="The node's name is too long to show here; this tells what it did.", example=example
            )
        if name is not None:
            example = example_call("get_execution_by_node", id=str(execution.id), nodeName=name)
            if failing_run(execution) is not None:
                said = "Look at the failing node, or let diagnose_execution find where the data went wrong first."
            else:
                said = "Look at what a node received and gave out; every node in availableNodes can be asked for."
            return Guidance(message=said, example=example)
        if not execution.ended:
            example = example_call("get_execution", id=str(execution.id))
            return Guidance(message="It has not ended yet; ask again later.", example=example)
        example = example_call("get_execution", id=str(execution.id), raw=True)
        said = "holds back the data of all nodes" if execution.withheld else "kept no data of any node"
        return Guidance(message=f"n8n {said}; this shows what it does tell.", example=example)

    def _fitting_facts(self) -> dict[str, Any]:
        every = (self._facts(longest) for longest in _TEXT_LENGTHS)
        return next((facts for facts in every if tokens_of(facts) <= _FACT_TOKENS), self._facts(_TEXT_LENGTHS[-1]))

    def _facts(self, longest: int) -> dict[str, Any]:
        execution = self._execution
        swallowed = self._swallowed(longest)
        facts = {
            "id": str(execution.id),
            "workflowId": execution.workflow_id or execution.workflow.id,
            "workflowName": shortened(execution.workflow.name, min(longest, _LONGEST_WORKFLOW_NAME)),
            "status": execution.status,
            "mode": execution.mode,
            "startedAt": execution.started_at,
            "stoppedAt": execution.stopped_at,
            # One that waits has a stop time too, and goes on later.
            "duration": milliseconds_between(execution.started_at, execution.stopped_at) if execution.ended else None,
            "statistics": self._statistics(),
            "error": self._error(longest),
            "swallowedErrors": swallowed[:_MOST_SWALLOWED],
            "swallowedErrorsOmitted": max(len(swallowed) - _MOST_SWALLOWED, 0) or None,
            "notes": self._notes(),
            **self._relatives(),
        }
        always = ("stoppedAt", "duration")
        return {key: value for key, value in facts.items() if value or value == 0 or key in always}

    def _statistics(self) -> dict[str, int]:
        runs = self._execution.runs
        statuses = [node_status(own) for own in runs.values()]
        items = sum(len(items or []) for own in runs.values() for run in own for items in run.outputs)
        return {
            "totalNodes": len(self._execution.workflow.nodes),
            "executedNodes": len(runs),
            "successfulNodes": statuses.count("success"),
            "failedNodes": sum(1 for own in runs.values() if any(run.failed for run in own)),
            "totalItemsProcessed": items,
        }

    def _nodes(self) -> list[dict[str, Any]]:
        """Failed ones first, then in the order in which they ran; those whose names would fill the list come last."""
        workflow = self._execution.workflow
        nodes = []
        for name, runs in self._execution.runs.items():
            node = workflow.node(name)
            entry: dict[str, Any] = {
                "nodeName": name,
                "nodeType": node.type if node else "unknown",
                "status": node_status(runs),
            }
            if len(runs) > 1:
                entry["runs"] = len(runs)
            if node is not None and node.disabled:
                entry["disabled"] = True
            nodes.append(entry)
        return sorted(nodes, key=lambda entry: (_is_long(entry["nodeName"]), entry["status"] == "success"))

    def _error(self, longest: int) -> dict[str, Any] | None:
        error = main_error(self._execution)
        return _brief(error, longest) if error else None

    def _swallowed(self, longest: int) -> list[dict[str, Any]]:
        """By node, with how often and what was said first."""
        found: dict[str, dict[str, Any]] = {}
        for one in swallowed_errors(self._execution):
            entry = found.setdefault(one.node, {"nodeName": one.node, "items": 0, "message": one.message})
            entry["items"] += 1
        return [_brief(entry, longest) for entry in found.values()]

    def _notes(self) -> list[str]:
        execution, body = self._execution, self._execution.data
        notes = []
        if execution.status == "waiting":
            # A wait for a call has no end, which n8n writes as the year 3000.
            end = str(execution.wait_till)
            until = "for a call that resumes it" if end.startswith("3000-") else f"until {end}"
            notes.append(f"Waiting {until}; it is not over although it has a stop time.")
        if execution.withheld:
            notes.append(f"n8n holds the data back: {execution.json_size_bytes:,} bytes are above its display limit.")
        if body is not None and (body.redaction_info or {}).get("isRedacted"):
            notes.append("n8n shows this execution redacted: items are empty.")
        if execution.status == "crashed":
            notes.append("n8n crashed meanwhile; times and items were recovered and may be incomplete.")
        if not execution.runs and not execution.withheld:
            notes.append("No node has left any data.")
        return notes

    def _relatives(self) -> dict[str, Any]:
        execution, body = self._execution, self._execution.data
        parent = (body.parent_execution or {}).get("executionId") if body else None
        children = [
            run.metadata["subExecution"].get("executionId")
            for runs in execution.runs.values()
            for run in runs
            if run.metadata and isinstance(run.metadata.get("subExecution"), Mapping)
        ]
        return {
            "retryOf": execution.retry_of,
            "retrySuccessId": execution.retry_success_id,
            "parentExecutionId": parent,
            "subExecutionIds": children[:5],
        }

    def _worth_a_look(self) -> str | None:
        """The node that failed, else one that swallowed an error, else the last one."""
        found = failing_run(self._execution)
        if found is not None:
            return found[0]
        for one in swallowed_errors(self._execution):
            return one.node
        last = self._execution.result.last_node_executed
        return last if last in self._execution.runs else next(reversed(self._execution.runs), None)


def node_status(runs: list[Run]) -> str:
    """As n8n has it; a node that failed once has failed, however its later runs ended."""
    failed = next((run for run in runs if run.failed), None)
    if failed is not None:
        return failed.status if failed.status != "success" else "error"
    return runs[-1].status if runs else "unknown"


def _is_long(name: str) -> bool:
    return tokens_of(name) > _NAME_TOKENS


def _brief(facts: Mapping[str, Any], longest: int) -> dict[str, Any]:
    return {key: shortened(value, longest) if isinstance(value, str) else value for key, value in facts.items()}
