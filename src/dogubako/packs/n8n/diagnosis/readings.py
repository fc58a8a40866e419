"""What a failing node read: each value, and by which nodes and expressions it came to be so. Facts, without blame."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.complaints import answers, rows, sends_item
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.lineage import DEEPEST, Path, lineage, plain_paths
from dogubako.packs.n8n.diagnosis.references import ELEMENT, Reference, references, references_in
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_MOST_ITEMS: Final = 200
_MOST_VALUES: Final = 4
_MOST_READ: Final = 4
_MOST_SETTINGS: Final = 2
_PLAIN_NAME = re.compile(r"[^\[\](){}'\"`]++")
_ELEMENT_PATH = re.compile(r"(?<![\w$.])[^\W\d][\w$]{0,60}+(?:\[\d{1,4}+\]|\.\d{1,4}+)(?:\.[\w$]{1,60}+)++")
_ASKS: Final = ("url", "queryParameters", "jsonQuery", "bodyParameters", "jsonBody", "body")
_MOST_BESIDE: Final = 3
_LONGEST_PAGING: Final = 240
_LONGEST_BESIDE: Final = 40
_ABOUT_DATA: Final = ("400", "409", "413", "422")
_LONGEST_WRITTEN: Final = 90
_LONGEST_ANSWER: Final = 4_000
_MOST_ANSWERS: Final = 20
_DEEPEST_PATH: Final = 5
_MOST_PATHS: Final = 2_000


def readings(failure: Failure, at: Place | None = None) -> list[str]:
    """The values that the failing line or expressions read; in the item at which it failed, if that is known."""
    told: dict[Path, str] = {}
    elements = list(_elements_named(failure))
    secret = {one for _, written in rows(failure, "headerParameters") for one in references_in(written)}
    for reference in (*failure.on_line(), *_sent_whole(failure)):
        places = failure.read(reference)
        places = [at] if at is not None and at in places else places
        names = reference.names[:-1] if reference.called or reference.names[-1:] == ("length",) else reference.names
        if names and reference.node is None:
            names = next((one for one in elements if one[: len(names)] == names), names)
        if not places or not names or ELEMENT in names or (len(places) > 1 and reference in secret):
            continue
        field = replace(reference, called=False, path=tuple(map(Step, names)))
        if not is_plain(field) and any(is_absent(failure.scene.value(one, names)) for one in places):
            # What is not known to be a field is not told to be missing.
            continue
        if any((reference.node or "", *names)[: len(known)] == known for known in told):
            continue
        told[(reference.node or "", *names)] = (
            _reading(failure.scene, reference, places[0], names, reference in secret)
            if len(places) == 1
            else _in_all(failure.scene, reference, places, names)
        )
    if not told and failure.is_code and len(failure.places) == 1:
        place = failure.places[0]
        return [f"its {failure.scene.item_told(place)}"]
    return [*list(told.values())[:_MOST_READ], *islice(_settings_named(failure), _MOST_SETTINGS)]


def asked_with(scene: Scene, place: Place) -> list[str]:
    """What a request was made from whose answer is in doubt."""
    run, source = scene.run_of(place), next(iter(scene.parents(place)), None)
    if run is None or source is None or scene.kind(place.node) != "httpRequest":
        return []
    settings = scene.settings.get(place.node, {})
    told = []
    for reference in references({key: settings.get(key) for key in _ASKS}):
        names = reference.names[:-1] if reference.called else reference.names
        for where in scene.places_read(reference, source, run)[:1] if names else ():
            if is_absent(scene.value(where, names)) and not is_plain(replace(reference, called=False)):
                continue
            told.append(f"'{place.node}' asked with this: {_reading(scene, reference, where, names, False)}")
    return told[:_MOST_SETTINGS]


def _settings_named(failure: Failure) -> Iterator[str]:
    """Settings that the message names, and those of nodes before that have a number which a service complains about."""
    options = failure.settings.get("options")
    paging = options.get("pagination") if isinstance(options, dict) else None
    if paging:
        yield f"its paging is set so: {shortened(json.dumps(_filled_in(paging), ensure_ascii=False), _LONGEST_PAGING)}"
    said = f"{failure.message} {failure.raw.get('description') or ''}"[:_LONGEST_ANSWER]
    quoted = _quoted_in(failure)
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


def settings_named(failure: Failure) -> list[tuple[str, str]]:
    """The expressions of the settings that the message names, by their name or their label."""
    quoted = _quoted_in(failure)
    found = [(path[-1], value) for path, value, _ in _settings(failure.settings) if _plain(path[-1]) in quoted]
    return [(name, value) for name, value in found if isinstance(value, str) and value.startswith("=")]


def _quoted_in(failure: Failure) -> set[str]:
    said = f"{failure.message} {failure.raw.get('description') or ''}"[:_LONGEST_ANSWER]
    return {_plain(one) for one in re.findall(r"[\"']([^\"'\n]{3,60})[\"']", said)}


def _filled_in(data: Any) -> Any:
    """Settings without those that say nothing."""
    if isinstance(data, dict):
        kept = {key: _filled_in(value) for key, value in data.items() if value not in ("", None, False, 0)}
        return kept["pagination"] if list(kept) == ["pagination"] else kept
    return [_filled_in(one) for one in data] if isinstance(data, list) else data


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
        heard = [text[:_LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS)]
        said = {word for text in heard for word in re.findall(r"[\w$]+", text)}
        for path in islice(plain_paths(failure.scene.json(place)), _MOST_PATHS):
            value = failure.scene.value(place, path)
            quoted = isinstance(value, str) and len(value) > 1 and any(f"'{value}'" in text for text in heard)
            if quoted or (path[-1] in said and (len(path) < 2 or path[0] in said)):
                yield Reference(node=None, pick="item", path=tuple(Step(name) for name in path))


def _elements_named(failure: Failure) -> Iterator[Path]:
    """The values in lists that a service names by their path, `lines[1].qty`, and that the item has there."""
    about_data = failure.http_code in _ABOUT_DATA and len(failure.places) == 1
    for text in islice(answers(failure), _MOST_ANSWERS) if about_data else ():
        for written in _ELEMENT_PATH.findall(text[:_LONGEST_ANSWER]):
            path = tuple(re.findall(r"[^\[\].]+", written))
            if not is_absent(failure.scene.value(failure.places[0], path)):
                yield path


def _reading(scene: Scene, reference: Reference, place: Place, names: Path, secret: bool) -> str:
    field = shown_path(names) + (f" of '{reference.node}'" if reference.node else "")
    value = scene.value(place, names)
    if is_absent(value) and not all(map(_PLAIN_NAME.fullmatch, names)):
        return f"{field} was not understood; the {scene.item_told(place)}"
    if is_absent(value):
        return f"{field} is not there; the {scene.item_told(place)}"
    if secret and isinstance(value, str):
        # A login is not repeated.
        return f"{field} is a text of {len(value)} characters, {lineage(scene, place, names, DEEPEST)}"
    return f"{field} is {shown_value(value)}, {lineage(scene, place, names)}"


def _in_all(scene: Scene, reference: Reference, places: list[Place], names: Path) -> str:
    """The values of a field in several items, where it is not known which of them failed."""
    field = shown_path(names) + (f" of '{reference.node}'" if reference.node else "")
    held = [scene.value(place, names) for place in places[:_MOST_ITEMS]]
    shown = list(dict.fromkeys("not there" if is_absent(one) else shown_value(one) for one in held))
    more = " and more" if len(shown) > _MOST_VALUES or len(places) > _MOST_ITEMS else ""
    first = next((place for place, one in zip(places, held, strict=False) if not is_absent(one)), None)
    made = f", {lineage(scene, first, names)}" if first is not None else ""
    return f"{field} is {' or '.join(shown[:_MOST_VALUES])}{more} in its {len(places)} items{made}"
