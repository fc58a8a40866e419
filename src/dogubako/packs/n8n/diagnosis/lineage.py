"""How a value came to be: the node that made it, and the expression or line of code by which it did."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.code_lines import line_of, sets_field
from dogubako.packs.n8n.diagnosis.elements import Spot
from dogubako.packs.n8n.diagnosis.handovers import answers_inside, value_before, value_made_by_code
from dogubako.packs.n8n.diagnosis.lost_fields import is_same
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references, references_in
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.trace import value_walk
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

_MOST_PARTS: Final = 2
_MOST_READ: Final = 8
_MISSING: Final = " is not there"
DEEPEST: Final = 2
_LONGEST_WRITTEN: Final = 90
_MOST_PATHS: Final = 200
_DEEPEST_PATH: Final = 5
_MOST_PARENTS: Final = 50
_MOST_SUMMED: Final = 3
_MOST_MOVES: Final = 20
_TRIGGER = re.compile(r"trigger|webhook|cron|interval", re.IGNORECASE)
_WORD = of_names(r"[\w$]++")

Path = tuple[str, ...]


def lineage(scene: Scene, place: Place, path: Path, depth: int = 0, *, of_several: bool = False) -> str:
    """The node that made this value what it is, and the expression or line of code by which it did.

    `of_several`: the value stands for those of several items, which lie in different places of a list.
    """
    field = path
    made, spot = _maker(scene, place, path)
    path = spot.path
    there = Spot(path, spot.sure and not of_several).told
    called = f" as {shown_path(there)}" if there and there != field else ""
    if _is_outside(scene, made):
        return f"as '{made.node}' received it{called}"
    written = assigned(scene, made.node).get(path[0])
    if written is not None:
        shown = shortened(written.removeprefix("=").strip(), _LONGEST_WRITTEN)
        beside = f"{_parts(scene, made, written, depth)}{_zero(scene, made, path, written)}"
        return f"made in '{made.node}'{called} by {shown}{beside}"
    if (summed := _summarized(scene, made, path)) is not None:
        return f"made in '{made.node}'{called} of {summed}"
    inside = next(iter(answers_inside(scene, made)), None)
    if inside is not None:
        return f"{lineage(*inside, path, depth)}, in the sub-workflow of '{made.node}'"
    line = line_of(scene, made.node, path)
    if line is None and _is_copied(scene, made, path):
        return f"given out by '{made.node}'{called}"
    if line is None:
        return f"made in '{made.node}'{called}"
    return f"made in '{made.node}'{called} by {shortened(line[1], _LONGEST_WRITTEN)}{_parts(scene, made, line, depth)}"


def _summarized(scene: Scene, made: Place, path: Path) -> str | None:
    """The field of the items of which a Summarize node made this value, and how the first of them came to be."""
    run = scene.run_of(made)
    fields = scene.settings.get(made.node, {}).get("fieldsToSummarize") if scene.kind(made.node) == "summarize" else {}
    rows = fields.get("values") if isinstance(fields, Mapping) else None
    names = [str(one.get("field")) for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []
    name = next((one for one in names if path[0].endswith(f"_{one.replace('.', '_')}")), None)
    given = _of_group(scene, made, scene.input_places(run)) if run is not None and name is not None else []
    held = [scene.value(one, tuple(str(name).split("."))) for one in given]
    if not held or any(map(is_absent, held)):
        return None
    shown = ", ".join(map(shown_value, held[:_MOST_SUMMED])) + (" and more" if len(held) > _MOST_SUMMED else "")
    count = f"{len(held)} items" if len(held) > 1 else "1 item"
    return f"{name} of {count}: {shown}, {lineage(scene, given[0], tuple(str(name).split('.')), 1)}"


def _of_group(scene: Scene, made: Place, given: list[Place]) -> list[Place]:
    """The items of which a Summarize node that makes groups made this one; none where that is not known."""
    settings = scene.settings.get(made.node, {})
    split, options = settings.get("fieldsToSplitBy"), settings.get("options")
    whole = isinstance(options, Mapping) and options.get("outputFormat") == "singleItem"
    for name in [one.strip() for one in split.split(",") if one.strip()] if isinstance(split, str) else []:
        held = (scene.value(made, (each,)) for each in (name, name.replace(".", "_")))
        kept = next((one for one in held if not is_absent(one)), None)
        given = [one for one in given if kept is not None and is_same(scene.value(one, tuple(name.split("."))), kept)]
    return given if not (whole and split) else []


def maker_of(scene: Scene, place: Place, path: Path) -> str:
    """The node that made this value, perhaps under another name."""
    return _maker(scene, place, path)[0].node


def _zero(scene: Scene, made: Place, path: Path, written: str) -> str:
    """That a number has lost the leading zero of the text that it was made from."""
    value, source = scene.value(made, path), next(iter(scene.parents(made)), None)
    read = only_reference(written)
    held = scene.value(source, read.names) if read is not None and read.node is None and source is not None else None
    lost = isinstance(value, int) and isinstance(held, str) and held.startswith("0") and held.lstrip("0") == str(value)
    return ", where its leading 0 is lost" if lost else ""


def _maker(scene: Scene, place: Place, path: Path) -> tuple[Place, Spot]:
    """Where this value first was, also if nodes put it under another path on the way, as lists are made and split.

    An expression of a Set node is where it ends: what that read is told beside it.
    """
    spot = Spot(path, True)
    for _ in range(_MOST_MOVES):
        made = value_walk(scene, place, spot.path)[-1]
        before = value_before(scene, made, spot.path)
        if before is None or assigned(scene, made.node).get(spot.path[0]) is not None:
            return made, spot
        if _is_chosen(scene, made, spot.path, before) and line_of(scene, made.node, spot.path) is not None:
            return made, spot
        place, spot = before[0], Spot(before[1].path, before[1].sure and spot.sure)
    return place, spot


def _is_chosen(scene: Scene, made: Place, path: Path, before: tuple[Place, Spot]) -> bool:
    """Whether code gave the value another name, or took it from another item: the line that did it says more."""
    return before[1].path[-1] != path[-1] or before[0] not in scene.walk(made)


def _is_copied(scene: Scene, made: Place, path: Path) -> bool:
    """Whether code was given the value, in another item than n8n pairs: it has chosen it, and not made it."""
    if value_made_by_code(scene, made, path) is not None or sets_field(scene, made.node, path[-1]):
        return False
    value, given = scene.value(made, path), scene.possible_parents(made)[:_MOST_PARENTS]
    return scene.kind(made.node) == "code" and any(is_same(scene.value(one, path), value) for one in given)


def _is_outside(scene: Scene, place: Place) -> bool:
    run = scene.run_of(place)
    asks = scene.kind(place.node) in ("httpRequest", "graphql")
    starts = run is not None and not scene.inputs(run) and _TRIGGER.search(scene.kind(place.node)) is not None
    return asks or starts


def _parts(scene: Scene, made: Place, written: str | tuple[int, str], depth: int) -> str:
    """What the expression, or the line of the code, read."""
    run, source = scene.run_of(made), next(iter(scene.parents(made)), None)
    if run is None or depth >= DEEPEST:
        return ""
    if isinstance(written, tuple):
        number, shown = written
        named = set(_WORD.findall(shown))
        on_line = [one for one in references(scene.settings.get(made.node, {})) if one.line == number]
        own = [one for one in on_line if one.node is None and one.names and one.names[-1] in named]
        # The aliases of items stand for any of them: this one is meant.
        read = [replace(one, pick="item") for one in own] if source is not None else []
    else:
        read = references_in(written)
    told = list(dict.fromkeys(islice(_read_by(scene, read, source, run, depth), _MOST_READ)))
    more = "; and more" if len(told) > _MOST_PARTS else ""
    if more:
        # What is missing says most.
        told.sort(key=lambda one: not one.endswith(_MISSING))
    return f" ({'; '.join(told[:_MOST_PARTS])}{more})" if told else ""


def _read_by(scene: Scene, read: Sequence[Reference], source: Place | None, run: Any, depth: int) -> Iterator[str]:
    for reference in read:
        names = reference.names[:-1] if reference.called else reference.names
        for where in scene.places_read(reference, source, run)[:1] if names else ():
            value = scene.value(where, names)
            if is_absent(value):
                if is_plain(replace(reference, called=False, path=reference.path[: len(names)])):
                    yield f"{shown_path(names)}{_MISSING}"
            else:
                yield f"{shown_path(names)} is {shown_value(value)}, {lineage(scene, where, names, depth + 1)}"
