"""Rules for failures that bad data explains: the value, its type, and the node that made it."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.assignments import assigned
from dogubako.packs.n8n.diagnosis.code_rules import (
    named_on_line,
    read_from_nothing,
    refused_by_guard,
    refused_in_doubt,
    this_lost,
)
from dogubako.packs.n8n.diagnosis.counts import too_few
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.failures import OF_NOTHING, Failure
from dogubako.packs.n8n.diagnosis.file_rules import FILE_RULES
from dogubako.packs.n8n.diagnosis.flow_rules import way_of
from dogubako.packs.n8n.diagnosis.format_rules import FORMAT_RULES, parsed_and_caught
from dogubako.packs.n8n.diagnosis.javascript_values import is_numeric
from dogubako.packs.n8n.diagnosis.methods import METHODS, without_method
from dogubako.packs.n8n.diagnosis.readings import settings_named
from dogubako.packs.n8n.diagnosis.references import Reference, expression_body, references, references_in
from dogubako.packs.n8n.diagnosis.replay.expressions import evaluated
from dogubako.packs.n8n.diagnosis.replay_rules import failed_again, thrown_again
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, conditions_of
from dogubako.packs.n8n.diagnosis.searches import found_nothing, reduced_nothing
from dogubako.packs.n8n.diagnosis.shown import shown_value, type_name
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_type, value_walk
from dogubako.packs.n8n.formatters.flow import output_items
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

_DESTRUCTURED = re.compile(r"Cannot destructure property '([^']+)' of '([^']+)'")
_NO_FUNCTION = of_names(r"^(\S.*?)\.([\w$]+) is not a function")
_NOT_ITERABLE = re.compile(r"^(\S+?) is not iterable|^(\S+) is not a function or its return value is not iterable")
_WRONG_TYPE = re.compile(
    r"Wrong type: '(.{0,200}?)' is an? (\w+) but was expecting an? (\w+) \[condition (\d+)", re.DOTALL
)
_WRONG_SIDES = re.compile(r"Comparison type expects an? (\w+) but")
_ON_NOTHING = re.compile(r"(\w{1,60}) can't be used on (?:undefined|null) value")
_CALLABLE = re.compile(r"(\w{1,60})\(\) is only callable on type \"(\w{1,60})\"")
_FIELD_TYPE = re.compile(r"'([^']+)' expects an? (\w+) but we got '?(.*?)'?(?: \[|$)", re.DOTALL)
_NO_FIELD = re.compile(
    r"(?:find the|[Tt]he) field '([^']{1,200})'|'([^']{1,200})' field is missing"
    r'|value in "([^"]{1,200})" is not set|no JSON property called "([^"]{1,200})"'
    r'|No property named "([^"]{1,200})" exists'
)
_GOT_NOTHING = re.compile(r"(?:[Rr]eceived|got|is|was) '?(?:undefined|null)\b")
_TO_OBJECT = re.compile(
    r"Cannot convert undefined or null to object|undefined is not iterable|object null is not iterable"
)
_REFUSED_SETTING = re.compile(r"^Invalid (?:input|value|amount|date)|is not (?:a )?valid|must be an? ")
_IN_QUOTES = re.compile(r"['\"][^'\"\n]{1,200}['\"]")
_MISSES = re.compile(r"required|missing|undefined|null|must be|expected", re.IGNORECASE)
# A computed key, or a method that searches.
_LOOKS_UP = re.compile(r"\[(?!\s*+['\"\d])|\.(?:find|findLast|get|filter|match|indexOf|at)\(")
_COLLECTION = of_names(r"(?<![\w$.])(?:const|let|var)\s++([^\W\d][\w$]{0,100}+)\s*+=\s*+new\s++(Set|Map)\b")
_CONDITION_LINES: Final = 4
_MOST_KEYS: Final = 8


def value_missing(failure: Failure) -> Cause | None:
    """`Cannot read properties of null`: the reference on the line of the error that meets null there."""
    message, taken = OF_NOTHING.search(failure.message), _DESTRUCTURED.search(failure.message)
    if taken is not None and (quoted := failure.named(taken[2])) is not None:
        return next((failure.trace_gap(quoted, place) for place, _ in failure.missing(quoted)), None)
    if message is None:
        return _only_missing(failure) if _TO_OBJECT.search(failure.message) else None
    for reference in failure.on_line():
        for place, path in failure.missing(reference):
            following = reference.names[len(path)] if len(path) < len(reference.names) else None
            if following is not None and following == message[1]:
                return trace_missing(failure.scene, failure.node, reference, place, path)
    return None


def _only_missing(failure: Failure) -> Cause | None:
    """The only reference on the line of the error that finds nothing."""
    found = {one.names: (one, places[0][0]) for one in failure.on_line() if (places := failure.missing(one))}
    return failure.trace_gap(*next(iter(found.values()))) if len(found) == 1 else None


def wrong_kind(failure: Failure) -> Cause | None:
    """`x.map is not a function`, `x is not iterable`: the value, its type and who made it."""
    called, iterated = _NO_FUNCTION.match(failure.plain), _NOT_ITERABLE.match(failure.plain)
    quoted = called[1] if called else (iterated[1] or iterated[2]) if iterated else None
    reference = (failure.named(quoted) or _quoted_in(failure, quoted)) if quoted else None
    if reference is None:
        return _no_list(failure, quoted, called[2]) if called and quoted else None
    method = called[2] if called else None
    for place, value in failure.values(reference):
        if is_absent(value) or value is None:
            return failure.trace_gap(reference, place)
        if method is None and not isinstance(value, (list, str)):
            return trace_type(failure.scene, failure.node, place, reference.names, "which is no list")
        if method is not None and method not in METHODS.get(type_name(value), ()):
            return without_method(failure, place, reference.names, method)
    return None


def _no_list(failure: Failure, name: str, method: str) -> Cause | None:
    """A Set or a Map of the code that is used like a list."""
    made = {one[2] for one in _COLLECTION.finditer(failure.code) if one[1] == name} if failure.is_code else set()
    if len(made) != 1 or method not in METHODS["array"]:
        return None
    (kind,) = made
    problem = f"it calls {method}() on {name}, a {kind}, which has no such method; [...{name}] makes a list of it"
    return Cause(node=failure.node, problem=problem, own=True)


def not_callable(failure: Failure) -> Cause | None:
    """`plus() is only callable on type "Date"`: a function of n8n, called on a value of another type."""
    message = _CALLABLE.search(failure.message)
    if message is None:
        return None
    written = assigned(failure.scene, failure.node)
    for reference in failure.references:
        if not reference.called or reference.names[-1] != message[1]:
            continue
        for place, value in failure.values(replace(reference, path=reference.path[:-1])):
            held = "missing" if is_absent(value) else shown_value(value)
            hint = "; .toDateTime() makes a date of a text" if message[2] in ("Date", "DateTime") else ""
            field = ".".join(reference.names[:-1])
            maker = value_walk(failure.scene, place, reference.names[:-1])[-1].node
            for_field = next((f" for {name}" for name, text in written.items() if f".{message[1]}(" in text), "")
            problem = f"its expression{for_field} calls {message[1]}() on {field}, which is {held}, and no {message[2]}"
            return Cause(node=failure.node, problem=f"{problem}{hint}; it comes from '{maker}'", place=place)
    return None


def _quoted_in(failure: Failure, quoted: str) -> Reference | None:
    """The reference that a message quotes with an intermediate value, found by its last name."""
    last = quoted.rpartition(".")[2]
    return next((one for one in failure.on_line() if last in one.names[-2:]), None)


def wrong_condition(failure: Failure) -> Cause | None:
    """`Wrong type: '12' is a string but was expecting a number [condition 0, item 0]`, and its like."""
    message, general = _WRONG_TYPE.search(failure.message), _WRONG_SIDES.search(failure.message)
    if message is None and general is None:
        return None
    wanted = message[3] if message else general[1] if general else ""
    number, conditions = int(message[4]) if message else 0, conditions_of(failure.settings)
    for one in (message and conditions[number : number + 1]) or conditions:
        for reference in references_in(f"{one.get('leftValue')}\n{one.get('rightValue')}"):
            for place, value in failure.values(reference):
                told = _is_told(value, message) if message else type_name(value) != wanted and value is not None
                if not is_absent(value) and told:
                    described = f"where a {wanted} was expected"
                    if isinstance(value, list):
                        maker = failure.trace(reference, place, "").node
                        shown = f"{'.'.join(reference.names)} is {shown_value(value)}, from '{maker}'"
                        problem = f"its condition {number} takes a list for a {wanted}: {shown}"
                        return Cause(node=failure.node, problem=problem, place=place)
                    return trace_type(failure.scene, failure.node, place, reference.names, described)
        if message is not None and str(one.get("rightValue")) == message[1]:
            problem = (
                f"its condition {number} compares with {message[1]!r}, a {message[2]}, where a {wanted} was expected"
            )
            return Cause(node=failure.node, problem=problem)
    return None


def _is_told(value: Any, message: re.Match[str]) -> bool:
    """Whether this is the value of the message; n8n shows an object as `[object Object]`."""
    return str(value) == message[1] or (isinstance(value, (dict, list)) and message[2] in ("object", "array"))


def wrong_field(failure: Failure) -> Cause | None:
    """`'price' expects a number but we got 'abc'`: what the expression of this field read."""
    message = _FIELD_TYPE.search(failure.message)
    if message is None:
        return None
    written = assigned(failure.scene, failure.node).get(message[1])
    for reference in references_in(written) if written else failure.references:
        for place, value in failure.values(reference):
            if isinstance(value, (str, int, float)) and str(value) == message[3]:
                article = "an" if message[2][0] in "aeio" else "a"
                return failure.trace(reference, place, f"where {article} {message[2]} was expected")
    return _no_number(failure, message[1]) if message[3] == "NaN" else None


def _no_number(failure: Failure, field: str) -> Cause | None:
    """What the expression of a field calculated with, if only one of its values is no number."""
    written = assigned(failure.scene, failure.node).get(field, "")
    if (looked_up := _no_number_there(failure, written)) is not None:
        return looked_up
    if _LOOKS_UP.search(written):
        # A field may be what is searched, or what is searched for, and enter no calculation.
        return None
    read = [one for one in references_in(written) if is_plain(one)]
    bad = [(one, place) for one in read for place, value in failure.values(one) if not is_numeric(value)]
    if len({one for one, _ in bad}) != 1:
        return None
    reference, place = bad[0]
    if is_absent(failure.scene.value(place, reference.names)):
        cause = failure.trace_gap(reference, place)
        return cause.with_problem(f"{cause.problem}; {field} is calculated with {reference.written}")
    return failure.trace(reference, place, "with which cannot be calculated")


def _no_number_there(failure: Failure, written: str) -> Cause | None:
    """A look-up by a computed key that finds nothing: `rates[$json.currency]`; as the replay shows."""
    at = RunPlace(node=failure.node, index=failure.index, run=failure.run)
    one = failure.places[0] if len(failure.places) == 1 else None
    value = evaluated(failure.scene, at, one, body).value if (body := expression_body(written)) and one else None
    spots = value.spots if value is not None and isinstance(value.value, float) and value.value != value.value else ()
    if len(spots) != 1 or len(spots[0][1]) < 2 or not is_absent(failure.scene.value(*spots[0])):
        return None
    place, path = spots[0]
    keys = failure.scene.value(place, path[:-1])
    read = [(each, where) for each in references_in(written) if is_plain(each) for where in failure.read(each)]
    by = [(each, where) for each, where in read if failure.scene.value(where, each.names) == path[-1]]
    if not isinstance(keys, dict) or not by:
        return None
    there = f"{', '.join(map(str, list(keys)[:_MOST_KEYS]))}{', …' if len(keys) > _MOST_KEYS else ''}"
    holder = f"{'.'.join(path[:-1])} of '{place.node}' has no {path[-1]}, but {there or 'nothing'}"
    maker = failure.trace(*by[0], "").node
    problem = f"{holder}; {by[0][0].written} is {shown_value(path[-1])}, from '{maker}'"
    return Cause(node=failure.node, problem=problem, place=one, walk=(by[0][1],))


def thrown_for_field(failure: Failure) -> Cause | None:
    """A message that names a field which the code tests and which is empty in the failing item."""
    if not failure.is_code:
        return None
    words = {word.casefold() for word in of_names(r"[\w$]+").findall(failure.plain)}
    for reference in failure.references:
        if not any(name.casefold() in words for name in reference.names) or not _is_tested(failure, reference):
            continue
        for place, path in failure.missing(reference):
            return trace_missing(failure.scene, failure.node, reference, place, path)
        for place, value in failure.values(reference):
            if value == "":
                return failure.trace(reference, place, "an empty text")
    return None


def _is_tested(failure: Failure, reference: Reference) -> bool:
    """Whether the condition right before the line that throws is about this field."""
    lines = failure.code.split("\n")
    thrown = min(failure.line or len(lines), len(lines))
    near = range(thrown, max(0, thrown - _CONDITION_LINES), -1)
    deciding = next((number for number in near if re.search(r"\bif\b|\?", lines[number - 1])), None)
    return reference.line == deciding


def field_missing(failure: Failure) -> Cause | None:
    """A node that says itself which field its items lack."""
    message = _NO_FIELD.search(failure.message)
    if message is None:
        return None
    path = tuple(Step(name) for name in next(one for one in message.groups() if one).split("."))
    reference = Reference(node=None, pick="item", path=path)
    return next((failure.trace_gap(reference, place) for place, _ in failure.missing(reference)), None)


def value_refused(failure: Failure) -> Cause | None:
    """A node that refuses what one of its settings came to: the one that n8n names, or whose value it quotes."""
    if failure.is_code or _REFUSED_SETTING.search(failure.message) is None:
        return None
    named = settings_named(failure)
    read = references([value for _, value in named]) if named else failure.references
    found = {(one.node, one.names): (one, list(failure.values(one))) for one in read if not one.called}
    quoted = [(one, *held[0]) for one, held in found.values() if len(held) == 1 and _is_quoted(failure, held[0][1])]
    if len(quoted) == 1:
        reference, place, _ = quoted[0]
        return replace(failure.trace(reference, place, "which this setting does not take"), certain=False)
    if named:
        told = " and ".join(f"{name}, which is {shortened(value.removeprefix('='), 80)}" for name, value in named[:2])
        return Cause(node=failure.node, problem=f"n8n refuses what its setting {told}, comes to")
    holes = [(one, places[0][0]) for one, _ in found.values() if (places := failure.missing(one))]
    if len(found) != 1 or any(_IN_QUOTES.finditer(failure.message)):
        return None
    if holes:
        return failure.trace_gap(*holes[0])
    ((reference, held),) = found.values()
    if len(held) != 1:
        return None
    return replace(failure.trace(reference, held[0][0], "the only value that it reads"), certain=False)


def _is_quoted(failure: Failure, value: Any) -> bool:
    """Whether the message tells this value."""
    told = f"{failure.message} {failure.raw.get('description') or ''}"
    return (
        isinstance(value, (str, int, float))
        and not isinstance(value, bool)
        and str(value).strip() != ""
        and (re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", told) is not None)
    )


def only_hole(failure: Failure) -> Cause | None:
    """A function of the language that misses something, on a line where only one field is not there."""
    if not failure.is_code or failure.line is None or _MISSES.search(failure.plain) is None:
        return None
    if failure.raw.get("description") not in ("TypeError", "RangeError") or len(failure.places) != 1:
        return None
    cause = _only_missing(failure) if any(one.line == failure.line for one in failure.references) else None
    return replace(cause, certain=False) if cause is not None else None


def too_few_items(failure: Failure) -> Cause | None:
    """`$input.all()[1].json` where there is only one item."""
    message = OF_NOTHING.search(failure.message)
    if message is None or message[1] != "json":
        return None
    for reference in failure.on_line():
        picked = int(reference.pick[1:]) if reference.pick.startswith("#") else None
        if picked is not None and not failure.read(reference):
            return too_few(failure, reference.node or "", f"reads the item with index {picked}, counted from 0")
    return None


def read_empty(failure: Failure) -> Cause | None:
    """Another node of which an item is read, and that gave out none by the output that is read."""
    message, scene = OF_NOTHING.search(failure.message), failure.scene
    if message is None or message[1] != "json":
        return None
    for reference in failure.on_line():
        name = reference.node or ""
        runs = scene.execution.runs.get(name, [])
        output = scene.output_read(name, failure.run) if reference.output is None else reference.output
        if runs and not failure.read(reference) and not output_items(scene.execution, name, len(runs) - 1, output):
            by = f" to {way_of(scene, name, output)}" if scene.kind(name) in ("if", "switch") else ""
            given = scene.execution.items_given_to(runs[-1])
            problem = f"it reads an item of '{name}', which received {given} items and gave out none{by}"
            return Cause(node=failure.node, problem=problem)
    return None


def got_nothing(failure: Failure) -> Cause | None:
    """A node that says that it got nothing, if only one of its expressions found nothing."""
    if _GOT_NOTHING.search(failure.message) is None or (failure.is_code and "throw" in failure.code):
        return None
    found = {one.names: (one, places[0][0]) for one in failure.references if (places := failure.missing(one))}
    return failure.trace_gap(*next(iter(found.values()))) if len(found) == 1 else None


def used_on_nothing(failure: Failure) -> Cause | None:
    """`toDateTime can't be used on undefined value`: a function of n8n, called on a field that is not there."""
    message = _ON_NOTHING.search(failure.message)
    called = [one for one in failure.references if message and one.called and one.names[-1] == message[1]]
    missing = [(one, place) for one in called for place, _ in failure.missing(one)[:1]]
    return failure.trace_gap(*missing[0]) if missing else None


# For messages that the author of the code wrote: only what his conditions tested can explain them.
THROWN_RULES: Final[tuple[Callable[[Failure], Cause | None], ...]] = (
    refused_by_guard,
    thrown_again,
    refused_in_doubt,
    parsed_and_caught,
    thrown_for_field,
)

DATA_RULES: Final[tuple[Callable[[Failure], Cause | None], ...]] = (
    read_empty,
    failed_again,
    value_missing,
    wrong_kind,
    not_callable,
    wrong_condition,
    wrong_field,
    *FORMAT_RULES,
    field_missing,
    *FILE_RULES,
    got_nothing,
    used_on_nothing,
    too_few_items,
    read_from_nothing,
    found_nothing,
    reduced_nothing,
    *THROWN_RULES,
    value_refused,
    only_hole,
    this_lost,
    named_on_line,
)
