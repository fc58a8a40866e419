"""Members of values, calls of their methods, and `new`."""

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final, Literal, Protocol

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.lists import LIST_METHODS, list_call
from dogubako.packs.n8n.diagnosis.replay.luxon import luxon_call, luxon_field, luxon_method, unread_date
from dogubako.packs.n8n.diagnosis.replay.refusals import check_digits
from dogubako.packs.n8n.diagnosis.replay.statics import static_call
from dogubako.packs.n8n.diagnosis.replay.texts import TEXT_METHODS, is_match, not_matched, text_call
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Class,
    Func,
    Missed,
    Native,
    Obj,
    Sifted,
    Thrown,
    Val,
    made_of,
    nearest,
    tested,
    text_of,
    written_with,
)

# Methods whose callback answers by its truth.
_ASKS: Final = frozenset({"filter", "find", "findIndex", "some", "every"})
# Methods that look for a value without a callback.
_SEEKS: Final = frozenset({"includes", "indexOf"})
_MOST_DEEP: Final = 8
_MOST_DIGITS: Final = 20
_LARGEST_FIXED: Final = 1e15
_EXACT: Final = Context(prec=60)
NUMBER_METHODS: Final = frozenset({"toFixed", "toPrecision", "toLocaleString", "toString", "valueOf", "toExponential"})
OBJECT_METHODS: Final = frozenset({"hasOwnProperty", "toString", "valueOf", "toLocaleString", "propertyIsEnumerable"})


class Runner(Protocol):
    """What runs functions of the code."""

    def spend(self, steps: int = 1) -> None: ...

    def ask(self, value: Val) -> Val: ...

    def sift(self, sifted: Sifted) -> None: ...

    def tell_apart(self, one: Val, other: Val) -> None: ...

    def read_pattern(self, given: list[Val], line: int) -> Val: ...

    def call(self, function: Val, given: list[Val], line: int, this: Val | None = None) -> Val: ...

    def initialize(self, made: Class, this: Val, given: list[Val], line: int) -> None: ...


def member_of(held: Val, name: str, line: int, runner: Runner) -> Val:
    """`held.name`; TypeError of the code if `held` is nothing."""
    value = held.value
    if held.is_nothing:
        raise Thrown("nothing", name, line, held)
    if value is UNKNOWN:
        return made_of(UNKNOWN, held)
    if isinstance(value, Obj):
        getter = _inherited(value.of, name, "getters")
        return _of_object(held, value, name) if getter is None else runner.call(Val(getter), [], line, held)
    if isinstance(value, Arr):
        if name == "length":
            return replace(made_of(len(value.elements), Val(None, None, value.made or held.spots)), chosen=value.chosen)
        if name.startswith("-"):
            # Of an empty list it is the last element that is not there.
            return value.get(0) if not value.elements else Val(ABSENT, None, value.made or held.spots)
        if name.isdecimal():
            return value.get(int(name))
        return made_of(UNKNOWN, held) if value.matched else _no_field(held, name, LIST_METHODS)
    if isinstance(value, str):
        if name == "length":
            return made_of(len(value), held)
        if name.isdecimal():
            return made_of(value[int(name)] if int(name) < len(value) else ABSENT, held)
        return _no_field(held, name, TEXT_METHODS)
    if isinstance(value, Class):
        return value.statics.get(name, Val(value.name if name == "name" else ABSENT))
    if isinstance(value, (Func, Native)):
        return Val(UNKNOWN)
    return _no_field(held, name, NUMBER_METHODS)


def _no_field(held: Val, name: str, methods: frozenset[str]) -> Val:
    """A method, or a field that a text, a number or a list does not have."""
    if name in methods:
        return Val(UNKNOWN, None, held.spots)
    return Val(ABSENT, (held.at[0], (*held.at[1], name)) if held.at is not None else None, held.made)


def _of_object(held: Val, value: Obj, name: str) -> Val:
    if value.kind == "static":
        return Val(UNKNOWN)
    if value.kind in ("map", "set") and name == "size":
        return made_of(len(value.fields["·all"].value.elements), held)
    if value.kind == "luxon":
        return luxon_field(held, name)
    if value.kind in {"date", "pattern"}:
        return made_of(UNKNOWN, held)
    found = value.get(name)
    if found.is_nothing and name not in value.fields:
        method = _inherited(value.of, name, "methods")
        if method is not None:
            return Val(method)
        if name in OBJECT_METHODS or value.kind == "error":
            return Val(UNKNOWN)
    return found


def _inherited(made: Class | None, name: str, kind: Literal["methods", "getters"]) -> Func | None:
    """The method or getter of this name, of the class or of one above it."""
    while made is not None:
        held: dict[str, Func] = getattr(made, kind)
        if name in held:
            return held[name]
        made = made.parent
    return None


