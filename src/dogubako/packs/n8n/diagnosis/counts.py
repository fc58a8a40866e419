"""Where the number of items changed: the node that gave out fewer than it received."""

from collections.abc import Iterator
from typing import Final

from dogubako.packs.n8n.diagnosis.dropped_rules import duplicates_dropped
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.flow_rules import conditions_read
from dogubako.packs.n8n.diagnosis.references import texts
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.formatters.flow import Place, output_items
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.models import Run

_LONGEST_WALK: Final = 200
# These give out fewer items because that is what they are for.
_DROPS: Final = ("filter", "removeDuplicates")
_MOST_ITEMS: Final = 200
_MOST_SHOWN: Final = 3
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


def drops_told(failure: Failure) -> str:
    """The items that a node before dropped, where a failure on purpose depends on how many there are."""
    scene = failure.scene
    way = {one.node for place in failure.places[:1] for one in scene.walk(place)} if not failure.is_code else ()
    if not any(_counts_items(scene, name) for name in (failure.node, *way)):
        return ""
    known = duplicates_dropped(scene)
    before = scene.leading_from(failure.node) - {known.node if known is not None else ""}
    told = [one for at in scene.first_runs if at.node in before for one in _dropped(scene, at)]
    return f"; {told[0]}" if told else ""


def _counts_items(scene: Scene, node: str) -> bool:
    return any(".all(" in one and ".length" in one for one in texts(scene.settings.get(node, {})))


def _dropped(scene: Scene, at: RunPlace) -> Iterator[str]:
    places = scene.input_places(at.run)
    kept = [one for one in scene.outputs(at) if one.output == 0] if scene.kind(at.node) in _DROPS else []
    taken = {parent for one in kept for parent in scene.parents(one)}
    lost = [one for one in places if one not in taken]
    if not kept or len(places) > _MOST_ITEMS or not lost or len(lost) + len(kept) != len(places):
        return
    names = dict.fromkeys(one for place in lost for one in _conditions(scene, at, place))
    read = f": {', '.join(list(names)[:_MOST_SHOWN])}" if names else ""
    yield f"'{at.node}' dropped {len(lost)} of {len(places)} items{read}"


def _conditions(scene: Scene, at: RunPlace, place: Place) -> Iterator[str]:
    """What the conditions of a filter read in an item."""
    for reference in conditions_read(scene.settings.get(at.node, {})) if scene.kind(at.node) == "filter" else ():
        for where in scene.places_read(reference, place, at.run)[:1] if not reference.called else ():
            value = scene.value(where, reference.names)
            yield f"{reference.written} is {'missing' if is_absent(value) else shown_value(value)}"
