"""Rules for executions that count as a success: items that left the flow without a word, or that came incomplete."""

from collections.abc import Callable, Mapping
from itertools import islice, pairwise, starmap
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.flow_rules import conditions_read
from dogubako.packs.n8n.diagnosis.join_keys import (
    ONLY_FORM,
    key_values,
    merge_keys,
    small_difference,
    unpaired_keys,
)
from dogubako.packs.n8n.diagnosis.references import Reference, references
from dogubako.packs.n8n.diagnosis.replay.names import runs_for_each
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene, conditions_of
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, value_at

_MOST_ITEMS: Final = 200
_MOST_SHOWN: Final = 3
_FOR_ALL: Final = frozenset(
    {"aggregate", "summarize", "limit", "sort", "removeDuplicates", "convertToFile", "itemLists"}
)


def unmatched(scene: Scene) -> Cause | None:
    """Items that meet no rule of a Switch, which has no output for the others."""
    for at in scene.first_runs:
        given = scene.input_places(at.run)[:_MOST_ITEMS] if scene.kind(at.node) == "switch" else []
        taken = {parent for place in scene.outputs(at) for parent in scene.parents(place)}
        lost = [place for place in given if place not in taken]
        if scene.execution.items_given_to(at.run) > len(given):
            continue
        if not lost or (taken and not taken & set(given)) or len(given) == len(lost) == _MOST_ITEMS:
            continue
        told = _values(scene, at, lost)
        problem = f"{len(lost)} of its {len(given)} items meet none of its rules and go nowhere{told}"
        return Cause(node=at.node, problem=problem, place=lost[0], walk=(lost[0],), certain=False)
    return None


def _values(scene: Scene, at: RunPlace, lost: list[Place]) -> str:
    """What the rules read in these items."""
    told: dict[str, None] = {}
    for reference in [one.field for one in conditions_read(scene.settings.get(at.node, {})) if one.field.path]:
        for place in lost:
            for where in scene.places_read(reference, place, at.run)[:1]:
                value = scene.value(where, reference.names)
                near = _nearest_rule(scene, at, value)
                told[f"{reference.written} is {'missing' if is_absent(value) else shown_value(value)}{near}"] = None
    between = "; " if any(" and a rule has " in one for one in told) else ", "
    return f": {between.join(list(told)[:_MOST_SHOWN])}" if told else ""


def _nearest_rule(scene: Scene, at: RunPlace, value: Any) -> str:
    """The value of a rule from which this one differs only in its form."""
    for condition in conditions_of(scene.settings.get(at.node, {})):
        right = condition.get("rightValue")
        if isinstance(value, str) and isinstance(right, str) and (form := small_difference(value, right)):
            return f", and a rule has {shown_value(right)}{form}"
    return ""


def compared_by_nothing(scene: Scene) -> Cause | None:
    """A Remove Duplicates node that compares a field which is empty, or the same, in all items: one of them is left."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "removeDuplicates" else {}
        places = scene.input_places(at.run)[:_MOST_ITEMS]
        fields = [one.strip() for one in str(settings.get("fieldsToCompare") or "").split(",") if one.strip()]
        whole = scene.execution.items_given_to(at.run) == len(places)
        if not fields or len(places) < 2 or at.run.items_out >= len(places) or not whole:
            continue
        held = [scene.value(place, tuple(name.split("."))) for name in fields for place in places]
        empty = all(one is None or one == "" or is_absent(one) for one in held)
        if empty or (len(fields) == 1 and all(one == held[0] for one in held)):
            what = (
                f"empty in all {len(places)} items" if empty else f"{shown_value(held[0])} in all {len(places)} items"
            )
            what = "there in no item" if all(map(is_absent, held)) else what
            problem = f"{', '.join(fields)}, by which it compares, is {what}, so {at.run.items_out} is left over"
            return Cause(node=at.node, problem=problem, place=places[0], walk=(places[0],), certain=False)
    return None


def duplicates_dropped(scene: Scene) -> Cause | None:
    """A Remove Duplicates node that dropped items which differ in fields that it does not compare."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "removeDuplicates" else {}
        fields = [one.strip() for one in str(settings.get("fieldsToCompare") or "").split(",") if one.strip()]
        places = scene.input_places(at.run)[: _MOST_ITEMS + 1] if fields else []
        kept = [scene.json(place) for place in scene.outputs(at)]
        dropped = len(places) - len(kept)
        if dropped < 1 or not kept or len(places) > _MOST_ITEMS:
            continue
        lost = [place for place in places if scene.json(place) not in kept]
        names = {place: _differing(scene.json(place), kept, fields) for place in lost}
        differing = [place for place in lost if names[place]]
        if differing:
            count = "which" if len(differing) == dropped else f"{len(differing)} of which"
            differ = "differs" if len(differing) == 1 else "differ"
            shown = ", ".join(sorted({one for place in differing for one in names[place]})[:_MOST_SHOWN])
            told = f"it dropped {dropped} of {len(places)} items as duplicates by {', '.join(fields)}"
            problem = f"{told}, {count} {differ} in {shown} from the one that is left"
            return Cause(node=at.node, problem=problem, place=differing[0], walk=(differing[0],), certain=False)
    return None


