"""From whatever a tool returns to JSON that every parser accepts."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from pydantic import BaseModel

from dogubako.contract.secrets import MASK

_MAX_DEPTH = 100
_PIECE = 128 * 1024
_SHORT_PIECE = 16 * 1024
_FIRST_HALF, _SECOND_HALF = "\ud800", "\udc00"


def _dump(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a tool returned {type(value).__name__}, which is not JSON")


_encoder = msgspec.json.Encoder(enc_hook=_dump)


def encode(value: Any) -> str:
    """Compact JSON. What cannot be said in JSON raises, and is the tool author's to mend."""
    try:
        return _encoder.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, msgspec.ValidationError):
        return _encoder.encode(_plain(value, 0)).decode()


def to_plain(value: Any) -> Any:
    """The same data as dicts, lists, strings, numbers, booleans and nothing."""
    return _plain(value, 0)


def clean_text(text: str) -> str:
    """Replace half characters (lone surrogates), which no encoding can carry."""
    if type(text) is not str:
        # Parsers return subclasses of str, which the JSON encoder refuses.
        text = str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join([_joined(piece) for piece in _between_characters(text)])
    return text


def masked_json(text: str, mask: Callable[[str], str]) -> str:
    """JSON text without secrets. It stays JSON, also where a secret looks like a number."""
    masked = mask(text)
    if masked is text:
        return text
    try:
        msgspec.json.decode(masked)
    except msgspec.DecodeError:
        return encode(masked_data(msgspec.json.decode(text), mask))
    return masked


def masked_data(value: Any, mask: Callable[[str], str]) -> Any:
    """Plain JSON data without secrets in its strings, names and numbers."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(key): masked_data(item, mask) for key, item in value.items()}
    if isinstance(value, list):
        return [masked_data(item, mask) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    return value if mask(written := str(value)) == written else MASK


def _joined(text: str) -> str:
    """Join the halves of characters, and replace those that are alone."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _between_characters(text: str) -> Iterator[str]:
    """A text in pieces that separate no two halves of a character."""
    start = 0
    while start < len(text):
        end = start + _SHORT_PIECE
        end += _FIRST_HALF <= text[end - 1 : end] < _SECOND_HALF
        yield text[start:end]
        start = end


def pieces_of(text: str) -> Iterator[str]:
    """A text in pieces. Looking at all of a long one with a regular expression would hold the interpreter for long."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _plain(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"a tool returned data nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json", by_alias=True), depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
    return _plain(msgspec.to_builtins(value, enc_hook=_dump), depth + 1)
