"""Which causes are claimed. A claim is made only where the evidence excludes the innocent explanations.

Anything else is told as a fact that was noticed: the value, the item and the node that it comes from, without blame.
"""

import re
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.elements import plain_paths
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.javascript_values import is_number_text
from dogubako.packs.n8n.diagnosis.references import references, texts
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene, conditions_of
from dogubako.packs.n8n.diagnosis.shown import shown_value, type_name
from dogubako.packs.n8n.diagnosis.spelling import is_slip
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

# Nodes that keep or drop a field as their author says. Others give out what a service has, or another kind of item.
_SHAPES: Final = frozenset({"set", "code", "function", "functionItem", "merge", "renameKeys"})
_MOST_OTHERS: Final = 200
_MOST_FIELDS: Final = 50
_SHORTEST_PART: Final = 4
_LONGEST_WRITTEN: Final = 20_000
_EMPTIED = of_names(r"(?<![\w$])([\w$]++)['\"]?\s*+[:=]\s*+(?:null|undefined|''|\"\")")
_GUARDED = of_names(r"(?<![\w$])([\w$]++)['\"]?\]?\s*+(?:\?\.|\?\?|\|\|)")
_ASKS_WHETHER_THERE: Final = frozenset({"exists", "notExists", "empty", "notEmpty"})


def claimed(failure: Failure, cause: Cause) -> Cause:
    """The cause as a claim if its evidence is enough for one, else as something that was noticed."""
    if cause.certain and _is_proven(failure, cause):
        return cause
    return replace(cause, problem=f"{cause.problem}{_contrast(failure.scene, cause)}", certain=False)


def _contrast(scene: Scene, cause: Cause) -> str:
    """What the other items have in place of this value, if that is of another form in all of them."""
    place, path = cause.place, cause.path
    if place is None or not path or cause.lost or place.node != cause.node:
        return ""
    bad = scene.value(place, path)
    others = _all_others(scene, place, path)
    if not others or any(_form(one) == _form(bad) or _is_nothing(one) for one in others):
        return ""
    what = "item" if scene.siblings(place) else "element"
    count = f"the other {what} has" if len(others) == 1 else f"the other {len(others)} {what}s have values such as"
    return f"; {count} {shown_value(others[0])} there"


def _all_others(scene: Scene, place: Place, path: tuple[str, ...]) -> list[Any]:
    """What all other items have there, or all other elements of the list; nothing if there are too many to look at."""
    others = scene.siblings(place)
    if len(others) + 1 < scene.count(place):
        return []
    return [scene.value(one, path) for one in others] or _elements(scene, place, path)


def _elements(scene: Scene, place: Place, path: tuple[str, ...]) -> list[Any]:
    """What the other elements of the list have in which this value lies."""
    at = next((number for number, name in enumerate(path) if name.isdecimal()), None)
    held = scene.value(place, path[:at]) if at else None
    count = len(held) if isinstance(held, list) and len(held) <= _MOST_OTHERS else 0
    others = [str(number) for number in range(count) if at is not None and str(number) != path[at]]
    return [scene.value(place, (*path[:at], one, *path[(at or 0) + 1 :])) for one in others]


def _is_proven(failure: Failure, cause: Cause) -> bool:
    if cause.own or cause.misread:
        return True
    if cause.node == failure.node:
        # That it fails here is no proof that it is at fault.
        return False
    if cause.lost:
        return failure.scene.kind(cause.node) in _SHAPES
    if cause.read is None or cause.place is None or is_anticipated(failure.scene, cause.read[1], failure.node):
        return False
    return _was_spoilt(failure.scene, cause) or _is_exception(failure, cause)


def _was_spoilt(scene: Scene, cause: Cause) -> bool:
    """Whether the node made nothing of a field that it received with a value."""
    if cause.place is None or not cause.path or not _is_nothing(scene.value(cause.place, cause.path)):
        return False
    before = [scene.value(one, cause.path) for one in scene.parents(cause.place)]
    written = [text[:_LONGEST_WRITTEN] for text in texts(scene.settings.get(cause.node, {}))]
    meant = any(one[1] == cause.path[-1] for text in written for one in _EMPTIED.finditer(text))
    return bool(before) and not any(_is_nothing(one) for one in before) and not meant


