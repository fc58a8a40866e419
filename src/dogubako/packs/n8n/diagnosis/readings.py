"""What a failing node read: each value, and by which nodes and expressions it came to be so. Facts, without blame."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.complaints import answers, rows, sends_item
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.names import CODE_TYPES
from dogubako.packs.n8n.diagnosis.references import ELEMENT, Reference, Step, references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.diagnosis.trace import shown_value, value_walk
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_MOST_READ: Final = 4
_MOST_SETTINGS: Final = 2
_MOST_BESIDE: Final = 3
_LONGEST_BESIDE: Final = 40
_ABOUT_DATA: Final = ("400", "409", "413", "422")
_MOST_PARTS: Final = 2
_DEEPEST: Final = 2
_LONGEST_WRITTEN: Final = 90
_BEFORE_NAME: Final = 10
_LONGEST_CODE: Final = 20_000
_LONGEST_ANSWER: Final = 4_000
_MOST_NAMES: Final = 6
_MOST_ANSWERS: Final = 20
_MOST_PATHS: Final = 200
_DEEPEST_PATH: Final = 5
_MOST_PARENTS: Final = 50
_MOST_MOVES: Final = 20
_TRIGGER = re.compile(r"trigger|webhook|cron|interval", re.IGNORECASE)
# A value that is written out says nothing of how it was made.
_WRITTEN_OUT = re.compile(r"\s*+(?:['\"`\d\[{-]|null\b|true\b|false\b)[^()$+*]*+$")

Path = tuple[str, ...]


def readings(failure: Failure) -> list[str]:
    """The values that the failing line or expressions read."""
    told: dict[Path, str] = {}
    secret = {one for _, written in rows(failure, "headerParameters") for one in references_in(written)}
    for reference in (*failure.on_line(), *_sent_whole(failure)):
        places = failure.read(reference)
        names = reference.names[:-1] if reference.called else reference.names
        # Of several items it is not known which one failed.
        if len(places) != 1 or not names or ELEMENT in names:
            continue
        if any((reference.node or "", *names)[: len(known)] == known for known in told):
            continue
        told[(reference.node or "", *names)] = _reading(failure.scene, reference, places[0], names, reference in secret)
    return [*list(told.values())[:_MOST_READ], *islice(_settings_named(failure), _MOST_SETTINGS)]


def _settings_named(failure: Failure) -> Iterator[str]:
    """Settings that the message names, and those of nodes before that have a number which a service complains about."""
    said = f"{failure.message} {failure.raw.get('description') or ''}"[:_LONGEST_ANSWER]
    quoted = {_plain(one) for one in re.findall(r"[\"']([^\"'\n]{3,60})[\"']", said)}
    for path, value, holder in _settings(failure.settings):
        if _plain(path[-1]) in quoted and isinstance(value, str) and value.startswith("="):
            beside = [f"{key} is {one}" for key, one in holder.items() if _is_short(one) and one != value]
            with_it = f", beside {', '.join(beside[:_MOST_BESIDE])}" if beside and len(path) > 1 else ""
            yield f"its parameter {path[-1]} is {shortened(value.removeprefix('='), _LONGEST_WRITTEN)}{with_it}"
    numbers = set(re.findall(r"(?<![\w.])\d{2,6}(?![\w.])", said)) if failure.http_code in _ABOUT_DATA else set()
    for name in failure.scene.leading_from(failure.node) if numbers else ():
        for path, value, _ in _settings(failure.scene.settings.get(name, {})):
            if isinstance(value, int) and not isinstance(value, bool) and str(value) in numbers:
                yield f"{path[-1]} of '{name}' is {value}, a number that the service names"


def _settings(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Every setting that is a plain value, with its path and what stands beside it."""
    if isinstance(data, dict) and len(path) < _DEEPEST_PATH:
        for key, value in data.items():
            if isinstance(value, (dict, list)):
                yield from _settings(value, (*path, str(key)))
            else:
                yield (*path, str(key)), value, data


def _plain(name: str) -> str:
    return re.sub(r"[^\w]", "", name).casefold()


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_BESIDE


def _sent_whole(failure: Failure) -> Iterator[Reference]:
    """The fields of an item that is sent as it is, as far as the message of the service names them."""
    for place in failure.places[:1] if sends_item(failure) else ():
        heard = (text[:_LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS))
        said = {word for text in heard for word in re.findall(r"[\w$]+", text)}
        for path in _paths(failure.scene.json(place)):
            if path[-1] in said and (len(path) < 2 or path[0] in said):
                yield Reference(node=None, pick="item", path=tuple(Step(name) for name in path))


def _paths(data: Any, before: Path = ()) -> Iterator[Path]:
    """The paths of all plain values."""
    if isinstance(data, (dict, list)):
        parts = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in islice(parts, _MOST_PATHS) if len(before) < _DEEPEST_PATH else ():
            yield from _paths(value, (*before, str(key)))
    elif before:
        yield before


