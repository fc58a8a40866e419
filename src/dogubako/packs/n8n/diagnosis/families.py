"""Follow a value between an execution and those of its sub-workflows: handed down to them, or given back by them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.flow_rules import conditions_read
from dogubako.packs.n8n.diagnosis.gaps import missing_in
from dogubako.packs.n8n.diagnosis.handovers import called_execution
from dogubako.packs.n8n.diagnosis.lineage import lineage
from dogubako.packs.n8n.diagnosis.names import PASSES
from dogubako.packs.n8n.diagnosis.references import Reference, references_in
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_value, value_walk
from dogubako.packs.n8n.formatters.facts import item_error
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_CALLED: Final = ("executeWorkflowTrigger",)
_MOST_TOLD: Final = 4
_CALLS: Final = ("executeWorkflow", "toolWorkflow")


def handed_down(parent: Scene, child: Scene, cause: Cause) -> Cause | None:
    """Who in the parent made the value that the child's trigger received, or did not give it."""
    place, path = cause.place, cause.path or (cause.read[1] if cause.read else ())
    # What nobody in the child sets was not in the item with which it was called.
    start = child.walk(place)[-1] if cause.unset and place is not None else place
    if start is None or not path or child.kind(start.node) not in _CALLED:
        return None
    caller = _caller(parent, str(child.execution.id))
    if caller is None:
        return None
    if not cause.path:
        return _mapped(parent, caller, path)
    given = _given(parent, caller, child, start)
    if given is None:
        return _mapped(parent, caller, cause.path)
    traced = _traced(parent, caller.node, given, cause.path, cause.described)
    shaped = next((one for one in parent.walk(given) if parent.kind(one.node) not in PASSES), given)
    return _not_given(traced, shaped, cause.path) if traced.node == caller.node else _unproven(traced)


def _given(parent: Scene, caller: RunPlace, child: Scene, start: Place) -> Place | None:
    """The item of the caller that the child's trigger gave out."""
    return next((one for one in parent.input_places(caller.run) if parent.json(one) == child.json(start)), None)


def told_giver(parent: Scene, child: Scene, cause: Cause) -> Cause:
    """The cause with who in the parent made the items in which the child misses a name: either side can be wrong."""
    place = cause.read[0] if cause.read and is_absent(child.value(*cause.read)) and not cause.lost else None
    start = child.walk(place)[-1] if place is not None else None
    if start is None or place is None or child.kind(start.node) not in _CALLED:
        return cause
    if not _keys(child, start) & _keys(child, place):
        return cause
    caller = _caller(parent, str(child.execution.id))
    given = _given(parent, caller, child, start) if caller is not None else None
    if given is None:
        return cause
    giver = next((one for one in parent.walk(given) if parent.kind(one.node) not in PASSES), given)
    problem = f"{cause.problem}; in the calling workflow '{giver.node}' gave it this item, so either side may be wrong"
    return replace(cause, problem=problem, certain=False)


def given_values(callers: Sequence[Scene], failure: Failure, cause: Cause | None) -> list[str]:
    """The fields that a failing child read and that it was given, and how they came to be in one of its callers.

    `callers` are the executions above it, the nearest first.
    """
    child, known = failure.scene, cause.read if cause is not None else None
    one_only = failure.item_index is not None or len(failure.places) == 1
    place = known[0] if known is not None else next(iter(failure.places), None) if one_only else None
    if place is None:
        # Which item it was is not known.
        return []
    start = child.walk(place)[-1]
    read = [*failure.references, *conditions_read(child.settings.get(place.node, {}))]
    paths = [known[1]] if known is not None else []
    paths += [one.names for one in read if one.node is None and is_plain(one)]
    told = []
    for path in dict.fromkeys(paths):
        value = child.value(start, path)
        if is_absent(value) or value != child.value(place, path):
            continue
        if (found := _climbed([child, *callers], start, path)) is not None:
            told.append(f"{'.'.join(path)} is {shown_value(value)}, {lineage(*found, path)}")
    return told[:_MOST_TOLD]


