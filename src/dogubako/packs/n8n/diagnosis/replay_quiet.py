"""A rule for code that went well and gave out null: run again, it shows what it could not calculate with."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.code_rules import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.javascript_values import is_nan
from dogubako.packs.n8n.diagnosis.references import Reference, Step
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames, runs_for_each
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import Arr, Obj, Thrown, Val
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.trace import is_numeric, trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_NODES: Final = 5
_MOST_ITEMS: Final = 100


def no_number_again(scene: Scene) -> Cause | None:
    """A field that is NaN in the replay, of which n8n makes null: the value with which nothing can be calculated."""
    for at in [one for one in scene.runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        nulls = list(_nulls(scene, at))
        made = _given_out(scene, at) if nulls and scene.inputs(at.run) else []
        for place, name in nulls:
            value = made[place.item].get(name) if place.item < len(made) else None
            if value is not None and is_nan(value.value) and (cause := _guilty(scene, at, name, value)) is not None:
                return cause
    return None


def _nulls(scene: Scene, at: RunPlace) -> Iterator[tuple[Place, str]]:
    for place in list(scene.outputs(at))[:_MOST_ITEMS]:
        data = scene.json(place)
        for name, value in data.items() if isinstance(data, Mapping) and place.output == 0 else ():
            if value is None:
                yield place, str(name)


def _given_out(scene: Scene, at: RunPlace) -> list[Obj]:
    """The json of the items that the code returns in the replay; empty if it cannot be run here."""
    code = scene.settings.get(at.node, {}).get("jsCode")
    if not isinstance(code, str) or len(code) > LONGEST_CODE_FOLLOWED:
        return []
    places: list[Place | None] = [*scene.input_places(at.run)] if runs_for_each(scene, at.node) else [None]
    interpreter, returned = Interpreter(lambda _: None), []
    try:
        script = parse_script(code)
        for index, place in enumerate(places):
            interpreter.restart(N8nNames(scene, at, place, index, interpreter.spend))
            returned.append(interpreter.run(script))
    except (*NOT_REPLAYED, Thrown):
        return []
    listed = returned if places != [None] else _elements(returned[0].value)
    return [_json(one) for one in listed]


def _elements(value: Any) -> list[Val]:
    return value.elements if isinstance(value, Arr) else [Val(value)]


def _json(item: Val) -> Obj:
    held = item.value.get("json").value if isinstance(item.value, Obj) else None
    return held if isinstance(held, Obj) else Obj()


def _guilty(scene: Scene, at: RunPlace, name: str, value: Val) -> Cause | None:
    bad = [(place, path) for place, path in value.spots if path and not is_numeric(scene.value(place, path))]
    if len({path for _, path in bad}) != 1:
        return None
    place, path = bad[0]
    told = f"so {name} is no number in '{at.node}', and n8n makes null of it"
    if is_absent(scene.value(place, path)):
        reference = Reference(node=None, pick="item", path=tuple(Step(one) for one in path))
        cause = trace_missing(scene, at.node, reference, place, path)
        cause = cause.with_problem(f"{cause.problem}, {told}")
        return cause if cause.misread or cause.lost else cause.in_doubt()
    return trace_value(scene, place, path, f"with which cannot be calculated, {told}").in_doubt()
