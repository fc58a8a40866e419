"""Whether something is absent. What is said of more than one item or node is checked here, or it is not said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.references import ELEMENT, Reference
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

CALLS: Final = ("executeWorkflow", "toolWorkflow")
_OF_THE_LANGUAGE: Final = frozenset({"length"})


def absence_told(scene: Scene, reader: str, name: str) -> str:
    """What is known of a name that an item does not have."""
    return (
        "which is in no item of the execution"
        if is_set_nowhere(scene, reader, name)
        else "which the item does not have"
    )


def is_set_nowhere(scene: Scene, reader: str, name: str) -> bool:
    """Whether this name stands in no item and in no setting of another node, callers and sub-workflows included."""
    asked = (reader, name)
    if asked not in scene.set_nowhere:
        scene.set_nowhere[asked] = _is_whole(scene.family) and _stands_nowhere(scene, reader, name)
    return scene.set_nowhere[asked]


def _stands_nowhere(scene: Scene, reader: str, name: str) -> bool:
    word = of_names(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    # Also inside of texts, which may be JSON that nobody parsed.
    held = name.encode()
    for one in scene.family:
        for node, settings in one.settings.items():
            if (one is not scene or node != reader) and any(map(word.search, _strings(settings))):
                return False
        if any(held in bytes(item) for at in one.runs for items in at.run.outputs for item in items or ()):
            return False
    return True


def _is_whole(family: Sequence[Scene]) -> bool:
    """Whether all executions are known that called one of these, or that one of these called."""
    known = {str(one.execution.id) for one in family}
    for one in family:
        if (above := one.execution.parent_execution) is not None and str(above) not in known:
            return False
        for at in one.runs:
            if one.kind(at.node) in CALLS and not _names_one_of(at.run.sub_execution, at.run.error, known):
                return False
    return True


def _names_one_of(called: Any, error: Any, known: set[str]) -> bool:
    told = [one.get("executionId") for one in (called, error) if isinstance(one, Mapping)]
    return any(str(one) in known for one in told if one is not None)


def _strings(value: Any) -> Iterator[str]:
    """Every text and every name in the settings of a node."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield str(key)
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def is_plain(reference: Reference) -> bool:
    """Whether it is known to be a path of fields: computed keys, elements and methods are never missing fields."""
    computed = set(reference.names) & {ELEMENT, *_OF_THE_LANGUAGE}
    return bool(reference.path) and not (reference.called or reference.ambiguous or computed)


def all_lack(scene: Scene, places: Sequence[Place], path: tuple[str, ...]) -> bool:
    """Whether there are items, and none of them has the field."""
    return bool(places) and all(is_absent(scene.value(one, path)) for one in places)


def emptiness(value: Any) -> str:
    """What is said of a value that is nothing."""
    return "not there" if is_absent(value) else "null"