def _climbed(scenes: Sequence[Scene], start: Place, path: tuple[str, ...]) -> tuple[Scene, Place] | None:
    """The topmost caller that handed down this value as it is, and its item."""
    found = None
    for child, parent in pairwise(scenes):
        caller = _caller(parent, str(child.execution.id)) if child.kind(start.node) in _CALLED else None
        given = _given(parent, caller, child, start) if caller is not None else None
        if given is None:
            break
        found = parent, given
        start = value_walk(parent, given, path)[-1]
    return found


def _keys(scene: Scene, place: Place) -> set[str]:
    data = scene.json(place)
    return set(data) if isinstance(data, Mapping) else set()


def _mapped(parent: Scene, caller: RunPlace, path: tuple[str, ...]) -> Cause | None:
    """The expression by which the calling node fills this input of the sub-workflow."""
    inputs = parent.settings.get(caller.node, {}).get("workflowInputs")
    values = inputs.get("value") if isinstance(inputs, Mapping) else None
    written = values.get(path[0]) if isinstance(values, Mapping) else None
    places = parent.input_places(caller.run)
    for reference in references_in(written) if isinstance(written, str) else ():
        for place, missing in missing_in(parent, reference, places[0] if len(places) == 1 else None, caller.run):
            return _unproven(trace_missing(parent, caller.node, reference, place, missing))
    return None


def _unproven(cause: Cause) -> Cause:
    """A value that crossed a border: whether it is wrong there is known only if it was lost or misread."""
    return cause if cause.lost or cause.misread else replace(cause, certain=False)


def given_back(parent: Scene, child: Scene, cause: Cause) -> Cause | None:
    """Who in the child made, or lost, the field that its caller gave out."""
    place = cause.place
    if place is None or not cause.path or parent.kind(place.node) not in _CALLS:
        return None
    if called_execution(parent, place) != str(child.execution.id):
        return None
    wanted = parent.json(place)
    last = child.execution.result.last_node_executed
    for at in reversed(child.runs):
        same = [one for one in child.outputs(at) if at.node == last and child.json(one) == wanted]
        if same and (lacking := _part_given(child, same[0], cause.path)) is not None:
            return lacking
        if same:
            traced = _traced(child, place.node, same[0], cause.path)
            return (
                _not_given(traced, same[0], cause.path)
                if traced.node in (place.node, *_triggers(child))
                else _unproven(traced)
            )
    return None


def _part_given(child: Scene, place: Place, path: tuple[str, ...]) -> Cause | None:
    """Who in the child made the object that lacks a field which its caller reads."""
    holder = child.value(place, path[:-1]) if path[1:] else None
    if not isinstance(holder, Mapping) or not holder or path[-1] in holder:
        return None
    made = trace_value(child, place, path[:-1], f"without {path[-1]}")
    return None if child.kind(made.node) in _CALLED else _unproven(replace(made, certain=False))


def _triggers(scene: Scene) -> list[str]:
    return [name for name in scene.nodes if scene.kind(name) in _CALLED]


def _not_given(traced: Cause, giver: Place, path: tuple[str, ...]) -> Cause:
    """Who gave out the item, for a field that nobody sets on this side and that is read on the other."""
    problem = f"its item has no {'.'.join(path)}, which is read from it"
    return replace(traced, node=giver.node, problem=problem, place=giver, certain=False)


def _traced(scene: Scene, reader: str, place: Place, path: tuple[str, ...], described: str = "") -> Cause:
    value: Any = scene.value(place, path)
    if is_absent(value):
        reference = Reference(node=None, pick="item", path=tuple(Step(name) for name in path))
        return trace_missing(scene, reader, reference, place, path)
    return trace_value(scene, place, path, described or "which the sub-workflow does not accept")


def _caller(parent: Scene, child_id: str) -> RunPlace | None:
    """The run that called this execution."""
    for at in parent.runs:
        for told in (at.run.sub_execution, at.run.error):
            if isinstance(told, Mapping) and str(told.get("executionId")) == child_id:
                return at
    # One that was called for each item is not named.
    calls = [at for at in parent.runs if parent.kind(at.node) in _CALLS]
    failed = [at for at in calls if at.run.failed or any(map(item_error, map(parent.item, parent.outputs(at))))]
    return failed[0] if len(failed) == 1 else None
