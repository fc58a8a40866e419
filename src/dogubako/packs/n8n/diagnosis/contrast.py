"""The checks that every claim has to pass: items that went well, disabled nodes, branches, pinned items."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.flow_rules import FORKS, way_of
from dogubako.packs.n8n.diagnosis.intended_makers import makes
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_PEERS: Final = 500
_DROPS: Final = FORKS | {"removeDuplicates", "limit"}


def is_contradicted(failure: Failure, cause: Cause) -> bool:
    """Whether the failing node took the very value that is blamed, in an item before: then that is not the reason."""
    if cause.read is None or cause.node == failure.node:
        return False
    place, path = cause.read
    if place not in failure.scene.input_places(failure.run):
        return False
    blamed = failure.scene.value(place, path)
    return any(_is_same(failure.scene.value(one, path), blamed) for one in _went_well(failure))


def _went_well(failure: Failure) -> Iterator[Place]:
    """Items before the failing one, and those of earlier runs of the node."""
    scene, left = failure.scene, _MOST_PEERS
    for run in scene.execution.runs.get(failure.node, [])[: failure.index]:
        for place in scene.input_places(run)[:left] if run.error is None else ():
            left -= 1
            yield place
    if failure.item_index is not None:
        yield from scene.input_places(failure.run)[: min(failure.item_index, left)]


def _is_same(one: Any, other: Any) -> bool:
    if _is_nothing(one):
        return _is_nothing(other)
    return type(one) is type(other) and bool(one == other)


def _is_nothing(value: Any) -> bool:
    return is_absent(value) or value is None


def reconsidered(failure: Failure, cause: Cause) -> Cause:
    """The claim, after a look at the nodes that the value passed by: disabled ones, branches, pinned data."""
    if cause.read is None:
        return _pinned(failure, cause)
    return _pinned(failure, _switched_off(failure, cause) or _wrong_way(failure, cause) or cause)


def _switched_off(failure: Failure, cause: Cause) -> Cause | None:
    """A disabled node on the way that would have made the field, or could have dropped the item."""
    place, path = cause.read or (None, ())
    for one in failure.scene.walk(place) if place is not None else ():
        node = failure.scene.nodes.get(one.node)
        if one.node == cause.node:
            break
        if node is None or not node.disabled:
            continue
        if makes(failure.scene, one.node, path[0]):
            problem = f"it is disabled, so it does not make {'.'.join(path)}; {cause.told_at(one.node)}"
            return replace(cause, node=one.node, problem=problem, own=True)
        if failure.scene.kind(one.node) in _DROPS:
            problem = f"it is disabled, so it drops no items; {cause.told_at(one.node)}"
            return replace(cause, node=one.node, problem=problem, certain=False)
    return None


def _wrong_way(failure: Failure, cause: Cause) -> Cause | None:
    """A branch that sent all items without the field here, and all that have it the other way."""
    scene, (place, path) = failure.scene, cause.read or (None, ())
    if place is None or cause.node == failure.node or not _is_nothing(scene.value(place, path)):
        return None
    for one in scene.walk(place):
        run = scene.run_of(one) if scene.kind(one.node) in FORKS else None
        if one.node == cause.node or run is None:
            continue
        here = [one, *scene.siblings(one)]
        others = [number for number, items in enumerate(run.outputs) if number != one.output and items]
        if any(failure.node in scene.reached(scene.behind(one.node, number)) for number in others):
            # The ways join again before the failing node: it gets the item, whichever way that takes.
            continue
        there = [each for number in others for each in _all_of(failure, replace(one, output=number, item=0))]
        if not there or any(_is_nothing(scene.value(each, path)) for each in there):
            continue
        if all(_is_nothing(scene.value(each, path)) for each in here):
            field, way = ".".join(path), way_of(scene, one.node, one.output)
            problem = (
                f"no item that it sent to {way}, and so to '{failure.node}', has {field}, "
                "and every item that it sent elsewhere has it: look whether its ways are swapped"
            )
            return replace(cause, node=one.node, problem=problem, certain=False)
    return None


def _all_of(failure: Failure, first: Place) -> list[Place]:
    return [first, *failure.scene.siblings(first)]


def _pinned(failure: Failure, cause: Cause) -> Cause:
    """The claim with a remark, if the items were pinned by hand."""
    pinned = failure.scene.execution.pinned
    place = cause.read[0] if cause.read else next(iter(failure.places), None)
    name = next((one.node for one in failure.scene.walk(place) if one.node in pinned), None) if place else None
    if name is None:
        return cause
    told = f"{cause.problem}; the items of '{name}' are pinned by hand, so live ones may differ"
    if cause.misread and not _is_slip(failure, cause):
        told = f"its items are pinned by hand, live ones may differ; '{cause.node}' fails with them: {cause.problem}"
        return replace(cause, node=name, problem=told, certain=False)
    return replace(cause, problem=told)


def _is_slip(failure: Failure, cause: Cause) -> bool:
    """Whether the reader has the letters of a name in another order: nobody pins data that differ so."""
    place, path = cause.read or (None, ("",))
    data = failure.scene.value(place, path[:-1]) if place is not None and path[:-1] else None
    data = failure.scene.json(place) if place is not None and not path[:-1] else data
    return isinstance(data, dict) and any(sorted(str(one)) == sorted(path[-1]) for one in data)
