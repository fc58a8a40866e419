"""Where an item has a value from: from an item before, if the node in between is known to hand it on."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.assignments import assigned, set_names, sets_texts
from dogubako.packs.n8n.diagnosis.code_lines import may_hand_on, sets_field, sorts, writes
from dogubako.packs.n8n.diagnosis.elements import Spot, plain_paths, spot_of
from dogubako.packs.n8n.diagnosis.intended_makers import renamed_to
from dogubako.packs.n8n.diagnosis.join_keys import merge_keys, preferred_first
from dogubako.packs.n8n.diagnosis.lost_fields import is_same
from dogubako.packs.n8n.diagnosis.references import only_reference, references_in
from dogubako.packs.n8n.diagnosis.replay.expressions import bodies, evaluated
from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Arr, Obj, Val
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, RunPlace, Scene
from dogubako.packs.n8n.formatters.facts import item_error
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

# Nodes that give out the items that they were given, perhaps with a field more. All others make items of their own.
_HANDS_ON: Final = frozenset(
    """
    if filter switch sort limit noOp wait splitInBatches removeDuplicates compareDatasets dateTime crypto markdown
    respondToWebhook executionData stopAndError moveBinaryData editImage compression
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_OF_LISTS: Final = ("splitOutItems", "aggregateItems", "concatenateItems", "summarize")
_CALLED: Final = "executeWorkflowTrigger"
_MOST_PATHS: Final = 200
_MOST_PARENTS: Final = 50
_MOST_ITEMS: Final = 500
_LONGEST_WALK: Final = 200

Path = tuple[str, ...]
Before = tuple[Place, Spot]


def value_before(scene: Scene, place: Place, path: Path) -> Before | None:
    """The item and the field that this value was handed on from; None if it was made here, or nothing proves more.

    That an item before has the same value proves nothing by itself: the node may have put its own in its place.
    """
    value, kind = scene.value(place, path), scene.kind(place.node)
    if is_absent(value):
        return None
    if scene.is_disabled(place.node) or kind in _HANDS_ON:
        return _same(scene, place, path)
    if kind in CODE_TYPES:
        found = _from_code(scene, place, path, value)
    else:
        given = _FROM.get(kind)
        found = given(scene, place, path, value) if given is not None else None
    if found is None and path[:1] != ("error",) and item_error(scene.item(place)) is not None:
        # An item that went on after an error has the fields that it came with.
        return _same(scene, place, path)
    return found


def _same(scene: Scene, place: Place, path: Path, parents: Iterable[Place] | None = None) -> Before | None:
    """The item before that has the same value in the same field."""
    value, paired = scene.value(place, path), scene.parents(place)
    known = list(parents) if parents is not None else paired or scene.possible_parents(place)
    having = [one for one in known[:_MOST_ITEMS] if is_same(scene.value(one, path), value)]
    if not paired and len(having) > 1:
        having.sort(key=lambda one: scene.json(one) != scene.json(place))
    return (having[0], Spot(path, True)) if having else None


def _from_set(scene: Scene, place: Place, path: Path, _: Any) -> Before | None:
    """A Set node hands on what it does not set, and what an expression makes of the same field alone."""
    if (whole := bodies(scene.settings.get(place.node, {}).get("jsonOutput"))) and not sets_texts(scene, place.node):
        return _from_expression(scene, place, path, whole)
    names = [tuple(name.split(".")) for name in set_names(scene, place.node)]
    dotted = next((one for one in names if len(one) > 1 and one == path[: len(one)]), ())
    if dotted:
        return _read_whole(scene, place, path, dotted)
    if not any(one in (path[: len(one)], path[:1]) for one in names):
        return _same(scene, place, path)
    read = references_in(assigned(scene, place.node).get(path[0], ""))
    alone = bool(read) and all(one.node is None and one.names[:1] == path[:1] for one in read)
    return _same(scene, place, path) if alone else None