def _differing(data: Any, kept: list[Any], fields: list[str]) -> list[str]:
    """The fields in which an item differs from the one that was kept for it."""
    paths = [tuple(name.split(".")) for name in fields]
    for other in kept:
        if all(value_at(data, path) == value_at(other, path) for path in paths):
            both = isinstance(data, Mapping) and isinstance(other, Mapping)
            return [str(key) for key in data if key in other and data[key] != other[key]] if both else []
    return []


def all_alike(scene: Scene) -> Cause | None:
    """Code that received items which differ, and gave out as many that are all the same."""
    for at in scene.first_runs:
        given = scene.input_places(at.run)[:_MOST_ITEMS] if scene.kind(at.node) in CODE_TYPES else []
        made = [scene.json(place) for place in scene.outputs(at)][:_MOST_ITEMS]
        listed = [] if len(made) == len(given) else _elements_of(scene, given, len(made))
        if (
            len(made) < 2
            or at.run.items_out != len(made)
            or not (listed or len(made) == len(given))
            or not made[0]
            or any(one != made[0] for one in made)
        ):
            continue
        if listed or any(scene.json(one) != scene.json(given[0]) for one in given):
            those = "the elements of the list" if listed else "those"
            problem = f"all its {len(made)} items are the same, and {those} that it received differ"
            place = Place(node=at.node, run=at.index, output=0, item=0)
            return Cause(node=at.node, problem=problem, place=place, walk=(given[0],), certain=False)
    return None


def _elements_of(scene: Scene, given: list[Place], count: int) -> list[Any]:
    """The elements of a list with so many different ones, in the only item that code received."""
    data = scene.json(given[0]) if len(given) == 1 else None
    lists = [one for one in data.values() if isinstance(one, list)] if isinstance(data, Mapping) else []
    return next((one for one in lists if len(one) == count and all(each != one[0] for each in one[1:])), [])


