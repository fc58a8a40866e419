"""What a failing node read: each value, and by which nodes and expressions it came to be so. Facts, without blame."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.complaints import rows, sends_item
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.elements import Path, plain_paths
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.flow_rules import FORKS, compared, way_of
from dogubako.packs.n8n.diagnosis.intended_makers import set_to_nothing
from dogubako.packs.n8n.diagnosis.lineage import DEEPEST, lineage
from dogubako.packs.n8n.diagnosis.references import (
    ELEMENT,
    Reference,
    only_reference,
    references,
    references_in,
    texts,
)
from dogubako.packs.n8n.diagnosis.scene import Scene, conditions_for, conditions_of
from dogubako.packs.n8n.diagnosis.service_answers import answers
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.trace import value_walk
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names
from dogubako.packs.n8n.models import Run

_MOST_ITEMS: Final = 200
_MOST_VALUES: Final = 4
_MOST_READ: Final = 4
_MOST_SETTINGS: Final = 2
_MOST_COMPARED: Final = 3
_PLAIN_NAME = re.compile(r"[^\[\](){}'\"`]++")
_ELEMENT_PATH = of_names(r"(?<![\w$.])[^\W\d][\w$]{0,60}+(?:\[\d{1,4}+\]|\.\d{1,4}+)(?:\.[\w$]{1,60}+)++")
_ASKS: Final = ("url", "queryParameters", "jsonQuery", "bodyParameters", "jsonBody", "body")
_MOST_BESIDE: Final = 3
_LONGEST_PAGING: Final = 240
_LONGEST_BESIDE: Final = 40
_ABOUT_DATA: Final = ("400", "409", "413", "422")
# The service is busy, away or not reached: a field without a value has nothing to do with it.
_ABOUT_SERVICE: Final = frozenset(
    {"429", "502", "503", "504", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "EPIPE", "ETIMEDOUT"}
)
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
        # A head such as `for (const { json } of …)` is no path.
        written = any("\n" in one or "{" in one for one in names)
        if not places or not names or written or ELEMENT in names or (len(places) > 1 and reference in secret):
            continue
        field = replace(reference, called=False, path=tuple(map(Step, names)))
        if not is_plain(field) and any(is_absent(failure.scene.value(one, names)) for one in places):
            # What is not known to be a field is not told to be missing.
            continue
        if failure.http_code in _ABOUT_SERVICE and not any(_has_value(failure.scene, one, names) for one in places):
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
        return [f"its {failure.scene.item_told(place)}", *_nulls(failure.scene, place)]
    return [*list(told.values())[:_MOST_READ], *islice(_settings_named(failure), _MOST_SETTINGS)]


def _nulls(scene: Scene, place: Place) -> Iterator[str]:
    """The fields of an item that are null, which code seldom takes."""
    for path in islice(plain_paths(scene.json(place)), _MOST_PATHS):
        if scene.value(place, path) is None:
            yield f"its item has null in {shown_path(path)}, {lineage(scene, place, path)}"


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


def sent_by(scene: Scene, place: Place, way: str = "here") -> str | None:
    """That this item was sent on by a branch, and what the conditions of the branch read in it."""
    run, conditions = scene.run_of(place), conditions_of(scene.settings.get(place.node, {}))
    parents = scene.parents(place)
    # An empty item that stands for nothing names all that were given: none of them went this way.
    if run is None or scene.kind(place.node) not in FORKS or not conditions or len(parents) > 1:
        return None
    values = [_tested(scene, *one) for one in _tested_by(scene, place)]
    values += _lengths(scene, conditions, next(iter(parents), None), run)
    told = f": {', '.join(values)}" if values else ""
    return f"'{place.node}' sent the item {way} by {way_of(scene, place.node, place.output)}{told}"


def _tested(scene: Scene, reference: Reference, where: Place, condition: Mapping[str, Any]) -> str:
    """A field that a condition reads, with the test; not where its other side is an expression as well."""
    value, right = scene.value(where, reference.names), condition.get("rightValue")
    plain = not (isinstance(right, str) and right.startswith("=")) and only_reference(condition.get("leftValue"))
    return (
        compared(reference, value, condition)
        if plain and not is_absent(value)
        else f"{reference.written} is {_shown(value)}"
    )


def _tested_by(scene: Scene, place: Place) -> list[tuple[Reference, Place, Mapping[str, Any]]]:
    """The fields that the conditions of a branch read in the item that it sent here, with their conditions."""
    run, before = scene.run_of(place), next(iter(scene.parents(place)), None)
    # A method, or a step into a list, is no field that could be missing.
    read: dict[Path, tuple[Reference, Mapping[str, Any]]] = {}
    for each in conditions_for(scene.settings.get(place.node, {}), place.output):
        for one in [one for text in texts(each) for one in references_in(text) if is_plain(one)]:
            read.setdefault(one.names, (one, each))
    found = [
        (one, where, each)
        for one, each in read.values()
        for where in (scene.places_read(one, before, run)[:1] if run is not None else ())
    ]
    return found[:_MOST_COMPARED]


def _lengths(scene: Scene, conditions: list[Any], before: Place | None, run: Run) -> Iterator[str]:
    """How many elements the lists have whose length a condition reads."""
    for one in [one for each in conditions for text in texts(each) for one in references_in(text)][:_MOST_COMPARED]:
        for where in scene.places_read(one, before, run)[:1] if one.names[-1:] == ("length",) else ():
            if isinstance(held := scene.value(where, one.names[:-1]), (list, str)):
                maker = value_walk(scene, where, one.names[:-1])[-1].node
                yield f"{'.'.join(one.names)} is {len(held)}, from '{maker}'"


def branch_taken(failure: Failure, problem: str) -> list[str]:
    """The last branch on the way of the failing item; where the problem tells it, who made the nulls that it tested."""
    known = len(failure.places) == 1 or failure.item_index is not None
    scene = failure.scene
    for place in scene.walk(failure.places[0]) if known and failure.places else ():
        if (told := sent_by(scene, place, "this way")) is None:
            continue
        if f"'{place.node}' sent the item" not in problem:
            return [told]
        nulls = [(one, where) for one, where, _ in _tested_by(scene, place) if scene.value(where, one.names) is None]
        return [_reading(scene, one, where, one.names, False) for one, where in nulls]
    return []


def beside(failure: Failure) -> list[str]:
    """What the failing item has in common with one before it, and what it lacks that all others have."""
    if failure.http_code in _ABOUT_SERVICE:
        return []
    return [*_sent_before(failure), *_given_again(failure), *_unlike_others(failure)]


def _given_again(failure: Failure) -> list[str]:
    """The node of a loop that gave the item of the round before, for another one, where a service knows it already."""
    scene, place = failure.scene, failure.places[0] if len(failure.places) == 1 else None
    if failure.http_code != "409" or place is None or not place.run:
        return []
    earlier = replace(place, run=place.run - 1)
    given, before = (list(map(scene.json, scene.possible_parents(one))) for one in (place, earlier))
    if not given or not before or given == before or scene.json(earlier) != scene.json(place):
        return []
    return [f"'{place.node}' gave out the same item in the round before, although it was given another one"]


def _sent_before(failure: Failure) -> list[str]:
    """The item before that has the same value in a field, where a service says that it knows this value already."""
    own = failure.scene.json(failure.places[0]) if len(failure.places) == 1 else None
    if failure.http_code != "409" or not failure.item_index or not isinstance(own, dict):
        return []
    said = " ".join(text[:_LONGEST_ANSWER] for text in islice(answers(failure), _MOST_ANSWERS))
    words = set(of_names(r"[\w.@-]+").findall(said))
    for number, place in enumerate(failure.scene.input_places(failure.run)[: failure.item_index][:_MOST_ITEMS]):
        other = failure.scene.json(place)
        for key, value in own.items():
            if (
                isinstance(value, (str, int))
                and str(value) in words
                and isinstance(other, dict)
                and other.get(key) == value
            ):
                return [f"item {number} before it has the same {key}: {shown_value(value)}", *_passed_by(failure, key)]
    return []


def _passed_by(failure: Failure, key: str) -> list[str]:
    """A Remove Duplicates node on the way that compares other fields than the one that is there twice."""
    for place in failure.scene.walk(failure.places[0])[1:]:
        settings = failure.scene.settings.get(place.node, {})
        written = settings.get("fieldsToCompare") if settings.get("compare") == "selectedFields" else None
        fields = [one.strip() for one in written.split(",")] if isinstance(written, str) else []
        if failure.scene.kind(place.node) == "removeDuplicates" and fields and key not in fields:
            return [f"'{place.node}' on the way compares {', '.join(fields)}, and not {key}"]
    return []


def _unlike_others(failure: Failure) -> list[str]:
    """The fields that all other items have with a value, and the failing one has not."""
    places = failure.scene.input_places(failure.run)
    if failure.item_index is None or len(failure.places) != 1 or not 1 < len(places) <= _MOST_ITEMS:
        return []
    others = [failure.scene.json(one) for one in places if one != failure.places[0]]
    first, own = others[0], failure.scene.json(failure.places[0])
    held = [key for key in first if all(_has(one, key) for one in others)] if isinstance(first, dict) else []
    lacking = [str(key) for key in held if not _has(own, key)][:_MOST_COMPARED]
    has = "the other item has" if len(others) == 1 else f"the other {len(others)} items have"
    them = "one" if len(lacking) == 1 else "them"
    return [f"item {failure.item_index} has no value in {', '.join(lacking)}; {has} {them}"] if lacking else []


def _has(data: Any, key: str) -> bool:
    return isinstance(data, dict) and data.get(key) not in (None, "")


def _has_value(scene: Scene, place: Place, path: Path) -> bool:
    return scene.value(place, path) is not None and not is_absent(scene.value(place, path))


def _shown(value: Any) -> str:
    return "missing" if is_absent(value) else shown_value(value)


def _settings_named(failure: Failure) -> Iterator[str]:
    """Settings that the message names, and those of nodes before that have a number which a service complains about."""
    options = failure.settings.get("options")
    paging = options.get("pagination") if isinstance(options, dict) else None
    if paging:
        yield f"its paging is set so: {shortened(json.dumps(_filled_in(paging), ensure_ascii=False), _LONGEST_PAGING)}"
    request = failure.context.get("request")
    address = request.get("uri") if isinstance(request, dict) and "Invalid URL" in failure.message else None
    if isinstance(address, str):
        yield f"its address comes to {shortened(address, _LONGEST_WRITTEN)}"
    said = f"{failure.message} {failure.raw.get('description') or ''}"[:_LONGEST_ANSWER]
    quoted = _quoted_in(failure)
    for path, value, holder in _settings(failure.settings):
        if _plain(path[-1]) in quoted and isinstance(value, str) and value.startswith("="):
            beside = [f"{key} is {one}" for key, one in holder.items() if _is_short(one) and one != value]
            with_it = f", beside {', '.join(beside[:_MOST_BESIDE])}" if beside and len(path) > 1 else ""
            yield f"its parameter {path[-1]} is {shortened(value.removeprefix('='), _LONGEST_WRITTEN)}{with_it}"
    numbers = set(of_names(r"(?<![\w.])\d{2,6}(?![\w.])").findall(said)) if failure.http_code in _ABOUT_DATA else set()
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
        said = {word for text in heard for word in of_names(r"[\w$]+").findall(text)}
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
    if is_absent(value) and len(names) > 1 and not is_absent(scene.value(place, (".".join(names),))):
        return f"{field} is not there: the item has a field whose name has the dot, ['{'.'.join(names)}']"
    if is_absent(value):
        emptied = set_to_nothing(scene, names, scene.walk(place)) if names else None
        why = emptied.told_at("") if emptied is not None else f"the {scene.item_told(place)}"
        return f"{field} is not there; {why}"
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
    made = f", {lineage(scene, first, names, of_several=len(shown) > 1)}" if first is not None else ""
    return f"{field} is {' or '.join(shown[:_MOST_VALUES])}{more} in its {len(places)} items{made}"
