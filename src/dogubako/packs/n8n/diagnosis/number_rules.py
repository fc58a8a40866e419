"""Quiet rules for texts that were taken for numbers, and for pages that nobody asked for."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.javascript_values import is_number_text, is_numeric
from dogubako.packs.n8n.diagnosis.references import only_reference, references_in, texts
from dogubako.packs.n8n.diagnosis.replay.expressions import bodies, evaluated
from dogubako.packs.n8n.diagnosis.replay.items import returned_items
from dogubako.packs.n8n.diagnosis.replay.values import Obj
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.trace import CHOOSES_NULL, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import shortened
from dogubako.packs.n8n.javascript_names import of_names

_MOST_ITEMS: Final = 200
_LONGEST_WRITTEN: Final = 12_000
_LONGEST_SHOWN: Final = 80
_ADDS = re.compile(r"=\s*+\{\{[^{}+]{1,200}+(?:\+[^{}+]{1,200}+){1,9}+\}\}\s*+")
_PARSES = re.compile(r"parse(?:Float|Int)\b|\.toNumber\(|\.toFloat\(|\.toInt\(")
# What parseFloat reads of a text, and the digits that it leaves.
_PARTLY = re.compile(r"\s*+([+-]?\d++(?:\.\d++)?+)[.,' \u00a0\u202f]\d")
# What parseInt reads of one, where a fraction is left.
_WHOLE_PART = re.compile(r"\s*+([+-]?\d++)\.0*+[1-9]\d*+\s*+")
_BRACES = re.compile(r"\{\{([^{}]{1,300}+)\}\}")
_CALCULATES = re.compile(r"[\w$)\]]\s*[*/%-]\s*[\w$(]")


def joined_texts(scene: Scene, place: Place, path: tuple[str, ...], *, in_text: bool = False) -> Cause | None:
    """A number that a Set node's `a + b` made of texts: they were joined, not added. `in_text`: also one in a text."""
    value, run = scene.value(place, path), scene.run_of(place)
    number = (isinstance(value, (int, float)) and not isinstance(value, bool)) or (in_text and is_number_text(value))
    if run is None or len(path) != 1 or not number:
        return None
    written = assigned(scene, place.node).get(path[0], "")
    read = references_in(written) if _ADDS.fullmatch(written) else []
    source = next(iter(scene.parents(place)), None)
    found = [scene.value(at, one.names) for one in read for at in scene.places_read(one, source, run)[:1]]
    texts = [one for one in found if isinstance(one, str) and is_numeric(one)]
    numbers = [one for one in found if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(found) < 2 or not texts or len(texts) + len(numbers) != len(found) or len(read) != len(found):
        return None
    if "".join(map(str, found)) != str(value):
        return None
    shown = [f"{one.written} {text!r}" for one, text in zip(read, found, strict=True) if isinstance(text, str)]
    are = "are texts" if len(shown) > 1 else "is a text"
    problem = f"{path[0]} is {value}, because {' and '.join(shown)} {are}: + joins and does not add"
    return Cause(
        node=place.node, problem=problem, place=place, walk=(place,), path=path, own=not isinstance(value, str)
    )


def cut_number(scene: Scene) -> Cause | None:
    """A number that was read from the beginning of a text: `parseFloat("1.234,56")` is 1.234."""
    for at in scene.first_runs:
        written = [one[:_LONGEST_WRITTEN] for one in texts(scene.settings.get(at.node, {}))]
        # A text that is split may hold several numbers.
        if not any(_PARSES.search(one) for one in written) or any(".split(" in one for one in written):
            continue
        again = returned_items(scene, at) if scene.kind(at.node) == "code" else []
        for place in list(scene.outputs(at))[:_MOST_ITEMS]:
            made = _numbers(scene.json(place))
            if again:
                # The replay knows which text was parsed, and whether something has changed it before.
                item = again[place.item] if place.output == 0 and place.item < len(again) else Obj()
                if (cause := _cut_again(scene, at, place, made, item)) is not None:
                    return cause
                continue
            for source in scene.parents(place)[:1] or scene.possible_parents(place)[:_MOST_ITEMS]:
                if (cause := _cut(scene, at, place, source, made)) is not None:
                    return cause
    return None


def _cut_again(scene: Scene, at: RunPlace, place: Place, made: Mapping[str, float], item: Obj) -> Cause | None:
    for name, value in made.items():
        (source, path), text = item.get(name).parsed or ((place, ()), "")
        read = _read_partly(text, value)
        if path and read is not None and scene.value(source, path) == text:
            return _told_cut(at, place, source, name, ".".join(path), read)
    return None


def _cut(scene: Scene, at: RunPlace, place: Place, source: Place, made: Mapping[str, float]) -> Cause | None:
    data = scene.json(source)
    for key, text in data.items() if isinstance(data, Mapping) else ():
        for name, value in made.items() if isinstance(text, str) else ():
            read = _read_partly(text, value)
            if read is not None and _is_parsed(scene, at, source, str(key), name):
                return _told_cut(at, place, source, name, str(key), read)
    return None


def _read_partly(text: str, value: float) -> re.Match[str] | None:
    """The beginning of the text that was read as this number, where digits are left behind it."""
    found = (_PARTLY.match(text), _WHOLE_PART.fullmatch(text))
    return next((one for one in found if one is not None and value == float(one[1])), None)


def _told_cut(at: RunPlace, place: Place, source: Place, name: str, key: str, read: re.Match[str]) -> Cause:
    text = read.string
    problem = f"{name} is {read[1]}, made from {key}, which is {shown_value(text)}: it reads only the beginning"
    # A whole number may be what is wanted of it, or the first part of a version.
    whole = text.strip().replace(".", "", 1).isdecimal() or text.count(".") > 1
    return Cause(node=at.node, problem=problem, place=place, walk=(source,), certain=not whole)


def _is_parsed(scene: Scene, at: RunPlace, source: Place, key: str, name: str) -> bool:
    """Whether this number is what parseFloat or parseInt read of this very text: nothing has changed it before."""
    text, written = scene.value(source, (key,)), assigned(scene, at.node).get(name)
    whole = bodies(written)
    value = evaluated(scene, at, source, whole[0]).value if len(whole) == 1 else None
    if value is not None and value.is_known:
        return value.parsed == ((source, (key,)), text)
    if written is not None:
        return _parses(written, key, "")
    return any(_parses(one[:_LONGEST_WRITTEN], key, name) for one in texts(scene.settings.get(at.node, {})))


@lru_cache(maxsize=500)
def _parses(written: str, key: str, name: str) -> bool:
    """Whether the field is parsed as it is; in code, and given to this name."""
    field = rf"(?:\??\.{re.escape(key)}|\[['\"]{re.escape(key)}['\"]\])\s*+"
    parses = rf"(?:Number\.)?parse(?:Float|Int)\(\s*+[\w$.?]{{0,100}}?{field}(?:,\s*+\d{{1,2}}\s*+)?\)"
    given = rf"(?<![\w$]){re.escape(name)}['\"]?\]?\s*+[:=]\s*+{parses}"
    told = given if name else rf"{parses}|{field}\.to(?:Number|Float|Int)\("
    return of_names(told).search(written) is not None


def _numbers(data: Any) -> dict[str, float]:
    held = data.items() if isinstance(data, Mapping) else ()
    return {str(key): value for key, value in held if isinstance(value, (int, float)) and not isinstance(value, bool)}


def sorted_as_texts(scene: Scene) -> Cause | None:
    """A Sort node that puts "100" before "9", because they are texts."""
    for at in scene.first_runs:
        holder = scene.settings.get(at.node, {}).get("sortFieldsUi") if scene.kind(at.node) == "sort" else None
        rows = holder.get("sortField") if isinstance(holder, Mapping) else None
        for row in rows[:1] if isinstance(rows, list) else ():
            path = tuple(str(row.get("fieldName")).split(".")) if isinstance(row, Mapping) else ()
            values = [scene.value(place, path) for place in scene.input_places(at.run)[:_MOST_ITEMS]]
            if values and all(map(is_number_text, values)) and sorted(values) != sorted(values, key=float):
                problem = f"it sorts {'.'.join(path)} as texts, such as {shown_value(values[0])}, and not as numbers"
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def no_number_in_text(scene: Scene) -> Cause | None:
    """A calculation inside a text with a value that is no number: n8n writes nothing in its place."""
    for at in scene.first_runs:
        if scene.kind(at.node) in ("code", "function", "functionItem", "stickyNote"):
            continue
        for body in _calculations(scene, at):
            for place in scene.input_places(at.run)[:_MOST_ITEMS]:
                read = [
                    (one, where) for one in references_in(body) for where in scene.places_read(one, place, at.run)[:1]
                ]
                bad = [(one, where) for one, where in read if not _is_good(scene.value(where, one.names))]
                if len(bad) == 1 and len(read) > 1 and not bad[0][0].called:
                    reference, where = bad[0]
                    told = f"with which '{at.node}' cannot calculate {shortened(body.strip(), _LONGEST_SHOWN)}"
                    return trace_value(scene, where, reference.names, told).in_doubt()
    return None


def _is_good(value: Any) -> bool:
    return not isinstance(value, str) or is_numeric(value)


def _calculations(scene: Scene, at: RunPlace) -> Iterator[str]:
    for written in texts(scene.settings.get(at.node, {})):
        if written.startswith("=") and len(written) <= _LONGEST_WRITTEN and _BRACES.sub("", written[1:]).strip():
            for body in _BRACES.findall(written):
                if _CALCULATES.search(body) and not CHOOSES_NULL.search(body) and not re.search(r"['\"`(\[?]", body):
                    yield body


def zero_lost(scene: Scene) -> Cause | None:
    """A Set node that makes a number of a text whose leading zeros mean something: a postcode, a phone number."""
    for at in scene.first_runs:
        for name, written in assigned(scene, at.node).items():
            read = only_reference(written)
            for place in list(scene.outputs(at))[:_MOST_ITEMS] if read is not None and read.node is None else ():
                source, value = next(iter(scene.parents(place)), None), scene.value(place, (name,))
                held = scene.value(source, read.names) if read is not None and source is not None else None
                if isinstance(held, str) and _is_cut_zero(held, value):
                    problem = f"{name} is {value}, made from {shown_value(held)}: its leading 0 is lost"
                    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None


def _is_cut_zero(text: str, value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and len(text) > 1 and text.startswith("0") and text.isdecimal() and int(text) == value != 0


NUMBER_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    cut_number,
    sorted_as_texts,
    no_number_in_text,
    zero_lost,
)
