"""Nodes on the way of an item that are there to give it a field, and did not."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from dogubako.contract.redaction import visible
from dogubako.packs.n8n.diagnosis.absence import all_lack, is_plain
from dogubako.packs.n8n.diagnosis.answers import odd_answer
from dogubako.packs.n8n.diagnosis.assignments import assigned, declared, expressions
from dogubako.packs.n8n.diagnosis.code_lines import call_not_awaited, code_of, line_of
from dogubako.packs.n8n.diagnosis.references import references
from dogubako.packs.n8n.diagnosis.replay.expressions import bodies, evaluated, is_mixed
from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Obj, Val
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.spelling import near_name, near_names
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened, value_at
from dogubako.packs.n8n.javascript_names import of_names

_MOST_NAMES: Final = 200
_LONGEST_VALUE: Final = 80
_LONGEST_CODE: Final = 20_000
_DESTINATION = re.compile(r"dest|output", re.IGNORECASE)
NO_FIELD_HINT = re.compile(r"field '([^'\n]{1,200})' (?:does not exist in|wasn't found in) any")
_SEPARATOR = re.compile(r"[;,|\t]")
_WORD = of_names(r"[\w$]++")
_JSON_BEGINS = re.compile(r"\s*+(?:```\w*+\s*+)?[{\[]")
_LONGEST_JSON: Final = 100_000
_DEEPEST_TEXT: Final = 2

Path = tuple[str, ...]


def intended_maker(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """The node that is there to give the field: disabled, without what it needs, or with nothing for its value."""
    return (
        _not_waited(scene, ".".join(path), walk)
        or _not_awaited(scene, path, walk)
        or odd_answer(scene, path, walk)
        or _switched_off(scene, path, walk)
        or _would_write(scene, path, walk)
        or _text_split(scene, path, walk)
        or _calculated_without(scene, path, walk)
        or _not_renamed(scene, path, walk)
    )


def set_to_nothing(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """Code or an expression on the way that sets the field to undefined, which n8n drops; as the replay of it shows."""
    name = ".".join(path)
    for place in walk:
        value = _made_here(scene, place, path)
        if value is None or not is_absent(value.value):
            continue
        line = line_of(scene, place.node, path[:1])
        written = assigned(scene, place.node).get(path[0]) or (line[1] if line is not None else "")
        by = f" by {shortened(written.removeprefix('='), _LONGEST_VALUE)}" if written else ""
        what = "it" if scene.kind(place.node) == "set" else "its code"
        problem = f"{what} sets {name} to undefined{by}, so the item has none{_looked_up(scene, value)}"
        way = tuple(walk[: walk.index(place) + 1])
        return Cause(node=place.node, problem=problem, place=place, walk=way, certain=False)
    return None


def _made_here(scene: Scene, place: Place, path: Path) -> Val | None:
    """The value of a field that the code of a node sets, or an object in the expression of a Set node."""
    made = returned_item(scene, place)
    value = made.fields.get(path[0]) if made is not None else None
    run, written = scene.run_of(place), assigned(scene, place.node).get(path[0])
    if run is not None and path[1:] and len(bodies(written)) == 1 and not is_mixed(written):
        at = RunPlace(node=place.node, index=place.run, run=run)
        value = evaluated(scene, at, next(iter(scene.parents(place)), None), bodies(written)[0]).value
    for name in path[1:]:
        value = value.value.fields.get(name) if value is not None and isinstance(value.value, Obj) else None
    return value


def _looked_up(scene: Scene, value: Val) -> str:
    """The plain fields that it was looked up with."""
    held = [(place, path, scene.value(place, path)) for place, path in value.spots if path and path[0] != FILES]
    if len(held) == 1 and is_absent(held[0][2]):
        place, path = held[0][:2]
        near = near_name(scene.value(place, path[:-1]) if path[:-1] else scene.json(place), path[-1])
        there = f", but {visible(near)}" if near is not None else ""
        return f"; '{place.node}' gave no {'.'.join(path)}{there}"
    plain = [one for one in held if isinstance(one[2], (str, int, float))]
    told = [f"{'.'.join(path)} is {shown_value(one)}, from '{place.node}'" for place, path, one in plain]
    return f"; {told[0]}" if len(told) == 1 else ""


def parse_caught(scene: Scene, walk: list[Place]) -> Cause | None:
    """Code on the way that gave `JSON.parse` a text which is no JSON, and caught the error."""
    for place in walk:
        code = scene.settings.get(place.node, {}).get("jsCode") if scene.kind(place.node) in CODE_TYPES else None
        if not isinstance(code, str) or "JSON.parse(" not in code or "catch" not in code:
            continue
        for source in (scene.parents(place) or scene.possible_parents(place))[:1]:
            for path, text in _texts_in(scene.json(source)):
                if path[-1] in _WORD.findall(code[:_LONGEST_CODE]) and _is_broken_json(text):
                    told = f"its code catches the errors of JSON.parse, and {'.'.join(path)} is not valid JSON"
                    way = tuple(walk[: walk.index(place) + 1])
                    problem = f"{told}: {shown_value(text)}, from '{source.node}'"
                    return Cause(node=place.node, problem=problem, place=place, walk=way, certain=False)
    return None


def _texts_in(data: Any, before: Path = ()) -> Iterator[tuple[Path, str]]:
    for key, value in list(data.items())[:_MOST_NAMES] if isinstance(data, Mapping) else ():
        if isinstance(value, str):
            yield (*before, str(key)), value
        elif len(before) < _DEEPEST_TEXT:
            yield from _texts_in(value, (*before, str(key)))


def _is_broken_json(text: str) -> bool:
    """Whether it looks as if it should be JSON, and is not."""
    if len(text) > _LONGEST_JSON or _JSON_BEGINS.match(text) is None:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


def _text_split(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A Split Out node on the way that was given a text, so that its item has no fields of an element."""
    for place in walk:
        field = (
            scene.settings.get(place.node, {}).get("fieldToSplitOut") if scene.kind(place.node) == "splitOut" else None
        )
        for source in scene.parents(place)[:1] if isinstance(field, str) else ():
            value = scene.value(source, tuple(str(field).split(".")))
            if isinstance(value, str):
                shown = shortened(value, _LONGEST_VALUE)
                problem = f'it splits {field}, which is a text ("{shown}") and no list, so there is no {".".join(path)}'
                way = tuple(walk[: walk.index(place) + 1])
                return Cause(node=place.node, problem=problem, place=place, walk=way, lost=True)
    return None


