"""Evaluate an expression of a Code node on the items that it had, and remember which fields decided the result."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from dogubako.packs.n8n.diagnosis.javascript import Syntax
from dogubako.packs.n8n.diagnosis.javascript_values import (
    ABSENT,
    COMPUTE,
    FUNCTIONS,
    STATIC,
    UNKNOWN,
    is_empty,
    is_true,
    type_of,
)
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, value_at

_MOST_ELEMENTS: Final = 200
# Patterns come from workflows: those that could take long are not tried.
_LONGEST_MATCHED: Final = 200
_MOST_REPEATS: Final = 2
# Also bounded ones: a few of `{0,99}` in a row take as long as open ones.
VARIABLE_REPEAT = re.compile(r"[*+?]|\{\d*,\d*\}")


_ASKS_FORM = re.compile(r"is(?=[A-Z_])|valid|test$|match|check|verify|looks", re.IGNORECASE)
_OF_LISTS: Final = frozenset({"includes", "has", "indexOf"})


class Unknowable(Exception):  # noqa: N818 - it ends an evaluation, and nothing is wrong
    """The expression needs something that the execution does not show, or fails itself."""


@dataclass(frozen=True, slots=True)
class Read:
    """A field that decided something. `tested`: for its form, as `typeof` or a pattern does, not for its size."""

    place: Place
    path: tuple[str, ...]
    value: Any
    tested: bool = False
    # Whether it belongs to an element of a list for which a condition held that decided something.
    chosen: bool = False

    @property
    def is_empty(self) -> bool:
        return is_empty(self.value)


@dataclass(frozen=True, slots=True)
class Item:
    """A whole item, with `json` below it."""

    place: Place


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the fields that it was made from. `at` is where it lies, if it is a field itself.

    A list is a tuple of such values. `counted` names the node whose items were counted; "" is the own input.
    """

    value: Any
    read: tuple[Read, ...] = ()
    at: tuple[Place, tuple[str, ...]] | None = None
    counted: str | None = None

    @property
    def reads(self) -> tuple[Read, ...]:
        return (*self.read, Read(*self.at, self.value)) if self.at is not None else self.read

    @property
    def truth(self) -> bool | None:
        return is_true(self.value)


class Names(Protocol):
    """What the names in an expression stand for."""

    def named(self, name: str, scope: "Names") -> Value:
        """What a name stands for. Where it was declared as an expression, that is evaluated in `scope`."""

    def spend(self) -> None:
        """Count one step; Unknowable if there were too many. Code may be hostile."""

    def items(self, node: str | None, pick: str) -> list[Place]: ...

    def json(self, place: Place) -> Any: ...


def evaluate(syntax: Syntax, names: Names) -> Value:
    """The value of the expression; Unknowable if a name in it is not known."""
    names.spend()
    return _EVALUATE[syntax.kind](syntax, names)


def _binary(syntax: Syntax, names: Names) -> Value:
    operator, left = syntax.value, evaluate(syntax.parts[0], names)
    if operator in ("||", "&&", "??"):
        return _logical(operator, left, syntax.parts[1], names)
    right = evaluate(syntax.parts[1], names)
    reads, counted = (*left.reads, *right.reads), left.counted if left.counted is not None else right.counted
    if UNKNOWN in (left.value, right.value) or operator not in COMPUTE:
        return Value(UNKNOWN, reads, counted=counted)
    try:
        found = COMPUTE[operator](_number_like(left.value), _number_like(right.value))
        if any(one.chosen for one in left.reads) and not right.reads and isinstance(left.value, int):
            # Of the number of those that a list keeps: with none of them it may be the same, then they are no reason.
            reads = () if COMPUTE[operator](0, _number_like(right.value)) is found else reads
        return Value(found, reads, counted=counted)
    except (TypeError, ValueError, ArithmeticError):
        return Value(UNKNOWN, reads, counted=counted)


