"""Rules for code and expressions that went well: run again, they show what they could not calculate with, or tested."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.code_lines import calculates_with
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.javascript_dates import is_date
from dogubako.packs.n8n.diagnosis.javascript_values import is_nan, is_numeric
from dogubako.packs.n8n.diagnosis.references import Reference, expression_body, references, texts
from dogubako.packs.n8n.diagnosis.replay.expressions import bodies, evaluated
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.items import returned_item, returned_items
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames, runs_for_each
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Obj, Thrown, Val
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene, conditions_of
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.sieves import alike, sifted_told
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_NODES: Final = 5
_MOST_ITEMS: Final = 100
_MOST_RUNS: Final = 30
_MOST_SCRIPTS: Final = 10
# A number that is written in the expression: `$json.seats + 2`.
_NUMBER_ADDED = re.compile(r"\+\s*+\d++(?![\w'\"`])|(?<![\w'\"`.])\d++\s*+\+(?!\+)")
_ASKS_SAME = re.compile(r"[!=]==|\.(?:includes|indexOf)\(")
_LAST_MONTH: Final = 12
_YEAR_LAST = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})")
_SAYS_NO = re.compile(rb'"\s*+(?:false|no|0|off|nein|null|undefined)\s*+"', re.IGNORECASE)


def no_number_again(scene: Scene) -> Cause | None:
    """A field that is NaN in the replay, of which n8n makes null: the value with which nothing can be calculated."""
    for at in [one for one in scene.runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        nulls = list(_nulls(scene, at))
        made = returned_items(scene, at) if nulls and scene.inputs(at.run) else []
        for place, name in nulls:
            value = made[place.item].get(name) if place.item < len(made) else None
            others = [one.get(name) for one in made] if value is not None else []
            if value is not None and is_nan(value.value):
                cause = _guilty(scene, at, name, value, others, place.item)
                if cause is not None:
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
    if given is None or given.at is None or not isinstance(given.value, str) or is_date(given.value):
        return None
    told = f"which is not read as a date as it is written, so {name} is null in '{at.node}'"
    return trace_value(scene, *given.at, told).in_doubt()


def _guilty(scene: Scene, at: RunPlace, name: str, value: Val, siblings: Sequence[Val], number: int) -> Cause | None:
    """What is to blame for NaN in one item. `siblings` are the values of this name in all items."""
    bad = [
        (place, path)
        for place, path in value.spots
        if path and path[0] != FILES and not is_numeric(scene.value(place, path))
    ]
    told = f"so {name} is no number in '{at.node}', and n8n makes null of it"
    if value.unfound and bad:
        # The fields are not calculated with: they are what is searched, or what is searched for.
        told_of = {shown_path(path): shown_value(scene.value(where, path)) for where, path in bad}
        read = " and ".join(f"{path}, which is {held}" for path, held in told_of.items())
        problem = f"what its code gets from {read}, is undefined, {told}"
        return Cause(node=at.node, problem=problem, place=bad[0][0], walk=(bad[0][0],), certain=False)
    if not bad and value.zero is not None and value.zero.at is not None:
        place, path = value.zero.at
        problem = f"it divides by {shown_path(path)}, which is {shown_value(scene.value(place, path))}, {told}"
        return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    if len({tuple(one for one in path if not one.isdecimal()) for _, path in bad}) != 1:
        return None
    place, path = bad[0]
    if is_absent(scene.value(place, path)):
        reference = Reference(node=None, pick="item", path=tuple(Step(one) for one in path))
        cause = trace_missing(scene, at.node, reference, place, path)
        cause = cause.with_problem(f"{cause.problem}, {told}")
        return cause if cause.misread or cause.lost else cause.in_doubt()
    maker = trace_value(scene, place, path, "").node
    shown = f"{shown_path(path)}, which is {shown_value(scene.value(place, path))}, from '{maker}'"
    if any((place, path) in one.spots and not is_nan(one.value) for one in siblings):
        problem = f"of a part of {shown}, it makes no number in item {number}, {told}"
    else:
        problem = f"it cannot calculate with {shown}, {told}"
    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)


def text_is_true(scene: Scene) -> Cause | None:
    """A text such as "false" that code or an expression tests for truth: it counts as true."""
    for at in scene.first_runs[:_MOST_RUNS]:
        given = [item for one in scene.inputs(at.run) for item in one.items[:_MOST_ITEMS]]
        if not any(_SAYS_NO.search(bytes(item)) for item in given):
            continue
        for value in _replayed(scene, at).asked:
            if value.at is not None and isinstance(value.value, str) and _SAYS_NO.fullmatch(_quoted(value.value)):
                place, path = value.at
                told = f"it tests {'.'.join(path)}, which is the text {value.value!r}: a text counts as true"
                return Cause(node=at.node, problem=told, place=place, walk=(place,), certain=False)
    return None


def _quoted(text: str) -> bytes:
    return f'"{text.strip()}"'.encode()


def joined_by_code(scene: Scene) -> Cause | None:
    """A field of code that `+` joined of a number and of texts that are numbers, or that was calculated from such."""
    for at in [one for one in scene.first_runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        made = returned_items(scene, at) if scene.inputs(at.run) else []
        for place in list(scene.outputs(at))[:_MOST_ITEMS]:
            fields = made[place.item].fields if place.output == 0 and place.item < len(made) else {}
            for name, value in fields.items():
                held = scene.value(place, (name,))
                if value.joined and isinstance(held, (str, int, float)) and held == value.value:
                    return _joined(scene, at, place, name, value)
    return None


def _joined(scene: Scene, at: RunPlace, place: Place, name: str, value: Val) -> Cause:
    texts_read = [one for one in value.made if isinstance(scene.value(*one), str)]
    of = "".join(f", from {shown_path(one[1])}, {shown_value(scene.value(*one))}" for one in texts_read[:1])
    problem = f"{name} is {shown_value(scene.value(place, (name,)))}: + joins texts and does not add them{of}"
    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)


def joined_by_expression(scene: Scene) -> Cause | None:
    """A field of a Set node that `+` joined of texts that are numbers, one with a number or for a calculation."""
    for at in [one for one in scene.first_runs if scene.kind(one.node) == "set"][:_MOST_NODES]:
        for name, written in assigned(scene, at.node).items():
            body = expression_body(written)
            for place in list(scene.outputs(at))[:_MOST_ITEMS] if body is not None and "+" in body else ():
                source = next(iter(scene.parents(place)), None)
                value = evaluated(scene, at, source, body).value if source is not None and body is not None else None
                held = scene.value(place, (name,))
                sure = _NUMBER_ADDED.search(str(body)) is not None or _is_number_behind(scene, at.node, name)
                if value is not None and value.joined and isinstance(held, str) and held == value.value and sure:
                    return _joined(scene, at, place, name, value)
    return None


def _is_number_behind(scene: Scene, node: str, name: str) -> bool:
    """Whether a node behind this one takes the field for a number: two texts in a row may be meant as a text."""
    for behind in scene.reached(scene.behind(node)):
        settings = scene.settings.get(behind, {})
        if any(calculates_with(text, name) for text in texts(settings)):
            return True
        for condition in conditions_of(settings):
            operator, read = condition.get("operator"), references(condition.get("leftValue"))
            is_number = isinstance(operator, Mapping) and operator.get("type") == "number"
            if is_number and any(one.names == (name,) for one in read):
                return True
    return False


def compared_as_texts(scene: Scene) -> Cause | None:
    """Numbers or dates that code or an expression puts in an order as texts, which is another one."""
    for at in scene.first_runs[:_MOST_RUNS]:
        written = [text for text in texts(scene.settings.get(at.node, {})) if "<" in text or ">" in text]
        for one, other in _replayed(scene, at).compared if written else ():
            first, second = str(one.value), str(other.value)
            numbers = (
                is_numeric(first) and is_numeric(second) and (float(first) < float(second)) is not (first < second)
            )
            if (one.at or other.at) and first != second and (numbers or ordered_otherwise(first, second)):
                kind = "numbers" if numbers else "dates"
                problem = f"it compares {shown_value(first)} and {shown_value(second)} as texts, not as {kind}"
                place = (one.at or other.at or (None, ()))[0]
                return Cause(node=at.node, problem=problem, place=place, certain=False)
    return None


def same_but_for_type(scene: Scene) -> Cause | None:
    """A number that code or an expression compares with the text of it: they are never the same."""
    for at in scene.first_runs[:_MOST_RUNS]:
        if not any(_ASKS_SAME.search(text) for text in texts(scene.settings.get(at.node, {}))):
            continue
        for one, other in _replayed(scene, at).unlike:
            spot = one.at or other.at
            if spot is not None and spot[1] and spot[1][0] != FILES:
                told = " and ".join(_where(scene, each) for each in (one, other))
                problem = f"it compares {told}: they differ only in type, so they are not the same"
                return Cause(node=at.node, problem=problem, place=spot[0], walk=(spot[0],), certain=False)
    return None


def _where(scene: Scene, value: Val) -> str:
    shown = shown_value(value.value)
    if value.at is None or not value.at[1]:
        return shown
    return f"{shown_path(value.at[1])}, which is {shown}, from '{trace_value(scene, *value.at, '').node}'"


def null_as_zero(scene: Scene) -> Cause | None:
    """A field that is null, where code or an expression multiplies or divides it: the result is 0."""
    for at in scene.first_runs[:_MOST_RUNS]:
        if not any("*" in text or "/" in text for text in texts(scene.settings.get(at.node, {}))):
            continue
        for value in _replayed(scene, at).zeros:
            place, path = value.at or (None, ())
            if place is not None and path and path[0] != FILES and scene.value(place, path) is None:
                cause = trace_value(scene, place, path, "")
                told = f"{cause.problem}, and '{at.node}' multiplies or divides it: null counts as 0 there"
                return replace(cause.with_problem(told), certain=False)
    return None


def date_of_null(scene: Scene) -> Cause | None:
    """A field that is null, of which code makes a date: that is the first day of 1970, and no error."""
    for at in scene.first_runs[:_MOST_RUNS]:
        if not any("new Date(" in text for text in texts(scene.settings.get(at.node, {}))):
            continue
        for name, value in _replayed(scene, at).nulls_given:
            place, path = value.at or (None, ())
            if name == "Date" and place is not None and path and path[0] != FILES and scene.value(place, path) is None:
                cause = trace_value(scene, place, path, "")
                told = f"{cause.problem}, and '{at.node}' makes a date of it: new Date(null) is 1970-01-01"
                return replace(cause.with_problem(told), certain=False)
    return None


def sifted_all(scene: Scene) -> Cause | None:
    """A filter in code that kept none of its elements, though one is what it looks for but for its form."""
    for at in [one for one in scene.first_runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        if ".filter(" not in str(scene.settings.get(at.node, {}).get("jsCode")):
            continue
        for sifted in _replayed(scene, at).sifted:
            if alike(scene, sifted):
                place = sifted.tests[0][0][0]
                told = sifted_told(scene, at.node, sifted)
                return Cause(node=at.node, problem=told, place=place, walk=(place,), certain=False)
    return None


def error_caught(scene: Scene) -> Cause | None:
    """Code that caught an error of the language about a field which is not there, and went on with something else."""
    for at in [one for one in scene.first_runs if scene.kind(one.node) == "code"][:_MOST_NODES]:
        if "catch" not in str(scene.settings.get(at.node, {}).get("jsCode")):
            continue
        first = next(iter(scene.outputs(at)), None)
        # The replay has to make what n8n recorded.
        caught = _replayed(scene, at).caught if first is not None and returned_item(scene, first) else []
        if (unread := _unread_json(scene, at, caught)) is not None:
            return unread
        for thrown in caught:
            spot = thrown.culprit.at if thrown.culprit is not None else None
            if spot is not None and spot[1] and spot[1][0] != FILES and is_absent(scene.value(*spot)):
                told = f"its code catches an error (line {thrown.line}): {shown_path(spot[1])} is not there"
                problem = f"{told}; the {scene.item_told(spot[0])}"
                return Cause(node=at.node, problem=problem, place=spot[0], walk=(spot[0],), certain=False)
    return None


def _unread_json(scene: Scene, at: RunPlace, caught: Sequence[Thrown]) -> Cause | None:
    """Code that caught the error of JSON.parse for each of its items. For some of them, that may be intended."""
    found = [one.culprit.at for one in caught if one.kind == "json" and one.culprit is not None and one.culprit.at]
    spots = [one for one in found if isinstance(scene.value(*one), str)]
    if not spots or len({place for place, _ in spots}) < scene.execution.items_given_to(at.run):
        return None
    (place, path), line = spots[0], next(one.line for one in caught if one.kind == "json")
    maker = trace_value(scene, place, path, "").node
    shown = f"{shown_path(path)} is {shown_value(scene.value(place, path))}, from '{maker}', which is not valid JSON"
    problem = f"its code catches an error for each of its items (line {line}): {shown}"
    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)


def _replayed(scene: Scene, at: RunPlace) -> Interpreter:
    """The interpreter after it ran the code or the expressions of a node: it knows what was tested and compared."""
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
    return interpreter


def ordered_otherwise(one: str, other: str) -> bool:
    """Whether two texts that are dates with the year at their end stand in another order than the dates do.

    Where it is not known which number is the month, it has to hold for both readings.
    """
    first, second = _YEAR_LAST.fullmatch(one.strip()), _YEAR_LAST.fullmatch(other.strip())
    if first is None or second is None or one == other:
        return False
    orders = [
        _numbers_of(first, month, day) < _numbers_of(second, month, day)
        for month, day in ((3, 1), (1, 3))
        if max(int(first[month]), int(second[month])) <= _LAST_MONTH
    ]
    return bool(orders) and all(order is not (one < other) for order in orders)


def _numbers_of(found: re.Match[str], month: int, day: int) -> tuple[int, int, int]:
    return int(found[4]), int(found[month]), int(found[day])
