"""Rules for executions that count as a success: pages for data, broken texts, expressions that became null."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import all_lack, is_plain
from dogubako.packs.n8n.diagnosis.answer_rules import ANSWER_RULES
from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.code_lines import calculates_with
from dogubako.packs.n8n.diagnosis.gaps import gap, missing_in
from dogubako.packs.n8n.diagnosis.hole_rules import NO_TEXTS, hole_in_text, lone_references
from dogubako.packs.n8n.diagnosis.hollow_objects import hollow_object
from dogubako.packs.n8n.diagnosis.javascript_values import is_numeric
from dogubako.packs.n8n.diagnosis.number_rules import joined_texts
from dogubako.packs.n8n.diagnosis.odd_texts import (
    calculated_told,
    divided_told,
    null_in_text,
    suspects,
    unread_told,
)
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references, references_in, texts
from dogubako.packs.n8n.diagnosis.replay_quiet import (
    compared_as_texts,
    date_of_null,
    error_caught,
    joined_by_code,
    joined_by_expression,
    no_number_again,
    null_as_zero,
    same_but_for_type,
    sifted_all,
    text_is_true,
)
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.trace import CHOOSES_NULL, firmly, trace_missing, trace_value, why_null
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

BROKEN = re.compile(r"\[object Object\]|(?<![A-Za-z_])(?:NaN|undefined|Infinity)(?![A-Za-z0-9_])|Invalid Date(?:Time)?")
_BROKEN_BYTES = re.compile(rb"\[object Object\]|NaN|undefined|Infinity|Invalid Date")
_MISREAD_LETTERS = re.compile(r"Ã[\x80-\xbf]|â€[™œž“”¦]|Â[°§£©®]|\ufffd")
_MISREAD_BYTES = re.compile("Ã|â€|Â|\ufffd".encode())
_MAKERS: Final = frozenset(
    {"set", "code", "function", "functionItem", "dateTime", "html", "markdown", "summarize", "aggregate", "itemLists"}
)
_READS_DATES = re.compile(r"DateTime\.|new Date\(|toDateTime\(|Date\.parse\(")
_LITERAL = re.compile(r"'(?:[^'\\\n]|\\.){0,200}+'|\"(?:[^\"\\\n]|\\.){0,200}+\"")
_IS_JSON = re.compile(r"=\s*+[\[{](?!\{)")
_BRACES = re.compile(r"\{\{[^{}]{1,300}+\}\}")
_MOST_ITEMS: Final = 200
_MOST_ABSENT: Final = 4
_MOST_TOLD: Final = 2
_MOST_FIELDS: Final = 20
# The settings of a Date & Time node that take a date.
_DATES: Final = ("date", "startDate", "endDate", "magnitude")
_LONGEST_FOLLOWED: Final = 12_000
# What code writes that keeps the message of an error.
_ERROR = re.compile(r"Cannot (?:read properties|set properties|destructure)|is not (?:a function|iterable|defined)")


def broken_text(scene: Scene) -> Cause | None:
    """A text with `[object Object]`, `NaN`, `undefined` or an invalid date that this node made."""
    for at in scene.runs:
        if scene.kind(at.node) not in _MAKERS or not scene.inputs(at.run):
            continue
        for place in _some(scene.outputs(at)):
            if _BROKEN_BYTES.search(bytes(at.run.outputs[place.output][place.item])) is None:  # type: ignore[index]
                continue
            for path, text, word in _broken_in(scene.json(place)):
                if not _was_there(scene, at, text, word):
                    cause = _explain_text(scene, at, place, path, text, word)
                    return replace(cause, unmeant=word != "Infinity")
    return None


def _broken_in(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(data, str):
        if len(path) and (found := BROKEN.search(data)) is not None:
            yield path, data, found[0]
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _broken_in(value, (*path, str(key)))
    elif isinstance(data, list):
        for index, value in enumerate(data[:100]):
            yield from _broken_in(value, (*path, str(index)))


def _is_written(code: str, word: str) -> bool:
    """Whether a text of the code has the word: it is not made of a value."""
    return any(word in one for one in _LITERAL.findall(code[:_LONGEST_FOLLOWED]))


def _was_there(scene: Scene, at: RunPlace, text: str, word: str) -> bool:
    """Whether the word came in with the items, or stands as it is in the parameters, perhaps in quotes."""
    quoted = [f"{sign}{word}{sign}" for sign in "'\"`"]
    for written in texts(scene.settings.get(at.node, {})):
        plain = _BRACES.sub("", written) if written.startswith("=") else written
        if any(one in written for one in (text, *quoted)) or (scene.kind(at.node) == "set" and word in plain):
            return True
    code = scene.settings.get(at.node, {}).get("jsCode")
    if isinstance(code, str) and _is_written(code, word):
        return True
    return any(word.encode() in bytes(item) for one in scene.inputs(at.run) for item in one.items[:_MOST_ITEMS])


def _explain_text(scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], text: str, word: str) -> Cause:
    """The node that made the text, or the one that lost the value which the text needs."""
    source = next(iter(scene.parents(place)), None)
    told = f"{'.'.join(path)} is {shortened(repr(text), 80)}"
    if _ERROR.search(text) is not None:
        return _made(at, place, f"{'.'.join(path)} is {shown_value(text)}, the message of an error in code").in_doubt()
    if (replayed := _shown_by_replay(scene, at, place, path, text, told)) is not None:
        return replayed
    read = suspects(scene, at, place, path, word)
    bad = [(one, value) for one in read for value in _bad_values(scene, one, source, at, word)]
    if len({(one.node, one.names) for one, _ in bad}) == 1:
        reference, (where, value) = bad[0]
        if is_absent(value):
            cause = trace_missing(
                scene, at.node, reference, where, gap(scene.json(where), reference) or reference.names
            )
            if cause.lost:
                return cause.with_problem(f"{cause.problem}, so '{at.node}' writes {shortened(text, 60)}")
            made = _made(at, place, f"{told}: there is no {reference.written}{_instead(cause, at)}")
            return made if cause.misread else made.in_doubt()
        if word == "NaN":
            if _is_date(scene, at, path):
                # A text that is no number may be a date that is not read.
                return _made(at, place, f"{told}: it reads {_told(scene, reference, source, at)}")
            if not any(calculates_with(one, reference.names[-1]) for one in texts(scene.settings.get(at.node, {}))):
                # It may be written beside the NaN as it is.
                return _made(at, place, told).in_doubt()
            described = f"no number, so '{at.node}' writes {shortened(text, 60)}"
            return trace_value(scene, where, reference.names, described).in_doubt()
        if value == {}:
            hollow = hollow_object(scene, where, reference.names)
            return (hollow or _made(at, place, f"{told}: {reference.written} is an empty object")).in_doubt()
        return _made(at, place, f"{told}: {reference.field.written} is {_as_text(value)}")
    absent = dict.fromkeys(one.written for one, (_, value) in bad if is_absent(value))
    if len(absent) > 1 and len(absent) <= _MOST_ABSENT:
        return _made(at, place, f"{told}: there is no {' and no '.join(absent)}").in_doubt()
    if word.startswith("Invalid Date"):
        shown = [_told(scene, one, source, at) for one in read if not one.called]
        told = f"{told}: it reads {' and '.join(shown[:_MOST_TOLD])}" if any(shown) else told
    return _made(at, place, told)


def _shown_by_replay(
    scene: Scene, at: RunPlace, place: Place, path: tuple[str, ...], text: str, told: str
) -> Cause | None:
    """The value that made the text what it is, where the replay of the node knows it."""
    if (unread := unread_told(scene, at, place, path, told)) is not None:
        return unread
    cause = divided_told(scene, at, place, path, told)
    if cause is not None:
        # Who made null of what it could not calculate with is told of that.
        earlier = no_number_again(scene) if cause.node != at.node else None
        if earlier is not None and earlier.node == cause.node:
            cause = replace(earlier, problem=f"{earlier.problem}; {cause.problem}")
        return cause.in_doubt()
    cause = calculated_told(scene, at, place, path, text)
    return cause.in_doubt() if cause is not None else None


def _is_date(scene: Scene, at: RunPlace, path: tuple[str, ...]) -> bool:
    written = assigned(scene, at.node).get(path[0]) or str(scene.settings.get(at.node, {}).get("jsCode"))
    return _READS_DATES.search(written) is not None


def _as_text(value: Any) -> str:
    return f"{'a list with objects' if isinstance(value, list) else 'an object'}, which a text shows as [object Object]"


def _instead(cause: Cause, at: RunPlace) -> str:
    """What the item has, as far as the search for the field told it."""
    return f"; {cause.problem}" if cause.node == at.node else ""


def _told(scene: Scene, reference: Reference, source: Place | None, at: RunPlace) -> str:
    values = [scene.value(one, reference.names) for one in scene.places_read(reference, source, at.run)[:1]]
    return f"{reference.written}, which is {shown_value(values[0])}" if values else reference.written


def _bad_values(
    scene: Scene, reference: Reference, source: Place | None, at: RunPlace, word: str
) -> Iterator[tuple[Place, Any]]:
    """The values of a reference that can have made this word."""
    names = reference.names[:-1] if reference.called else reference.names
    plain = is_plain(replace(reference, called=False))
    for place in scene.places_read(reference, source, at.run)[:_MOST_ITEMS] if names and plain else ():
        value = scene.value(place, names)
        if _can_make(word, value):
            yield place, value


def _can_make(word: str, value: Any) -> bool:
    """Whether such a value in a text or a calculation gives this word."""
    if word == "[object Object]":
        return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))
    if word == "NaN" and not is_absent(value):
        return not is_numeric(value)
    # What is 0 makes Infinity of a division, and only the replay knows what was divided by.
    return word != "Infinity" and is_absent(value)


def expression_became_null(scene: Scene) -> Cause | None:
    """A Set node's expression that raised: n8n makes null of it and goes on."""
    for at in scene.runs:
        for field, written in assigned(scene, at.node).items():
            if CHOOSES_NULL.search(written):
                continue
            for place in _some(scene.outputs(at)):
                value = scene.value(place, tuple(field.split(".")))
                if (value is None or is_absent(value)) and (cause := _why_null(scene, at, place, field, written)):
                    return cause
    return None