def _is_exception(failure: Failure, cause: Cause) -> bool:
    """Whether other items have a value of another form there, or the failing node took those before this one.

    It counts only of the node that makes the field, or where the item has it misspelt: of a source it is not known
    whether a value is wrong, or its reader too strict.
    """
    scene, place, (read, path) = failure.scene, cause.place, cause.read or (None, ())
    if place is None or read is None or not cause.path:
        return False
    bad = scene.value(read, path)
    if not (_is_misspelt(scene, place, cause.path) or _is_made_there(scene, place, cause.path)):
        return False
    others = [scene.value(one, cause.path) for one in scene.siblings(place)[:_MOST_OTHERS]]
    if others and all(_form(one) != _form(bad) for one in others):
        return True
    before = _before(failure, read)
    return bool(before) and all(_form(scene.value(one, path)) != _form(bad) for one in before)


def _is_misspelt(scene: Scene, place: Place, path: tuple[str, ...]) -> bool:
    """Whether this item has the field under a name that is a slip of the right one."""
    held = scene.value(place, path[:-1]) if path[1:] else scene.json(place)
    return isinstance(held, dict) and any(name != path[-1] and is_slip(str(name), path[-1]) for name in held)


def _is_made_there(scene: Scene, place: Place, path: tuple[str, ...]) -> bool:
    """Whether the node makes this field out of items that do not have it."""
    parents = scene.parents(place)
    return (
        bool(parents)
        and scene.kind(place.node) in _SHAPES
        and not any(scene.json(one) == {} or not is_absent(scene.value(one, path[:1])) for one in parents)
        and not any(_has_exception(scene, one) for one in parents)
        and not any(_hands_on(scene, one, scene.value(place, path)) for one in parents)
    )


def _hands_on(scene: Scene, parent: Place, value: Any) -> bool:
    """Whether the item before has this value, perhaps in other letters or with text around it: no node spoilt it."""
    told = _plain_text(value)
    held = (_plain_text(scene.value(parent, one)) for one in islice(plain_paths(scene.json(parent)), _MOST_FIELDS))
    return any(one == told or (len(one) >= _SHORTEST_PART and one in told) for one in held if one)


def _plain_text(value: Any) -> str:
    return "" if isinstance(value, (bool, dict, list)) or _is_nothing(value) else str(value).strip().casefold()


def _has_exception(scene: Scene, place: Place) -> bool:
    """Whether an item has a value of a form that no other item has in that field: then that may be the reason."""
    data, others = scene.json(place), [scene.json(one) for one in scene.siblings(place)[:_MOST_OTHERS]]
    fields = list(data.items())[:_MOST_FIELDS] if isinstance(data, dict) and others else []
    return any(
        all(isinstance(one, dict) and _kind(one.get(name)) != _kind(value) for one in others) for name, value in fields
    )


def _kind(value: Any) -> str:
    if _is_nothing(value):
        return "empty"
    return "number in a text" if is_number_text(value) else type_name(value)


def _before(failure: Failure, read: Place) -> list[Place]:
    """The items that the failing node took before this one."""
    places = failure.scene.input_places(failure.run)
    if read in places:
        return places[: places.index(read)][:_MOST_OTHERS]
    return []


def _form(value: Any) -> str:
    """What kind of value it is; a text by the signs that it is made of."""
    if value == "":
        return "empty"
    if isinstance(value, str):
        return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", value[:100]))
    return type_name(value)


def is_anticipated(scene: Scene, path: tuple[str, ...], reader: str) -> bool:
    """Whether the workflow expects elsewhere that this field may be missing: then it is optional by intent."""
    for name, settings in scene.settings.items():
        if name == reader:
            continue
        for condition in conditions_of(settings):
            operator = condition.get("operator")
            asked = isinstance(operator, dict) and operator.get("operation") in _ASKS_WHETHER_THERE
            if asked and any(one.names == path for one in references(condition.get("leftValue"))):
                return True
        if any(_is_guarded(text[:_LONGEST_WRITTEN], path[-1]) for text in texts(settings)):
            return True
    return False


def _is_guarded(written: str, name: str) -> bool:
    """Whether a text reads the name by `?.`, or with a default."""
    if name not in written:
        return False
    return any(one[1] == name for one in _GUARDED.finditer(written))


def _is_nothing(value: Any) -> bool:
    return value is None or value == "" or is_absent(value)
