"""The expressions by which a Set node fills its fields."""

import re
from collections.abc import Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.references import references_in
from dogubako.packs.n8n.diagnosis.replay.expressions import is_mixed
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.models import Run

_LONGEST_RAW: Final = 20_000
_RAW_NAME = re.compile(r'"([^"\\\n]{1,100})"\s*+:')
_IN_RAW_JSON = re.compile(r'"([^"\\]{1,100})"\s*+:\s*+("?)\{\{([^{}]{1,500})\}\}\2\s*+[,}]')


def assigned(scene: Scene, node: str) -> dict[str, str]:
    """The expressions by which a Set node filled its fields; a disabled one filled none."""
    return {} if scene.is_disabled(node) else expressions(scene, node)


def expressions(scene: Scene, node: str) -> dict[str, str]:
    """The expressions of a Set node for its fields."""
    settings = scene.settings.get(node, {}) if scene.kind(node) == "set" else {}
    if settings.get("mode") == "raw" and isinstance(settings.get("jsonOutput"), str):
        rows = _IN_RAW_JSON.findall(settings["jsonOutput"][:_LONGEST_RAW])
        return {name: f"={{{{{body}}}}}" for name, _, body in rows}
    holder = settings.get("assignments")
    listed = holder.get("assignments") if isinstance(holder, Mapping) else None
    values = settings.get("values")
    older = (
        [one for kind in values.values() if isinstance(kind, list) for one in kind]
        if isinstance(values, Mapping)
        else []
    )
    entries = [one for one in [*(listed if isinstance(listed, list) else []), *older] if isinstance(one, Mapping)]
    return {
        str(one.get("name")): one["value"]
        for one in entries
        if isinstance(one.get("value"), str) and one["value"].startswith("=")
    }


def set_names(scene: Scene, node: str) -> list[str]:
    """The fields that a Set node sets, by an expression or by a value that is written out."""
    settings = scene.settings.get(node, {})
    if settings.get("mode") == "raw":
        written = settings.get("jsonOutput")
        return _RAW_NAME.findall(written[:_LONGEST_RAW]) if isinstance(written, str) else []
    values = settings.get("values")
    kinds = [one for one in values.values() if isinstance(one, list)] if isinstance(values, Mapping) else []
    older = [str(one.get("name")) for kind in kinds for one in kind if isinstance(one, Mapping)]
    return [*declared(scene, node), *older]


def sets_texts(scene: Scene, node: str) -> bool:
    """Whether a Set node has fields of its own or a JSON text, and not one expression that gives an object."""
    settings = scene.settings.get(node, {})
    written = settings.get("jsonOutput")
    return settings.get("mode") != "raw" or not isinstance(written, str) or is_mixed(written)


def declared(scene: Scene, node: str) -> dict[str, str]:
    """The types that a Set node gives to its fields."""
    holder = scene.settings.get(node, {}).get("assignments") if scene.kind(node) == "set" else None
    listed = holder.get("assignments") if isinstance(holder, Mapping) else None
    rows = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return {str(one.get("name")): str(one.get("type", "string")) for one in rows}


def passed_on(
    scene: Scene, written: str, source: Place | None, run: Run, value: Any
) -> tuple[Place, tuple[str, ...]] | None:
    """The only value that an expression reads, if that is the text which it gives: `{{ $json.day.trim() }}`."""
    read = {(one.node, one.pick, one.names): one for one in references_in(written)}
    if len(read) != 1 or not isinstance(value, str) or not value.strip():
        return None
    reference = next(iter(read.values()))
    names = reference.names[:-1] if reference.called else reference.names
    for place in scene.places_read(reference, source, run)[:1] if names else ():
        held = scene.value(place, names)
        if isinstance(held, str) and held.strip() == value.strip():
            return place, names
    return None


def elsewhere_set(scene: Scene, path: tuple[str, ...], walk: list[Place], reader: str) -> str:
    """The Set nodes that give the field, and that the item did not come from."""
    passed = {reader, *(place.node for place in walk)}
    makers = [name for name in scene.nodes if name not in passed and path[0] in declared(scene, name)]
    idle = [f"'{name}'" for name in makers if not scene.execution.runs.get(name)]
    if idle:
        return f" ({', '.join(idle[:3])} would set it, and did not run)"
    return f" ({', '.join(repr(one) for one in makers[:3])} sets it, for other items)" if makers else ""