def _logical(operator: str, left: Value, second: Syntax, names: Names) -> Value:
    truth = left.truth
    if operator == "??":
        truth = None if truth is None else not (left.value is None or is_absent(left.value))
    if truth is (operator != "&&"):
        return left
    right = evaluate(second, names)
    if truth is None:
        return Value(UNKNOWN, (*left.reads, *right.reads))
    # In `a || b` a false `a` decides nothing; in `a && b` both do.
    return right if operator != "&&" else replace(right, read=(*left.reads, *right.read))


def _unary(syntax: Syntax, names: Names) -> Value:
    inner = evaluate(syntax.parts[0], names)
    if syntax.value == "typeof":
        return as_tested(Value(UNKNOWN if inner.value is UNKNOWN else type_of(inner.value), inner.reads))
    if syntax.value == "!":
        truth = inner.truth
        return Value(UNKNOWN if truth is None else not truth, inner.reads, counted=inner.counted)
    if syntax.value == "-" and isinstance(inner.value, (int, float)):
        return Value(-inner.value, inner.reads)
    return inner if syntax.value == "await" else Value(UNKNOWN, inner.reads)


def _choice(syntax: Syntax, names: Names) -> Value:
    decided = evaluate(syntax.parts[0], names)
    if decided.truth is None:
        return Value(UNKNOWN, decided.reads)
    chosen = evaluate(syntax.parts[1 if decided.truth else 2], names)
    return replace(chosen, read=(*decided.reads, *chosen.read))


def _member(syntax: Syntax, names: Names) -> Value:
    source = syntax.parts[0]
    if syntax.value == "item" and (node := _items_of(source)) is not None:
        return _picked(node[0], "item", names)
    if source.kind == "node" and syntax.value == "json":
        return _step(_picked(source.value, "item", names), "json", names)
    base = evaluate(source, names)
    return _step(base, str(syntax.value), names, optional=syntax.optional)


def _index(syntax: Syntax, names: Names) -> Value:
    source, key = syntax.parts[0], evaluate(syntax.parts[1], names)
    if source.kind == "name" and source.value == "$node" and isinstance(key.value, str):
        return _picked(key.value, "item", names)
    base = evaluate(source, names)
    if key.value is UNKNOWN or not isinstance(key.value, (str, int)):
        return Value(UNKNOWN, (*base.reads, *key.reads))
    found = _step(base, str(key.value), names, optional=syntax.optional)
    return replace(found, read=(*found.read, *key.reads))


def _step(base: Value, name: str, names: Names, *, optional: bool = False) -> Value:
    """A property of a value."""
    held = base.value
    if held is UNKNOWN:
        return _unknown(name, base.reads)
    if isinstance(held, Item):
        return Value(names.json(held.place), at=(held.place, ())) if name == "json" else Value(UNKNOWN)
    if held is None or is_absent(held):
        if optional:
            return Value(ABSENT, base.reads)
        # The code would have failed here, and not where it throws.
        raise Unknowable
    if name == "length" and isinstance(held, (str, list, tuple)):
        return Value(len(held), base.reads, counted=base.counted)
    if isinstance(held, tuple):
        return held[int(name)] if name.isdecimal() and int(name) < len(held) else Value(ABSENT, base.read)
    if isinstance(held, (Mapping, list)):
        at = (base.at[0], (*base.at[1], name)) if base.at is not None else None
        return Value(value_at(held, (name,)), base.read, at)
    return Value(ABSENT, base.reads)


def _items_of(source: Syntax) -> tuple[str | None] | None:
    """The node whose items `$input` or `$('X')` stands for, in a tuple, because None is the own input."""
    if source.kind == "node":
        return (source.value,)
    return (None,) if source.kind == "name" and source.value == "$input" else None


def _picked(node: str | None, pick: str, names: Names) -> Value:
    places = names.items(node, pick)
    if pick == "all":
        return Value(tuple(Value(Item(place)) for place in places[:_MOST_ELEMENTS]), counted=node or "")
    if not places:
        raise Unknowable
    return Value(Item(places[0]))


