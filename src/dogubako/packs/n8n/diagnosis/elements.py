"""Which element of a list an item was made from, where several elements have the value that is looked for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from dogubako.packs.n8n.diagnosis.lost_fields import is_same
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import value_at

_MOST_RANKED: Final = 500
_MOST_FIELDS: Final = 50
_MOST_PATHS: Final = 200
_DEEPEST_PATH: Final = 5
_SPLITS: Final = ("splitOut", "itemLists")

Path = tuple[str, ...]


class Spot(NamedTuple):
    """Where a value lies in the item before, and whether it is known to be this element."""

    path: Path
    sure: bool

    @property
    def told(self) -> Path:
        """The path without the number of an element that may be another one."""
        return self.path if self.sure else tuple(one for one in self.path if not one.isdecimal())


def spot_of(scene: Scene, place: Place, parent: Place, paths: Sequence[Path]) -> Spot | None:
    """The one of these paths that the item was made from: by its position in a split list, else by what they share."""
    if len(paths) < 2:
        return Spot(paths[0], True) if paths else None
    rank = _rank(scene, place, parent) if scene.kind(place.node) in _SPLITS else None
    at_rank = [one for one in paths if rank is not None and _index(one) == rank]
    if len(at_rank) == 1:
        return Spot(at_rank[0], True)
    data, before = scene.json(place), scene.json(parent)
    shared = {one: _shared(data, value_at(before, _element(one))) for one in paths}
    nearest = [one for one in paths if shared[one] == max(shared.values())]
    return Spot(nearest[0], len(nearest) == 1)


def _rank(scene: Scene, place: Place, parent: Place) -> int | None:
    """How many items before this one were made from the same item."""
    if place.item > _MOST_RANKED:
        return None
    return sum(one.item < place.item and scene.parents(one)[:1] == [parent] for one in scene.siblings(place))


def _element(path: Path) -> Path:
    """The path of the innermost list element on a path; of the object that holds the value, if no list is there."""
    last = next((number for number in range(len(path) - 1, -1, -1) if path[number].isdecimal()), None)
    return path[: last + 1] if last is not None else path[:-1]


def _index(path: Path) -> int | None:
    number = _element(path)[-1:]
    return int(number[0]) if number and number[0].isdecimal() else None


def _shared(data: Any, element: Any) -> int:
    if not isinstance(data, Mapping) or not isinstance(element, Mapping):
        return 0
    return sum(key in element and is_same(element[key], data[key]) for key in list(data)[:_MOST_FIELDS])


def plain_paths(data: Any, before: Path = ()) -> Iterator[Path]:
    """The paths of all plain values."""
    if isinstance(data, (dict, list)):
        parts = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in islice(parts, _MOST_PATHS) if len(before) < _DEEPEST_PATH else ():
            yield from plain_paths(value, (*before, str(key)))
    elif before:
        yield before