def _why_null(scene: Scene, at: RunPlace, place: Place, field: str, written: str) -> Cause | None:
    source = next(iter(scene.parents(place)), None)
    whole = only_reference(written)
    if (spelt := _misspelt(scene, at, field, written)) is not None:
        return spelt
    for reference in references_in(written):
        for where, path in missing_in(scene, reference, source, at.run):
            value = scene.value(where, path)
            # A field that is null and is only copied is data, not a fault.
            if whole is not None and not is_absent(value):
                return None
            cause = trace_missing(scene, at.node, reference, where, path)
            if cause.own and cause.node != at.node:
                return cause.with_problem(f"{cause.problem}, so {field} becomes null in '{at.node}'")
            if not cause.misread and not cause.lost:
                reads = f"its expression reads {'.'.join(path)}"
                own = cause.node == at.node and cause.problem.startswith(f"it reads {'.'.join(path)},")
                told = cause.problem.replace("it reads", "its expression reads", 1) if own else None
                joined = ", and" if cause.node == at.node else ";"
                problem = f"{field} is null: {told or f'{reads}{joined} {cause.told_at(at.node)}'}"
                # The field may be optional, and null what is wanted.
                return replace(_made(at, place, problem), certain=False)
            return cause.with_problem(f"{cause.problem}, so {field} becomes null in '{at.node}'")
    if whole is not None or _may_be_missing(scene, at, source, written):
        return None
    return _made(at, place, f"{field} is null: its expression {why_null(scene, at, source, written)}")


