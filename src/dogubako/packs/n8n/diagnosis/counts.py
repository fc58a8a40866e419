"""Where the number of items changed: the node that gave out fewer than it received."""

from typing import Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.formatters.flow import output_items
from dogubako.packs.n8n.models import Run

_LONGEST_WALK: Final = 200
# These give out fewer items because that is what they are for.
_GATHERS: Final = frozenset({"aggregate", "summarize", "splitInBatches", "merge"})


def too_few(failure: Failure, node: str, told: str) -> Cause:
    """The last node before that dropped items, or a sentence of how many there were. No name is the own input."""
    scene = failure.scene
    if node:
        runs = scene.execution.runs.get(node, [])
        number = scene.output_read(node, failure.run)
        count = len(output_items(scene.execution, node, len(runs) - 1, number))
        dropped = dropped_before(scene, runs[-1]) if runs else None
        what = f"'{node}' gave out {count} items"
    else:
        count, dropped = scene.execution.items_given_to(failure.run), dropped_before(scene, failure.run)
        what = f"it received {count} items"
    if dropped is None:
        return Cause(node=failure.node, problem=f"its code {told}: {what}")
    name, received, given = dropped
    way = " this way" if scene.kind(name) in ("if", "switch") else ""
    problem = f"it received {received} items and passed on {given}{way}; '{failure.node}' {told}"
    return Cause(node=name, problem=problem)


def dropped_before(scene: Scene, run: Run) -> tuple[str, int, int] | None:
    """The nearest node before a run that passed on fewer items than it received, with both numbers."""
    for _ in range(_LONGEST_WALK):
        inputs = scene.inputs(run)
        if len(inputs) != 1:
            return None
        source, given = inputs[0], len(inputs[0].items)
        own = scene.execution.runs.get(source.node, [])
        if not 0 <= source.run < len(own) or scene.kind(source.node) in _GATHERS:
            return None
        run = own[source.run]
        received = scene.execution.items_given_to(run)
        if given < received:
            return source.node, received, given
    return None