def some_unpaired(scene: Scene) -> Cause | None:
    """A merge that keeps only matching items, and in which some items of its first input found no partner."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else {}
        keys, sides = merge_keys(settings), scene.inputs(at.run)
        mode = settings.get("joinMode", "keepMatches")
        if keys is None or len(sides) != 2 or mode not in ("keepMatches", "enrichInput1"):
            continue
        if settings.get("mode") != "combine" or "fuzzyCompare': True" in repr(settings.get("options")):
            continue
        held, others = (key_values(scene, side, key, _MOST_ITEMS) for side, key in zip(sides, keys, strict=True))
        alone = [one for one in held if one not in others]
        if not alone or len(alone) == len(held) or max(len(one.items) for one in sides) > _MOST_ITEMS:
            continue
        pairs = ((other, told) for one in alone for other in others if (told := small_difference(one, other)))
        alike = next((f", and there is {shown_value(other)}{told}" for other, told in pairs), "")
        shown = f"{keys[0]} is {', '.join(map(_shown, alone[:_MOST_SHOWN]))}{alike}"
        if mode == "enrichInput1" and not alike:
            # Items may have no partner there.
            continue
        left = "and are dropped" if mode == "keepMatches" else f"in '{sides[1].node}'"
        told = f"{len(alone)} of {len(held)} items from '{sides[0].node}' found no partner {left}"
        cause = Cause(node=at.node, problem=f"{told}: {shown}", certain=False)
        return cause.in_doubt() if alike else cause
    return None


def _shown(value: Any) -> str:
    return "missing" if is_absent(value) else shown_value(value)


def paired_by_position(scene: Scene) -> Cause | None:
    """Code that dropped items and pairs those that are left by their new position, where a node behind reads by it."""
    for at in scene.first_runs:
        code = str(scene.settings.get(at.node, {}).get("jsCode")) if scene.kind(at.node) in CODE_TYPES else ""
        given, made = scene.input_places(at.run)[:_MOST_ITEMS], list(scene.outputs(at))[:_MOST_ITEMS]
        if "pairedItem" not in code or not 0 < len(made) < len(given) or len(given) == _MOST_ITEMS:
            continue
        for place in made:
            source = next(iter(scene.parents(place)), None)
            own = _equal_one(scene, place, given)
            if source not in given or own is None or own[0] == source or given.index(source) != place.item:
                continue
            if (reader := _reads_by_pairing(scene, at)) is None:
                continue
            right, name = own
            told = f"it pairs its item {place.item} with item {place.item} of '{right.node}'"
            belongs = f"{name} is {shown_value(scene.value(place, (name,)))}, which item {given.index(right)} has there"
            node, reference = reader
            names = reference.names[:-1] if reference.called else reference.names
            reads = f"so '{node}' reads {shown_path(names)} of another item of '{reference.node}'"
            return Cause(node=at.node, problem=f"{told}, but its {belongs}; {reads}", place=place).in_doubt()
    return None


def _equal_one(scene: Scene, place: Place, given: list[Place]) -> tuple[Place, str] | None:
    """The only item given to the node that has the same value in a field, of which all others have another one."""
    data = scene.json(place)
    for name, value in data.items() if isinstance(data, Mapping) else ():
        held = [scene.value(one, (str(name),)) for one in given]
        plain = isinstance(value, (str, int)) and not isinstance(value, bool)
        if plain and len(set(map(repr, held))) == len(held) and held.count(value) == 1:
            return given[held.index(value)], str(name)
    return None


def _reads_by_pairing(scene: Scene, at: RunPlace) -> tuple[str, Reference] | None:
    """A node behind that reads an item from before this node by what it was made from."""
    before = scene.leading_from(at.node)
    for node in scene.reached(scene.behind(at.node)):
        for reference in references(scene.settings.get(node, {})) if scene.execution.runs.get(node) else ():
            if reference.node in before and reference.pick == "item":
                return node, reference
    return None


def runs_for_each_branch(scene: Scene) -> Cause | None:
    """A node that ran several times outside of a loop, once for each node that leads to it.

    A node that works on each item by itself may do so, where every item comes on one way only.
    """
    for name, runs in scene.execution.runs.items():
        given = [one.node for run in runs for one in scene.inputs(run) if one.items]
        once_each = len(runs) > 1 and len(given) == len(runs) == len(set(given))
        if not once_each or name in scene.leading_from(name, itself=True):
            continue
        behind = [one for one in scene.reached([name]) if len(scene.execution.runs.get(one, ())) == len(runs)]
        apart = all(starmap(scene.are_parted, pairwise(given)))
        if apart and not any(_takes_all(scene, one) for one in behind):
            continue
        nodes = " and ".join(f"'{one}'" for one in given[:_MOST_SHOWN])
        problem = f"it ran {len(runs)} times, once for the items of each of {nodes}; a Merge before it would join them"
        return Cause(node=name, problem=problem, certain=False)
    return None


def _takes_all(scene: Scene, name: str) -> bool:
    """Whether a node makes something of all its items together, which two runs make of the items of each."""
    node = scene.nodes.get(name)
    for_all = scene.kind(name) == "code" and not runs_for_each(scene, name)
    return for_all or scene.kind(name) in _FOR_ALL or (node is not None and node.execute_once)


def last_round_read(scene: Scene) -> Cause | None:
    """A node behind a loop that reads all items of a node in it: n8n gives those of the last round."""
    for at in scene.runs:
        looped = at.node in scene.leading_from(at.node, itself=True)
        for reference in references(scene.settings.get(at.node, {})) if not looped else ():
            name, runs = reference.node or "", scene.execution.runs.get(reference.node or "", [])
            if reference.pick != "all" or len(runs) < 2 or name not in scene.leading_from(name, itself=True):
                continue
            rounds = [[scene.json(one) for one in _round(scene, name, number)] for number in range(len(runs))]
            if any(one and one != rounds[-1] for one in rounds[:-1]):
                problem = f"it reads all items of '{name}', which are those of the last of its {len(runs)} rounds"
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def _round(scene: Scene, name: str, number: int) -> list[Place]:
    at = RunPlace(node=name, index=number, run=scene.execution.runs[name][number])
    return list(islice(scene.outputs(at), _MOST_ITEMS))


def nothing_matched(scene: Scene) -> Cause | None:
    """A comparison of two lists in which no item of one has a partner in the other."""
    for at in scene.first_runs:
        sides = scene.inputs(at.run) if scene.kind(at.node) == "compareDatasets" else []
        if len(sides) < 2 or not all(one.items for one in sides) or any(at.run.outputs[1:3]):
            continue
        keys = unpaired_keys(scene, at)
        counts = " and ".join(f"{len(one.items)} from '{one.node}'" for one in sides)
        problem = f"it compares {counts}, and not one of them has a partner{keys}"
        return Cause(node=at.node, problem=problem, walk=(), certain=ONLY_FORM in keys)
    return None


DROPPED_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    unmatched,
    compared_by_nothing,
    all_alike,
    some_unpaired,
    paired_by_position,
    nothing_matched,
)
