"""Functions such as `Object.keys`, `JSON.parse` and `Number`."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, FUNCTIONS, UNKNOWN, is_nan
from dogubako.packs.n8n.diagnosis.replay.refusals import REFUSING, refusing_call
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Class,
    Func,
    Native,
    Obj,
    Thrown,
    Val,
    made_of,
    tested,
    text_of,
    wrapped,
)


def static_call(name: str, given: list[Val], line: int) -> Val:
    """A function such as `Object.keys`, `JSON.parse` or `Number`."""
    first = given[0] if given else Val(ABSENT)
    name = name.removeprefix("Number.") if "parse" in name else name
    if name in ("Object.keys", "Object.values", "Object.entries"):
        return _listed_object(name, first, line)
    if name == "JSON.parse" or name in REFUSING:
        return _parsed(first, line) if name == "JSON.parse" else refusing_call(name, given, line)
    if name == "Array.isArray":
        return tested(isinstance(first.value, Arr) if first.is_known else UNKNOWN, first)
    if name == "Array.from" and isinstance(first.value, Arr):
        return Val(Arr([*first.value.elements], None, first.value.made or first.spots, first.value.counted))
    if name in ("Promise.all", "Promise.resolve", "Promise.allSettled"):
        return first if name != "Promise.allSettled" else Val(UNKNOWN)
    if name == "Object.assign" and given and isinstance(first.value, Obj):
        for one in given[1:]:
            if isinstance(one.value, Obj):
                first.value.fields.update({key: one.value.get(key) for key in one.value.names()})
                first.value.copied.append(one.value)
        return first
    if name == "Object.fromEntries" and isinstance(first.value, Arr):
        return _from_entries(first.value)
    if name in ("Math.max", "Math.min", "Math.round", "Math.floor", "Math.ceil", "Math.abs"):
        return _calculated(name, given)
    if name == "String":
        return made_of(text_of(first.value), first)
    if name in FUNCTIONS and not isinstance(first.value, (Arr, Obj, Func, Native, Class)):
        made = UNKNOWN if not first.is_known else FUNCTIONS[name](first.value)
        is_parsed = name.startswith("parse") and isinstance(first.value, str) and len(first.spots) == 1
        parsed = (first.spots[0], first.value) if is_parsed else None
        return tested(made, first) if "is" in name else replace(made_of(made, first), parsed=parsed)
    return made_of(UNKNOWN, *given) if given else Val(UNKNOWN)


def _listed_object(name: str, first: Val, line: int) -> Val:
    if first.is_nothing:
        raise Thrown("object", "Cannot convert undefined or null to object", line, first)
    if not isinstance(first.value, Obj):
        raise Unknowable
    held = first.value
    if name == "Object.keys":
        return Val(Arr([Val(key, None, first.spots) for key in held.names()], None, first.spots))
    if name == "Object.values":
        return Val(Arr([held.get(key) for key in held.names()], None, first.spots))
    return Val(Arr([Val(Arr([Val(key), held.get(key)])) for key in held.names()], None, first.spots))


def _from_entries(pairs: Arr) -> Val:
    made = Obj()
    for pair in pairs.elements:
        if not isinstance(pair.value, Arr) or not isinstance(pair.value.get(0).value, (str, int)):
            raise Unknowable
        made.fields[str(pair.value.get(0).value)] = pair.value.get(1)
    return Val(made, None, pairs.made)


def _parsed(first: Val, line: int) -> Val:
    text = text_of(first.value)
    if text is UNKNOWN:
        return made_of(UNKNOWN, first)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Thrown("json", None, line, first) from None
    return Val(wrapped(found, None).value, None, first.spots)


def _calculated(name: str, given: Sequence[Val]) -> Val:
    numbers = [one.value for one in given]
    if (bad := [one for one in given if is_nan(one.value)]) and all(isinstance(one, (int, float)) for one in numbers):
        return made_of(math.nan, *bad)
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) and math.isfinite(one) for one in numbers):
        return made_of(UNKNOWN, *given)
    calls: dict[str, Callable[..., Any]] = {
        "Math.max": max, "Math.min": min, "Math.floor": math.floor, "Math.ceil": math.ceil, "Math.abs": abs,
        "Math.round": lambda one: math.floor(one + 0.5),
    }  # fmt: skip
    one_value = name in ("Math.floor", "Math.ceil", "Math.abs", "Math.round")
    if not numbers:
        return Val(UNKNOWN)
    made = calls[name](numbers[0]) if one_value or len(numbers) == 1 else calls[name](*numbers)
    # Of several fields it is the largest that decided it, or the smallest.
    chosen = [] if one_value or not all(one.spots for one in given) else [one for one in given if one.value == made]
    return made_of(made, *(chosen or given))
