"""Trace a value back through the items that it was made from, to the node that made it null, lost or wrong."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.answers import what_it_says
from dogubako.packs.n8n.diagnosis.assignments import assigned, declared, passed_on
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.gaps import lies_deeper, missing_in
from dogubako.packs.n8n.diagnosis.handovers import item_gathered, put_over, value_before, value_made_by_code
from dogubako.packs.n8n.diagnosis.intended_makers import NO_FIELD_HINT, Path, set_to_nothing
from dogubako.packs.n8n.diagnosis.javascript_values import is_number_text
from dogubako.packs.n8n.diagnosis.join_keys import keys_told, overruled, pairs_vaguely
from dogubako.packs.n8n.diagnosis.lost_fields import is_same, lost_here, without_partner, without_side
from dogubako.packs.n8n.diagnosis.names import never_set
from dogubako.packs.n8n.diagnosis.references import (
    Reference,
    only_reference,
    references,
    references_in,
)
from dogubako.packs.n8n.diagnosis.replay.expressions import Outcome, bodies, evaluated
from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value, type_name
from dogubako.packs.n8n.formatters.facts import item_error
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_LONGEST_WALK: Final = 200
_DEEPEST_FOLLOW: Final = 6
_LONGEST_VALUE: Final = 80
_LONGEST_HINT: Final = 160
_OF_TEXTS: Final = frozenset({"length"})
_WANTS_NUMBER = re.compile(r"number|integer|numeric|decimal|toFixed|calculate", re.IGNORECASE)
_ANSWERS: Final = ("httpRequest", "graphql", "executeWorkflow")
_MAKES_FILES: Final = ("convertToFile", "spreadsheetFile", "moveBinaryData")
_NOT_IN_IT: Final = "so there is no "
_OF_TYPE = re.compile(r"has no \w{1,60}\(\)|was expected|no list|does not accept$|no date, so")
# Signs of an expression that gives null or nothing on purpose.
CHOOSES_NULL = re.compile(r"\bnull\b|\?\?|\|\||\?[^.]|\bundefined\b|isEmpty|ifEmpty|\$if\(")


def trace_missing(scene: Scene, reader: str, reference: Reference, place: Place, path: Path, depth: int = 0) -> Cause:
    """Who made this field null or lost it, or who reads a name that does not exist."""
    return replace(_trace_missing(scene, reader, reference, place, path, depth), read=(place, path))


def _trace_missing(scene: Scene, reader: str, reference: Reference, place: Place, path: Path, depth: int) -> Cause:
    value = scene.value(place, path)
    # Who reads the error itself expects one.
    swallowed = swallowed_before(scene, place) if path[0] != "error" else None
    if swallowed is not None and not apart(scene, swallowed, reader):
        return swallowed
    if not is_absent(value):
        return trace_value(scene, place, path, "null", depth)
    if (hidden := _hidden(scene, place, path)) is not None:
        return hidden
    holder = scene.value(place, path[:-1]) if path[1:] else None
    if isinstance(holder, (str, int, float)) or (isinstance(holder, list) and holder and not path[-1].isdecimal()):
        listed = "a list, " if isinstance(holder, list) else ""
        told = f"whose elements have {path[-1]}" if lies_deeper(holder, path[-1]) else f"{_NOT_IN_IT}{path[-1]} in it"
        return trace_value(scene, place, path[:-1], f"{listed}{told}", depth)
    if (gathered := item_gathered(scene, place, path)) is not None and depth < _DEEPEST_FOLLOW:
        item, rest = gathered
        emptied = set_to_nothing(scene, rest, scene.walk(item))
        return _extended(emptied or trace_missing(scene, reader, reference, item, rest, depth + 1), [place])
    walk = [place]
    while len(walk) < _LONGEST_WALK:
        here = walk[-1]
        parents = scene.parents(here)
        known = parents or scene.possible_parents(here)
        having = next((one for one in known if not is_absent(scene.value(one, path))), None)
        if having is not None and scene.value(having, path) is None and scene.kind(here.node) in _ANSWERS:
            # The null is not in the answer that took the place of the item.
            break
        if having is not None and scene.value(having, path) is None:
            emptied = set_to_nothing(scene, path, [here])
            return replace(emptied, walk=tuple(walk)) if emptied else trace_value(scene, having, path, "null", depth)
        if having is not None and (pairs_vaguely(scene, here, path) or _takes_apart(scene, here, path)):
            break
        if having is not None:
            # A node behind the one that lost it may make a field of this name itself.
            lost = set_to_nothing(scene, path, walk) or lost_here(scene, here, path, walk, having)
            # Who names a node may name the wrong one.
            return replace(lost, certain=lost.certain and reference.node != here.node)
        if (alone := without_partner(scene, here, path, walk) or without_side(scene, here, path, walk)) is not None:
            return alone
        if not known or known[0] in walk:
            break
        walk.append(known[0])
    bare = bool(path[1:]) and scene.value(place, path[:-1]) == {} and depth < _DEEPEST_FOLLOW
    hollow = built_from_hole(scene, place, path[:-1], depth + 1) if bare else None
    return hollow or never_set(scene, reader, reference, path, walk)


def _takes_apart(scene: Scene, place: Place, path: Path) -> bool:
    """Whether a node makes items of this list, or a file of the items: nothing is lost, but it is read otherwise."""
    kind, settings = scene.kind(place.node), scene.settings.get(place.node, {})
    return kind in _MAKES_FILES or (kind == "splitOut" and settings.get("fieldToSplitOut") == ".".join(path))


def _hidden(scene: Scene, place: Place, path: Path) -> Cause | None:
    """A field whose name has characters that do not show, such as the mark at the beginning of a file."""
    holder = scene.value(place, path[:-1]) if path[1:] else scene.json(place)
    names = holder if isinstance(holder, Mapping) else ()
    name = next((one for one in names if one != path[-1] and _shows(one) == path[-1]), None)
    if name is None:
        return None
    made = trace_value(scene, place, (*path[:-1], name), "")
    problem = f"the name of its field {path[-1]} has a character that does not show: {json.dumps(name)}"
    return Cause(node=made.node, problem=problem, place=made.place, walk=made.walk, path=made.path, lost=True)


def _shows(name: str) -> str:
    return "".join(sign for sign in name if sign.isprintable())


def trace_value(scene: Scene, place: Place, path: Path, described: str, depth: int = 0) -> Cause:
    """The node that first gave out this value, which is bad for a reason that `described` names."""
    return replace(_trace_value(scene, place, path, described, depth), read=(place, path))


def _trace_value(scene: Scene, place: Place, path: Path, described: str, depth: int) -> Cause:
    value = scene.value(place, path)
    walk = value_walk(scene, place, path)
    if is_number_text(value) and _WANTS_NUMBER.search(described):
        # A Set node that declares a text makes one of a number, too.
        texts = (at for at, one in enumerate(walk) if declared(scene, one.node).get(path[0]) == "string")
        walk = walk[: next(texts, len(walk)) + 1]
    # Code that put a null over a value is to be told, wherever the null came from.
    over = (at for at, one in enumerate(walk) if value is None and put_over(scene, one, path) is not None)
    walk = walk[: next(over, len(walk)) + 1]
    made_at = walk[-1]
    followed = _through_expression(scene, made_at, path, value, described, walk, depth)
    followed = followed or _through_move(scene, made_at, path, value, described, walk, depth)
    if followed is not None:
        return followed
    if value is None and depth < _DEEPEST_FOLLOW:
        found = _from_empty(scene, made_at, path, depth) or _calculated(scene, made_at, path, depth)
        if found is not None:
            return _extended(found, walk)
    name = ".".join(path)
    sought, among_items = _looked_up(scene, made_at, path) if value is None else ("", False)
    why = f"{sought}{overruled(scene, walk, path)}"
    problem = (
        f"{name} is null{what_it_says(scene, made_at)}{why}"
        if value is None
        else f"{name} is {shown_value(value)}, {described}"
    )
    run = scene.run_of(made_at)
    missed = next((one for one in run.hints if NO_FIELD_HINT.search(one)), None) if run is not None else None
    told = f"{problem}; n8n says of this node: {shortened(missed, _LONGEST_HINT)}" if missed else problem
    return Cause(
        node=made_at.node,
        problem=told,
        place=made_at,
        walk=tuple(walk),
        path=path,
        certain=not among_items,
        described=described if value is not None else "",
    )


def _looked_up(scene: Scene, place: Place, path: Path) -> tuple[str, bool]:
    """What the code looked for that made this null, and whether it did so among items, which may be wrong as well."""
    made = value_made_by_code(scene, place, path) if scene.kind(place.node) in CODE_TYPES else None
    if made is None:
        return "", False
    held = put_over(scene, place, path)
    if held is not None:
        return f"; its code put that over {shown_value(held)}", True
    return (keys_told(made.missed[:2]), made.missed.of_items) if made.missed is not None else ("", False)


def _from_empty(scene: Scene, place: Place, path: Path, depth: int) -> Cause | None:
    """Code that made null of the only field that it reads and that is an empty text."""
    source = next(iter(scene.parents(place)), None)
    if scene.kind(place.node) not in CODE_TYPES or source is None or not is_absent(scene.value(source, path)):
        return None
    read = {one.names: one for one in references(scene.settings.get(place.node, {})) if one.node is None}
    names = {one.names[:-1] if one.called else one.names for one in read.values()}
    empty = [one for one in names if one and scene.value(source, one) == ""]
    made = returned_item(scene, place) if len(empty) == 1 and len(path) == 1 else None
    if made is None or (source, empty[0]) not in made.get(path[0]).spots:
        return None
    told = f"an empty text, of which '{place.node}' makes {'.'.join(path)}: null"
    return replace(trace_value(scene, source, empty[0], told, depth + 1), certain=False)


def _calculated(scene: Scene, place: Place, path: Path, depth: int) -> Cause | None:
    """Code that calculated with the only field that was not there: n8n makes null of NaN."""
    made = value_made_by_code(scene, place, path) if scene.kind(place.node) in CODE_TYPES else None
    if made is None or not isinstance(made.value, float) or not math.isnan(made.value):
        return None
    missing = [one for one in made.spots if one[1] and is_absent(scene.value(*one))]
    if len(missing) != 1:
        return None
    where, names = missing[0]
    reference = Reference(node=None, pick="item", path=tuple(map(Step, names)))
    return replace(trace_missing(scene, place.node, reference, where, names, depth + 1), certain=False)


def built_from_hole(scene: Scene, place: Place, path: Path, depth: int = 0) -> Cause | None:
    """Who is to blame that an expression of a Set node built this value without a part that was not there."""
    made = trace_value(scene, place, path, "", depth + 1)
    written = assigned(scene, made.node).get(made.path[0]) if made.place is not None and made.path else None
    run = scene.run_of(made.place) if made.place is not None else None
    if written is None or made.place is None or run is None:
        return None
    source = next(iter(scene.parents(made.place)), None)
    for reference in references_in(written):
        for where, missing in missing_in(scene, firmly(reference), source, run)[:1]:
            cause = trace_missing(scene, made.node, reference, where, missing, depth + 1)
            shown = f"{'.'.join(made.path)} is {shown_value(scene.value(made.place, made.path))}"
            return replace(cause, problem=f"{cause.problem}, so in '{made.node}' {shown}", certain=False)
    return None


def trace_type(scene: Scene, reader: str, place: Place, path: Path, described: str) -> Cause:
    """The node that gave out a value of the wrong type; the reader, if all items came in with this type.

    A text in all items may still be what a number or a date was written as.
    """
    cause = trace_value(scene, place, path, described)
    kind, others = type_name(scene.value(place, path)), scene.siblings(place)
    whole = len(others) + 1 == scene.count(place)
    alike = others and whole and kind != "string" and all(type_name(scene.value(one, path)) == kind for one in others)
    before = scene.walk(cause.place)[1:] if cause.place is not None else []
    if not alike or any(not is_absent(scene.value(one, path)) for one in before):
        return cause
    problem = f"{cause.problem}; it is of this type in all {len(others) + 1} items, from '{cause.node}'"
    return replace(cause, node=reader, problem=problem, place=place, path=path, walk=())


def swallowed_before(scene: Scene, place: Place) -> Cause | None:
    """An error that a node passed on as data. Elsewhere `error` is an ordinary field."""
    walk = scene.walk(place)
    count = next((index for index, one in enumerate(walk) if item_error(scene.item(one)) is None), len(walk))
    if count == 0:
        return None
    at = walk[count - 1]
    node, message = scene.nodes.get(at.node), item_error(scene.item(at))
    if node is None or message is None or not node.goes_on_after_errors:
        return None
    return Cause(node=at.node, problem=went_on(message), place=at, walk=tuple(walk[:count]))


def apart(scene: Scene, swallowed: Cause, reader: str) -> bool:
    """Whether the error left by an error output, to a node that is there for it: then it is a fact, and no cause."""
    node = scene.nodes.get(swallowed.node)
    if node is None or node.on_error != "continueErrorOutput":
        return False
    return reader not in scene.reached(scene.behind(swallowed.node, 0))


def went_on(message: str) -> str:
    return f"it failed for this item and was told to go on: {shortened(message, 200)}"


def value_walk(scene: Scene, place: Place, path: Path) -> list[Place]:
    """This item and those before it, for as long as this value was handed on in the same field."""
    walk = [place]
    while len(walk) < _LONGEST_WALK:
        before = value_before(scene, walk[-1], path)
        if before is None or before[1].path != path or before[0] in walk:
            break
        walk.append(before[0])
    return walk


def _through_expression(
    scene: Scene, place: Place, path: Path, value: Any, described: str, walk: list[Place], depth: int
) -> Cause | None:
    """What a Set node's expression read when it made this value, if that explains it."""
    written = assigned(scene, place.node).get(path[0])
    run = scene.run_of(place)
    if run is None or written is None or depth >= _DEEPEST_FOLLOW:
        return None
    source = next(iter(scene.parents(place)), None)
    whole = only_reference(written)
    typed = is_number_text(value) and _WANTS_NUMBER.search(described)
    if typed and declared(scene, place.node).get(path[0]) == "string":
        problem = f"{'.'.join(path)} is {shown_value(value)}, {described}: this node declares it as a string"
        return Cause(node=place.node, problem=problem, place=place, walk=tuple(walk), path=path)
    mistyped = isinstance(value, (int, float, list, dict)) and _OF_TYPE.search(described) is not None
    # An object was read, and this node has put a part of it, or another field, in its place.
    mistyped = mistyped or described.startswith(_NOT_IN_IT)
    if whole is not None and mistyped and whole.names[-1:] != path[-1:]:
        # Another field may have been meant: a value of this type was never of use under this name.
        problem = f"{'.'.join(path)} is {shown_value(value)}, {described}; it is made from {whole.written}"
        return Cause(node=place.node, problem=problem, place=place, walk=tuple(walk), path=path)
    if whole is not None:
        return _follow(scene, place.node, whole, source, path[1:], value, described, walk, depth)
    if (handed := passed_on(scene, written, source, run, value)) is not None:
        return _extended(trace_value(scene, *handed, described, depth + 1), walk)
    fallen_back = isinstance(value, str) and any(f"{sign}{value}{sign}" in written for sign in "'\"`")
    if value is not None and not fallen_back:
        return None
    for reference in references_in(written):
        missing = next(iter(missing_in(scene, firmly(reference), source, run)), None)
        if missing is not None:
            cause = trace_missing(scene, place.node, reference, *missing, depth + 1)
            told = f"{cause.problem}, so {path[0]} is {shown_value(value)}" if fallen_back else cause.problem
            return _extended(cause.with_problem(told), walk) if not fallen_back or cause.misread or cause.lost else None
    if fallen_back:
        return None
    at = RunPlace(node=place.node, index=place.run, run=run)
    problem = f"{path[0]} is null: its expression {why_null(scene, at, source, written)}"
    return Cause(node=place.node, problem=problem, place=place, walk=tuple(walk))


