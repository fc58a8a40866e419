"""Rules that follow the code of a node: what its condition tested before a `throw`, what a line read from nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.counts import too_few
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.evaluation import Item, Names, Read, Unknowable, Value, as_tested, evaluate, plain
from dogubako.packs.n8n.diagnosis.failures import OF_NOTHING, Failure
from dogubako.packs.n8n.diagnosis.guards import Block, Guard, blocks_around, declared_value, guard_of, receivers, rounds
from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED, ParseError, Syntax, parse_whole
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN, is_numeric
from dogubako.packs.n8n.diagnosis.number_rules import joined_texts
from dogubako.packs.n8n.diagnosis.references import Reference, references
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.trace import swallowed_before, trace_missing, trace_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names

_GLOBALS: Final = frozenset(
    """
    Date Math JSON Object Array Number String Boolean RegExp Set Map DateTime Buffer console this isNaN parseInt
    parseFloat $now $today $execution $workflow $env $vars $runIndex $itemIndex $prevNode $getWorkflowStaticData
    """.split()  # noqa: SIM905 - a list of names reads best so
)
# Steps of one evaluation: names stand for expressions of names, and loops lie in loops.
_MOST_STEPS: Final = 3_000
_FIRST_ITEM = of_names(r"(?<![\w$.])\$json\b")
_MOST_PLACES: Final = 1_000
_MOST_EMPTY: Final = 4
_MOST_TOLD: Final = 3


@dataclass
class Budget:
    """How many steps are left."""

    left: int = _MOST_STEPS


@dataclass(frozen=True)
class CodeNames:
    """The names in the code of a node, while it works on one item."""

    failure: Failure
    place: Place | None
    budget: Budget

    def spend(self) -> None:
        self.budget.left -= 1
        if self.budget.left < 0:
            raise Unknowable

    def named(self, name: str, scope: Names) -> Value:
        if name == "$json" and self.place is not None:
            return Value(self.json(self.place), at=(self.place, ()))
        if name in ("items", "item") and not re.search(rf"(?:const|let|var)\s++{name}\b", self.failure.code):
            if name == "item" and self.place is not None:
                return Value(Item(self.place))
            return Value(tuple(Value(Item(place)) for place in self.items(None, "all")), counted="")
        if name in ("undefined", "NaN"):
            return Value(ABSENT if name == "undefined" else float("nan"))
        if name in _GLOBALS:
            return Value(UNKNOWN)
        return declared_value(self.failure.code, name, scope)

    def items(self, node: str | None, pick: str) -> list[Place]:
        reference = Reference(node=node, pick=pick, path=(Step("json"),))
        return self.failure.scene.places_read(reference, self.place, self.failure.run)

    def json(self, place: Place) -> Any:
        return self.failure.scene.json(place)


# Comparisons of a length that ask whether there is any element.
_ANY: Final = {">": 0, "!==": 0, "!=": 0, ">=": 1}
# A method that is given to a function of lists as it is.
_PASSED_ON = of_names(
    r"\.(?:map|flatMap|forEach|filter|find|some|every|then)\(\s*+([^\W\d][\w$]{0,60}+\.[^\W\d][\w$]{0,60}+)\s*+[,)]"
)


def refused_by_guard(failure: Failure) -> Cause | None:
    """The condition before a `throw` was met because of a field: who made it."""
    return _refused(failure, in_doubt=False)


def refused_in_doubt(failure: Failure) -> Cause | None:
    """The fields in a condition that has to have been met, although its value is not known."""
    return _refused(failure, in_doubt=True)


def _refused(failure: Failure, *, in_doubt: bool) -> Cause | None:
    if not failure.is_code or len(failure.code) > LONGEST_CODE_FOLLOWED:
        return None
    guard = guard_of(failure.code, failure.line, failure.message)
    decided = _decided(failure, guard) if guard is not None else None
    if decided is None or (decided.truth is None) is not in_doubt:
        return None
    if decided.counted is not None:
        if decided.reads or decided.value is UNKNOWN:
            # Fields took part as well, or something unknown did: the count alone is not to blame.
            return None
        return too_few(failure, decided.counted, "throws this because of how many items it received")
    return blamed_for(failure, decided.reads)


def blamed_for(failure: Failure, read: Iterable[Read], *, calculated: bool = False) -> Cause | None:
    """Who made the field that decided it; the code itself, if there were several."""
    reads = _singled(failure, _deciding(read), calculated=calculated)
    for one in reads:
        if one.path[0] == "error" and (swallowed := swallowed_before(failure.scene, one.place)) is not None:
            return swallowed
    if len(reads) == 1:
        return _blamed(failure, reads[0])
    return _all_empty(failure, reads) or _own(failure, reads) if reads else None


def _singled(failure: Failure, reads: list[Read], *, calculated: bool) -> list[Read]:
    """Without the values of a field in several items, of which it is not known which of them decided it.

    What was calculated from a few of them was made of all of them.
    """
    if calculated and len(reads) <= _MOST_TOLD:
        return reads
    groups: dict[tuple[str, ...], list[Read]] = {}
    for one in reads:
        groups.setdefault((one.place.node, *_unnumbered(one.path)), []).append(one)
    said = set(of_names(r"[\w.-]+").findall(failure.plain))
    odd = [one for group in groups.values() for one in group if _is_no_number(one.value, group)]
    alone = [group[0] for group in groups.values() if len(group) == 1]
    return [one for one in reads if one.chosen or one.is_empty or one in alone or one in odd or str(one.value) in said]


def _is_no_number(value: Any, group: list[Read]) -> bool:
    """Whether it is a text that is no number among numbers."""
    return isinstance(value, str) and not is_numeric(value) and any(is_numeric(one.value) for one in group)


def _unnumbered(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in path if not one.isdecimal())


def _all_empty(failure: Failure, reads: list[Read]) -> Cause | None:
    """One earlier node that gave out several empty fields."""
    causes = [traced_to(failure, read) for read in reads[:_MOST_EMPTY] if read.is_empty]
    nodes = {one.node for one in causes}
    if len(causes) != len(reads) or len(nodes) != 1 or failure.node in nodes:
        return None
    told = f"{' and '.join(one.problem for one in causes)}, so '{failure.node}' throws this{_line(failure)}"
    return causes[0].with_problem(told)


def _of_counted(condition: Syntax, names: Names, value: Value) -> tuple[Read, ...]:
    """The fields that decided a condition; of a list that must not be empty, only those of the elements in it."""
    compared = condition.kind == "binary" and condition.value in _ANY and condition.parts[1].kind == "literal"
    counted = condition.parts[0] if compared and condition.parts[1].value == _ANY[condition.value] else condition
    if value.at is not None or counted.kind != "member" or counted.value != "length":
        return value.read
    listed = evaluate(counted.parts[0], names).value
    elements = listed if isinstance(listed, tuple) else ()
    spots = [(one.value.place, ()) if isinstance(one.value, Item) else one.at for one in elements]
    kept = [one for one in spots if one is not None]
    inside = tuple(
        read
        for read in value.read
        if any(read.place == place and read.path[: len(path)] == path for place, path in kept)
    )
    return inside if len(kept) == len(elements) and inside else value.read


def _decided(failure: Failure, guard: Guard) -> Value | None:
    """The value of the condition in the first round in which it was met."""
    doubtful: list[Value] = []
    number = 0
    try:
        for names in every_round(failure, guard.around):
            number += 1
            left = [evaluate(one, names).truth for one in guard.exits]
            if True in left:
                continue
            value = evaluate(guard.condition, names)
            if None in left:
                value = replace(value, value=UNKNOWN)
            met = value.truth
            if guard.cases is not None and met is not None:
                met, value = plain(value) not in guard.cases, as_tested(value)
            if met is None:
                doubtful.append(value)
            elif met is guard.wanted and not doubtful:
                return replace(value, read=_of_counted(guard.condition, names, value)) if met else value
    except (Unknowable, ParseError, RecursionError):
        return None
    # What a function of the code says is not known; with only one item it must have been this one.
    return doubtful[0] if number == 1 and doubtful else None


def every_round(failure: Failure, around: Sequence[Block]) -> Iterator[Names]:
    """The names as they may have been at a place of the code, for every item and every round of the loops around."""
    places: list[Place | None] = [*failure.places[:_MOST_PLACES]] if _runs_for_each(failure) else [*failure.places[:1]]
    budget = Budget()
    for place in places or [None]:
        yield from rounds(failure.code, around, CodeNames(failure, place, budget))


def _runs_for_each(failure: Failure) -> bool:
    return failure.settings.get("mode") == "runOnceForEachItem" or failure.kind == "functionItem"


def read_from_nothing(failure: Failure) -> Cause | None:
    """`Cannot read properties of undefined`: the expression on the line that was nothing, in the first round."""
    message = OF_NOTHING.search(failure.message)
    if message is None or message[1] is None or failure.line is None or not failure.is_code:
        return None
    if len(failure.code) > LONGEST_CODE_FOLLOWED:
        return None
    found = []
    for place, text in receivers(failure.code, failure.line, message[1]):
        try:
            syntax, around = parse_whole(text), blocks_around(failure.code, place)
            for names in every_round(failure, around):
                value = evaluate(syntax, names)
                if value.value is None or is_absent(value.value):
                    found.append(value)
                    break
        except (Unknowable, ParseError, RecursionError):
            return None
    reads = [read for value in found for read in value.reads if read.path and read.is_empty]
    return traced_to(failure, reads[0]) if len({(read.place, read.path) for read in reads}) == 1 else None


def _deciding(decided: Iterable[Read]) -> list[Read]:
    """The fields that explain the result: the empty ones if there are some, else those that were tested, else all."""
    unique = list({(read.place, read.path): read for read in decided if read.path}.values())
    empty = [read for read in unique if read.is_empty]
    tested = [read for read in unique if read.tested]
    return empty or tested or unique


def _blamed(failure: Failure, read: Read) -> Cause | None:
    """The maker of the field. A plain comparison may be a rule of the business, so data as they came are not blamed."""
    cause = traced_to(failure, read)
    if cause.place is not None and (wrong := joined_texts(failure.scene, cause.place, cause.path)) is not None:
        return wrong.with_problem(f"{wrong.problem}, so '{failure.node}' throws this{_line(failure)}")
    proven = cause.misread or cause.lost
    if not (proven or read.is_empty or read.tested or _was_changed(failure, cause, read.path[0])):
        if not _was_computed(failure, cause, read.path[0]):
            return _own(failure, [read])
        cause = replace(cause, certain=False)
    return cause.with_problem(f"{cause.problem}, so '{failure.node}' throws this{_line(failure)}")


def traced_to(failure: Failure, read: Read) -> Cause:
    """Who made the field what it is, or lost it."""
    listed = failure.scene.value(read.place, read.path[:-1]) if read.path[1:] else None
    if is_absent(read.value) and isinstance(listed, list) and read.path[-1].isdecimal():
        if not listed:
            return trace_value(failure.scene, read.place, read.path[:-1], "an empty list")
        problem = f"it reads index {read.path[-1]} of {'.'.join(read.path[:-1])}, a list of {len(listed)}"
        return Cause(node=failure.node, problem=problem, place=read.place)
    if is_absent(read.value):
        reference = Reference(node=None, pick="item", path=tuple(Step(name) for name in read.path))
        return trace_missing(failure.scene, failure.node, reference, read.place, read.path)
    return trace_value(failure.scene, read.place, read.path, f"which '{failure.node}' does not accept")


def _was_changed(failure: Failure, cause: Cause, name: str) -> bool:
    """Whether the node changed this field of an item that it received, or added it; not whether it brought it in."""
    scene, place = failure.scene, cause.place
    parents = scene.parents(place) if place is not None else []
    if place is None or not parents:
        return False
    here, before = scene.json(place), scene.json(parents[0])
    if not isinstance(here, dict) or not isinstance(before, dict) or not before:
        return False
    return name in before or here.keys() >= before.keys()


def _was_computed(failure: Failure, cause: Cause, name: str) -> bool:
    """Whether an earlier node's code made this field out of other fields that it received."""
    scene, place = failure.scene, cause.place
    if place is None or place.node == failure.node or scene.kind(place.node) not in CODE_TYPES:
        return False
    received = scene.parents(place) or scene.possible_parents(place)
    known = {key for one in received if isinstance(data := scene.json(one), dict) for key in data}
    read = {one.names[0] for one in references(scene.settings.get(place.node, {})) if one.node is None}
    return name not in known and bool(known & read)


