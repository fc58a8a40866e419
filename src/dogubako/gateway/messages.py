"""Encode and decode JSON-RPC messages, also with half characters and numbers of any size."""

import hashlib
from typing import Any, Final

import msgspec

from dogubako.outbound.json_answers import decode_any_json
from dogubako.response.jsonable import to_plain

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode


def encoded(message: Any) -> bytes:
    """JSON in one line. A caller may send half a character, which JSON text cannot hold: it is replaced."""
    try:
        return _encode(message)
    except UnicodeEncodeError:
        return _encode(to_plain(message))


def decoded(text: bytes) -> Any:
    """The value of a JSON text; None for what is no JSON."""
    try:
        return decode_any_json(text)
    except ValueError:
        return None


def digest(*values: Any) -> str:
    """Tells requests apart by what they hold, in any order of keys."""
    try:
        text = _encode_sorted(values)
    except UnicodeEncodeError:
        text = _encode_sorted(to_plain(list(values)))
    return hashlib.sha256(text).hexdigest()
