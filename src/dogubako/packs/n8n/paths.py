"""Paths into a node's parameters: `options.timeout`, `rules.values[0].outputKey`, `headers["x.y"]`."""

import re
from itertools import pairwise
from typing import Any, Final

Segment = str | int
Path = tuple[Segment, ...]

# n8n's own parameters are about ten levels deep at most.
_MOST_SEGMENTS: Final = 40
_LONGEST: Final = 1_000
_SEGMENT = re.compile(r'\.?([^.\[\]"]+)|\[([0-9]{1,9})\]|\.?\["((?:[^"\\]|\\.)*)"\]')
# JavaScript drops this key silently.
_LOST: Final = "__proto__"


class PathError(ValueError):
    """A path that cannot be read, or that leads nowhere. The text does not repeat the path."""


def parse_path(text: str) -> Path:
    """The segments of a path."""
    if len(text) > _LONGEST:
        raise PathError(f"the path has more than {_LONGEST:,} characters")
    segments: list[Segment] = []
    position = 0
    while position < len(text):
        match = _SEGMENT.match(text, position)
        if match is None or (position == 0 and text[0] == "."):
            raise PathError('the path is written like options.timeout, values[0].name or headers["x.y"]')
        segments.append(_segment(match))
        position = match.end()
    if not segments or len(segments) > _MOST_SEGMENTS:
        raise PathError(f"a path has 1 to {_MOST_SEGMENTS} segments")
    return tuple(segments)


def _segment(match: re.Match[str]) -> Segment:
    if match[2] is not None:
        return int(match[2])
    name = match[1] if match[1] is not None else re.sub(r"\\(.)", r"\1", match[3])
    if name == _LOST:
        raise PathError(f"n8n cannot save a parameter that is called {_LOST}")
    return name


def set_at(root: dict[str, Any], path: Path, value: Any) -> None:
    """Set a value, with the objects on the way to it. An index may be the first that is free."""
    place: Any = root
    for segment, following in pairwise(path):
        if not _has(place, segment):
            _put(place, segment, [] if isinstance(following, int) else {})
        place = place[segment]
    _put(place, path[-1], value)


def unset_at(root: dict[str, Any], path: Path) -> Any:
    """Remove a value and return it."""
    place: Any = root
    for segment in path[:-1]:
        if not _has(place, segment):
            raise PathError("there is nothing at this path")
        place = place[segment]
    if not _has(place, path[-1]):
        raise PathError("there is nothing at this path")
    return place.pop(path[-1])


def _has(place: Any, segment: Segment) -> bool:
    if isinstance(segment, int):
        return isinstance(place, list) and segment < len(place)
    return isinstance(place, dict) and segment in place


def _put(place: Any, segment: Segment, value: Any) -> None:
    if isinstance(segment, int):
        if not isinstance(place, list):
            raise PathError("the path has an index where there is no list")
        if segment > len(place):
            raise PathError(f"the list has {len(place)} entries, the next index is {len(place)}")
        place[segment : segment + 1] = [value]
    elif isinstance(place, dict):
        place[segment] = value
    else:
        raise PathError("the path leads through a value that is no object")


def merged(old: Any, new: Any) -> Any:
    """`new` laid over `old`: objects are merged by key, everything else is replaced."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
