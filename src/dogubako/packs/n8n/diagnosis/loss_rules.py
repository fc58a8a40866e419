"""Rules for executions that count as a success: items that got lost quietly, and settings that met nothing."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import all_lack, is_plain
from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.javascript_values import is_numeric
from dogubako.packs.n8n.diagnosis.references import Reference, references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.spelling import is_same_name, near_name, near_names
from dogubako.packs.n8n.diagnosis.trace import CHOOSES_NULL, trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

_MOST_ITEMS: Final = 200
_LONGEST_SHOWN: Final = 80
_LONGEST_READ: Final = 12_000
_ONE_ITEM = of_names(r"\$input\.(?:item\b|first\(\))|(?<![\w$.])\$json\b")
_ALL_ITEMS = of_names(r"\.all\(|(?<![\w$.])items\b|\$items\(")
_BRACES = re.compile(r"\{\{\s*+\$")
# Signs of an expression that has another value where there is none; a choice by `a ? b : c` is not meant.
_DEFAULTS = re.compile(r"\bnull\b|\?\?|\|\||\bundefined\b|isEmpty|ifEmpty|\$if\(")
_CALCULATES: Final = frozenset({"sum", "average"})
# Nodes whose expressions may ask for what is not there, or that other rules look at.
_READS_OTHERWISE: Final = frozenset({"code", "function", "functionItem", "if", "filter", "switch", "set", "stickyNote"})


def loop_not_closed(scene: Scene) -> Cause | None:
    """A loop that handed one batch to its body, which does not lead back to it."""
    for at in scene.first_runs:
        if scene.kind(at.node) != "splitInBatches" or len(scene.execution.runs[at.node]) != 1:
            continue
        body, given = scene.behind(at.node, 1), scene.execution.items_given_to(at.run)
        first = len(at.run.outputs[1] or ()) if len(at.run.outputs) > 1 else 0
        if first and body and at.node not in scene.reached(body):
            problem = f"it handed {first} of {given} items to '{body[0]}', and no node leads back to it for the others"
            return Cause(node=at.node, problem=problem, walk=tuple(scene.input_places(at.run)[:1]))
    return None


def only_one_item(scene: Scene) -> Cause | None:
    """A node that was given several items and worked on the first only."""
    for at in scene.first_runs:
        node, given = scene.nodes.get(at.node), scene.execution.items_given_to(at.run)
        if node is None or given < 2 or len(at.run.outputs[0] or () if at.run.outputs else ()) != 1:
            continue
        if node.execute_once:
            problem = f"it is set to execute once, so it worked on the first of its {given} items only"
            return Cause(node=at.node, problem=problem, certain=False)
        settings = scene.settings.get(at.node, {})
        code = settings.get("jsCode") if settings.get("mode", "runOnceForAllItems") == "runOnceForAllItems" else None
        if isinstance(code, str) and (read := _ONE_ITEM.search(code)) and _ALL_ITEMS.search(code) is None:
            problem = f"its code runs once for all items, and {read[0]} is the first of {given}: the others are dropped"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def same_for_all(scene: Scene) -> Cause | None:
    """An expression that takes one and the same item of a node for each of several items."""
    for at in scene.first_runs:
        given = sum(scene.execution.items_given_to(one) for one in scene.execution.runs[at.node])
        at_once = scene.kind(at.node) == "function" or (
            scene.kind(at.node) == "code" and scene.settings[at.node].get("mode") != "runOnceForEachItem"
        )
        if at_once or given < 2:
            continue
        for reference in _read_by(scene, at, _DEFAULTS):
            runs = scene.execution.runs.get(reference.node or "", [])
            whole = bool(runs) and runs[-1].items_out == given
            which = _which_item(reference.pick)
            if which and runs and (whole or _reads_another(scene, at, reference)):
                problem = (
                    f"it reads {shown_path(reference.names)} of the {which} of '{reference.node}' for each "
                    f"of its {given} items; .item would take the one that belongs to each"
                )
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def _which_item(pick: str) -> str:
    """The item that is always the same, for people; empty if it is the one that belongs to each."""
    if pick in ("first", "last"):
        return f"{pick} item"
    return {"#0": "first item"}.get(pick, f"item with index {pick[1:]}") if pick.startswith("#") else ""


def _reads_another(scene: Scene, at: RunPlace, reference: Reference) -> bool:
    """Whether items were made from other items of a node than its first one, which has another value."""
    first = next(iter(scene.places_read(reference, None, at.run)), None)
    for place in scene.input_places(at.run)[:_MOST_ITEMS] if first is not None else ():
        own = next((one for one in scene.walk(place) if one.node == reference.node), first)
        if own is not None and first is not None and own.run == first.run:
            held = scene.value(own, reference.names)
            if not is_absent(held) and held != scene.value(first, reference.names):
                return True
    return False


def unpaired_dropped(scene: Scene) -> Cause | None:
    """A merge by position whose inputs have different numbers of items."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else {}
        if settings.get("combineBy") != "combineByPosition" or "includeUnpaired': True" in repr(settings):
            continue
        sides = scene.inputs(at.run)
        counts = {len(one.items) for one in sides}
        if len(sides) > 1 and len(counts) > 1 and 0 not in counts:
            told = " and ".join(f"{len(one.items)} from '{one.node}'" for one in sides)
            problem = (
                f"it joins items by their position and was given {told}: those without a partner are dropped, "
                "and behind one that is missing the others may not belong together"
            )
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def switched_off(scene: Scene) -> Cause | None:
    """A disabled node that items passed by."""
    for name, runs in scene.execution.runs.items():
        if scene.is_disabled(name) and any(scene.execution.items_given_to(run) for run in runs):
            return Cause(node=name, problem="it is disabled, so items pass it as they are", certain=False)
    return None


