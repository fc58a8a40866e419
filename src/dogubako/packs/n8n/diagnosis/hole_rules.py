"""Rules for texts with `{{ }}`: parts in whose place nothing stands. Only what the replay shows is said."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from dogubako.packs.n8n.diagnosis.absence import all_lack, emptiness, is_plain
from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.claims import is_anticipated
from dogubako.packs.n8n.diagnosis.gaps import gap
from dogubako.packs.n8n.diagnosis.javascript_values import is_nan, is_numeric
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, texts
from dogubako.packs.n8n.diagnosis.replay.expressions import Outcome, bodies, evaluated, is_mixed, pieces, text_again
from dogubako.packs.n8n.diagnosis.replay.values import Spot, Thrown
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

_READS_ITEMS = re.compile(r"\$input|\$json|(?<![\w$.])items?\b|\$\(")
_MOST_ITEMS: Final = 100
_MOST_TEXTS: Final = 20
_LONGEST_SHOWN: Final = 80
_FEWEST_AROUND: Final = 4
# Code has no texts of this kind; conditions may ask for what is not there.
NO_TEXTS: Final = frozenset({"code", "function", "functionItem", "if", "filter", "switch", "stickyNote"})


def hole_in_text(scene: Scene) -> Cause | None:
    """A text with a field that no item has, or with an expression that raises for an item."""
    for at in scene.first_runs:
        if scene.kind(at.node) in NO_TEXTS or not at.run.outputs:
            continue
        for written in islice(filter(is_mixed, texts(scene.settings.get(at.node, {}))), _MOST_TEXTS):
            for reference in lone_references(written):
                cause = _always_missing(scene, at, reference)
                if cause is not None and _is_as_recorded(scene, at, written, reference):
                    return cause
        if (cause := _raised(scene, at)) is not None:
            return cause
    return None


def lone_references(written: str) -> Iterator[Reference]:
    """The fields that stand alone in the braces of a text with other words."""
    for body in bodies(written) if is_mixed(written) else ():
        reference = only_reference(f"={{{{ {body} }}}}")
        if reference is not None and reference.node is None and reference.pick == "item" and is_plain(reference):
            yield reference


def _is_as_recorded(scene: Scene, at: RunPlace, written: str, reference: Reference) -> bool:
    """Whether the words around the field adjoin in the text that n8n recorded, or the replay writes that text.

    What other nodes wrote is not recorded.
    """
    field = next((name for name, value in assigned(scene, at.node).items() if value == written), None)
    if field is None:
        return True
    places = list(islice(scene.outputs(at), _MOST_ITEMS))
    around = _words_around(written, reference)
    if len(around) >= _FEWEST_AROUND and all(
        around in str(scene.value(one, tuple(field.split(".")))) for one in places
    ):
        return True
    return all(_again(scene, at, place, field, written) is not None for place in places)


def _words_around(written: str, reference: Reference) -> str:
    """The words before the braces of this field, and those behind them."""
    parts = pieces(written)
    for number in range(1, len(parts), 2):
        held = only_reference(f"={{{{ {parts[number]} }}}}")
        if held is not None and held.written == reference.written:
            return parts[number - 1] + parts[number + 1]
    return ""


def _again(scene: Scene, at: RunPlace, place: Place, field: str, written: str) -> list[Outcome] | None:
    """What the expressions of a text gave for this item, if they make the text that n8n recorded."""
    source = next(iter(scene.parents(place)), None)
    outcomes = [evaluated(scene, at, source, one) for one in bodies(written)] if source is not None else []
    recorded = scene.value(place, tuple(field.split(".")))
    return outcomes if outcomes and text_again(written, outcomes) == recorded else None


def _always_missing(scene: Scene, at: RunPlace, reference: Reference) -> Cause | None:
    places = scene.received(at.node)
    if not all_lack(scene, places, reference.names):
        return None
    path = gap(scene.json(places[0]), reference) or reference.names
    cause = trace_missing(scene, at.node, reference, places[0], path)
    if cause.lost or cause.own:
        return cause.with_problem(f"{cause.problem}, so '{at.node}' writes a text without it")
    hint = f"; {cause.told_at(at.node)}" if cause.misread or cause.node != at.node else ""
    told = "which none of its items has" if len(places) > 1 else "which its item does not have"
    problem = f"it writes a text with {reference.written}, {told}, so nothing stands there{hint}"
    return Cause(node=at.node, problem=problem, place=places[0], walk=(places[0],), certain=cause.misread)


def _raised(scene: Scene, at: RunPlace) -> Cause | None:
    """An expression in a field of a Set node that raises for an item, as the recorded text shows."""
    for field, written in assigned(scene, at.node).items() if scene.kind(at.node) == "set" else ():
        for place in islice(scene.outputs(at), _MOST_ITEMS) if is_mixed(written) else ():
            outcomes = _again(scene, at, place, field, written) or ()
            shown = shown_value(scene.value(place, tuple(field.split("."))))
            told = f"{field} is {shown}"
            cause = _explained(scene, at, place, told, outcomes) or _no_number(scene, at, place, told, outcomes)
            if cause is not None:
                return cause
    return None


def _no_number(scene: Scene, at: RunPlace, place: Place, told: str, outcomes: Sequence[Outcome]) -> Cause | None:
    """A calculation that gave NaN, for which n8n writes nothing."""
    for one in outcomes:
        value = one.value
        spots = value.spots if value is not None and is_nan(value.value) and not value.unfound else ()
        bad = [spot for spot in spots if spot[1] and not is_numeric(scene.value(*spot))]
        if value is not None and len(bad) == 1 and not is_absent(scene.value(*bad[0])):
            where, names = bad[0]
            body = shortened(one.body, _LONGEST_SHOWN)
            if not value.unread:
                described = f"with which '{at.node}' cannot calculate {body}, so {told}"
                return trace_value(scene, where, names, described).in_doubt()
            maker = trace_value(scene, where, names, "").node
            held = f"{shown_path(names)} is {shown_value(scene.value(where, names))}, from '{maker}'"
            problem = f"{told} in item {place.item}; {body} is no number there; {held}: {value.unread} does not read it"
            return Cause(node=at.node, problem=problem, place=place, walk=(place,)).in_doubt()
    return None


def some_holes(scene: Scene) -> Cause | None:
    """A field alone in the braces of a text that some items have, and others do not: nothing stands there for them."""
    for at in scene.first_runs:
        for field, written in assigned(scene, at.node).items() if scene.kind(at.node) == "set" else ():
            places = list(islice(scene.outputs(at), _MOST_ITEMS))
            for reference in lone_references(written):
                holes = [one for one in places if _lacks(scene, one, reference)]
                if not 0 < len(holes) < len(places) or _is_optional(scene, at.node, reference):
                    continue
                place = next((one for one in holes if _again(scene, at, one, field, written) is not None), None)
                if place is not None:
                    return _hole(scene, at, place, field, reference, len(holes))
    return None


def _lacks(scene: Scene, place: Place, reference: Reference) -> bool:
    source = next(iter(scene.parents(place)), None)
    value = scene.value(source, reference.names) if source is not None else ""
    return value is None or is_absent(value)


def _is_optional(scene: Scene, node: str, reference: Reference) -> bool:
    """Whether a step of it or a guard of another node says that the field may be missing."""
    return any(step.optional for step in reference.path) or is_anticipated(scene, reference.names, node)


def _was_made(scene: Scene, cause: Cause, name: str) -> bool:
    """Whether a node made the field, or joined it, and not for this item. What came without it may be optional."""
    kind, code = scene.kind(cause.node), str(scene.settings.get(cause.node, {}).get("jsCode"))
    # Code that reads no items has the data in itself.
    makes = kind in CODE_TYPES and _READS_ITEMS.search(code) is not None
    named = makes and of_names(rf"(?<![\w$.]){re.escape(name)}(?![\w$])").search(code) is not None
    return kind == "merge" or named or name in assigned(scene, cause.node)


def _hole(scene: Scene, at: RunPlace, place: Place, field: str, reference: Reference, count: int) -> Cause | None:
    source = next(iter(scene.parents(place)), None)
    path = gap(scene.json(source), reference) if source is not None else None
    if source is None or path is None:
        return None
    told = f"{field} is {shown_value(scene.value(place, tuple(field.split('.'))))}"
    cause = trace_missing(scene, at.node, reference, source, path)
    holder = scene.value(source, path[:-1]) if path[1:] else None
    if not isinstance(holder, list) and not _was_made(scene, cause, path[-1]):
        return None
    why = f"{reference.written} is {emptiness(scene.value(source, path))}"
    known = f"; {cause.told_at(at.node)}" if cause.node != at.node or cause.misread else ""
    problem = f"{told}, because {why} in {count} of its items{known}"
    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)


def _explained(scene: Scene, at: RunPlace, place: Place, told: str, outcomes: Sequence[Outcome]) -> Cause | None:
    for one in outcomes:
        spot = _about(one.thrown)
        if one.thrown is not None and spot is not None:
            body = shortened(one.body, _LONGEST_SHOWN)
            problem = f"{told} in item {place.item}; {body} raises an error there; {_why(scene, one, spot)}"
            return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None


def _about(thrown: Thrown | None) -> Spot | None:
    """The field that an error is about."""
    culprit = thrown.culprit if thrown is not None else None
    return culprit.at if culprit is not None and culprit.at is not None and culprit.at[1] else None


def _why(scene: Scene, outcome: Outcome, spot: Spot) -> str:
    place, path = spot
    value, name = scene.value(place, path), ".".join(path)
    if is_absent(value):
        return f"{name} is not there"
    lacks = f", which has no {outcome.thrown.message}()" if outcome.thrown and outcome.thrown.kind == "function" else ""
    return f"{name} is {shown_value(value)}{lacks}, from '{trace_value(scene, place, path, '').node}'"
