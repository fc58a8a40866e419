"""Whether n8n takes a written value as one of a type: the same rules as in its conditions and in Set nodes."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

# What JavaScript's `Number(text)` understands. An empty text is 0.
_NUMBER: Final = re.compile(
    r"[+-]?+(?:(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+|Infinity)"
    r"|0[xX][0-9a-fA-F]++|0[oO][0-7]++|0[bB][01]++|"
)
_IN_WORDS: Final[Mapping[type, str]] = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
NAMES: Final[Mapping[str, str]] = {
    "string": "a text",
    "number": "a number",
    "boolean": "true or false",
    "dateTime": "a date",
    "array": "a list",
    "object": "an object",
}


def takes(kind: str, value: Any, *, strict: bool = False) -> bool | None:
    """Whether n8n takes the value as one of the type; None if it cannot be said here. `strict` converts nothing."""
    if value is None:
        return True
    match kind:
        case "string":
            return isinstance(value, str) or not strict
        case "number":
            return _is_number(value) if strict else _converts_to_number(value)
        case "boolean":
            return isinstance(value, bool) if strict else _converts_to_boolean(value)
        case "dateTime":
            return False if isinstance(value, str) and not value.strip() else None
        case "array":
            return isinstance(value, list) if strict else _converts_to_list(value)
        case "object":
            return isinstance(value, dict | list) if strict else _converts_to_object(value)
        case _:
            return None


def in_words(value: Any) -> str:
    """`a text`, `a number`: what the value is."""
    return _IN_WORDS.get(type(value), "a list" if isinstance(value, list) else "an object")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _converts_to_number(value: Any) -> bool | None:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value.strip()) is not None
    return True if isinstance(value, bool | int | float) else None


def _converts_to_boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        # A text may also be a number: 0 or 1, in any spelling.
        text = value.strip()
        spelt = text.lower() in ("true", "false") or (text and _NUMBER.fullmatch(text))
        return None if spelt else False
    return value in (0, 1) if isinstance(value, bool | int | float) else None


def _converts_to_list(value: Any) -> bool | None:
    if isinstance(value, str):
        return None if value.strip().startswith("[") else False
    return isinstance(value, list) if isinstance(value, bool | int | float | list) else None


def _converts_to_object(value: Any) -> bool | None:
    if isinstance(value, str):
        text = value.strip()
        return False if not text or (text != "null" and _is_other_json(text)) else None
    return isinstance(value, dict) if isinstance(value, bool | int | float | dict) else None


def _is_other_json(text: str) -> bool:
    """Whether a text is JSON of another type, or a plain word. n8n also reads objects that are no JSON: `{a: 1}`."""
    if re.fullmatch(r"\w+", text):
        return True
    try:
        return not isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
