"""The check that a claim has to pass: items that went well through the failing node must not have the same value."""

from collections.abc import Iterator
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_PEERS: Final = 500


def is_contradicted(failure: Failure, cause: Cause) -> bool:
    """Whether the failing node took the very value that is blamed, in an item before: then that is not the reason."""
    if cause.read is None or cause.node == failure.node:
        return False
    place, path = cause.read
    if place not in failure.scene.input_places(failure.run):
        return False
    blamed = failure.scene.value(place, path)
    return any(_is_same(failure.scene.value(one, path), blamed) for one in _went_well(failure))


def _went_well(failure: Failure) -> Iterator[Place]:
    """Items before the failing one, and those of earlier runs of the node."""
    scene, left = failure.scene, _MOST_PEERS
    for run in scene.execution.runs.get(failure.node, [])[: failure.index]:
        for place in scene.input_places(run)[:left] if run.error is None else ():
            left -= 1
            yield place
    if failure.item_index is not None:
        yield from scene.input_places(failure.run)[: min(failure.item_index, left)]


def _is_same(one: Any, other: Any) -> bool:
    if is_absent(one) or one is None:
        return is_absent(other) or other is None
    return type(one) is type(other) and bool(one == other)
