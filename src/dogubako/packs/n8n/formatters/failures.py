"""Errors of an execution: the ones that n8n reports, and the ones that were swallowed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dogubako.packs.n8n.models import Execution, Items, Run

_LINE = re.compile(r"\[line (\d{1,9}+)(?!\d)[^\[\]]*+\]")
_TAGS = re.compile(r"<[^>]{1,200}>")
_MAYBE_ERROR: Final = b'"error"'


def error_facts(error: Mapping[str, Any], node: str | None = None) -> dict[str, Any]:
    """Node, message, description and line: what helps, without stacks and requests."""
    named = error.get("node")
    name = node or (named.get("name") if isinstance(named, Mapping) else None)
    said = _text(error.get("message")) or _text(error.get("name")) or "unknown error"
    line = error.get("lineNumber") or ((found := _LINE.search(said)) and int(found[1])) or None
    listed, context = error.get("messages"), error.get("context")
    messages = [text for one in (listed if isinstance(listed, list) else ()) if (text := _text(one)) and text != said]
    facts = {
        "node": name,
        "message": said,
        "description": _text(error.get("description")) or (messages[0] if messages else None),
        "line": line,
        "httpCode": error.get("httpCode"),
        "itemIndex": context.get("itemIndex") if isinstance(context, Mapping) else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def failing_run(execution: Execution) -> tuple[str, int, Run] | None:
    """The run that ended the execution: of the last node if that failed, else the latest that did."""
    failed = [
        (name, index, run) for name, runs in execution.runs.items() for index, run in enumerate(runs) if run.failed
    ]
    last = execution.result.last_node_executed
    return max(failed, key=lambda one: (one[0] == last, one[2].execution_index, one[1]), default=None)


def main_error(execution: Execution) -> dict[str, Any] | None:
    """The error itself, with the node it happened in."""
    found = failing_run(execution)
    if found is not None and found[2].error is not None:
        return error_facts(found[2].error, found[0])
    overall = execution.result.error
    return error_facts(overall, execution.result.last_node_executed if found else None) if overall else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Swallowed:
    """An error that n8n was told to go on after: the run and the execution look like a success."""

    node: str
    run: int
    output: int
    item: int
    message: str


def swallowed_errors(execution: Execution) -> Iterator[Swallowed]:
    """Items that stand for a failure. Looked for only behind nodes that go on after errors."""
    for node in execution.workflow.nodes:
        if not node.goes_on_after_errors:
            continue
        for run_index, run in enumerate(execution.runs.get(node.name, ())):
            for output, items in enumerate(run.outputs):
                for index, message in _failed_items(items or []):
                    yield Swallowed(node=node.name, run=run_index, output=output, item=index, message=message)


def _failed_items(items: Items) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(items):
        # Most items are fine, and finding that out must not cost decoding them.
        if _MAYBE_ERROR in bytes(item) and (message := item_error(msgspec.json.decode(item))):
            yield index, message


def item_error(item: Any) -> str | None:
    """The message of an item that stands for a failure."""
    if not isinstance(item, Mapping):
        return None
    holder = item.get("json")
    error = (holder.get("error") if isinstance(holder, Mapping) else None) or item.get("error")
    if isinstance(error, Mapping):
        return _text(error.get("message")) or _text(error.get("description"))
    return _text(error)


def _text(value: Any) -> str | None:
    """Plain words; n8n's own descriptions sometimes hold links in HTML."""
    return _TAGS.sub("", value).strip() or None if isinstance(value, str) else None