def _may_be_missing(scene: Scene, at: RunPlace, source: Place | None, written: str) -> bool:
    """Whether `?.` met null or nothing and no further step: that is what it is written for."""
    return any(missing_in(scene, firmly(one), source, at.run) for one in references_in(written) if _is_optional(one))


def _is_optional(reference: Reference) -> bool:
    return any(step.optional for step in reference.path)


def _misspelt(scene: Scene, at: RunPlace, field: str, written: str) -> Cause | None:
    """A name behind which `?.` stands, that no item has, and that the items have in another form."""
    places = scene.received(at.node)
    for reference in filter(_is_optional, references_in(written)):
        size = next(number for number, step in enumerate(reference.path) if step.optional)
        first = replace(reference, path=reference.path[:size], called=False)
        if size and first.node is None and is_plain(first) and all_lack(scene, places, first.names):
            cause = trace_missing(scene, at.node, first, places[0], first.names)
            if cause.misread:
                return cause.with_problem(f"{cause.problem}, so {field} becomes null in '{at.node}'")
    return None


def date_from_nothing(scene: Scene) -> Cause | None:
    """A Date & Time node that was given an empty value: it makes 1970 or today of it."""
    for at in scene.runs:
        if scene.kind(at.node) != "dateTime":
            continue
        for reference in references([scene.settings.get(at.node, {}).get(key) for key in _DATES]):
            for place in _some(scene.outputs(at)):
                source = next(iter(scene.parents(place)), None)
                for where in scene.places_read(reference, source, at.run)[:1]:
                    value = scene.value(where, reference.names)
                    if is_absent(value) or value is None:
                        cause = trace_missing(scene, at.node, reference, where, reference.names)
                        if cause.misread or cause.lost or cause.node != at.node:
                            cause = cause.with_problem(f"{cause.problem}; '{at.node}' makes a date of it")
                            return cause if cause.misread or cause.lost else cause.in_doubt()
                    if value is None or value == "" or is_absent(value):
                        return _made(at, place, f"it makes a date of {reference.written}, which is empty").in_doubt()
    return None


