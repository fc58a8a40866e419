"""The items that the code of a node returns when it is run again, where they agree with those that n8n recorded."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames, runs_for_each
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import Arr, Obj, Thrown, Val
from dogubako.packs.n8n.diagnosis.scene import RunPlace, Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent


def returned_item(scene: Scene, place: Place) -> Obj | None:
    """The json of this item as the code made it; None if it cannot be run here, or makes something else."""
    run = scene.run_of(place)
    if run is None or scene.kind(place.node) != "code" or place.output:
        return None
    key = (place.node, place.run)
    if key not in scene.replayed:
        scene.replayed[key] = returned_items(scene, RunPlace(node=place.node, index=place.run, run=run))
    made: list[Obj] = scene.replayed[key]
    count = len(run.outputs[0] or ()) if run.outputs else 0
    if len(made) != count or place.item >= count:
        return None
    return made[place.item] if _agrees(made[place.item], scene.json(place)) else None


def returns_list(scene: Scene, node: str, places: Sequence[Place]) -> bool:
    """Whether code that runs for each item returns a list for one of these."""
    runs = scene.execution.runs.get(node, [])
    at = RunPlace(node=node, index=len(runs) - 1, run=runs[-1])
    return any(isinstance(one.value, Arr) for one in _returned(scene, at, places))


def returned_items(scene: Scene, at: RunPlace) -> list[Obj]:
    """The json of the items that the code returns in the replay; empty if it cannot be run here."""
    places: list[Place | None] = [*scene.input_places(at.run)] if runs_for_each(scene, at.node) else [None]
    returned = _returned(scene, at, places)
    listed = returned if places != [None] or not returned else _elements(returned[0].value)
    return [_json(one) for one in listed]


def _returned(scene: Scene, at: RunPlace, places: Sequence[Place | None]) -> list[Val]:
    """What the code returns for each of these, or once if it runs for all of them."""
    code = scene.settings.get(at.node, {}).get("jsCode")
    if not isinstance(code, str) or len(code) > LONGEST_CODE_FOLLOWED:
        return []
    interpreter, returned = Interpreter(lambda _: None), []
    try:
        script = parse_script(code)
        for index, place in enumerate(places):
            interpreter.restart(N8nNames(scene, at, place, index, interpreter.spend))
            returned.append(interpreter.run(script))
    except (*NOT_REPLAYED, Thrown):
        return []
    return returned


def _elements(value: Any) -> list[Val]:
    return value.elements if isinstance(value, Arr) else [Val(value)]


def _json(item: Val) -> Obj:
    """n8n also takes what has no `json` for the fields themselves."""
    if not isinstance(item.value, Obj):
        return Obj()
    held = item.value.get("json").value
    return held if isinstance(held, Obj) else item.value if is_absent(held) else Obj()


def _agrees(made: Obj, recorded: Any) -> bool:
    """Whether n8n recorded what the replay made, as far as the replay knows it."""
    if not isinstance(recorded, Mapping):
        return False
    held = {name: made.get(name) for name in made.names()}
    there = {name for name, value in held.items() if not is_absent(value.value)}
    return there == set(recorded) and all(_is_same(held[name].value, recorded[name]) for name in recorded)


def _is_same(made: Any, recorded: Any) -> bool:
    if isinstance(made, float) and not math.isfinite(made):
        return recorded is None
    if made is None or isinstance(made, (str, int, float)):
        return bool(made == recorded)
    # What lies in lists and objects is not looked at; dates become texts.
    return True
