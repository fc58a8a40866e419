"""Rules for executions that count as a success: items that left the flow without a word, or that came incomplete."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.flow_rules import ONLY_FORM, conditions_read, unpaired_keys
from dogubako.packs.n8n.diagnosis.names import CODE_TYPES
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.trace import shown_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_ITEMS: Final = 200
_MOST_SHOWN: Final = 3
_NEXT: Final = ("next", "nextPage", "next_page", "nextPageToken", "next_cursor", "nextCursor", "next_url", "nextLink")
_MORE: Final = ("hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "moreItemsAvailable", "truncated")


def unmatched(scene: Scene) -> Cause | None:
    """Items that meet no rule of a Switch, which has no output for the others."""
    for at in scene.first_runs:
        given = scene.input_places(at.run)[:_MOST_ITEMS] if scene.kind(at.node) == "switch" else []
        taken = {parent for place in scene.outputs(at) for parent in scene.parents(place)}
        lost = [place for place in given if place not in taken]
        if not lost or (taken and not taken & set(given)) or len(given) == len(lost) == _MOST_ITEMS:
            continue
        told = _values(scene, at, lost)
        problem = f"{len(lost)} of its {len(given)} items meet none of its rules and go nowhere{told}"
        return Cause(node=at.node, problem=problem, place=lost[0], walk=(lost[0],), certain=False)
    return None


def _values(scene: Scene, at: RunPlace, lost: list[Place]) -> str:
    """What the rules read in these items."""
    told: dict[str, None] = {}
    for reference in conditions_read(scene.settings.get(at.node, {})):
        for place in lost:
            for where in scene.places_read(reference, place, at.run)[:1]:
                value = scene.value(where, reference.names)
                told[f"{reference.written} is {'missing' if is_absent(value) else shown_value(value)}"] = None
    return f": {', '.join(list(told)[:_MOST_SHOWN])}" if told else ""


def compared_by_nothing(scene: Scene) -> Cause | None:
    """A Remove Duplicates node that compares a field which is empty, or the same, in all items: one of them is left."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "removeDuplicates" else {}
        places = scene.input_places(at.run)[:_MOST_ITEMS]
        fields = [one.strip() for one in str(settings.get("fieldsToCompare") or "").split(",") if one.strip()]
        if not fields or len(places) < 2 or at.run.items_out >= len(places):
            continue
        held = [scene.value(place, tuple(name.split("."))) for name in fields for place in places]
        empty = all(one is None or one == "" or is_absent(one) for one in held)
        if empty or (len(fields) == 1 and all(one == held[0] for one in held)):
            what = (
                f"empty in all {len(places)} items" if empty else f"{shown_value(held[0])} in all {len(places)} items"
            )
            what = "there in no item" if all(map(is_absent, held)) else what
            problem = f"{', '.join(fields)}, by which it compares, is {what}, so {at.run.items_out} is left over"
            return Cause(node=at.node, problem=problem, place=places[0], walk=(places[0],), certain=False)
    return None


def all_alike(scene: Scene) -> Cause | None:
    """Code that received items which differ, and gave out as many that are all the same."""
    for at in scene.first_runs:
        given = scene.input_places(at.run)[:_MOST_ITEMS] if scene.kind(at.node) in CODE_TYPES else []
        made = [scene.json(place) for place in scene.outputs(at)][:_MOST_ITEMS]
        if len(made) < 2 or len(made) != len(given) or not made[0] or any(one != made[0] for one in made):
            continue
        if any(scene.json(one) != scene.json(given[0]) for one in given):
            problem = f"all its {len(made)} items are the same, and those that it received differ"
            place = Place(node=at.node, run=at.index, output=0, item=0)
            return Cause(node=at.node, problem=problem, place=place, walk=(given[0],), certain=False)
    return None


def nothing_matched(scene: Scene) -> Cause | None:
    """A comparison of two lists in which no item of one has a partner in the other."""
    for at in scene.first_runs:
        sides = scene.inputs(at.run) if scene.kind(at.node) == "compareDatasets" else []
        if len(sides) < 2 or not all(one.items for one in sides) or any(at.run.outputs[1:3]):
            continue
        keys = unpaired_keys(scene, at)
        counts = " and ".join(f"{len(one.items)} from '{one.node}'" for one in sides)
        problem = f"it compares {counts}, and not one of them has a partner{keys}"
        return Cause(node=at.node, problem=problem, walk=(), certain=ONLY_FORM in keys)
    return None


def more_pages(scene: Scene) -> Cause | None:
    """A request whose answer says that there is more, and that was made once and without paging."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "httpRequest" else None
        if settings is None or "pagination" in repr(settings.get("options")) or len(scene.execution.runs[at.node]) > 1:
            continue
        for place in list(scene.outputs(at))[:1]:
            if (sign := _says_more(scene.json(place))) is not None:
                problem = f"its answer {sign}, and it does not ask for more"
                return Cause(node=at.node, problem=problem, place=place, certain=False)
    return None


def _says_more(data: Any) -> str | None:
    """The sign by which an answer says so, also where it lies beside the rows."""
    holders = [data, *data.values()] if isinstance(data, Mapping) else []
    for holder in [one for one in holders if isinstance(one, Mapping)]:
        for key in _NEXT:
            if holder.get(key) not in (None, "", False):
                return f"names a further page ({key}: {shown_value(holder[key])})"
        sign = next((one for one in _MORE if holder.get(one) is True), None)
        if sign is not None:
            return f"says that there is more ({sign}: true)"
    return None


DROPPED_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    unmatched,
    compared_by_nothing,
    all_alike,
    nothing_matched,
    more_pages,
)