def why_null(scene: Scene, at: RunPlace, source: Place | None, written: str) -> str:
    """Why an expression of a Set node gave null, as far as it can be evaluated again."""
    shown = shortened(written, _LONGEST_VALUE)
    if CHOOSES_NULL.search(written) is not None:
        return f"is {shown}"
    whole = bodies(written)
    outcome = evaluated(scene, at, source, whole[0]) if len(whole) == 1 else Outcome("")
    made, thrown = outcome.value, outcome.thrown
    if made is not None and made.unread and len(made.spots) == 1:
        return f"{shown} gives null: {made.unread} does not read {shown_value(scene.value(*made.spots[0]))}"
    spots = thrown.culprit.spots if thrown is not None and thrown.kind == "function" and thrown.culprit else ()
    if thrown is not None and len(spots) == 1 and spots[0][1]:
        where, names = spots[0]
        held, maker = shown_value(scene.value(where, names)), value_walk(scene, where, names)[-1].node
        lacks = f"{'.'.join(names)} is {held}, from '{maker}', which has no {thrown.message}()"
        return f"{shown} fails, and n8n makes null of that: {lacks}"
    return f"{shown} gives nothing or fails, and n8n makes null of that"


def firmly(reference: Reference) -> Reference:
    """The reference without its question marks: what is optional is looked for as well."""
    return replace(reference, path=tuple(step._replace(optional=False) for step in reference.path))


