"""The fields by which a node joins or compares two lists of items."""

from collections.abc import Mapping
from typing import Any, Final
from unicodedata import combining, normalize

from dogubako.packs.n8n.diagnosis.scene import RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.formatters.flow import Input, Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

ONLY_FORM: Final = "they differ only in"
_MOST_KEYS: Final = 3
_MOST_ITEMS: Final = 200
_LONGEST_KEY: Final = 50


def small_difference(value: Any, right: Any) -> str:
    if type(value) is not type(right):
        return f": {ONLY_FORM} type" if str(value) == str(right) else ""
    if not isinstance(value, str) or value == right:
        return ""
    if value.strip().casefold() == right.strip().casefold():
        return f": {ONLY_FORM} case or spaces"
    if value.strip() and _bare(value.casefold()) == _bare(right.casefold()):
        case = "" if _bare(value) == _bare(right) else "case and in "
        return f": {ONLY_FORM} {case}accents, width, or characters that do not show"
    return ""


def _bare(text: str) -> str:
    """The text without accents, spaces and characters that do not show."""
    signs = normalize("NFKD", text)
    return "".join(sign for sign in signs if not combining(sign) and sign.isprintable() and not sign.isspace())


def unpaired_keys(scene: Scene, at: RunPlace) -> str:
    """The keys of both sides of a merge or a comparison that found no pair."""
    sides = scene.inputs(at.run) if scene.kind(at.node) in ("merge", "compareDatasets") else []
    keys = merge_keys(scene.settings.get(at.node, {}))
    if keys is None or len(sides) < 2:
        return "".join(f"; input {one.number + 1} from '{one.node}' had {len(one.items)} items" for one in sides)
    values = [key_values(scene, side, key) for side, key in zip(sides, keys, strict=False)]
    shown = [
        f"{key} from '{side.node}': {', '.join(map(_shown, held[:_MOST_KEYS]))}"
        for side, key, held in zip(sides, keys, values, strict=False)
    ]
    alike = next((told for one in values[0] for other in values[1] if (told := small_difference(one, other))), "")
    whole = all(len(side.items) <= len(held) for side, held in zip(sides, values, strict=False))
    match = not whole or any(one == other for one in values[0] for other in values[1] if not is_absent(one))
    return f"; {'its keys are' if match else 'no keys match'}: {shortened('; '.join(shown), 300)}{alike}"


def merge_keys(settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first field by which the two sides are matched."""
    fields = settings.get("fieldsToMatchString")
    if isinstance(fields, str) and fields:
        first = fields.split(",")[0].strip()
        return first, first
    listed = settings.get("mergeByFields")
    pairs = listed.get("values") if isinstance(listed, Mapping) else None
    pair = next((one for one in pairs if isinstance(one, Mapping)), None) if isinstance(pairs, list) else None
    return (str(pair.get("field1")), str(pair.get("field2"))) if pair is not None else None


def key_values(scene: Scene, side: Input, key: str, most: int = _MOST_ITEMS) -> list[Any]:
    """Some values of the key on one side."""
    numbers = range(min(most, len(side.items)))
    places = (Place(node=side.node, run=side.run, output=side.output, item=number) for number in numbers)
    return [scene.value(place, tuple(key.split("."))) for place in places]


def partner_told(scene: Scene, here: Place, giving: Place, field: str) -> str:
    """Why an item got no value for a field from the other side of a join, as its keys tell."""
    run = scene.run_of(here)
    sides = scene.inputs(run) if run is not None else []
    keys = merge_keys(scene.settings.get(here.node, {}))
    number = next((one.number for one in sides if (one.node, one.output) == (giving.node, giving.output)), None)
    if keys is None or number not in (0, 1) or len(sides) != 2:
        return f"{field} comes from '{giving.node}', and this item has none from there"
    own = scene.value(here, tuple(keys[1 - number].split(".")))
    side = next(one for one in sides if one.number == number)
    held = key_values(scene, side, keys[number])
    if own in held:
        return f"{field} comes from '{giving.node}', whose item for {_shown(own)} has none"
    near = next(((one, told) for one in held if (told := small_difference(own, one) or _other_type(own, one))), None)
    if near is None:
        return f"{field} comes from '{giving.node}', and this item found no partner there"
    alone = f"{field} comes from '{giving.node}', and this item found no partner there"
    return f"{alone}: {keys[1 - number]} is {_shown(own)}, and there is {_shown(near[0])}{near[1]}"


def _other_type(one: Any, other: Any) -> str:
    """That a number and a text are the same number, written otherwise: 1 and "001"."""
    number, text = (one, other) if isinstance(other, str) else (other, one)
    whole = isinstance(number, int) and not isinstance(number, bool) and isinstance(text, str)
    is_same = whole and text.isascii() and text.isdecimal() and int(text[:_LONGEST_KEY]) == number
    return ": the same number, but one of them is a text" if is_same else ""


def _shown(value: Any) -> str:
    return "absent" if is_absent(value) else shown_value(value)


def pairs_vaguely(scene: Scene, place: Place, path: tuple[str, ...] = ()) -> bool:
    """Whether a node says of an item that it was made from several items of one input.

    A merge by SQL says so of all, and a branch of the empty item that it gives out in place of none.

    With a path, only if it gave the field to other items: else none of them has it, whatever they were made from.
    """
    vague = scene.kind(place.node) in ("merge", "filter", "if", "switch")
    nodes = [one.node for one in scene.parents(place)] if vague else []
    given = not path or any(not is_absent(scene.value(one, path)) for one in scene.siblings(place))
    return len(nodes) > len(set(nodes)) and given