def called(held: Val, name: str, given: Callable[[], list[Val]], line: int, runner: Runner) -> Val:
    """`held.name(…)`. The arguments are evaluated before it is known whether there is such a method."""
    value = held.value
    arguments = given()
    if value is UNKNOWN:
        return made_of(UNKNOWN, held, *deep(arguments))
    if isinstance(value, Obj):
        return _called_on_object(held, value, name, arguments, line, runner)
    if isinstance(value, Arr) and name in LIST_METHODS:
        runner.spend(1 + len(value.elements) // 8 + len(arguments))
        if name not in _ASKS:
            made = list_call(held, name, arguments, line, runner.call)
            for one in value.elements if name in _SEEKS and made.value in (False, -1) else ():
                runner.tell_apart(arguments[0] if arguments else Val(ABSENT), one)
            return made
        made = list_call(held, name, arguments, line, lambda *one: runner.ask(runner.call(*one)))
        if isinstance(made.value, Arr) and made.value.sifted is not None:
            runner.sift(made.value.sifted)
        return made
    if isinstance(value, str) and name in TEXT_METHODS:
        return text_call(held, name, arguments, line)
    if isinstance(value, (int, float)) and name in NUMBER_METHODS and not isinstance(value, bool):
        check_digits(name, arguments, line)
        return _number_call(held, name, arguments)
    if isinstance(value, bool) and name == "toString":
        return made_of(text_of(value), held)
    if isinstance(value, Class) and name in value.statics:
        return runner.call(value.statics[name], arguments, line, held)
    if isinstance(value, (Func, Native)):
        raise Unknowable
    raise Thrown("function", name, line, held)


def _number_call(held: Val, name: str, given: list[Val]) -> Val:
    """A method of a number; what depends on the language of the machine is not known."""
    if name == "toString" and not given:
        return _told(held, text_of(held.value))
    if name in ("toFixed", "toPrecision", "toExponential") and not math.isfinite(held.value):
        return _told(held, text_of(float(held.value)))
    digits = given[0].value if given else 0
    if name != "toFixed" or not isinstance(digits, int) or not 0 <= digits <= _MOST_DIGITS:
        return made_of(UNKNOWN, held)
    if abs(held.value) >= _LARGEST_FIXED:
        return made_of(UNKNOWN, held)
    fixed = Decimal(held.value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT)
    return made_of(f"{fixed:f}", held)


def _told(held: Val, text: Any) -> Val:
    """The text of a number, which knows that the number was none."""
    return written_with(text, held)


def _called_on_object(held: Val, value: Obj, name: str, given: list[Val], line: int, runner: Runner) -> Val:
    if value.kind == "static" and value.fields["·name"].value == "DateTime":
        return luxon_call(name, given)
    if value.kind == "static":
        return static_call(f"{value.fields['·name'].value}.{name}", given, line)
    if value.kind == "pattern" and name == "exec" and given and isinstance(given[0].value, str):
        # A global pattern remembers where it found something.
        again = set(value.fields["·flags"].value) & set("gy")
        found = bool(again) or is_match(value, given[0].value) is not False
        return made_of(UNKNOWN, given[0]) if found else not_matched(value, given[0])
    if value.kind == "pattern":
        known = (
            is_match(value, given[0].value) if name == "test" and given and isinstance(given[0].value, str) else None
        )
        return tested(UNKNOWN if known is None else known, given[0]) if given else Val(UNKNOWN)
    if value.kind == "date":
        return _date_call(value, name, line)
    if value.kind == "luxon":
        return luxon_method(held, value, name)
    if value.kind in ("map", "set"):
        return _store_call(held, value, name, given, line, runner)
    function = member_of(held, name, line, runner)
    if function.is_nothing or (function.is_known and not isinstance(function.value, (Func, Native))):
        raise Thrown("function", name, line, function if not function.is_nothing else held)
    return runner.call(function, given, line, held)


def _date_call(value: Obj, name: str, line: int) -> Val:
    given, unread = value.fields["·given"], unread_date(Val(value))
    if unread is not None and name in ("toISOString", "toJSON"):
        raise Thrown("date", "Invalid time value", line, given)
    if unread is not None and name in ("getTime", "valueOf", "getFullYear", "getMonth", "getDate", "getDay"):
        return unread
    return made_of(UNKNOWN, given)


def _store_call(held: Val, value: Obj, name: str, given: list[Val], line: int, runner: Runner) -> Val:
    """Methods of Map and Set. A Map holds pairs."""
    listed: Arr = value.fields["·all"].value
    runner.spend(1 + len(listed.elements) // 8)
    first = given[0] if given else Val(ABSENT)
    if not first.is_known or isinstance(first.value, (Obj, Arr)):
        raise Unknowable
    keys = [one.value.get(0) for one in listed.elements] if value.kind == "map" else listed.elements
    place = next((index for index, one in enumerate(keys) if _same(one, first)), None)
    if name in ("has", "get"):
        if name == "get" and place is not None:
            return listed.elements[place].value.get(1) if value.kind == "map" else Val(UNKNOWN)
        # Whether it is there depends on the list that the store was made of, too.
        answer = made_of(place is not None, first, held) if name == "has" else made_of(ABSENT, first)
        if place is None and (name == "has" or value.kind == "map"):
            near = nearest(first.value, [one.value for one in keys if one.is_known])
            answer.sought = first.value, near
            if name == "get":
                of_items = any(one.spots for one in (*keys[:_MOST_DEEP], *_stored(listed)))
                answer.missed = Missed(first.value, near, of_items)
        return answer
    if name in ("set", "add"):
        made = Val(Arr([first, given[1] if len(given) > 1 else Val(ABSENT)])) if value.kind == "map" else first
        if place is None:
            listed.elements.append(made)
        elif value.kind == "map":
            listed.elements[place] = made
        return held
    if name in ("values", "keys", "entries"):
        index = {"values": 1, "keys": 0}.get(name)
        if value.kind == "set" or index is None:
            return Val(Arr([*listed.elements]))
        return Val(Arr([one.value.get(index) for one in listed.elements]))
    raise Unknowable


def _stored(listed: Arr) -> list[Val]:
    """Some of the values of a Map."""
    return [one.value.get(1) for one in listed.elements[:_MOST_DEEP]]


def _same(one: Val, other: Val) -> bool:
    return type(one.value) is type(other.value) and one.value == other.value


def constructed(function: Val, given: list[Val], line: int, runner: Runner) -> Val:
    """`new X(…)`."""
    if given and isinstance(given[0].value, Arr):
        # Every element is compared with those before it.
        runner.spend(len(given[0].value.elements) ** 2 // 64)
    made, first = function.value, given[0] if given else Val(ABSENT)
    if isinstance(made, Class):
        this = Val(Obj(of=made, kind="error" if made.is_error else "object"))
        runner.initialize(made, this, given, line)
        return this
    if isinstance(made, Obj) and made.kind == "static":
        name = str(made.fields["·name"].value)
        return runner.read_pattern(given, line) if name == "RegExp" else _built(name, given, first, line)
    if function.is_known:
        raise Unknowable
    return made_of(UNKNOWN, *deep(given)) if given else Val(UNKNOWN)


def _built(name: str, given: list[Val], first: Val, line: int) -> Val:
    if name in ("Map", "Set"):
        if not given or first.is_nothing:
            held: list[Val] = []
        elif isinstance(first.value, Arr):
            held = [*first.value.elements]
        elif first.is_known and not isinstance(first.value, (str, Obj)):
            raise Thrown("iterable", None, line, first)
        else:
            raise Unknowable
        made = Obj(kind=name.lower())
        store = Val(Obj({"·all": Val(Arr([]))}, kind=name.lower()))
        for one in held:
            if name == "Map" and not isinstance(one.value, Arr):
                raise Unknowable
            parts = [one.value.get(0), one.value.get(1)] if name == "Map" else [one]
            _store_call(store, store.value, "set" if name == "Map" else "add", parts, line, _NoRunner())
        made.fields = store.value.fields
        return Val(made, None, first.spots)
    if name == "Date":
        # Year, month and day as numbers make other dates than a text.
        told = first if len(given) == 1 else made_of(UNKNOWN, *given) if given else Val(UNKNOWN)
        return Val(Obj({"·given": told}, kind="date"), None, told.spots)
    if name == "Array" and len(given) == 1 and isinstance(first.value, (int, float)):
        if first.value < 0 or first.value != int(first.value):
            raise Thrown("length", "Invalid array length", line, first)
        if first.value > 1_000:
            raise Unknowable
        return Val(Arr([Val(ABSENT) for _ in range(int(first.value))]))
    if name in ("Error", "TypeError", "RangeError"):
        return Val(Obj({"message": made_of(text_of(first.value), first) if given else Val("")}, kind="error"))
    return made_of(UNKNOWN, *deep(given)) if given else Val(UNKNOWN)


def deep(given: list[Val]) -> list[Val]:
    """The arguments, and what lies in objects and lists that the code made for them."""
    found = [*given]
    for one in given[:_MOST_DEEP]:
        if isinstance(one.value, Obj) and one.at is None:
            found += list(one.value.fields.values())[:_MOST_DEEP]
        elif isinstance(one.value, Arr) and one.at is None:
            found += one.value.elements[:_MOST_DEEP]
    return found


class _NoRunner:
    def spend(self, steps: int = 1) -> None:
        """The elements are counted where the list was made."""

    def ask(self, value: Val) -> Val:
        return value

    def tell_apart(self, one: Val, other: Val) -> None:
        """What was compared is known where it was."""

    def sift(self, sifted: Sifted) -> None:
        """A list that was filtered is known where it was made."""

    def read_pattern(self, given: list[Val], line: int) -> Val:
        raise Unknowable

    def call(self, function: Val, given: list[Val], line: int, this: Val | None = None) -> Val:
        raise Unknowable

    def initialize(self, made: Class, this: Val, given: list[Val], line: int) -> None:
        raise Unknowable


def static(name: str) -> Val:
    """A name of the language: `Object`, `JSON`, `Number`."""
    if name in ("Error", "TypeError", "RangeError"):
        return Val(Class(name, None, {}, [], {}, None, is_error=True))
    return Val(Obj({"·name": Val(name)}, kind="static"))