def _through_move(
    scene: Scene, place: Place, path: Path, value: Any, described: str, walk: list[Place], depth: int
) -> Cause | None:
    """The field of an item before from which a node took this value: out of a list, or under another name."""
    before = value_before(scene, place, path) if depth < _DEEPEST_FOLLOW else None
    if before is None or before[1].path == path or (value is None and put_over(scene, place, path) is not None):
        return None
    listed = scene.kind(place.node) in ("splitOut", "itemLists")
    if value is not None and not listed and before[1].path[-1] != path[-1]:
        # Another field may have been meant.
        return None
    return _extended(trace_value(scene, before[0], before[1].path, described, depth + 1), walk)


def _follow(
    scene: Scene,
    node: str,
    reference: Reference,
    source: Place | None,
    rest: Path,
    value: Any,
    described: str,
    walk: list[Place],
    depth: int,
) -> Cause | None:
    run = scene.run_of(walk[-1])
    if run is None:
        return None
    firm = firmly(reference) if value is None else reference
    missing = next(iter(missing_in(scene, firm, source, run)), None)
    if missing is not None:
        return _extended(trace_missing(scene, node, reference, *missing, depth + 1), walk)
    for place in scene.places_read(reference, source, run)[:1]:
        path = (*reference.names, *rest)
        held = scene.value(place, path[:-1]) if value is None and path[1:] else None
        if isinstance(held, (str, int, float)) and is_absent(scene.value(place, path)):
            told = f"{_NOT_IN_IT}{path[-1]} in it"
            return _extended(trace_value(scene, place, path[:-1], told, depth + 1), walk)
        if is_same(scene.value(place, path), value) or (value is None and scene.value(place, path) is None):
            return _extended(trace_value(scene, place, path, described, depth + 1), walk)
    return None


def _extended(cause: Cause, walk: list[Place]) -> Cause:
    return replace(cause, walk=(*walk, *cause.walk))
