"""The values of a replay. Each remembers the field of an item that it is, or the fields that it was made from."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from dogubako.contract.normalization import nfkd
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN, is_true
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

# The first step of a path to the files of an item, which lie beside its json.
FILES: Final = "·files"
Spot = tuple[Place, tuple[str, ...]]
_MOST_SPOTS: Final = 6
_MOST_NEAREST: Final = 3
_MOST_ODD: Final = 4
_MOST_LISTED: Final = 5_000
_LONGEST_TEXT: Final = 20_000


class Missed(NamedTuple):
    """What was looked for in vain in an object or a list, and some of what is there."""

    wanted: Any
    keys: tuple[Any, ...]
    of_items: bool = False
    """Whether the list holds items: then they may be wrong as well."""


@dataclass(slots=True)
class Val:
    """A value. `at` is the field that it is; `made` are the fields that it was calculated from."""

    value: Any
    at: Spot | None = None
    made: tuple[Spot, ...] = ()
    beyond: tuple[str, int] | None = None
    """The node whose items were read, and the number of one that it did not give out."""
    beside: Spot | None = None
    """The field of an item that has the name, where the code looked for it outside of the item's json."""
    tested: bool = False
    """Whether it tells the form of what it was made from, as `typeof` and `isNaN` do, and not its size."""
    joined: bool = False
    """Whether `+` joined it of a number and a text that is a number, and did not add them."""
    sought: tuple[Any, tuple[Any, ...]] | None = None
    """What was looked for in a Map in vain, and some of its keys, the nearest first."""
    against: tuple[Spot, Any] | None = None
    """The field that was tested for equality, and the value with which, where this is the outcome."""
    sides: tuple[Any, Any] | None = None
    """The two values that were tested for equality, where this is the outcome."""
    unmatched: str = ""
    """The pattern that found nothing in a text, where this is the null that came of it."""
    unread: str = ""
    """How a text was read that is no date there: `fromFormat with 'yyyy-MM-dd'`. Luxon makes null of that."""
    instead: Spot | None = None
    """The field that was nothing, where this is what `??` or `||` puts in its place."""
    missed: "Missed | None" = None
    """What was looked for in vain, where this came of it."""
    unfound: bool = False
    """Whether it is no number because the code made undefined of a field: a look-up that found nothing."""
    odd: tuple["Val", ...] = ()
    """What was written into this text and is no text for people: null, undefined, NaN, Infinity."""
    zero: "Val | None" = None
    """What is 0, or counts as 0, and was divided by, where this is infinite, or NaN, for that."""
    parsed: tuple[Spot, str] | None = None
    """The field, and the text made of it, of which parseFloat or parseInt read this number."""
    chosen: tuple["Val", ...] = ()
    """What a filter said of the elements that it kept, where this is their number, or tells that there are some."""

    @property
    def spots(self) -> tuple[Spot, ...]:
        return (self.at,) if self.at is not None else self.made

    @property
    def is_nothing(self) -> bool:
        return self.value is None or is_absent(self.value)

    @property
    def is_known(self) -> bool:
        return self.value is not UNKNOWN


@dataclass(slots=True)
class Obj:
    """An object: fields that the code set, over the data of an item."""

    fields: dict[str, Val] = field(default_factory=dict)
    data: Mapping[str, Any] | None = None
    spot: Spot | None = None
    gone: set[str] = field(default_factory=set)
    copied: list["Obj"] = field(default_factory=list)
    """What was spread into it: a field that these do not have either is missing there."""
    kind: str = "object"
    of: "Class | None" = None

    def get(self, name: str) -> Val:
        if name in self.fields:
            return self.fields[name]
        if self.data is not None and name in self.data and name not in self.gone:
            made = wrapped(self.data[name], (self.spot[0], (*self.spot[1], name)) if self.spot else None)
            self.fields[name] = made
            return made
        if self.kind == "item":
            return Val(ABSENT, beside=self._below(name))
        if self.spot is not None and name not in self.gone:
            return Val(ABSENT, (self.spot[0], (*self.spot[1], name)))
        missing = next((one for other in self.copied if (one := other.get(name)).at is not None), None)
        return Val(ABSENT, missing.at if missing is not None else None)

    def _below(self, name: str) -> Spot | None:
        """The field of this name in the json of an item."""
        json = self.fields["json"].value if "json" in self.fields else None
        return json.get(name).at if isinstance(json, Obj) and name in json.names() else None

    def names(self) -> list[str]:
        held = [str(key) for key in self.data if key not in self.gone] if self.data is not None else []
        return list(dict.fromkeys([*held, *self.fields]))


@dataclass(frozen=True, slots=True)
class Sifted:
    """A call of `filter` that kept none of the elements: its line, their number, and what they were compared with."""

    line: int
    count: int
    tests: tuple[tuple[Spot, Any], ...]


@dataclass(slots=True)
class Arr:
    """A list. `counted` is the node whose items it holds; "" is the own input. `sifted` is why it is empty.

    `chosen` is what a filter said of the elements, where it kept them.
    """

    elements: list[Val]
    spot: Spot | None = None
    made: tuple[Spot, ...] = ()
    counted: str | None = None
    sifted: Sifted | None = None
    chosen: tuple[Val, ...] = ()
    matched: bool = False
    """Whether it is what a pattern found, which has an index and an input beside its elements."""

    def get(self, index: int) -> Val:
        if 0 <= index < len(self.elements):
            return self.elements[index]
        if self.counted is not None:
            return Val(ABSENT, beyond=(self.counted, index))
        place = (self.spot[0], (*self.spot[1], str(index))) if self.spot else None
        return Val(ABSENT, place, () if place else self.made)


