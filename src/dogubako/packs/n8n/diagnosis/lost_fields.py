"""A field that was there before: the node that dropped it, the merge whose item found no partner or lacks a side."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.gaps import lies_deeper
from dogubako.packs.n8n.diagnosis.intended_makers import Path, renamed_to
from dogubako.packs.n8n.diagnosis.join_keys import partner_told, unpaired_keys
from dogubako.packs.n8n.diagnosis.references import only_reference, references_in
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.spelling import near_names
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.models import Run

ALWAYS_OUTPUT: Final = "it is set to always output data"


def without_partner(scene: Scene, here: Place, path: Path, walk: list[Place]) -> Cause | None:
    """A join whose other side gives the field, to other items than this one."""
    run = scene.run_of(here)
    inputs = scene.inputs(run) if run is not None else []
    if len(inputs) < 2 or run is None or _appends(scene, here.node):
        return None
    giving = next((one for one in scene.input_places(run) if not is_absent(scene.value(one, path))), None)
    if giving is None:
        return None
    if scene.settings.get(here.node, {}).get("mode") == "chooseBranch":
        problem = f"it hands on only the items of another input; {'.'.join(path)} comes from '{giving.node}'"
        return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True)
    problem = partner_told(scene, here, giving, ".".join(path))
    # That an item has no partner may be due to either side, and to their keys.
    return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True, certain=False)


def _appends(scene: Scene, node: str) -> bool:
    """Whether a merge puts its inputs one behind the other, so that no item has a partner."""
    return scene.kind(node) == "merge" and scene.settings.get(node, {}).get("mode", "append") == "append"


def without_side(scene: Scene, here: Place, path: Path, walk: list[Place]) -> Cause | None:
    """A merge to which one of its sides gave nothing: the field may have come from there."""
    run = scene.run_of(here)
    if run is None or scene.kind(here.node) != "merge":
        return None
    giving = {one.node for one in scene.inputs(run) if one.items}
    for name in scene.leading_to(here.node):
        runs = scene.execution.runs.get(name, [])
        if name in giving or not runs or _gave(scene, runs[-1], name, here.node):
            continue
        held = next((one for one in scene.input_places(runs[-1]) if not is_absent(scene.value(one, path))), None)
        data = scene.json(walk[0])
        if held is None and near_names(list(data) if isinstance(data, Mapping) else [], path[0]):
            # The name is rather misspelt.
            continue
        field = ".".join(path)
        had = f"so {field}, which came from '{held.node}', is missing" if held else f"and the item has no {field}"
        problem = f"it passed on no items to '{here.node}', {had}"
        return Cause(node=name, problem=problem, walk=tuple(walk), certain=held is not None)
    return None


def _renames(scene: Scene, node: str, path: Path, name: str) -> bool:
    """Whether the settings of a node say that it gives the field this name."""
    whole = only_reference(assigned(scene, node).get(name))
    return (whole is not None and whole.names == path) or ".".join(path) in renamed_to(scene, node, name)


def _gave(scene: Scene, run: Run, name: str, target: str) -> bool:
    """Whether a run gave items to an output that leads to this node."""
    return any(items and target in scene.behind(name, number) for number, items in enumerate(run.outputs))


def lost_here(scene: Scene, here: Place, path: Path, walk: list[Place], having: Place) -> Cause:
    """A node whose item does not have the field that the item before it has."""
    kind, settings = scene.kind(here.node), scene.settings.get(here.node, {})
    why, node = "", scene.nodes.get(here.node)
    if scene.json(here) == {} and node is not None and node.always_output_data:
        problem = f"it passed on nothing, and then an empty item, because {ALWAYS_OUTPUT}"
        run = scene.run_of(here)
        keys = unpaired_keys(scene, RunPlace(node=here.node, index=here.run, run=run)) if run is not None else ""
        told = f"{problem}{keys}; so there is no {'.'.join(path)}"
        # Who has to change, if keys find no pair, is not known.
        return Cause(node=here.node, problem=told, place=here, walk=tuple(walk), lost=True, certain=not keys)
    if kind == "set" and not settings.get("includeOtherFields"):
        why = ": this node keeps only the fields that it sets"
    elif kind in ("httpRequest", "executeWorkflow"):
        why = ": this node puts its own answer in place of the item"
    data, lost = scene.json(here), scene.value(having, path)
    if kind == "aggregate" and lies_deeper(data, path[-1]):
        problem = f"it gathers items in a list, whose elements have {path[-1]}; '{having.node}' before it still has it"
        return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True, path=path, certain=False)
    renamed = (
        [key for key in data if is_same(data[key], lost)] if isinstance(data, Mapping) and lost is not None else []
    )
    if len(renamed) == 1 and not isinstance(lost, bool):
        told = "is called" if _renames(scene, here.node, path, renamed[0]) else "is lost here; the same value is in"
        then = " from here on: either this name or the reader's is wrong" if told == "is called" else ""
        problem = f"{'.'.join(path)} {told} {renamed[0]}{then}"
        return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True, path=path, certain=False)
    if (made := _made_of(scene, here.node, path)) is not None:
        # What it made of it may be meant, or what it was made of.
        problem = f"{'.'.join(path)} is lost here{why}; it makes {made} of it"
        return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True, path=path, certain=False)
    # Who reads behind a node that gives out another kind of item may mean the item before.
    still = "" if kind in ("set", *CODE_TYPES) else f"; '{having.node}' before it still has it"
    problem = f"{'.'.join(path)} is lost here{why}{still}"
    return Cause(node=here.node, problem=problem, place=here, walk=tuple(walk), lost=True, path=path)


def lost_before(scene: Scene, place: Place, path: Path) -> Cause | None:
    """The node that dropped a field which an item before still has."""
    walk = scene.walk(place)
    having = next((number for number, one in enumerate(walk) if not is_absent(scene.value(one, path))), None)
    return lost_here(scene, walk[having - 1], path, walk[:having], walk[having]) if having else None


def _made_of(scene: Scene, node: str, path: Path) -> str | None:
    """The field that a Set node makes of one that it does not keep, under another name."""
    for name, written in assigned(scene, node).items():
        if name != path[0] and any(one.node is None and one.names[:1] == path[:1] for one in references_in(written)):
            return name
    return None


def is_same(one: Any, other: Any) -> bool:
    return not is_absent(one) and type(one) is type(other) and one == other
