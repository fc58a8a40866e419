"""`ExecutionFormatter`: one execution in at most a thousand tokens."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.output import Guidance, example_call
from dogubako.packs.n8n.formatters.facts import ExecutionFacts
from dogubako.packs.n8n.formatters.truncation import shortened, tokens_of

# The envelope and the guidance around the summary have to fit too.
MOST_TOKENS: Final = 1_000
_FRAME_TOKENS: Final = 60
_FACT_TOKENS: Final = 600
# A shortened name is useless in a call, so a longer one is not part of an example.
_NAME_TOKENS: Final = 200
_LONGEST_WORKFLOW_NAME: Final = 60
# Texts are truncated to the first of these lengths with which the facts fit: tokens per character differ by script.
_TEXT_LENGTHS: Final = (150, 60, 20, 5)
_MOST_SWALLOWED: Final = 3
_MOST_SUB_EXECUTIONS: Final = 5
_MOST_NOT_RUN: Final = 10
# Nodes with parameters that n8n ignored, and parameters of each.
_MOST_IGNORED: Final = 3
_LONGEST_NODE_NAME: Final = 60
# Facts that are shown also when there is nothing to say.
_ALWAYS: Final = ("stoppedAt", "duration")


class ExecutionFormatter:
    """Builds an `ExecutionSummary`."""

    def __init__(self, facts: ExecutionFacts, offset: int = 0, present: Mapping[str, Any] | None = None) -> None:
        self._facts = facts
        self._offset = offset
        self._present = present

    def format_summary(self) -> dict[str, Any]:
        """All facts, and as many nodes as fit: the failed ones and their neighbours first."""
        summary, nodes, guidance = self._fitting_facts(), self._nodes()[self._offset :], self.guidance()
        frame = {**summary, "availableNodes": [], "availableNodesOmitted": 0, "nextNodeOffset": 0}
        room = MOST_TOKENS - _FRAME_TOKENS - tokens_of({**frame, "_guidance": [guidance.message, guidance.example]})
        shown: list[dict[str, Any]] = []
        for node in nodes:
            room -= tokens_of(node) + 1
            # The first node of a further page is shown in any case, so that every page leads on.
            if room < 0 and (shown or not self._offset):
                break
            shown.append(node)
        left = len(nodes) - len(shown)
        following = {"availableNodesOmitted": left, "nextNodeOffset": self._offset + len(shown)} if left else {}
        return {**summary, "availableNodes": shown, **following}

    def guidance(self) -> Guidance:
        """The suggested next call."""
        execution, name = self._facts.execution, self._worth_a_look()
        if name is not None and _is_long(name):
            example = example_call("diagnose_execution", id=str(execution.id))
            return Guidance(
                message="The node's name is too long to show here; this tells what it did.", example=example
            )
        if name is not None:
            example = example_call("get_execution_by_node", id=str(execution.id), nodeName=name)
            if self._facts.failing is not None:
                message = "Look at the failing node, or let diagnose_execution find where the data went wrong first."
            else:
                message = "Look at what a node received and gave out; every node in availableNodes can be asked for."
            return Guidance(message=message, example=example)
        if not execution.ended:
            example = example_call("get_execution", id=str(execution.id))
            return Guidance(message="It has not ended yet; ask again later.", example=example)
        example = example_call("get_execution", id=str(execution.id), raw=True)
        message = "holds back the data of all nodes" if execution.withheld else "kept no data of any node"
        return Guidance(message=f"n8n {message}; this shows what it does tell.", example=example)

    def _fitting_facts(self) -> dict[str, Any]:
        """All facts but the nodes, with texts as long as they can be."""
        facts = self._all_facts()
        *longer, shortest = _TEXT_LENGTHS
        for longest in longer:
            if tokens_of(shown := _with_texts_up_to(longest, facts)) <= _FACT_TOKENS:
                return shown
        return _with_texts_up_to(shortest, facts)

    def _all_facts(self) -> dict[str, Any]:
        facts, execution = self._facts, self._facts.execution
        every = {
            "id": str(execution.id),
            "workflowId": execution.workflow_id or execution.workflow.id,
            "workflowName": execution.workflow.name,
            "status": execution.status,
            "mode": execution.mode,
            "startedAt": execution.started_at,
            "stoppedAt": execution.stopped_at,
            "duration": facts.duration,
            "workflowVersion": self._version(),
            "statistics": self._statistics(),
            "error": facts.error,
            "swallowedErrors": [
                {"nodeName": one.node, "items": one.items, "message": one.message}
                for one in facts.swallowed[:_MOST_SWALLOWED]
            ],
            "swallowedErrorsOmitted": max(len(facts.swallowed) - _MOST_SWALLOWED, 0) or None,
            "n8nIgnored": [
                {**one, "parameters": one["parameters"][:_MOST_IGNORED]} for one in execution.ignored[:_MOST_IGNORED]
            ],
            "n8nIgnoredOmitted": max(len(execution.ignored) - _MOST_IGNORED, 0) or None,
            "notes": self._notes(),
            "retryOf": execution.retry_of,
            "retrySuccessId": execution.retry_success_id,
            "parentExecutionId": facts.parent_execution,
            "subExecutionIds": [child for one in facts.nodes for child in one.sub_executions][:_MOST_SUB_EXECUTIONS],
            "nodesNotRun": facts.not_run[:_MOST_NOT_RUN],
            "nodesNotRunOmitted": max(len(facts.not_run) - _MOST_NOT_RUN, 0) or None,
        }
        return {key: value for key, value in every.items() if value or value == 0 or key in _ALWAYS}

    def _statistics(self) -> dict[str, int]:
        nodes, execution = self._facts.nodes, self._facts.execution
        total = {"totalNodes": len(execution.workflow.nodes)}
        if not nodes and not execution.tells_what_ran:
            return total
        return {
            **total,
            "executedNodes": len(nodes),
            "successfulNodes": sum(one.status == "success" for one in nodes),
            "failedNodes": sum(bool(one.failed_runs) for one in nodes),
            "totalItemsProcessed": sum(one.items_out for one in nodes),
        }

    def _version(self) -> dict[str, Any] | None:
        """The version that ran, and the present ones if they were asked for."""
        ran, present = self._facts.execution.workflow_version_id, self._present
        if present is None:
            return {"ran": ran} if ran else None
        published, draft = present.get("activeVersionId"), present.get("versionId")
        return {"ran": ran, "published": published, "draft": draft, "changedSince": ran != (published or draft)}

    def _nodes(self) -> list[dict[str, Any]]:
        """Failed nodes first, then their neighbours, then the others; nodes with very long names come last."""
        nodes, near = [], self._facts.neighbours
        for one in self._facts.nodes:
            entry: dict[str, Any] = {"nodeName": one.name, "nodeType": one.type, "status": one.status}
            entry |= {"itemsIn": one.items_in, "itemsOut": one.items_out}
            if one.runs > 1:
                entry["runs"] = one.runs
            if one.disabled:
                entry["disabled"] = True
            nodes.append(entry)
        return sorted(
            nodes,
            key=lambda one: (_is_long(one["nodeName"]), one["status"] == "success", one["nodeName"] not in near),
        )

    def _notes(self) -> list[str]:
        execution = self._facts.execution
        notes = []
        if execution.status == "waiting":
            # A wait for a call has no end, which n8n writes as the year 3000.
            end = str(execution.wait_till)
            until = "for a call that resumes it" if end.startswith("3000-") else f"until {end}"
            notes.append(f"Waiting {until}; it is not over although it has a stop time.")
        if execution.withheld:
            notes.append(f"n8n holds the data back: {execution.json_size_bytes:,} bytes are above its display limit.")
        if self._facts.is_redacted:
            notes.append("n8n shows this execution redacted: items are empty.")
        if execution.status == "crashed":
            notes.append("n8n crashed meanwhile; times and items were recovered and may be incomplete.")
        if not execution.tells_what_ran and not execution.withheld:
            which = "other nodes" if self._facts.nodes else "nodes"
            has = "has no data of it yet" if not execution.ended else "kept no data of it"
            notes.append(f"n8n {has}: which {which} ran is not known, and they may have done something.")
        elif not self._facts.nodes and not execution.withheld:
            notes.append("No node has left any data.")
        return notes

    def _worth_a_look(self) -> str | None:
        """The failed node, else one that swallowed an error, else the last one."""
        facts, last = self._facts, self._facts.execution.result.last_node_executed
        if facts.failing is not None:
            return facts.failing.node
        if facts.swallowed:
            return facts.swallowed[0].node
        return last if last in facts.execution.runs else facts.nodes[-1].name if facts.nodes else None


def _is_long(name: str) -> bool:
    return tokens_of(name) > _NAME_TOKENS


def _with_texts_up_to(longest: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(facts)
    if "error" in shown:
        shown["error"] = _brief(shown["error"], longest)
    if "swallowedErrors" in shown:
        shown["swallowedErrors"] = [_brief(one, longest) for one in shown["swallowedErrors"]]
    if "nodesNotRun" in shown:
        shown["nodesNotRun"] = [shortened(name, min(longest, _LONGEST_NODE_NAME)) for name in shown["nodesNotRun"]]
    if "n8nIgnored" in shown:
        shown["n8nIgnored"] = [
            {
                "node": shortened(one["node"], min(longest, _LONGEST_NODE_NAME)),
                "parameters": [shortened(name, min(longest, _LONGEST_NODE_NAME)) for name in one["parameters"]],
            }
            for one in shown["n8nIgnored"]
        ]
    if "workflowName" in shown:
        shown["workflowName"] = shortened(shown["workflowName"], min(longest, _LONGEST_WORKFLOW_NAME))
    return shown


def _brief(texts: Mapping[str, Any], longest: int) -> dict[str, Any]:
    return {key: shortened(value, longest) if isinstance(value, str) else value for key, value in texts.items()}
