"""Texts in which null, undefined, NaN or Infinity stands: which value made that, as the replay of the node shows."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.javascript_values import is_nan, is_numeric
from dogubako.packs.n8n.diagnosis.references import Reference, references, references_in
from dogubako.packs.n8n.diagnosis.replay.expressions import Outcome, bodies, evaluated, is_mixed, text_again
from dogubako.packs.n8n.diagnosis.replay.items import returned_item
from dogubako.packs.n8n.diagnosis.replay.luxon import BY_LANGUAGE
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Spot, Val, is_odd, text_of
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.diagnosis.trace import trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_MOST_ITEMS: Final = 200
_NULL = re.compile(r"(?<![A-Za-z0-9_])null(?![A-Za-z0-9_])")
_FOR_MACHINES = re.compile(r"\s*+(?:[\[{<]|(?:select|insert|update|delete|merge|with|values)\b)", re.IGNORECASE)
_LONGEST_SHOWN: Final = 60
_LONGEST_BODY: Final = 80


class Odd(NamedTuple):
    """A value that stands in a text, and the expression that wrote it there; code has no expressions."""

    value: Val
    body: str = ""


def odd_values(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...]) -> list[Odd]:
    """What nobody reads as a text and stands in this one. Empty if the replay does not write what n8n recorded."""
    if len(path) == 1 and scene.kind(at.node) in CODE_TYPES:
        made = returned_item(scene, place)
        value = made.get(path[0]) if made is not None else None
        return [Odd(one) for one in _of(value)] if value is not None else []
    outcomes = outcomes_again(scene, at, place, path)
    return [Odd(one, each.body) for each in outcomes for one in _of(each.value)]


def _of(value: Val | None) -> list[Val]:
    if value is None:
        return []
    return [value, *value.odd] if is_odd(value.value) or value.unread else [*value.odd]


def outcomes_again(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...]) -> list[Outcome]:
    """What the expressions of a field gave, if they make the text that n8n recorded."""
    written, source = assigned(scene, at.node).get(".".join(path)), next(iter(scene.parents(place)), None)
    if written is None or source is None:
        return []
    outcomes = [evaluated(scene, at, source, one) for one in bodies(written)]
    told = text_again(written, outcomes) if is_mixed(written) else _whole(outcomes)
    return outcomes if told == scene.value(place, path) else []


def _whole(outcomes: list[Outcome]) -> str | None:
    value = outcomes[0].value if len(outcomes) == 1 else None
    told = text_of(value.value) if value is not None and value.is_known else None
    return told if isinstance(told, str) else None


def suspects(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], word: str) -> list[Reference]:
    """What the expressions read that can have written a word: not those that are known to have written another text."""
    written, source = assigned(scene, at.node).get(path[0]), next(iter(scene.parents(place)), None)
    if written is None:
        return references(scene.settings.get(at.node, {}))
    found: dict[Reference, None] = {}
    for body in bodies(written) or [written]:
        outcome = evaluated(scene, at, source, body) if bodies(written) and source is not None else Outcome(body)
        # Alone, NaN is written; beside other words n8n writes nothing for it.
        is_nothing = outcome.value is not None and is_odd(outcome.value.value)
        if is_nothing or outcome.text is None or word in outcome.text:
            found |= dict.fromkeys(references_in(body))
    return list(found)


def unread_told(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], told: str) -> Cause | None:
    """A date that cannot be read, of which NaN or `Invalid DateTime` was written."""
    for value, _ in odd_values(scene, at, place, path):
        for where, names in value.spots[:1] if value.unread and len(value.spots) == 1 else ():
            held = shown_value(scene.value(where, names))
            what = {"fromISO": "no ISO date", BY_LANGUAGE: "no date that it reads"}
            none = what.get(value.unread, "no date in this format")
            problem = f"{told}: {value.unread} gets {shown_path(names)}, which is {held}, {none}"
            return Cause(node=at.node, problem=problem, place=place)
    return None


def divided_told(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], told: str) -> Cause | None:
    """A division by zero, of which Infinity was written."""
    for value, body in odd_values(scene, at, place, path):
        spots = value.zero.spots if value.zero is not None and not is_nan(value.value) else ()
        if len(spots) == 1 and (spot := _read(spots[0])) is not None:
            where, names = spot
            shown = f"{shown_path(names)}, which is {shown_value(scene.value(where, names))}"
            if value.zero is None or value.zero.at is None:
                return Cause(node=at.node, problem=f"{told}: it divides by 0, made from {shown}", place=place)
            counts = "" if scene.value(where, names) == 0 else ", which counts as 0"
            made = f"{shortened(body, _LONGEST_BODY)} is Infinity in '{at.node}'" if body else f"in '{at.node}' {told}"
            problem = f"{shown.replace(', which is', ' is', 1)}{counts}, so {made}"
            return replace(trace_value(scene, where, names, ""), problem=problem)
    return None


def calculated_told(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], text: str) -> Cause | None:
    """The only value that a calculation could not use, of which NaN was written."""
    for value, _ in odd_values(scene, at, place, path):
        spots = [one for one in value.spots if _read(one) is not None and not _is_number(scene, one)]
        if is_nan(value.value) and not value.unfound and len(spots) == 1 and not is_absent(scene.value(*spots[0])):
            described = f"no number, so '{at.node}' writes {shortened(text, _LONGEST_SHOWN)}"
            return trace_value(scene, *spots[0], described)
    return None


def _is_number(scene: Scene, spot: Spot) -> bool:
    return is_numeric(scene.value(*spot))


def _read(spot: Spot) -> Spot | None:
    return spot if spot[1] and spot[1][0] != FILES else None


def nothing_written(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...]) -> Iterator[Spot]:
    """The fields that are null and were written into a text as the word."""
    for value, _ in odd_values(scene, at, place, path):
        if value.value is None and value.at is not None and _read(value.at) is not None:
            yield value.at


def null_in_text(scene: Scene) -> Cause | None:
    """A text for people with the word null, which was written there for a field that is null."""
    for at in scene.first_runs:
        kind = scene.kind(at.node)
        for place in islice(scene.outputs(at), _MOST_ITEMS) if kind == "set" or kind in CODE_TYPES else ():
            if b"null" not in bytes(at.run.outputs[place.output][place.item]):  # type: ignore[index]
                continue
            data = scene.json(place)
            for name, text in data.items() if isinstance(data, Mapping) else ():
                cause = _null_told(scene, at, place, str(name), text) if isinstance(text, str) else None
                if cause is not None:
                    return cause
    return None


def _null_told(scene: Scene, at: RunPlace, place: Place, name: str, text: str) -> Cause | None:
    # JSON and queries have null as a value of theirs.
    if not _NULL.search(text) or _FOR_MACHINES.match(text):
        return None
    for where, names in nothing_written(scene, at, place, (name,)):
        maker = trace_value(scene, where, names, "").node
        null = f"{shown_path(names)} is null (null), from '{maker}'"
        problem = f"{name} is {shortened(repr(text), _LONGEST_BODY)}: {null}"
        return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None