def _made(at: RunPlace, place: Place, problem: str) -> Cause:
    return Cause(node=at.node, problem=problem, place=place)


def _some(places: Iterator[Place]) -> Iterator[Place]:
    for number, place in enumerate(places):
        if number >= _MOST_ITEMS:
            return
        yield place


def texts_joined(scene: Scene) -> Cause | None:
    """A number that is two texts in a row, because a Set node added them."""
    for at in scene.runs:
        for field in assigned(scene, at.node):
            for place in _some(scene.outputs(at)):
                if (cause := joined_texts(scene, place, (field,))) is not None:
                    return cause
    return None


def broken_letters(scene: Scene) -> Cause | None:
    """A text whose letters were read in another encoding than they were written in: `MÃ¼ller`."""
    for at in scene.first_runs:
        for place in _some(scene.outputs(at)):
            if _MISREAD_BYTES.search(bytes(at.run.outputs[place.output][place.item])) is None:  # type: ignore[index]
                continue
            data = scene.json(place)
            for key, value in data.items() if isinstance(data, Mapping) else ():
                if isinstance(value, str) and _MISREAD_LETTERS.search(value):
                    told = "whose letters were read in another encoding than they were written in"
                    return replace(trace_value(scene, place, (str(key),), told), certain=False)
    return None


def object_in_text(scene: Scene) -> Cause | None:
    """A text that a node sends somewhere, with an object in it: it reads [object Object]."""
    for at in scene.first_runs:
        if scene.kind(at.node) in NO_TEXTS | _MAKERS or not at.run.outputs:
            continue
        for written in texts(scene.settings.get(at.node, {})):
            for reference in lone_references(written) if not _IS_JSON.match(written) else ():
                for place in scene.input_places(at.run)[:_MOST_ITEMS]:
                    if isinstance(held := scene.value(place, reference.names), dict) and held:
                        told = f"it writes {reference.written}, {_as_text(held)}"
                        return Cause(node=at.node, problem=told, place=place, walk=(place,))
    return None


TEXT_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    *ANSWER_RULES,
    broken_text,
    no_number_again,
    date_from_nothing,
    texts_joined,
    null_in_text,
    hole_in_text,
    broken_letters,
    text_is_true,
    joined_by_code,
    joined_by_expression,
    compared_as_texts,
    same_but_for_type,
    object_in_text,
    sifted_all,
    error_caught,
    date_of_null,
    null_as_zero,
    expression_became_null,
)