def few_left(scene: Scene) -> Cause | None:
    """A Limit node that left items out, which is what it is for; or code that returned nothing for some items."""
    for at in scene.first_runs:
        given, passed = scene.execution.items_given_to(at.run), at.run.items_out
        if scene.kind(at.node) == "limit" and passed < given:
            return Cause(node=at.node, problem=f"it passed on {passed} of {given} items", certain=False)
        each = scene.kind(at.node) == "code" and scene.settings[at.node].get("mode") == "runOnceForEachItem"
        if each and 0 < passed < given:
            problem = f"its code runs once for each of {given} items, and gave out {passed}"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def all_combined(scene: Scene) -> Cause | None:
    """A merge that made an item of every pair of its inputs."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else {}
        sides = [one for one in scene.inputs(at.run) if len(one.items) > 1]
        if settings.get("combineBy") == "combineAll" and len(sides) > 1:
            counts = " and ".join(f"{len(one.items)} from '{one.node}'" for one in sides)
            problem = f"it makes {at.run.items_out} items, one of every combination of {counts}"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def fallback_taken(scene: Scene) -> Cause | None:
    """A Set node that takes its fallback for all items, because they have what it reads under another name.

    A name that nothing resembles may be optional, and one behind another that is there is not looked at.
    """
    for at in scene.first_runs:
        for field, written in assigned(scene, at.node).items():
            places = scene.received(at.node) if CHOOSES_NULL.search(written) else []
            for reference in references_in(written)[:1] if places else ():
                names = reference.names
                if reference.node is None and is_plain(reference) and all_lack(scene, places, names[:1]):
                    cause = trace_missing(scene, at.node, reference, places[0], names)
                    if cause.misread or cause.lost or near_name(scene.json(places[0]), names[0]):
                        told = f"{field} is made without {reference.written}; {cause.told_at(at.node)}"
                        return Cause(node=at.node, problem=told, place=places[0], certain=False)
    return None


def split_no_list(scene: Scene) -> Cause | None:
    """A Split Out node that was given a text in place of a list."""
    for at in scene.first_runs:
        field = scene.settings.get(at.node, {}).get("fieldToSplitOut") if scene.kind(at.node) == "splitOut" else None
        for place in scene.input_places(at.run)[:_MOST_ITEMS] if isinstance(field, str) else ():
            value = scene.value(place, tuple(str(field).split(".")))
            if isinstance(value, str):
                maker = trace_value(scene, place, tuple(str(field).split(".")), "").node
                problem = f"it splits {field}, which is {shown_value(value)} and no list, so the item stays one"
                problem = f"{problem}; it comes so from '{maker}'"
                return Cause(node=at.node, problem=problem, place=place, walk=(place,)).in_doubt()
    return None


def not_an_expression(scene: Scene) -> Cause | None:
    """A text with braces that is no expression, because it does not begin with =."""
    for at in scene.first_runs:
        if scene.kind(at.node) in ("code", "function", "stickyNote", "html"):
            continue
        for written in texts(scene.settings.get(at.node, {})):
            if not written.startswith("=") and _BRACES.search(written[:_LONGEST_READ]):
                data = next((scene.json(one) for one in scene.outputs(at)), None)
                held = data.items() if isinstance(data, Mapping) else ()
                name = next((f"{key} is" for key, value in held if value == written), "it has")
                shown = shortened(written, _LONGEST_SHOWN)
                problem = f"{name} {shown} as it is written: this is not set to be an expression (no = before it)"
                return Cause(node=at.node, problem=problem)
    return None


def summarized_otherwise(scene: Scene) -> Cause | None:
    """A Summarize node that calculates with texts, or groups by a field that no item has."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "summarize" else {}
        places = scene.input_places(at.run)[:_MOST_ITEMS]
        for place, row in [(place, row) for row in _summed(settings) for place in places]:
            value = scene.value(place, tuple(str(row.get("field")).split(".")))
            if row.get("aggregation") in _CALCULATES and isinstance(value, str) and not is_numeric(value):
                path = tuple(str(row["field"]).split("."))
                maker = trace_value(scene, place, path, "").node
                problem = f"its {row['aggregation']} of {row['field']} leaves out {shown_value(value)}, no number"
                # Among numbers, a text may be left out on purpose.
                alone = all(isinstance(scene.value(one, path), str) for one in places)
                problem = f"{problem}; it comes so from '{maker}'"
                cause = Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
                return cause.in_doubt() if alone else cause
        grouped = str(settings.get("fieldsToSplitBy") or "")
        for name in [one.strip() for one in grouped.split(",") if one.strip()]:
            if all_lack(scene, scene.input_places(at.run), tuple(name.split("."))):
                data = scene.json(places[0])
                names = [str(key) for key in data] if isinstance(data, Mapping) else []
                there = f"; they have {', '.join((near_names(names, name) or names)[:5])}"
                problem = f"it splits by {name}, which none of its items has{there}"
                return not_there(scene, at.node, places[0], tuple(name.split(".")), problem)
            if (alike := _groups_alike([scene.value(one, tuple(name.split("."))) for one in places])) is not None:
                problem = f"it splits by {name}, and {alike}, so they are groups of their own"
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def _groups_alike(values: Sequence[Any]) -> str | None:
    """Texts among these that differ in nothing but capitals and spaces."""
    seen: dict[str, str] = {}
    for one in values:
        if isinstance(one, str) and (first := seen.setdefault(" ".join(one.split()).casefold(), one)) != one:
            return f"{shown_value(first)} and {shown_value(one)} differ only in capitals or spaces"
    return None


