"""Where a reference meets null or nothing: the part of its path that is missing in an item."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.references import ELEMENT, Reference
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, value_at

Path = tuple[str, ...]
_MOST_ELEMENTS: Final = 500
_OF_TEXTS: Final = frozenset({"length"})
_MOST_PARTS: Final = 200
_DEEPEST_PART: Final = 2


def missing_in(scene: Scene, reference: Reference, place: Place | None, run: Any) -> list[tuple[Place, Path]]:
    """The items in which this reference meets null or nothing, with the path that is missing there."""
    found = []
    for one in scene.places_read(reference, place, run):
        path = gap(scene.json(one), reference)
        if path is not None:
            found.append((one, path))
    return found


def gap(data: Any, reference: Reference) -> Path | None:
    """The part of the path that is null or absent; None where everything is there or may be missing."""
    # The last step of a call is a method, not a field.
    path = reference.path[:-1] if reference.called else reference.path
    return _gap(data, path, reference.path, ())


def _gap(data: Any, path: tuple[Step, ...], whole: tuple[Step, ...], before: Path) -> Path | None:
    for size in range(len(before) + 1, len(path) + 1):
        names = (*before, *(step.name for step in path[len(before) : size]))
        if names[-1] == ELEMENT:
            elements = value_at(data, names[:-1])
            count = min(len(elements), _MOST_ELEMENTS) if isinstance(elements, list) else 0
            inner = (_gap(data, path, whole, (*names[:-1], str(index))) for index in range(count))
            return next((one for one in inner if one is not None), None)
        value = value_at(data, names)
        if is_absent(value) or value is None:
            optional = size < len(whole) and whole[size].optional
            return None if optional else names
        into_list = isinstance(value, list) and size < len(path) and _is_index(path[size].name)
        if (
            isinstance(value, (str, int, float))
            and size < len(path)
            and size + 1 < len(whole)
            and path[size].name not in _OF_TEXTS
        ):
            # A field of a text or a number is nothing, and the step behind it fails.
            return None if whole[size + 1].optional else (*names, path[size].name)
        if isinstance(value, list) and size < len(path) and not into_list and path[size].name not in _OF_TEXTS:
            # A list has no such field.
            return None if size + 1 < len(whole) and whole[size + 1].optional else (*names, path[size].name)
        if not isinstance(value, Mapping) and not into_list:
            # The next step is a property of strings, numbers or lists.
            return None
    return None


def _is_index(name: str) -> bool:
    return name == ELEMENT or name.isdecimal()


def lies_deeper(data: Any, name: str, depth: int = 0) -> bool:
    """Whether a list or an object in these data has a field of this name."""
    parts = list(data.values()) if isinstance(data, Mapping) else data if isinstance(data, list) else []
    inner = [one for one in parts[:_MOST_PARTS] if isinstance(one, (Mapping, list))]
    found = any(isinstance(one, Mapping) and name in one for one in inner)
    return found or (depth < _DEEPEST_PART and any(lies_deeper(one, name, depth + 1) for one in inner))