def _call(syntax: Syntax, names: Names) -> Value:
    callee, arguments = syntax.parts[0], syntax.parts[1:]
    if callee.kind == "member":
        node = _items_of(callee.parts[0])
        if node is not None and callee.value in ("first", "last", "all", "item", "itemMatching"):
            if node[0] is not None and arguments and callee.value != "itemMatching":
                # It may be another output.
                raise Unknowable
            return _picked(node[0], "item" if callee.value == "itemMatching" else str(callee.value), names)
        if callee.parts[0].kind == "name" and callee.parts[0].value in STATIC:
            return _function(f"{callee.parts[0].value}.{callee.value}", arguments, names)
        return _method(evaluate(callee.parts[0], names), str(callee.value), arguments, names, callee.optional)
    if callee.kind == "name" and callee.value == "$items" and arguments and arguments[0].kind == "literal":
        return _picked(str(arguments[0].value), "all", names)
    return _function(str(callee.value) if callee.kind == "name" else "", arguments, names)


def _function(name: str, arguments: tuple[Syntax, ...], names: Names) -> Value:
    """A call of a function: of those of the language the result is known, of others what they were given."""
    given = [evaluate(one, names) for one in arguments if one.kind != "function"]
    reads = tuple(read for one in given for read in one.reads)
    known = FUNCTIONS.get(name)
    if known is None or len(given) < 1 or given[0].value is UNKNOWN:
        return _unknown(name, reads)
    result = Value(known(given[0].value), reads)
    return result if name in ("Number", "String", "Boolean", "parseInt", "parseFloat") else as_tested(result)


def _method(base: Value, name: str, arguments: tuple[Syntax, ...], names: Names, optional: bool) -> Value:
    held = base.value
    if held is None or is_absent(held):
        if optional:
            return Value(ABSENT, base.reads)
        raise Unknowable
    if isinstance(held, (list, tuple)) and arguments and arguments[0].kind == "function":
        return _with_callback(base, name, arguments[0], names)
    given = [evaluate(one, names) for one in arguments if one.kind != "function"]
    reads = (*base.reads, *(read for one in given for read in one.reads))
    if UNKNOWN in [held, *(one.value for one in given)]:
        return _unknown(name, reads)
    result = _computed(held, name, [plain(one) for one in given])
    found = Value(result, reads, counted=base.counted if name in ("slice", "reverse") else None)
    # Whether it is one of a list may be a rule; what it looks like is a question of form.
    return as_tested(found) if (isinstance(result, bool) and name not in _OF_LISTS) or result is UNKNOWN else found


def _computed(held: Any, name: str, given: list[Any]) -> Any:
    texts: dict[str, Callable[[str], Any]] = {
        "trim": str.strip, "toLowerCase": str.lower, "toUpperCase": str.upper, "toString": str,
    }  # fmt: skip
    if isinstance(held, str) and name in texts:
        return texts[name](held)
    if isinstance(held, re.Pattern) and name == "test" and given:
        return held.search(str(given[0])[:_LONGEST_MATCHED]) is not None
    if isinstance(held, str) and given and isinstance(given[0], re.Pattern) and name == "match":
        return True if given[0].search(held[:_LONGEST_MATCHED]) else None
    if isinstance(held, str) and given and isinstance(given[0], str):
        tests: dict[str, Any] = {"includes": given[0] in held, "startsWith": held.startswith(given[0])}
        tests |= {"endsWith": held.endswith(given[0]), "indexOf": held.find(given[0]), "split": held.split(given[0])}
        return tests.get(name, UNKNOWN)
    if isinstance(held, (list, tuple)) and given and name in ("includes", "indexOf"):
        listed = [plain(one) if isinstance(one, Value) else one for one in held]
        same = [index for index, one in enumerate(listed) if type(one) is type(given[0]) and one == given[0]]
        return bool(same) if name == "includes" else same[0] if same else -1
    return UNKNOWN