@dataclass(slots=True)
class Func:
    """A function of the code."""

    name: str
    tree: Any
    scope: Any
    this: Val | None = None
    home: "Class | None" = None


@dataclass(slots=True)
class Native:
    """A function of the language or of n8n, bound to what it is called on."""

    call: Callable[..., Val]


@dataclass(slots=True)
class Class:
    """A class of the code; `parent` may be `Error`."""

    name: str
    parent: "Class | None"
    methods: dict[str, Func]
    fields: list[tuple[str, Any]]
    statics: dict[str, Val]
    scope: Any
    is_error: bool = False
    getters: dict[str, Func] = field(default_factory=dict)


class Thrown(Exception):  # noqa: N818 - it is what the replayed code throws
    """An error of the replayed code. `kind` names the family of its message, `culprit` the value that it is about."""

    def __init__(
        self, kind: str, message: str | None, line: int, culprit: Val | None = None, value: Val | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.culprit = culprit
        self.value = value
        self.conditions: list[Val] = []
        self.read_from = ""
        """How the code writes the value, where it came from outside of the items."""
        self.lines = {line}
        """The lines of the statements around, too: in a callback n8n tells the line of an outer one."""


def wrapped(data: Any, spot: Spot | None) -> Val:
    """Data of an item as a value that knows where it lies."""
    if isinstance(data, Mapping):
        return Val(Obj(data=data, spot=spot), spot)
    if isinstance(data, list):
        elements = [
            wrapped(one, (spot[0], (*spot[1], str(index))) if spot else None)
            for index, one in enumerate(data[:_MOST_LISTED])
        ]
        return Val(Arr(elements, spot), spot)
    return Val(data, spot)


def made_of(value: Any, *sources: Val) -> Val:
    """A value that was calculated from others."""
    spots = dict.fromkeys(spot for one in sources for spot in one.spots)
    form, unfound = any(one.tested for one in sources), any(one.unfound for one in sources)
    odd = tuple(each for one in sources if one.odd for each in one.odd)[:_MOST_ODD]
    zero = next((one.zero for one in sources if one.zero is not None), None)
    is_none = isinstance(value, float) and math.isnan(value)
    unread = next((one.unread for one in sources if one.unread and is_none), "")
    return Val(value, None, tuple(spots)[:_MOST_SPOTS], tested=form, unfound=unfound, odd=odd, zero=zero, unread=unread)


def written_with(text: Any, *parts: Val) -> Val:
    """A text that these values were written into: it knows those of them that nobody reads as a text."""
    made = made_of(text, *parts)
    made.odd = (*made.odd, *(one for one in parts if is_odd(one.value)))[:_MOST_ODD]
    return made


def is_odd(value: Any) -> bool:
    """Whether it is null, undefined, NaN or infinite, which a text shows as such."""
    return value is None or is_absent(value) or (isinstance(value, float) and not math.isfinite(value))


def tested(value: Any, source: Val) -> Val:
    """A value that tells the form of another."""
    return Val(value, None, source.spots, tested=True)


def plain_value(value: Any) -> Any:
    """What a value looks like as data, for the condition of a rule: lists and objects are only known as such."""
    if isinstance(value, Arr):
        return [one.value for one in value.elements]
    if isinstance(value, Obj):
        return dict.fromkeys(value.names())
    return value


def nearest(wanted: Any, keys: Iterable[Any]) -> tuple[Any, ...]:
    """Some keys, those first that differ from the wanted one in nothing but their form."""
    plain = [one for one in keys if isinstance(one, (str, int, float)) and not isinstance(one, bool)]
    return tuple(sorted(plain, key=lambda one: _bare(one) != _bare(wanted))[:_MOST_NEAREST])


def _bare(key: Any) -> str:
    return "".join(sign for sign in nfkd(str(key)).casefold() if sign.isalnum())


def short_text(text: str) -> Any:
    """The text, or UNKNOWN for one that grew long: code may be hostile."""
    return text if len(text) <= _LONGEST_TEXT else UNKNOWN


def truth(value: Any) -> bool | None:
    """Whether JavaScript takes it as true; None if that is not known."""
    return True if isinstance(value, (Obj, Arr, Func, Native, Class)) else is_true(value)


def text_of(value: Any) -> Any:
    """What a template makes of it."""
    if value is UNKNOWN or isinstance(value, str):
        return value
    if value is None or is_absent(value):
        return "null" if value is None else "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, Arr):
        parts = ["" if one.is_nothing else text_of(one.value) for one in value.elements]
        return UNKNOWN if UNKNOWN in parts else ",".join(parts)
    if isinstance(value, Obj):
        return "[object Object]" if value.kind == "object" and value.of is None else UNKNOWN
    return str(value) if isinstance(value, int) else UNKNOWN


def type_of_value(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    if is_absent(value):
        return "undefined"
    if isinstance(value, (Func, Native, Class)):
        return "function"
    names = {bool: "boolean", int: "number", float: "number", str: "string"}
    return names.get(type(value), "object")
