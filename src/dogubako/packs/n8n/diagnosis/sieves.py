"""Lists that a filter in the code of a node left empty: how many elements it had, and what it compared them with."""

from typing import Any, Final

from dogubako.packs.n8n.diagnosis.join_keys import ONLY_FORM, small_difference
from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Arr, Sifted
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.trace import trace_value
from dogubako.packs.n8n.formatters.flow import Place

_MOST_SHOWN: Final = 3


def sifted_told(scene: Scene, node: str, sifted: Sifted) -> str:
    """What a filter in the code of a node kept nothing of, and why, as far as its test tells it."""
    count = f"{sifted.count} elements" if sifted.count > 1 else "one element"
    told = f"line {sifted.line} of '{node}' filters {count} and keeps none"
    tests = [((place, path), wanted) for (place, path), wanted in sifted.tests if path and path[0] != FILES]
    if not tests or len({_name(path) for (_, path), _ in tests}) != 1:
        return told
    (place, path), wanted = tests[0]
    values = list(dict.fromkeys(shown_value(scene.value(*spot)) for spot, _ in tests))
    shown = " or ".join(values[:_MOST_SHOWN]) + (" or others" if len(values) > _MOST_SHOWN else "")
    maker = trace_value(scene, place, path, "").node
    wants = f"it looks for {shown_value(wanted)}{f', and {form}' if (form := alike(scene, sifted)) else ''}"
    return f"{told}: {_name(path)} is {shown}, from '{maker}', and {wants}"


def alike(scene: Scene, sifted: Sifted) -> str:
    """Which value differs from the wanted one in its form only; empty if none does."""
    for spot, wanted in sifted.tests:
        value = scene.value(*spot)
        if form := small_difference(value, wanted).removeprefix(f": {ONLY_FORM} "):
            return f"{shown_value(value)} differs from that only in {form}"
    return ""


def emptied_in(scene: Scene, place: Place, path: tuple[str, ...]) -> Sifted | None:
    """The filter that left this list empty, in the code of the node that gave it out."""
    made = returned_item(scene, place)
    value: Any = made.get(path[0]).value if made is not None and len(path) == 1 else None
    return value.sifted if isinstance(value, Arr) and not value.elements else None


def _name(path: tuple[str, ...]) -> str:
    """The path without the numbers of elements."""
    return shown_path(tuple(one for one in path if not one.isdecimal()) or path)
