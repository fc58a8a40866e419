"""Rules for code and expressions that went well: run again, they show what they could not calculate with, or tested."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dogubako.packs.n8n.diagnosis.dates import looks_like_date
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.javascript_values import is_nan
from dogubako.packs.n8n.diagnosis.references import Reference, texts
from dogubako.packs.n8n.diagnosis.replay.expressions import bodies
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.items import returned_items
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames, runs_for_each
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Obj, Thrown, Val
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.trace import is_numeric, trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_NODES: Final = 5
_MOST_ITEMS: Final = 100
_MOST_RUNS: Final = 30
_MOST_SCRIPTS: Final = 10
_SAYS_NO = re.compile(rb'"\s*+(?:false|no|0|off|nein|null|undefined)\s*+"', re.IGNORECASE)


def no_number_again(scene: Scene) -> Cause | None:
    """A field that is NaN in the replay, of which n8n makes null: the value with which nothing can be calculated."""
    for at in [one for one in scene.runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        nulls = list(_nulls(scene, at))
        made = returned_items(scene, at) if nulls and scene.inputs(at.run) else []
        for place, name in nulls:
            value = made[place.item].get(name) if place.item < len(made) else None
            if value is not None and is_nan(value.value) and (cause := _guilty(scene, at, name, value)) is not None:
                return cause
            if value is not None and (cause := _no_date(scene, at, name, value)) is not None:
                return cause
    return None


def _nulls(scene: Scene, at: RunPlace) -> Iterator[tuple[Place, str]]:
    for place in list(scene.outputs(at))[:_MOST_ITEMS]:
        data = scene.json(place)
        for name, value in data.items() if isinstance(data, Mapping) and place.output == 0 else ():
            if value is None:
                yield place, str(name)


def _no_date(scene: Scene, at: RunPlace, name: str, value: Val) -> Cause | None:
    """A date that was made of a text which is none: n8n makes null of it."""
    given = value.value.fields.get("·given") if isinstance(value.value, Obj) and value.value.kind == "date" else None
    if given is None or given.at is None or not isinstance(given.value, str) or looks_like_date(given.value):
        return None
    told = f"which is no date that can be parsed, so {name} is null in '{at.node}'"
    return trace_value(scene, *given.at, told).in_doubt()


def _guilty(scene: Scene, at: RunPlace, name: str, value: Val) -> Cause | None:
    bad = [
        (place, path)
        for place, path in value.spots
        if path and path[0] != FILES and not is_numeric(scene.value(place, path))
    ]
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


def text_is_true(scene: Scene) -> Cause | None:
    """A text such as "false" that code or an expression tests for truth: it counts as true."""
    for at in scene.first_runs[:_MOST_RUNS]:
        given = [item for one in scene.inputs(at.run) for item in one.items[:_MOST_ITEMS]]
        if not any(_SAYS_NO.search(bytes(item)) for item in given):
            continue
        for value in _tested_for_truth(scene, at):
            if value.at is not None and isinstance(value.value, str) and _SAYS_NO.fullmatch(_quoted(value.value)):
                place, path = value.at
                told = f"it tests {'.'.join(path)}, which is the text {value.value!r}: a text counts as true"
                return Cause(node=at.node, problem=told, place=place, walk=(place,), certain=False)
    return None


def _quoted(text: str) -> bytes:
    return f'"{text.strip()}"'.encode()


def _tested_for_truth(scene: Scene, at: RunPlace) -> list[Val]:
    """The fields that were tested by themselves, without a comparison, in the order of the replay."""
    interpreter, settings = Interpreter(lambda _: None), scene.settings.get(at.node, {})
    code = settings.get("jsCode") if scene.kind(at.node) == "code" else None
    scripts = (
        [code] if isinstance(code, str) else [f"return ({one});" for text in texts(settings) for one in bodies(text)]
    )
    once = isinstance(code, str) and not runs_for_each(scene, at.node)
    places: list[Place | None] = [None] if once else [*scene.input_places(at.run)[:_MOST_ITEMS]]
    for script in scripts[:_MOST_SCRIPTS]:
        for index, place in enumerate(places):
            interpreter.restart(N8nNames(scene, at, place, index, interpreter.spend))
            try:
                interpreter.run(parse_script(script[:LONGEST_CODE_FOLLOWED]))
            except (*NOT_REPLAYED, Thrown):
                # What was tested before is known all the same.
                continue
    return interpreter.asked
