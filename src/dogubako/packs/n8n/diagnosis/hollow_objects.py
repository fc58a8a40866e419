"""An empty object that code gave out: a promise, a Map, a Set or an instance of a class becomes one between nodes."""

from typing import Final

from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.replay.values import Obj
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, Scene
from dogubako.packs.n8n.diagnosis.trace import value_walk
from dogubako.packs.n8n.formatters.flow import Place

_KINDS: Final = {"map": "a Map", "set": "a Set"}


def hollow_object(scene: Scene, place: Place, path: tuple[str, ...]) -> Cause | None:
    """The code that gave out this value, if that is an empty object: its reader cannot be to blame."""
    walk = value_walk(scene, place, path)
    if scene.value(place, path) != {} or scene.kind(walk[-1].node) not in CODE_TYPES:
        return None
    name, made = ".".join(path), _made(scene, walk[-1], path)
    if made is not None:
        problem = f"its code makes {name} {made}, which is an empty object behind this node"
    else:
        problem = (
            f"{name} is an empty object: behind the node that makes them, a promise without await, a Map and a Set are "
            "empty objects"
        )
    return Cause(node=walk[-1].node, problem=problem, place=walk[-1], walk=tuple(walk), certain=False)


def _made(scene: Scene, place: Place, path: tuple[str, ...]) -> str | None:
    """What the replay of the code has there."""
    item = returned_item(scene, place)
    value = item.get(path[0]).value if item is not None and len(path) == 1 else None
    if not isinstance(value, Obj):
        return None
    return f"an instance of {value.of.name}" if value.of is not None else _KINDS.get(value.kind)