def _with_callback(base: Value, name: str, function: Syntax, names: Names) -> Value:
    """`rows.some((row) => …)` and its like."""
    elements = elements_of(base)
    results = [evaluate(function.parts[0], Bound(names, function.value[:1], (one,))) for one in elements]
    reads = (*base.reads, *(read for one in results for read in one.reads))
    truths = [one.truth for one in results]
    if name == "map":
        return Value(tuple(results), base.read, counted=base.counted)
    if None in truths or name not in ("some", "every", "filter", "find"):
        return Value(UNKNOWN, reads)
    kept = tuple(one for one, truth in zip(elements, truths, strict=True) if truth)
    answer = {"some": any(truths), "every": all(truths)}.get(name, bool(kept))
    # What a list keeps, or what answers for all of it, is the reason; of others it is only that nothing was found.
    decisive = [one for one, truth in zip(results, truths, strict=True) if truth is answer]
    if answer is (name != "every"):
        read = (one for result in decisive for one in result.reads)
        reads = (*base.reads, *(replace(one, chosen=True) for one in read))
    if name == "filter":
        return Value(kept, reads)
    if name == "find":
        return kept[0] if kept else Value(ABSENT, reads)
    return Value(answer, reads)


def elements_of(base: Value) -> list[Value]:
    """The elements of a list, each with its own place."""
    if isinstance(base.value, tuple):
        return list(base.value)
    if not isinstance(base.value, list):
        raise Unknowable
    at = base.at
    return [
        Value(one, base.read, (at[0], (*at[1], str(index))) if at is not None else None)
        for index, one in enumerate(base.value[:_MOST_ELEMENTS])
    ]


@dataclass(frozen=True, slots=True)
class Bound:
    """Names with further ones, which stand for values: parameters, and what a loop is at."""

    names: Names
    bound: tuple[str, ...]
    values: tuple[Value, ...]

    def named(self, name: str, scope: Names) -> Value:
        return self.values[self.bound.index(name)] if name in self.bound else self.names.named(name, scope)

    def spend(self) -> None:
        self.names.spend()

    def items(self, node: str | None, pick: str) -> list[Place]:
        return self.names.items(node, pick)

    def json(self, place: Place) -> Any:
        return self.names.json(place)


def plain(one: Value) -> Any:
    return [plain(each) for each in one.value] if isinstance(one.value, tuple) else one.value


def _unknown(name: str, reads: tuple[Read, ...]) -> Value:
    """What something unknown gives. Names such as `isValid` say that it asks for the form."""
    value = Value(UNKNOWN, reads)
    return as_tested(value) if _ASKS_FORM.match(name) else value


def as_tested(one: Value) -> Value:
    """The same value; its fields were tested for their form."""
    return replace(one, read=tuple(replace(read, tested=True) for read in one.reads), at=None)


def _pattern(syntax: Syntax, _: Names) -> Value:
    body, flags = syntax.value
    if "(" in body or len(VARIABLE_REPEAT.findall(body)) > _MOST_REPEATS:
        return Value(UNKNOWN)
    try:
        return Value(re.compile(body, re.IGNORECASE if "i" in flags else 0))
    except (re.error, OverflowError, RecursionError):
        return Value(UNKNOWN)


def _number_like(value: Any) -> Any:
    if isinstance(value, (list, dict, tuple, Item)):
        raise TypeError
    return value


_EVALUATE: Final[Mapping[str, Callable[[Syntax, Names], Value]]] = {
    "literal": lambda syntax, _: Value(syntax.value),
    "unknown": lambda *_: Value(UNKNOWN),
    "function": lambda *_: Value(UNKNOWN),
    "pattern": _pattern,
    "name": lambda syntax, names: names.named(syntax.value, names),
    "node": lambda *_: Value(UNKNOWN),
    "list": lambda syntax, names: Value(tuple(evaluate(one, names) for one in syntax.parts)),
    "binary": _binary,
    "unary": _unary,
    "choice": _choice,
    "member": _member,
    "index": _index,
    "call": _call,
    "new": lambda syntax, names: Value(UNKNOWN, evaluate(syntax.parts[0], names).reads),
}