def not_split(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A table whose columns became one field, `id;mail`, because it was cut at another sign."""
    data = scene.json(walk[0])
    names = [str(key) for key in data][:_MOST_NAMES] if isinstance(data, Mapping) else []
    whole = next((one for one in names if path[0] in (part.strip(" \"'") for part in _SEPARATOR.split(one)[:99])), None)
    if whole is None or _SEPARATOR.search(whole) is None:
        return None
    having = list(takewhile(lambda place: not is_absent(scene.value(place, (whole,))), walk))
    problem = f"it gives out a field called {visible(whole)}: the columns of the table were not taken apart"
    return Cause(node=having[-1].node, problem=problem, place=having[-1], walk=tuple(having), own=True)


def _switched_off(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A disabled node on the way that would have made the field."""
    for place in walk:
        node = scene.nodes.get(place.node)
        if node is not None and node.disabled and makes(scene, place.node, path[0]):
            problem = f"it is disabled, so it does not make {'.'.join(path)}"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, own=True)
    return None


def _would_write(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A node on the way whose settings say that it writes this field, and that did not."""
    for place in walk:
        settings = scene.settings.get(place.node, {})
        keys = [key for key, value in settings.items() if value == path[0] and _DESTINATION.search(key)]
        if keys and scene.kind(place.node) not in ("set", *CODE_TYPES) and is_absent(scene.value(place, path[:1])):
            problem = f"it is set to write {path[0]} ({keys[0]}), and did not{why_empty(scene, place)}"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, lost=True)
    return None


def why_empty(scene: Scene, empty: Place) -> str:
    """What the node reads that its own item does not have."""
    if scene.kind(empty.node) in CODE_TYPES:
        return ""
    for parent in scene.parents(empty)[:1]:
        for one in references(scene.settings.get(empty.node, {})):
            if one.node is None and is_plain(one) and is_absent(scene.value(parent, one.names)):
                return f"; it reads {one.written}, which the item from '{parent.node}' does not have"
    return ""


def _calculated_without(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A node that would make it, and of which n8n itself remarks that it did not find a field of this name."""
    for place in walk:
        run = scene.run_of(place)
        for named in map(NO_FIELD_HINT.search, run.hints if run is not None else ()):
            if named is None or named[1].casefold() not in path[0].casefold():
                continue
            given = scene.possible_parents(place)
            if not all_lack(scene, given, tuple(named[1].split("."))):
                continue
            near = next((one for parent in given[:1] if (one := near_name(scene.json(parent), named[1]))), None)
            there = f"; they have {near}" if near else ""
            problem = f"it reads {named[1]}, which none of its items has{there}"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, own=near is not None)
    return None


