"""The facts of an execution, read in one pass: what each node did, what failed, and which executions belong to it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from dogubako.packs.n8n.models import Connections, Execution, Items, Node, Run, read_part

_LINE = re.compile(r"\[line (\d{1,9}+)(?!\d)[^\[\]]*+\]")
# Only those with which n8n writes its own messages: a service, or code, may quote a page.
_TAGS = re.compile(r"</?(?:a|b|br|code|em|i|li|p|ol|strong|u|ul)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_MAYBE_ERROR: Final = b'"error"'


class FailedRun(NamedTuple):
    """A run that failed: its node, its number, and the run itself."""

    node: str
    number: int
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class SwallowedErrors:
    """Errors after which a node went on as configured: its runs and the execution look successful.

    `items` counts them; run, output, item and message are those of the first.
    """

    node: str
    items: int
    run: int
    output: int
    item: int
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeFacts:
    """What one node did, over all its runs."""

    name: str
    type: str
    disabled: bool
    status: str
    runs: int
    failed_runs: Sequence[FailedRun]
    items_in: int
    items_out: int
    swallowed: SwallowedErrors | None
    sub_executions: Sequence[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutionFacts:
    """What happened in an execution. `nodes` are those that ran, in the order of n8n's answer."""

    execution: Execution
    # Nodes that could have run and did not.
    not_run: Sequence[str]
    # The nodes right before and behind the failing one.
    neighbours: frozenset[str]
    # Milliseconds; None while it is not over.
    duration: int | None
    nodes: Sequence[NodeFacts]
    # The run that ended the execution.
    failing: FailedRun | None
    error: dict[str, Any] | None
    swallowed: Sequence[SwallowedErrors]
    parent_execution: Any
    is_redacted: bool


def facts_of(execution: Execution) -> ExecutionFacts:
    """Read the data of an execution once."""
    # A waiting execution has a stop time too, and goes on later.
    duration = milliseconds_between(execution.started_at, execution.stopped_at) if execution.ended else None
    declared = {node.name: node for node in execution.workflow.nodes}
    nodes: list[NodeFacts] = []
    failed: list[FailedRun] = []
    swallowed: list[SwallowedErrors] = []
    for name in execution.runs:
        node = _node_facts(name, execution, declared.get(name))
        nodes.append(node)
        failed += node.failed_runs
        swallowed += [node.swallowed] if node.swallowed else []
    last, order = execution.result.last_node_executed, list(declared)
    # The last node's if it failed, else the latest.
    failing = max(failed, key=lambda one: (one.node == last, one.run.execution_index, one.number), default=None)
    error, place = execution.result.error, last if failing else None
    if failing and failing.run.error is not None:
        error, place = failing.run.error, failing.node
    return ExecutionFacts(
        execution=execution,
        not_run=execution.nodes_not_run,
        neighbours=_neighbours(execution.workflow.connections, failing) if failing else frozenset(),
        duration=duration,
        nodes=nodes,
        failing=failing,
        error=error_facts(error, place) if error else None,
        swallowed=sorted(swallowed, key=lambda one: order.index(one.node)),
        parent_execution=execution.parent_execution,
        is_redacted=execution.is_redacted,
    )


def _neighbours(connections: Connections, failing: FailedRun) -> frozenset[str]:
    before = [source.previous_node for source in failing.run.source or () if source]
    outputs = connections.get(failing.node, {}).values()
    behind = [link.node for links in outputs for targets in links for link in targets or ()]
    return frozenset([*before, *behind])


def _node_facts(name: str, execution: Execution, node: Node | None) -> NodeFacts:
    runs = execution.runs[name]
    failed, received, items, children = [], 0, 0, []
    for index, run in enumerate(runs):
        if run.failed:
            failed.append(FailedRun(name, index, run))
        items += run.items_out
        received += execution.items_given_to(run)
        if (child := run.sub_execution) is not None:
            children.append(child.get("executionId"))
    # A node that failed once has failed, whatever its later runs did.
    decisive = failed[0].run if failed else runs[-1] if runs else None
    return NodeFacts(
        name=name,
        type=node.type if node else "unknown",
        disabled=node is not None and node.disabled,
        status=decisive.status if decisive else "unknown",
        runs=len(runs),
        failed_runs=failed,
        items_in=received,
        items_out=items,
        swallowed=_swallowed(name, runs) if node and node.goes_on_after_errors else None,
        sub_executions=children,
    )


def error_facts(error: Mapping[str, Any], node: str | None = None) -> dict[str, Any]:
    """Node, message, description and line of an error, without stacks and requests."""
    named = error.get("node")
    name = node or (named.get("name") if isinstance(named, Mapping) else None)
    message = _text(error.get("message")) or _text(error.get("name")) or "unknown error"
    line = error.get("lineNumber") or ((match := _LINE.search(message)) and int(match[1])) or None
    listed, context = error.get("messages"), error.get("context")
    others = [text for one in (listed if isinstance(listed, list) else ()) if (text := _text(one)) and text != message]
    facts = {
        "node": name,
        "message": message,
        "description": _text(error.get("description")) or (others[0] if others else None),
        "line": line,
        "httpCode": error.get("httpCode"),
        "itemIndex": context.get("itemIndex") if isinstance(context, Mapping) else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _swallowed(name: str, runs: Sequence[Run]) -> SwallowedErrors | None:
    """The items of a node that represent a failure."""
    errors = (
        (run_index, output, index, message)
        for run_index, run in enumerate(runs)
        for output, items in enumerate(run.outputs)
        for index, message in _failed_items(items or [])
    )
    if (first := next(errors, None)) is None:
        return None
    run_index, output, index, message = first
    count = 1 + sum(1 for _ in errors)
    return SwallowedErrors(node=name, items=count, run=run_index, output=output, item=index, message=message)


def _failed_items(items: Items) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(items):
        # Most items have no error, and checking that must not decode them.
        if _MAYBE_ERROR in bytes(item) and (message := item_error(read_part(item))):
            yield index, message


def item_error(item: Any) -> str | None:
    """The message of an item that represents a failure."""
    if not isinstance(item, Mapping):
        return None
    holder = item.get("json")
    error = (holder.get("error") if isinstance(holder, Mapping) else None) or item.get("error")
    if isinstance(error, Mapping):
        return _text(error.get("message")) or _text(error.get("description"))
    return _text(error)


def _text(value: Any) -> str | None:
    """The text without HTML links, which n8n's descriptions sometimes hold."""
    return _TAGS.sub("", value).strip() or None if isinstance(value, str) else None


def milliseconds_between(started: str | None, stopped: str | None) -> int | None:
    """The duration; None while it is not over."""
    if not started or not stopped:
        return None
    begin, end = datetime.fromisoformat(started), datetime.fromisoformat(stopped)
    return round((end - begin).total_seconds() * 1000)
