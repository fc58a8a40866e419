"""The fields by which a node joins or compares two lists of items."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from unicodedata import combining, name

from dogubako.contract.normalization import nfkd
from dogubako.packs.n8n.diagnosis.scene import RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.formatters.flow import Input, Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

ONLY_FORM: Final = "they differ only in"
_MOST_KEYS: Final = 3
_PREFERS = re.compile(r"preferInput(\d{1,2})")
# Zeros before a number: not those behind a point or between digits.
_ZEROS = re.compile(r"(?<![\d.,])0++(?=\d)")
# Letters of Cyrillic and Greek, and the Latin ones that look the same.
_LOOKS: Final = str.maketrans("АВЕЅІЈКМНОРСТУХаеорсухіјѕԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABESIJKMHOPCTYXaeopcyxijsdABEZHIKMNOPTYXo")
_MOST_ITEMS: Final = 200
_LONGEST_KEY: Final = 50


def small_difference(value: Any, right: Any) -> str:
    if type(value) is not type(right):
        return f": {ONLY_FORM} type" if str(value) == str(right) else ""
    if not isinstance(value, str) or value == right:
        return ""
    if value.strip().casefold() == right.strip().casefold():
        return f": {ONLY_FORM} case or spaces"
    if _unspaced(value).casefold() == _unspaced(right).casefold():
        return f": {ONLY_FORM} {'' if _unspaced(value) == _unspaced(right) else 'case and '}spaces"
    if value.strip() and _ZEROS.sub("", value) == _ZEROS.sub("", right):
        return f": {ONLY_FORM} leading zeros"
    if (letter := other_letter(value, right)) is not None:
        return f": {ONLY_FORM} letters that look alike, {letter}"
    if value.strip() and _bare(value.casefold()) == _bare(right.casefold()):
        case = "" if _bare(value) == _bare(right) else "case and in "
        return f": {ONLY_FORM} {case}accents, width, or characters that do not show"
    return ""


def _unspaced(text: str) -> str:
    """The text without ordinary spaces; others do not show, and are told so."""
    return text.replace(" ", "")


def other_letter(value: str, right: str) -> str | None:
    """The first letter of another script that looks like the one in its place, where nothing else differs."""
    if len(value) != len(right) or value.translate(_LOOKS) != right.translate(_LOOKS):
        return None
    place = next((number for number, sign in enumerate(value) if sign != right[number]), None)
    if place is None:
        return None
    scripts = [name(one[place], "another").split()[0].capitalize() for one in (value, right)]
    return f"{value[place]} is {scripts[0]} in {shown_value(value)} and {scripts[1]} in {shown_value(right)}"


def _bare(text: str) -> str:
    """The text without accents, spaces and characters that do not show."""
    signs = nfkd(text)
    return "".join(sign for sign in signs if not combining(sign) and sign.isprintable() and not sign.isspace())


def keys_told(sought: tuple[Any, tuple[Any, ...]] | None) -> str:
    """What was looked for in vain, and what there is that is nearest to it."""
    wanted, keys = sought or (None, ())
    if not keys or not isinstance(wanted, (str, int, float)):
        return ""
    difference = small_difference(wanted, keys[0])
    return f"; it looks for {shown_value(wanted)}, among keys such as {shown_value(keys[0])}{difference}"


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
    alike = _forms_told(*values[:2])
    whole = all(len(side.items) <= len(held) for side, held in zip(sides, values, strict=False))
    match = not whole or any(one == other for one in values[0] for other in values[1] if not is_absent(one))
    return f"; {'its keys are' if match else 'no keys match'}: {shortened('; '.join(shown), 300)}{alike}"


def _forms_told(own: Sequence[Any], others: Sequence[Any]) -> str:
    """In what the keys of two sides differ: of all of them if it is little, else of a pair for which that holds."""
    pairs = [next(((one, other, told) for other in others if (told := _form_told(one, other))), None) for one in own]
    found = [one for one in pairs if one is not None]
    kinds = list(dict.fromkeys(told for _, _, told in found))
    if not found or (len(kinds) == 1 and len(found) == len(pairs)):
        return "".join(kinds)
    one, other, told = found[0]
    # Of all of them it is not so.
    return f"; {shown_value(one)} and {shown_value(other)}{told.replace(ONLY_FORM, 'they differ in')}"


def _form_told(one: Any, other: Any) -> str:
    return small_difference(one, other) or _other_type(one, other)


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


def preferred_first(scene: Scene, place: Place) -> list[Place]:
    """The items that a merge joined, the one first whose fields it takes where several have them."""
    run, settings = scene.run_of(place), scene.settings.get(place.node, {})
    parents = list(dict.fromkeys(scene.parents(place)))
    inputs = scene.inputs(run) if run is not None else []
    number = {(one.node, one.run, one.output): one.number for one in inputs}
    sides = [number.get((one.node, one.run, one.output)) for one in parents]
    if len(parents) < 2 or None in sides or len(set(sides)) < len(sides):
        return []
    # Of several that have a field, the last input wins.
    ordered = [one for _, one in sorted(zip(sides, parents, strict=True), key=lambda one: -(one[0] or 0))]
    options = settings.get("options")
    handling = options.get("clashHandling") if isinstance(options, Mapping) else None
    clash = handling.get("values") if isinstance(handling, Mapping) else None
    wanted = clash.get("resolveClash") if isinstance(clash, Mapping) else None
    if wanted is None and settings.get("joinMode") == "enrichInput2":
        wanted = "preferInput1"
    told = _PREFERS.fullmatch(str(wanted))
    first = [one for one, side in zip(parents, sides, strict=True) if told and side == int(told[1]) - 1]
    return [*first, *(one for one in ordered if one not in first)]


def overruled(scene: Scene, walk: Sequence[Place], path: tuple[str, ...]) -> str:
    """The value of another side in whose place a merge took this null."""
    for merged, taken in pairwise(walk):
        others = [one for one in preferred_first(scene, merged) if one != taken]
        held = next(((one, scene.value(one, path)) for one in others if _is_there(scene.value(one, path))), None)
        if held is not None:
            return f"; '{merged.node}' took that over {shown_value(held[1])} of '{held[0].node}'"
    return ""


def _is_there(value: Any) -> bool:
    return value is not None and not is_absent(value)