def _not_renamed(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """A node on the way that would give a field this name, but did not find the field."""
    for place in walk:
        for old in renamed_to(scene, place.node, path[0]):
            held = scene.json(place)
            if not isinstance(held, Mapping) or not is_absent(value_at(held, tuple(old.split(".")))):
                continue
            near = next(iter(near_names([str(key) for key in held], old)), None)
            hint = f"; there is {visible(near)}" if near else ""
            problem = f"it renames {visible(old)} to {path[0]}, but the item has no {visible(old)}{hint}"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, own=near is not None)
    return None


def renamed_to(scene: Scene, node: str, name: str) -> list[str]:
    """The fields that a Rename Keys node would call so."""
    keys = scene.settings.get(node, {}).get("keys") if scene.kind(node) == "renameKeys" else None
    rows = keys.get("key") if isinstance(keys, Mapping) else None
    pairs = [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []
    return [str(one.get("currentKey")) for one in pairs if one.get("newKey") == name]


def _not_waited(scene: Scene, name: str, walk: list[Place]) -> Cause | None:
    """A call of a sub-workflow that does not wait for its answer."""
    for place in walk:
        options = scene.settings.get(place.node, {}).get("options")
        if isinstance(options, Mapping) and options.get("waitForSubWorkflow") is False:
            problem = f"it does not wait for its sub-workflow (waitForSubWorkflow), so there is no {name} from it"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, own=True)
    return None


def _not_awaited(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """Code that makes the field of a promise, as it does not wait for the answer of a request."""
    for place in walk:
        line = line_of(scene, place.node, path[:1])
        made = line[1].partition(":")[2].strip() if line is not None else ""
        asked = call_not_awaited(code_of(scene, place.node), made) if made else None
        if asked is not None and line is not None:
            problem = f"its code does not await {asked}, which gives a promise, so {line[1]} comes to nothing"
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=problem, place=place, walk=way, own=True)
    return None


def makes(scene: Scene, node: str, name: str) -> bool:
    """Whether this node is there to fill the field."""
    if scene.kind(node) == "set":
        return name in declared(scene, node) or name in expressions(scene, node)
    return name in _WORD.findall(written_names(scene, node)[:_LONGEST_CODE])


def written_names(scene: Scene, node: str) -> str:
    """The text of a node that makes fields itself; of others it is what came from outside."""
    makers = {"set", "code", "function", "functionItem", "renameKeys", "aggregate", "summarize"}
    return repr(scene.settings.get(node, {})) if scene.kind(node) in makers else ""