def _from_expression(scene: Scene, place: Place, path: Path, whole: Sequence[str]) -> Before | None:
    """A field of an object that one expression of a Set node makes: the field that it copies there."""
    run, source = scene.run_of(place), next(iter(scene.parents(place)), None)
    if run is None or len(whole) != 1:
        return None
    at = RunPlace(node=place.node, index=place.run, run=run)
    made = _inside(evaluated(scene, at, source, whole[0]).value, path)
    return _proved(scene, made, scene.value(place, path)) if made is not None else None


def _read_whole(scene: Scene, place: Place, path: Path, name: Path) -> Before | None:
    """A field in an object, `address.city`, that a Set node fills with a field of an item as it is."""
    read, run = only_reference(assigned(scene, place.node).get(".".join(name))), scene.run_of(place)
    source, value = next(iter(scene.parents(place)), None), scene.value(place, path)
    for where in scene.places_read(read, source, run)[:1] if read is not None and run is not None else ():
        names = (*read.names, *path[len(name) :]) if read is not None else ()
        if names and is_same(scene.value(where, names), value):
            return where, Spot(names, True)
    return None


def _from_merge(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """A merge takes the field of one side, by its settings, even if both have the same value."""
    keys = merge_keys(scene.settings.get(place.node, {})) or ()
    # The key by which it matches is the same on both sides.
    parents = preferred_first(scene, place) if ".".join(path) not in keys else []
    taken = next((one for one in parents if not is_absent(scene.value(one, path))), None)
    if taken is not None and is_same(scene.value(taken, path), value):
        return taken, Spot(path, True)
    return _same(scene, place, path, parents or None)


def _from_renamed(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """The item before that has this value under the name that a Rename Keys node took it from."""
    parent, olds = next(iter(scene.parents(place)), None), renamed_to(scene, place.node, path[0])
    if not olds or parent is None:
        return _same(scene, place, path)
    names = [(*one, *path[1:]) for old in olds for one in ((old,), tuple(old.split(".")))]
    old = next((one for one in names if is_same(scene.value(parent, one), value)), None)
    return (parent, Spot(old, True)) if old is not None else None


def _from_list(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """The element of the list from which a Split Out node made this item, or a field that it has beside it."""
    parent, settings = next(iter(scene.parents(place)), None), scene.settings.get(place.node, {})
    if scene.kind(place.node) == "itemLists" and settings.get("operation", "splitOutItems") not in _OF_LISTS:
        return _same(scene, place, path)
    field = settings.get("fieldToSplitOut")
    if parent is None or not isinstance(field, str):
        return None
    listed = tuple(field.split("."))
    beside = settings.get("include", "noOtherFields") != "noOtherFields"
    held = scene.value(parent, listed)
    own = path[:1] in ((field,), listed[-1:])
    if own and path[1:] == () and is_same(held, value):
        # What is no list stays as it is.
        return parent, Spot(listed, True)
    numbers = range(min(len(held), _MOST_ITEMS)) if isinstance(held, list) else ()
    inside = path[1:] if own and (beside or path[1:] == ()) else path
    paths = [(*listed, str(number), *inside) for number in numbers]
    spot = spot_of(scene, place, parent, [one for one in paths if is_same(scene.value(parent, one), value)])
    if beside and not own:
        return _same(scene, place, path)
    return None if spot is None else (parent, spot)


def _from_gathered(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """The item that became this element of the list of an Aggregate node."""
    run, settings = scene.run_of(place), scene.settings.get(place.node, {})
    number = int(path[1]) if len(path) > 1 and path[1].isdecimal() else None
    if run is None or number is None:
        return None
    given = scene.input_places(run)
    if settings.get("aggregate") == "aggregateAllItemData":
        whole = path[0] == settings.get("destinationFieldName", "data")
        elements = [(one, path[2:]) for one in given] if whole else []
    else:
        elements = _gathered(scene, given, settings, path)
    held = scene.value(place, path[:1])
    if not isinstance(held, list) or len(held) != len(elements):
        return None
    one, inside = elements[number]
    return (one, Spot(inside, True)) if inside and is_same(scene.value(one, inside), value) else None


def _gathered(scene: Scene, given: list[Place], settings: Mapping[str, Any], path: Path) -> list[tuple[Place, Path]]:
    """The items that gave the elements of a list of single fields: those without a value are left out."""
    holder, options = settings.get("fieldsToAggregate"), settings.get("options")
    rows = holder.get("fieldToAggregate") if isinstance(holder, Mapping) else None
    options = options if isinstance(options, Mapping) else {}
    for row in rows if isinstance(rows, list) else ():
        field = str(row.get("fieldToAggregate")) if isinstance(row, Mapping) else ""
        named = row.get("outputFieldName") if field and row.get("renameField") else field.split(".")[-1]
        if named == path[0] and not options.get("mergeLists"):
            names, keeps = tuple(field.split(".")), bool(options.get("keepMissing"))
            held = [one for one in given if keeps or scene.value(one, names) is not None]
            return [(one, (*names, *path[2:])) for one in held if keeps or not is_absent(scene.value(one, names))]
    return []


def item_gathered(scene: Scene, place: Place, path: Path) -> tuple[Place, Path] | None:
    """The item that an Aggregate node put into its list as it was, where the path leads into that; with the rest."""
    for size in range(2, len(path)):
        if not path[size - 1].isdecimal():
            continue
        end, spot = value_maker(scene, place, path[:size])
        run, settings = scene.run_of(end), scene.settings.get(end.node, {})
        whole = settings.get("aggregate") == "aggregateAllItemData" and len(spot.path) == 2
        given = scene.input_places(run) if run is not None and whole else []
        number = int(spot.path[-1]) if spot.path[-1].isdecimal() else len(given)
        if number < len(given) and scene.json(given[number]) == scene.value(end, spot.path):
            return given[number], path[size:]
    return None


def _from_groups(scene: Scene, place: Place, path: Path, _: Any) -> Before | None:
    """The fields by which a Summarize node groups are those of the items."""
    split = scene.settings.get(place.node, {}).get("fieldsToSplitBy")
    names = [one.strip() for one in split.split(",")] if isinstance(split, str) else []
    return _same(scene, place, path) if path[0] in names else None


def _from_call(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """The item with which a sub-workflow was called, if the value went through all of it."""
    options = scene.settings.get(place.node, {}).get("options")
    if isinstance(options, Mapping) and options.get("waitForSubWorkflow") is False:
        return _same(scene, place, path)
    for child, start in answers_inside(scene, place):
        end, field = value_maker(child, start, path)
        if child.kind(end.node) != _CALLED:
            continue
        alike = [one for one in scene.possible_parents(place) if scene.json(one) == child.json(end)]
        if alike and is_same(scene.value(alike[0], field.path), value):
            return alike[0], field
    return None


def answers_inside(scene: Scene, place: Place) -> list[tuple[Scene, Place]]:
    """The item of a sub-workflow's execution that a call of it gave out, with that execution."""
    wanted = called_execution(scene, place)
    # Who is called comes behind its caller, so that no data lead round in a circle.
    own = next(number for number, one in enumerate(scene.family) if one is scene)
    child = next((one for one in scene.family[own + 1 :] if str(one.execution.id) == wanted), None)
    if child is None:
        return []
    last = [at for at in child.runs if at.node == child.execution.result.last_node_executed][-1:]
    found = [one for at in last for one in child.outputs(at) if child.json(one) == scene.json(place)]
    exact = [one for one in found if one.item == place.item]
    return [(child, one) for one in (exact or found)[:1]]


def called_execution(scene: Scene, place: Place) -> str | None:
    """The execution of a sub-workflow that gave this item; a call for each item is told in the items."""
    run, own = scene.run_of(place), scene.item(place).get("metadata")
    told = own.get("subExecution") if isinstance(own, Mapping) else None
    told = told or (run.sub_execution if run is not None else None)
    return str(told["executionId"]) if isinstance(told, Mapping) and told.get("executionId") else None


def value_maker(scene: Scene, place: Place, path: Path) -> Before:
    """Where this value first was, as far back as it was handed on, also from another field."""
    spot = Spot(path, True)
    seen = {place}
    while len(seen) < _LONGEST_WALK:
        before = value_before(scene, place, spot.path)
        if before is None or before[0] in seen:
            break
        seen.add(before[0])
        place, spot = before[0], Spot(before[1].path, before[1].sure and spot.sure)
    return place, spot


def value_made_by_code(scene: Scene, place: Place, path: Path) -> Val | None:
    """What the replay of a node's code has there; None if it is not known."""
    made = returned_item(scene, place) if path else None
    return _inside(Val(made), path) if made is not None else None


def _inside(value: Val | None, path: Path) -> Val | None:
    for name in path:
        held = value.value if value is not None else None
        if isinstance(held, Obj):
            value = held.get(name)
        elif isinstance(held, Arr) and name.isdecimal():
            value = held.get(int(name))
        else:
            return None
    return value if value is not None and value.is_known else None


def _proved(scene: Scene, made: Val, value: Any) -> Before | None:
    """The field that this value of a replay is a copy of."""
    for spot in (made.at, made.instead):
        if spot is not None and spot[1][:1] not in ((), (FILES,)) and is_same(scene.value(*spot), value):
            return spot[0], Spot(spot[1], True)
    return None


def _from_code(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """What code copied, as its replay shows; or did not touch, as far as its text tells."""
    made = value_made_by_code(scene, place, path)
    if made is not None:
        # A harmless function leaves a field as it is: `trim()`, a default.
        only = made.made[0] if made.at is None and len(made.made) == 1 else None
        kept = only if only is not None and only[1][-1:] == path[-1:] else None
        proved = _proved(scene, made if kept is None else Val(value, kept), value)
        # A text that the code does not write out is one of its items, perhaps the key of a group.
        given = made.at is None and not made.made and isinstance(value, str) and not writes(scene, place.node, value)
        if proved is not None and sorts(scene, place.node):
            # The replay leaves a list in its order.
            return proved[0], Spot(proved[1].path, False)
        return proved or (_same(scene, place, path) if given else None)
    if (whole := _whole_item(scene, place, path)) is not None:
        return whole
    if not may_hand_on(scene, place.node, path[0], value):
        return None
    return _same(scene, place, path) or _moved_from(scene, place, path, value)


def put_over(scene: Scene, place: Place, path: Path) -> Any:
    """The value of an object that the code copied, in whose place it put the null of another one."""
    made = returned_item(scene, place) if len(path) == 1 else None
    own = made.get(path[0]) if made is not None else None
    for copied in made.copied if made is not None and own is not None and own.value is None and own.at else ():
        held = copied.get(path[0])
        if held.is_known and not held.is_nothing and not isinstance(held.value, (Obj, Arr)):
            return held.value
    return None


def _whole_item(scene: Scene, place: Place, path: Path) -> Before | None:
    """The item that the code was given and has put into this one as it was."""
    given = scene.possible_parents(place)[:_MOST_PARENTS]
    for size in range(1, len(path)):
        held = scene.value(place, path[:size])
        alike = [one for one in given if held and isinstance(held, dict) and scene.json(one) == held]
        if alike:
            return alike[0], Spot(path[size:], len(alike) == 1)
    return None


def _moved_from(scene: Scene, place: Place, path: Path, value: Any) -> Before | None:
    """The item before that has this value under this name, somewhere else in it."""
    if isinstance(value, (dict, list, bool)) or sets_field(scene, place.node, path[-1]):
        return None
    for parent in (scene.parents(place) or scene.possible_parents(place))[:_MOST_PARENTS]:
        paths = islice(plain_paths(scene.json(parent)), _MOST_PATHS)
        same = [one for one in paths if one[-1] == path[-1] and is_same(scene.value(parent, one), value)]
        if (spot := spot_of(scene, place, parent, same)) is not None:
            return parent, spot
    return None


_FROM: Final = {
    "set": _from_set,
    "merge": _from_merge,
    "renameKeys": _from_renamed,
    "splitOut": _from_list,
    "itemLists": _from_list,
    "aggregate": _from_gathered,
    "summarize": _from_groups,
    "executeWorkflow": _from_call,
}
