"""A rule for code that says itself from which item each of its own was made, and counts them behind a filter."""

from collections.abc import Mapping
from typing import Final

from dogubako.packs.n8n.diagnosis.references import Reference, references
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.formatters.flow import Place

_MOST_ITEMS: Final = 200


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
