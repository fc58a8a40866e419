"""Values as reports show them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogubako.contract.redaction import visible
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened

_LONGEST_VALUE: Final = 80
_MOST_FIELDS: Final = 8


def type_name(value: Any) -> str:
    """What JavaScript calls it, with lists and null told apart."""
    if value is None:
        return "null"
    if is_absent(value):
        return "undefined"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "object")


def shown_value(value: Any) -> str:
    """The value as JSON has it, and its type; a text without escapes, so that it reads as it is."""
    if is_absent(value):
        return "undefined"
    if isinstance(value, str):
        # The quotes are not counted.
        text = f'"{visible(value)}'
        shown = shortened(text, _LONGEST_VALUE)
        return f"{shown} (string)" if shown != text else f'{text}" (string)'
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{shortened(text, _LONGEST_VALUE)} ({type_name(value)})"


def shown_fields(data: Any) -> str:
    """The names of the first fields of an item."""
    names = [visible(str(key)) for key in data] if isinstance(data, Mapping) else []
    more = ", …" if len(names) > _MOST_FIELDS else ""
    return f"{', '.join(names[:_MOST_FIELDS]) or 'no fields'}{more}"


def shown_path(path: Sequence[str]) -> str:
    """The path for people; a name with a dot in it is shown as one name."""
    return ".".join(f"['{name}']" if "." in name else name for name in path)
