"""Check that expressions and code use names that n8n knows there. In an expression all others are undefined.

The lists are facts of n8n 2.41, and the contract suite asks the real one for each of them.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dogubako.packs.n8n.nodes.free_names import FreeNames
from dogubako.packs.n8n.nodes.problems import Problem, is_likely_typo, near_names, quoted

# The last line are words that the parser takes for names.
_OF_THE_LANGUAGE: Final = """
    Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError Float32Array
    Float64Array Infinity Int16Array Int32Array Int8Array Intl JSON Map Math NaN Number Object RangeError
    ReferenceError RegExp Set SharedArrayBuffer String Symbol SyntaxError TypeError URIError Uint16Array Uint32Array
    Uint8Array Uint8ClampedArray WeakMap WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite
    isNaN parseFloat parseInt DateTime Duration Interval
    this super undefined arguments import yield await async let static globalThis global
"""
_ONLY_IN_EXPRESSIONS: Final = """
    average extend extendOptional max min not numberList process self toPathSegment window zip
"""
_ONLY_IN_CODE: Final = """
    AggregateError Buffer FinalizationRegistry FormData Function Promise Proxy Reflect TextDecoder TextDecoderStream
    TextEncoder TextEncoderStream WeakRef WebAssembly atob btoa clearImmediate clearInterval clearTimeout console
    escape eval helpers module require setImmediate setInterval setTimeout unescape
"""
# What a browser or Node.js has, and n8n keeps away from expressions. Other versions of n8n may have some of it.
_KEPT_AWAY: Final = """
    AbortController Blob Headers Iterator Request Response Temporal URL URLSearchParams crypto document exports fetch
    luxon navigator performance queueMicrotask structuredClone
"""
_IN_EXPRESSIONS: Final = frozenset((_OF_THE_LANGUAGE + _ONLY_IN_EXPRESSIONS).split())
_IN_CODE: Final = frozenset((_OF_THE_LANGUAGE + _ONLY_IN_CODE).split())
_OF_OTHER_PLACES: Final = frozenset((_ONLY_IN_CODE + _KEPT_AWAY).split())
_FIELDS: Final = ("body", "query", "headers", "params")
# The right form of what is often written, in expressions; in code, where that is another one.
_RIGHT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("item", "json", "data", "input", "row", "record"), "$json"),
    "items": "$input.all()",
    "True": "true",
    "False": "false",
    **dict.fromkeys(("None", "nil", "Null", "NULL"), "null"),
    **dict.fromkeys(("moment", "dayjs", "now", "datetime"), "$now, or DateTime.fromISO(text)"),
    "today": "$today",
    "luxon": "DateTime",
    "len": "value.length",
    "str": "String(value)",
    "int": "parseInt(value)",
    "float": "parseFloat(value)",
    "btoa": "text.base64Encode()",
    "Buffer": "text.base64Encode()",
    "atob": "text.base64Decode()",
    "URL": "text.extractDomain() or text.extractUrlPath()",
    "ifEmpty": "$ifEmpty",
    "iif": "$if",
    "jmespath": "$jmespath",
    "env": "$env",
    "vars": "$vars",
    "workflow": "$workflow",
    "execution": "$execution",
}
_RIGHT_IN_CODE: Final[Mapping[str, str]] = {
    "items": "$input.item",
    "item": "$input.first()",
    "URL": "a regular expression",
}


def check_names(names: FreeNames, path: str, *, certain: bool) -> Iterator[Problem]:
    """The names in an expression. It has no value if it reads from one that is not there."""
    for name, fails in names.used.items():
        if name in _IN_EXPRESSIONS or name.startswith(("$", "#")):
            continue
        near = _near(name, _IN_EXPRESSIONS)
        then = "and the expression gives nothing" if fails else "and is undefined there"
        message = f"{quoted(path)} uses {quoted(name)}, which expressions of n8n do not know, {then}."
        message += "" if near else _advice(name)
        sure = certain and fails and name not in _OF_OTHER_PLACES
        yield Problem(kind="unknownVariable", path=path, message=message, near=near, certain=sure)


def check_names_of_code(names: FreeNames, path: str, *, each_item: bool) -> Iterator[Problem]:
    """The names in the code of a Code node, which fails at those that are not there."""
    own = "item" if each_item else "items"
    for name in names.used:
        if name in _IN_CODE or name == own or name.startswith(("$", "#")) or name == "fetch":
            continue
        near = _near(name, _IN_CODE)
        message = f"{quoted(path)} uses {quoted(name)}, which is not declared, and which the Code node does not have."
        message += "" if near else f" {_advice_for_code(name, each_item=each_item)}"
        yield Problem(kind="unknownVariable", path=path, message=message.rstrip(), near=near, certain=False)


def _near(name: str, known: frozenset[str]) -> tuple[str, ...]:
    near = near_names(name, known) if name not in _RIGHT and name not in _FIELDS and len(name) > 2 else ()
    return near if near and is_likely_typo(name, near[0]) else ()


def _advice(name: str) -> str:
    if name in _RIGHT:
        return f" Write {_RIGHT[name]}."
    if name in _OF_OTHER_PLACES:
        return " A Code node has it." if name in _IN_CODE else ""
    return f" A field of the item is $json.{name[:60]}."


def _advice_for_code(name: str, *, each_item: bool) -> str:
    fields = "$json" if each_item else "$input.first().json"
    right = _RIGHT_IN_CODE.get(name) or (
        fields if _RIGHT.get(name) == "$json" else f"{fields}.{name}" if name in _FIELDS else _RIGHT.get(name)
    )
    return f"Write {right}." if right else ""