def _reading(scene: Scene, reference: Reference, place: Place, names: Path, secret: bool) -> str:
    field = ".".join(names) + (f" of '{reference.node}'" if reference.node else "")
    value = scene.value(place, names)
    if is_absent(value):
        return f"{field} is not there; the item comes from '{place.node}' and has {_keys(scene, place)}"
    if secret and isinstance(value, str):
        # A login is not repeated.
        return f"{field} is a text of {len(value)} characters, {lineage(scene, place, names, _DEEPEST)}"
    return f"{field} is {shown_value(value)}, {lineage(scene, place, names)}"


def _keys(scene: Scene, place: Place) -> str:
    data = scene.json(place)
    names = [str(key) for key in islice(data, _MOST_NAMES)] if isinstance(data, dict) else []
    more = ", …" if isinstance(data, dict) and len(data) > _MOST_NAMES else ""
    return f"{', '.join(names)}{more}" if names else "no fields"


def lineage(scene: Scene, place: Place, path: Path, depth: int = 0) -> str:
    """The node that made this value what it is, and the expression or line of code by which it did."""
    made, path = _maker(scene, place, path)
    if _is_outside(scene, made):
        return f"as '{made.node}' received it"
    written = assigned(scene, made.node).get(path[0])
    if written is not None:
        shown = shortened(written.removeprefix("=").strip(), _LONGEST_WRITTEN)
        return f"made in '{made.node}' by {shown}{_parts(scene, made, written, depth)}"
    line = _line_of(scene, made.node, path)
    return f"made in '{made.node}'" + (f" by {shortened(line, _LONGEST_WRITTEN)}" if line else "")


def _maker(scene: Scene, place: Place, path: Path) -> tuple[Place, Path]:
    """Where this value first was, also if nodes put it under another path on the way, as lists are made and split."""
    for _ in range(_MOST_MOVES):
        made = value_walk(scene, place, path)[-1]
        value = scene.value(made, path)
        if assigned(scene, made.node).get(path[0]) is not None or isinstance(value, (dict, list, bool)):
            return made, path
        moved = _moved_from(scene, made, path, value)
        if moved is None:
            return made, path
        place, path = moved
    return place, path


def _moved_from(scene: Scene, made: Place, path: Path, value: Any) -> tuple[Place, Path] | None:
    """The item before that has this value under this name, somewhere else in it."""
    for parent in (scene.parents(made) or scene.possible_parents(made))[:_MOST_PARENTS]:
        for one in islice(_paths(scene.json(parent)), _MOST_PATHS):
            if one[-1] == path[-1] and type(held := scene.value(parent, one)) is type(value) and held == value:
                return parent, one
    return None


def _is_outside(scene: Scene, place: Place) -> bool:
    run = scene.run_of(place)
    asks = scene.kind(place.node) in ("httpRequest", "graphql")
    starts = run is not None and not scene.inputs(run) and _TRIGGER.search(scene.kind(place.node)) is not None
    return asks or starts


def _parts(scene: Scene, made: Place, written: str, depth: int) -> str:
    """What the expression read."""
    run, source = scene.run_of(made), next(iter(scene.parents(made)), None)
    if run is None or depth >= _DEEPEST:
        return ""
    told = list(islice(_read_by(scene, written, source, run, depth), _MOST_PARTS))
    return f" ({'; '.join(told)})" if told else ""


def _read_by(scene: Scene, written: str, source: Place | None, run: Any, depth: int) -> Iterator[str]:
    for reference in references_in(written):
        names = reference.names[:-1] if reference.called else reference.names
        for where in scene.places_read(reference, source, run)[:1] if names else ():
            value = scene.value(where, names)
            if is_absent(value):
                yield f"{'.'.join(names)} is not there"
            else:
                yield f"{'.'.join(names)} is {shown_value(value)}, {lineage(scene, where, names, depth + 1)}"


def _line_of(scene: Scene, node: str, path: Path) -> str | None:
    """The line of code that gives this field its value, from shortly before the name on."""
    name = next((one for one in reversed(path) if not one.isdecimal()), "")
    if scene.kind(node) not in CODE_TYPES or not name:
        return None
    makes = re.compile(rf"(?<![\w$.])['\"]?{re.escape(name)}['\"]?\s*:|\.{re.escape(name)}\s*[-+*/]?=(?!=)")
    for text in texts({key: scene.settings.get(node, {}).get(key) for key in ("jsCode", "functionCode")}):
        for line in text[:_LONGEST_CODE].split("\n"):
            found = makes.search(line)
            if found is not None:
                begin = max(0, found.start() - _BEFORE_NAME)
                return None if _WRITTEN_OUT.match(line, found.end()) else line[begin:].strip()
    return None