def _own(failure: Failure, reads: list[Read]) -> Cause:
    shown = " and ".join(_told(failure, read) for read in reads[:_MOST_TOLD])
    if len(failure.places) > 1 and _FIRST_ITEM.search(failure.code) and not _runs_for_each(failure):
        shown = f"{shown}; $json is only the first of its {len(failure.places)} items"
    walk = failure.scene.walk(reads[0].place) if reads else []
    off = next(
        (one.node for one in walk if (at := failure.scene.nodes.get(one.node)) is not None and at.disabled), None
    )
    tail = f"; '{off}' before it is disabled" if off else ""
    problem = f"its code throws this itself{_line(failure)}, because {shown}{tail}"
    read = (reads[0].place, reads[0].path) if len(reads) == 1 else None
    return Cause(node=failure.node, problem=problem, place=one_item(failure, reads), read=read)


def one_item(failure: Failure, reads: Iterable[Read]) -> Place | None:
    """The item that all of these fields are of, if it is one that the node received."""
    places = {read.place for read in reads}
    return next(iter(places)) if len(places) == 1 and places <= set(failure.places) else None


def _told(failure: Failure, read: Read) -> str:
    """The value of a field, and who made it."""
    held = f"a list of {len(read.value)}" if isinstance(read.value, list) else shown_value(read.value)
    value = f"{'.'.join(read.path)} is {'missing' if is_absent(read.value) else held}"
    maker = traced_to(failure, read).node
    return f"{value}, from '{maker}'" if maker != failure.node else value


