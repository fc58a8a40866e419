"""The data flow of an execution: what each run received, and which items an item was made from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from dogubako.packs.n8n.models import Execution, Items, Run, read_part


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One item: the node, run and output that it came from."""

    node: str
    run: int
    output: int
    item: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """The items that one input of a run received, and their source. `number` is the number of the input."""

    number: int
    node: str
    run: int
    output: int
    items: Items


def inputs_of(execution: Execution, run: Run) -> list[Input]:
    """Every connected input that received items."""
    inputs = []
    for number, source in enumerate(run.source or ()):
        if source is None:
            continue
        before, output = source.previous_node_run or 0, source.previous_node_output or 0
        items = output_items(execution, source.previous_node, before, output)
        inputs.append(Input(number=number, node=source.previous_node, run=before, output=output, items=items))
    return inputs


def output_items(execution: Execution, node: str, run: int, output: int) -> Items:
    runs = execution.runs.get(node, [])
    outputs = runs[run].outputs if 0 <= run < len(runs) else []
    return (outputs[output] if 0 <= output < len(outputs) else None) or []


def stored_inputs(execution: Execution, node: str) -> list[Items]:
    """The input of a failing node, from n8n's execution stack: the only record if its source kept no data."""
    decoded = read_part(execution.data.execution_data) if execution.data else None
    stack = decoded.get("nodeExecutionStack") if isinstance(decoded, dict) else None
    for entry in stack or ():
        if entry.get("node", {}).get("name") == node:
            main = (entry.get("data") or {}).get("main") or []
            return [[msgspec.Raw(msgspec.json.encode(item)) for item in items or ()] for items in main]
    return []


def item_at(execution: Execution, place: Place) -> dict[str, Any] | None:
    items = output_items(execution, place.node, place.run, place.output)
    decoded = read_part(items[place.item]) if 0 <= place.item < len(items) else None
    return decoded if isinstance(decoded, dict) else None


def before(execution: Execution, place: Place) -> Iterator[Place]:
    """The items that this one was made from, by n8n's pairing."""
    runs = execution.runs.get(place.node, [])
    item = item_at(execution, place)
    if item is None or place.run >= len(runs):
        return
    inputs = inputs_of(execution, runs[place.run])
    for pair in _pairs(item.get("pairedItem")):
        place_before = _overwritten(pair) or _place_in(inputs, pair)
        if place_before is not None and item_at(execution, place_before) is not None:
            yield place_before


def _place_in(inputs: list[Input], pair: dict[str, Any]) -> Place | None:
    one = next((one for one in inputs if one.number == (pair.get("input") or 0)), None)
    return Place(node=one.node, run=one.run, output=one.output, item=pair["item"]) if one else None


def _overwritten(pair: dict[str, Any]) -> Place | None:
    """The real place of an item that a loop passes on in later runs."""
    source = pair.get("sourceOverwrite")
    if not isinstance(source, dict) or "previousNode" not in source:
        return None
    run, output = source.get("previousNodeRun") or 0, source.get("previousNodeOutput") or 0
    return Place(node=source["previousNode"], run=run, output=output, item=pair["item"])


def _pairs(paired: Any) -> list[dict[str, Any]]:
    """The pairing as a list: n8n writes a number, an object, or a list of either."""
    if isinstance(paired, list):
        return [pair for one in paired for pair in _pairs(one)]
    if isinstance(paired, int):
        return [{"item": paired}]
    return [paired] if isinstance(paired, dict) and isinstance(paired.get("item"), int) else []
