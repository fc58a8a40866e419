"""Rules that run the code of a node again. They speak only if it fails there as n8n says that it did."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dogubako.packs.n8n.diagnosis.absence import is_plain
from dogubako.packs.n8n.diagnosis.code_rules import blamed_for, one_item, traced_to
from dogubako.packs.n8n.diagnosis.counts import too_few
from dogubako.packs.n8n.diagnosis.evaluation import Read
from dogubako.packs.n8n.diagnosis.failures import OF_NOTHING, Failure
from dogubako.packs.n8n.diagnosis.file_rules import file_misread
from dogubako.packs.n8n.diagnosis.format_rules import JSON_FAILED, parsed_already
from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.join_keys import keys_told
from dogubako.packs.n8n.diagnosis.lineage import lineage
from dogubako.packs.n8n.diagnosis.methods import METHODS, without_method
from dogubako.packs.n8n.diagnosis.references import Reference
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames, runs_for_each
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Arr, Spot, Thrown, Val
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace
from dogubako.packs.n8n.diagnosis.searches import found_nothing
from dogubako.packs.n8n.diagnosis.shown import shown_value, type_name
from dogubako.packs.n8n.diagnosis.sieves import emptied_in, sifted_told
from dogubako.packs.n8n.diagnosis.trace import trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

# The message of each kind of error. A group, where there is one, names the property.
_MESSAGES: Final[Mapping[str, re.Pattern[str]]] = {
    "nothing": OF_NOTHING,
    "destructure": re.compile(r"Cannot destructure property '([^'\n]{1,200})'|Cannot read properties"),
    "function": of_names(r"(?:\.|^)([\w$]{1,100}) is not a function"),
    "iterable": re.compile(r"iterable"),
    "object": re.compile(r"Cannot convert undefined or null to object"),
    "in": re.compile(r"Cannot use 'in' operator"),
    "json": JSON_FAILED,
    "date": re.compile(r"Invalid time value"),
    "reduce": re.compile(r"Reduce of empty array"),
    "length": re.compile(r"Invalid array length"),
    "count": re.compile(r"Invalid count value"),
    "bigint": re.compile(r"Cannot convert .{0,200} to a BigInt|cannot be converted to a BigInt", re.DOTALL),
    "pattern": re.compile(r"Invalid regular expression: /(?P<body>.{1,200})/\w{0,8}: ", re.DOTALL),
    "uri": re.compile(r"URI malformed"),
    "digits": re.compile(r"(?:digits |precision |\(\) )argument must be between"),
}
# Code that asks something else than its items.
_ASKS = of_names(r"helpers\.\w|(?<![\w$.])(?:fetch|axios|require)\b|\$getWorkflowStaticData")
_MOST_LISTS: Final = 3
_DESCRIBED: Final = {
    "iterable": "which is no list",
    "in": "in which no name can be looked for",
    "json": "which is not valid JSON",
    "date": "which is not read as a date as it is written",
    "reduce": "an empty list",
    "length": "which is no length of a list",
    "count": "which is no number of times",
    "bigint": "of which no BigInt can be made",
    "pattern": "which is no regular expression",
    "uri": "in which a % begins no encoded sign",
    "digits": "which is no number of digits there",
}
# Values that code often calculates before a function refuses them.
_CALCULATED: Final = frozenset({"length", "count", "bigint", "pattern", "uri", "digits"})
# What is said of a value that the code made itself.
_REDUCES: Final = "calls reduce() without an initial value"
_OF_OWN_VALUE: Final = {"reduce": f"{_REDUCES} on a list that is empty"}


def failed_again(failure: Failure) -> Cause | None:
    """An error of the language: the value that it is about, in the item at which the code fails again."""
    if not any(pattern.search(failure.plain) for pattern in _MESSAGES.values()):
        return None
    thrown = _replayed(failure)
    if thrown is None or thrown.kind == "throw" or thrown.culprit is None or not _is_same(thrown, failure):
        return None
    if thrown.kind == "reduce" and isinstance(thrown.culprit.value, Arr):
        return _reduced_nothing(failure, thrown, thrown.culprit)
    reads = _reads(failure, thrown.culprit)
    if thrown.kind == "date" and reads and not thrown.culprit.is_nothing:
        return _no_date(failure, thrown, thrown.culprit, reads)
    cause = _explained(failure, thrown, thrown.culprit)
    return cause.with_problem(cause.problem + keys_told(thrown.culprit.sought)) if cause is not None else None


def thrown_again(failure: Failure) -> Cause | None:
    """An error that the code throws itself: the fields that decided it."""
    if not failure.is_code or "throw" not in failure.code:
        return None
    thrown = _replayed(failure)
    if thrown is None or thrown.kind != "throw" or thrown.message is None or not _is_same(thrown, failure):
        return None
    if thrown.culprit is not None:
        return blamed_for(failure, _reads(failure, thrown.culprit, tested=True))
    chosen = [each for one in thrown.conditions for each in one.chosen]
    reads = [replace(read, chosen=True) for one in chosen for read in _reads(failure, one, tested=one.tested)]
    reads += [read for one in thrown.conditions for read in _reads(failure, one, tested=one.tested)]
    cause = blamed_for(failure, reads, calculated=True)
    told = next((keys for one in chosen if (keys := keys_told(one.sought))), "")
    return cause.with_problem(f"{cause.problem}{told}") if cause is not None else None


def _replayed(failure: Failure) -> Thrown | None:
    """What the code throws when it is run again; None if it cannot be run here, or does not fail."""
    if not failure.is_code or len(failure.code) > LONGEST_CODE_FOLLOWED:
        return None
    at = RunPlace(node=failure.node, index=failure.index, run=failure.run)
    one = failure.places[0] if failure.item_index is not None and failure.places else None
    places: list[Place | None] = [*failure.places] if runs_for_each(failure.scene, failure.node) else [one]
    nothing = OF_NOTHING.search(failure.plain)
    # With several items it is not known in which of them a value was nothing.
    suspect = (failure.line, nothing[1]) if nothing and failure.line and len(failure.places) == 1 else None
    try:
        script = parse_script(failure.code)
        interpreter = Interpreter(lambda _: None, suspect)
        unread = _MESSAGES["pattern"].search(failure.plain)
        interpreter.bad_pattern = unread["body"] if unread is not None else None
        for index, place in enumerate(places):
            interpreter.restart(N8nNames(failure.scene, at, place, index, interpreter.spend))
            interpreter.run(script)
    except Thrown as thrown:
        return thrown
    except NOT_REPLAYED:
        return None
    return None


def _is_same(thrown: Thrown, failure: Failure) -> bool:
    """Whether this is the error that n8n tells of: the same message, on the same line."""
    if failure.line is not None and failure.line not in thrown.lines:
        return False
    if thrown.kind == "throw":
        return thrown.message is not None and thrown.message.strip() == failure.plain.strip()
    pattern = _MESSAGES.get(thrown.kind)
    message = pattern.search(failure.plain) if pattern is not None else None
    if message is None:
        return False
    if thrown.kind == "count":
        return thrown.message == failure.plain
    named = message[1] if message.re.groups and thrown.kind != "pattern" else None
    return named is None or thrown.message is None or named == thrown.message


def _explained(failure: Failure, thrown: Thrown, culprit: Val) -> Cause | None:
    reads = _reads(failure, culprit)
    if culprit.beside is not None or (culprit.at is not None and culprit.at[1][:1] == (FILES,)):
        return _outside_of_json(failure, culprit)
    whole = culprit.at is not None and not culprit.at[1] and isinstance(failure.scene.json(culprit.at[0]), Mapping)
    if whole and culprit.at is not None and thrown.kind in ("function", "iterable"):
        return _item_itself(failure, thrown, culprit.at[0])
    if not reads and culprit.beyond is None:
        if thrown.read_from and _ASKS.search(failure.code) is None:
            return None
        return found_nothing(failure) or _with_gaps(failure, _made_by_code(failure, thrown))
    if thrown.read_from and len(reads) == 1:
        described = f"and {thrown.read_from} makes nothing of it in line {thrown.line}"
        cause = trace_value(failure.scene, reads[0].place, reads[0].path, described)
        return replace(cause, certain=False)
    if culprit.beyond is not None:
        node, number = culprit.beyond
        return too_few(failure, node, f"reads the item with index {number}, counted from 0")
    if culprit.at is not None:
        (read,) = reads
        if culprit.is_nothing:
            return _by_key(failure, traced_to(failure, read), culprit)
        return _not_taken(failure, thrown, read)
    if len(reads) != 1 or not culprit.is_nothing:
        is_made = bool(reads) and thrown.kind in _CALCULATED and not culprit.is_nothing
        return _calculated(failure, thrown, culprit, reads) if is_made else None
    (read,) = reads
    if read.value is None or is_absent(read.value):
        return traced_to(failure, read)
    # The table may be too small as well as the value wrong.
    lacking = _unread_date(failure, thrown, culprit, read) or found_nothing(failure, only_tables=True)
    if lacking is not None:
        return lacking
    if not _is_odd(failure, read):
        return found_nothing(failure) or _looked_up(failure, thrown, culprit, read)
    vain = f"which line {thrown.line} looks for in vain"
    described = vain if culprit.sought else f"in which line {thrown.line} does not find what it looks for"
    cause = trace_value(failure.scene, read.place, read.path, described)
    # The code may look for the wrong thing, or have to do without it.
    return replace(cause, certain=False)


def _reduced_nothing(failure: Failure, thrown: Thrown, culprit: Val) -> Cause:
    """A list that is empty because a filter kept nothing, here or in the node that made it."""
    listed, scene = culprit.value, failure.scene
    fails = f"its line {thrown.line} {_OF_OWN_VALUE['reduce']}"
    if listed.sifted is not None:
        place = listed.sifted.tests[0][0][0] if listed.sifted.tests else None
        told = f"{fails}; {sifted_told(scene, failure.node, listed.sifted)}"
        return Cause(node=failure.node, problem=told, place=place, walk=(place,) if place else ())
    empty = [one for one in _reads(failure, culprit) if one.value == []]
    if len(empty) != 1:
        return _with_gaps(failure, Cause(node=failure.node, problem=fails))
    (read,) = empty
    cause = trace_value(scene, read.place, read.path, f"an empty list, and '{failure.node}' {_REDUCES}")
    sifted = emptied_in(scene, cause.place, read.path) if cause.place is not None else None
    if sifted is not None:
        return cause.with_problem(f"{cause.problem}; {sifted_told(scene, cause.node, sifted)}")
    if culprit.at is not None:
        return cause
    told = f"{fails}: {'.'.join(read.path)} is [], from '{cause.node}'"
    return Cause(node=failure.node, problem=told, place=read.place, walk=(read.place,))


def _outside_of_json(failure: Failure, culprit: Val) -> Cause | None:
    """What was read of an item beside its json: a file that it does not have, or a field that lies in the json."""
    if culprit.beside is not None:
        place, path = culprit.beside
        problem = f"it reads {path[-1]} of the item itself, but the item has it in json: .json.{path[-1]}"
        return Cause(node=failure.node, problem=problem, place=place, own=True)
    place, path = culprit.at or (failure.places[0], ())
    return file_misread(failure, place, path[1]) if len(path) == 2 else None


def _item_itself(failure: Failure, thrown: Thrown, place: Place) -> Cause:
    """Code that takes the json of an item for a list or a text, which it never is."""
    data = failure.scene.json(place)
    lists = [str(key) for key, value in data.items() if isinstance(value, list)]
    wants_list = thrown.kind == "iterable" or thrown.message in METHODS["array"]
    where = f"; a list lies in its {' and in its '.join(lists[:_MOST_LISTS])}" if lists and wants_list else ""
    does = f"calls {thrown.message}() on" if thrown.kind == "function" else "goes through"
    problem = f"it {does} the json of an item itself, which is an object{where}"
    return Cause(node=failure.node, problem=problem, place=place, walk=(place,), own=True)


def _not_taken(failure: Failure, thrown: Thrown, read: Read) -> Cause | None:
    """A field that is there, and that the code cannot use."""
    if thrown.kind == "json" and isinstance(read.value, (dict, list)):
        return parsed_already(failure, read.place, read.path)
    if thrown.kind == "function":
        return without_method(failure, read.place, read.path, thrown.message) if thrown.message else None
    return trace_value(failure.scene, read.place, read.path, _DESCRIBED.get(thrown.kind, "which is not taken"))


def _no_date(failure: Failure, thrown: Thrown, culprit: Val, reads: list[Read]) -> Cause | None:
    """A date that was made of a text which is none, or of a text that the code made of several."""
    holes = [one for one in reads if one.value is None or is_absent(one.value)]
    if holes:
        return traced_to(failure, holes[0]) if len(holes) == 1 else None
    if isinstance(culprit.value, str) and culprit.at is None and all(one.value != culprit.value for one in reads):
        return _calculated(failure, thrown, culprit, reads)
    # The date itself, or one that was calculated from it.
    return _not_taken(failure, thrown, reads[0]) if len(reads) == 1 and isinstance(reads[0].value, str) else None


def _calculated(failure: Failure, thrown: Thrown, culprit: Val, reads: list[Read]) -> Cause:
    """A value that the code made of fields, and that a function does not take."""
    told = f"line {thrown.line} makes {shown_value(culprit.value)} of it, {_DESCRIBED[thrown.kind]}"
    if len(reads) == 1:
        cause = trace_value(failure.scene, reads[0].place, reads[0].path, f"and {told}")
        return replace(cause, certain=False)
    values = " and ".join(
        f"{'.'.join(one.path)}, which is {shown_value(one.value)}, {lineage(failure.scene, one.place, one.path)}"
        for one in reads[:_MOST_LISTS]
    )
    made = f"its line {thrown.line} makes {shown_value(culprit.value)}, {_DESCRIBED[thrown.kind]}"
    place = one_item(failure, reads)
    return Cause(node=failure.node, problem=f"{made}, of {values}", place=place, certain=False)


def _unread_date(failure: Failure, thrown: Thrown, culprit: Val, read: Read) -> Cause | None:
    """A text that is no date in the format which the code names. Either may be wrong."""
    if not culprit.unread:
        return None
    described = f"which {culprit.unread} does not read, so that it gives null; line {thrown.line} uses that"
    return replace(trace_value(failure.scene, read.place, read.path, described), certain=False)


def _looked_up(failure: Failure, thrown: Thrown, culprit: Val, read: Read) -> Cause:
    """A search with a value that the item has: whether the value or the code is wrong is not known."""
    maker = trace_value(failure.scene, read.place, read.path, "").node
    shown = f"{'.'.join(read.path)} is {shown_value(read.value)}, from '{maker}'"
    what = f"reads {thrown.message} of" if thrown.message else "needs"
    unmatched = f", in which {culprit.unmatched} finds nothing" if culprit.unmatched else ""
    problem = f"its line {thrown.line} {what} something that it does not find: {shown}{unmatched}"
    return Cause(node=failure.node, problem=problem, place=read.place)


def _made_by_code(failure: Failure, thrown: Thrown) -> Cause:
    """A value that came from no item: the code made it, or asked for it."""
    what = f"of {thrown.read_from}, which came from no item and is nothing" if thrown.read_from else ""
    made = what or "of something that its own code makes or looks up, and that is not there"
    if thrown.kind in ("nothing", "destructure"):
        return Cause(node=failure.node, problem=f"its line {thrown.line} reads {thrown.message} {made}")
    fails = _OF_OWN_VALUE.get(thrown.kind, f"fails because {what}" if what else "fails at a value that its code makes")
    return Cause(node=failure.node, problem=f"its line {thrown.line} {fails}")


def _with_gaps(failure: Failure, cause: Cause) -> Cause:
    """The cause with a field that the code reads, on any line, and that no item has: the value may be made of it."""
    gaps = [one for one in failure.references if one.names and is_plain(one) and _is_nowhere(failure, one)]
    told = "".join(f"; it reads {one.written}, which is in none of its items" for one in gaps[:1])
    place = failure.places[0] if told and failure.places else None
    there = f"; the {failure.scene.item_told(place)}" if place is not None else ""
    return replace(cause, problem=f"{cause.problem}{told}{there}", place=cause.place or place)


def _is_nowhere(failure: Failure, reference: Reference) -> bool:
    found = [value for _, value in failure.values(reference)]
    return bool(found) and all(map(is_absent, found))


def _by_key(failure: Failure, cause: Cause, culprit: Val) -> Cause:
    """The cause with the field that said which part to take: `limits[$json.level]`."""
    told = [
        f"{'.'.join(path)} is {shown_value(failure.scene.value(place, path))}, {lineage(failure.scene, place, path)}"
        for place, path in culprit.made
        if path
    ]
    # The key may be wrong, and so may the table: the code has written neither of the two names.
    return replace(cause, problem=f"{cause.problem}; {told[0]}", misread=False, own=False) if told else cause


def _is_odd(failure: Failure, read: Read) -> bool:
    """Whether other items have another value there, with which the code went on."""
    if len(failure.places) < 2 or read.place not in failure.places:
        return False
    others = [failure.scene.value(one, read.path) for one in failure.places[: failure.places.index(read.place)]]
    return bool(others) and all(type_name(one) == type_name(read.value) and one != read.value for one in others)


def _reads(failure: Failure, value: Val, *, tested: bool = False) -> list[Read]:
    spots: tuple[Spot, ...] = value.spots
    return [
        Read(place, path, failure.scene.value(place, path), tested)
        for place, path in spots
        if path and path[0] != FILES
    ]