def not_there(scene: Scene, node: str, place: Place, path: tuple[str, ...], problem: str) -> Cause:
    """A field that a node reads in vain: who lost it, or the reader, who is wrong for sure only if it is misspelt."""
    reference = Reference(node=None, pick="item", path=tuple(Step(name) for name in path))
    cause = trace_missing(scene, node, reference, place, path)
    if cause.lost:
        return cause.with_problem(f"{cause.problem}; '{node}' reads it: {problem}")
    return Cause(node=node, problem=problem, place=place, walk=(place,), certain=cause.misread)


def _summed(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    holder = settings.get("fieldsToSummarize")
    rows = holder.get("values") if isinstance(holder, Mapping) else None
    return [one for one in rows if isinstance(one, Mapping)] if isinstance(rows, list) else []


def selector_found_nothing(scene: Scene) -> Cause | None:
    """An HTML node whose selector matched nothing: it gives an empty text."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {})
        holder = settings.get("extractionValues") if settings.get("operation") == "extractHtmlContent" else None
        rows = holder.get("values") if isinstance(holder, Mapping) else None
        for row in rows if isinstance(rows, list) else ():
            for place in list(scene.outputs(at))[:_MOST_ITEMS]:
                if isinstance(row, Mapping) and scene.value(place, (str(row.get("key")),)) in ("", None, []):
                    selector = row.get("cssSelector")
                    problem = f"{row.get('key')} is empty: its selector {selector} finds nothing, or nothing in it"
                    return Cause(node=at.node, problem=problem, place=place, path=(str(row.get("key")),), certain=False)
    return None


def misread_setting(scene: Scene) -> Cause | None:
    """An expression of a node that reads a name which no item has, and the items have it under another."""
    for at in scene.first_runs:
        if scene.kind(at.node) in _READS_OTHERWISE or at.run.error is not None:
            continue
        for reference in _read_by(scene, at):
            own = reference.node is None and is_plain(reference)
            if not all_lack(scene, places := scene.received(at.node) if own else [], reference.names):
                continue
            cause = trace_missing(scene, at.node, reference, places[0], reference.names)
            if cause.misread:
                return cause
            if cause.lost and scene.kind(at.node) == "httpRequest":
                told = f"{cause.problem}; '{at.node}' reads it"
                return replace(cause, problem=told, certain=False)
    return None


def misread_by_code(scene: Scene) -> Cause | None:
    """Code that reads a name which no item has, and does not know the one that they have it under."""
    for at in scene.first_runs:
        code = scene.settings.get(at.node, {}).get("jsCode") if scene.kind(at.node) == "code" else None
        if not isinstance(code, str) or at.run.error is not None or len(code) > _LONGEST_READ:
            continue
        for reference in references_in(code):
            places = scene.received(at.node) if reference.node is None else []
            missing = _first_missing(scene, places, reference)
            if missing is None:
                continue
            first = replace(reference, path=reference.path[:missing], called=False)
            holder = scene.value(places[0], first.names[:-1]) if missing > 1 else scene.json(places[0])
            near = near_name(holder, first.names[-1])
            if near is None or near in code or not is_same_name(near, first.names[-1]):
                continue
            cause = trace_missing(scene, at.node, first, places[0], first.names)
            if cause.misread and cause.node == at.node:
                return replace(cause, certain=False)
    return None


def _first_missing(scene: Scene, places: list[Place], reference: Reference) -> int | None:
    """How many steps lead to the first field that none of the items has; None if they have all of them."""
    for size in range(1, len(reference.path) + (not reference.called)):
        first = replace(reference, path=reference.path[:size], called=False)
        if not is_plain(first):
            return None
        if all_lack(scene, places, first.names):
            return size
    return None


def _read_by(scene: Scene, at: RunPlace, chooses: re.Pattern[str] = CHOOSES_NULL) -> Iterator[Reference]:
    """What the expressions of a node read; not those that choose what to do without it."""
    is_code = scene.kind(at.node) == "code"
    for written in texts(scene.settings.get(at.node, {})):
        if (is_code or written.startswith("=")) and len(written) <= _LONGEST_READ and chooses.search(written) is None:
            yield from references_in(written)


LOSS_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    loop_not_closed,
    split_no_list,
    not_an_expression,
    summarized_otherwise,
    misread_setting,
    misread_by_code,
    unpaired_dropped,
    selector_found_nothing,
    same_for_all,
)