def _line(failure: Failure) -> str:
    return f" in line {failure.thrown_line}" if failure.thrown_line else ""


def this_lost(failure: Failure) -> Cause | None:
    """A method that was passed on as a function: its `this` is undefined."""
    message = OF_NOTHING.search(failure.message)
    line = _failing_line(failure) if message is not None and "undefined" in failure.message else ""
    if message is None or not message[1] or f"this.{message[1]}" not in line:
        return None
    others = of_names(rf"(?<![\w$\])])([\w$\])]{{1,100}}+)\s*+\??\.{re.escape(message[1])}\b").findall(line)
    if any(one != "this" for one in others):
        return None
    passed = _PASSED_ON.search(failure.code)
    where = f"; {passed[1]} is passed on without its object" if passed else ""
    problem = f"its line {failure.line} reads {message[1]} of this, which is undefined there{where}"
    return Cause(node=failure.node, problem=problem, certain=False)


def named_on_line(failure: Failure) -> Cause | None:
    """A name before the property that was read of nothing, on the failing line, that items on the way still had."""
    message = OF_NOTHING.search(failure.message)
    if message is None or not message[1]:
        return None
    found = of_names(rf"\.([\w$]{{1,100}}+)\??\.{re.escape(message[1])}\b").findall(_failing_line(failure))
    if len(set(found)) != 1:
        return None
    (name,), scene = set(found), failure.scene
    values = {place: scene.value(place, (name,)) for place in failure.places}
    nulls = [place for place, value in values.items() if value is None]
    gone = [place for place, value in values.items() if is_absent(value)]
    if "of null" in failure.message and nulls:
        return replace(trace_value(scene, nulls[0], (name,), "null"), certain=False)
    if "of undefined" not in failure.message or not gone:
        return None
    cause = failure.trace_gap(Reference(node=None, pick="item", path=(Step(name),)), gone[0])
    return replace(cause, certain=False) if cause.lost or cause.misread or len(gone) < len(values) else None


def _failing_line(failure: Failure) -> str:
    lines = failure.code.split("\n") if failure.is_code and failure.line is not None else []
    return lines[failure.line - 1] if failure.line is not None and 0 < failure.line <= len(lines) else ""
