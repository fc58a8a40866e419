"""Convert whatever a tool returns to JSON that every parser accepts."""

import dataclasses
import math
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from functools import lru_cache
from itertools import count, islice
from typing import Any

import msgspec
from pydantic import BaseModel

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.offload import MOST_VALUES, TEXTS, collection_paused, has_more_values, parts_of
from dogubako.contract.redaction import MASK

_MAX_DEPTH = 100
_LEAST_PLAIN = 0.001
_MOST_PLAIN = 1e12
# The name of a field is cut where it is longer, and there is no room for all of it.
LONGEST_NAME = 200
_SHORT_NAME = 100
_PIECE = 128 * 1024
_SHORT_PIECE = 16 * 1024
# Up to so many members of a list or of an object are decoded at once, if they hold few values themselves.
_PIECE_VALUES = 10_000
_MOST_VALUES_AT_ONCE = 50_000
_MOST_MODEL_VALUES = 100_000
# Of a text, this many characters count as one value.
_VALUE_CHARACTERS = 64
_TEXT_ONLY = frozenset({str})
_WITHOUT_NAMES = frozenset({str, int, float, bool, bytes, type(None)})
_AS_IT_IS = frozenset({int, bool, type(None)})
_FIRST_HALF, _SECOND_HALF = "\ud800", "\udc00"


def _dump(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _dump_model(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a tool returned {type(value).__name__}, which is not JSON")


def _dump_model(model: BaseModel) -> Any:
    if has_more_values(model, _MOST_MODEL_VALUES):
        # It is one call into Rust, which keeps the interpreter.
        raise AnswerTooLargeError(
            f"The answer has more than {_MOST_MODEL_VALUES:,} values in one model.", hint="Ask for less at once."
        )
    return model.model_dump(mode="json", by_alias=True)


_encoder = msgspec.json.Encoder(enc_hook=_dump)


def encode(value: Any) -> str:
    """Compact JSON. Raises for values that JSON cannot represent; the tool's author must fix those."""
    try:
        return _encoder.encode(value).decode()
    except (TypeError, UnicodeEncodeError, OverflowError, msgspec.ValidationError):
        return _encoder.encode(_plain(value, 0)).decode()


def encode_checked(value: Any) -> str:
    """As `encode`, for what a tool returned. Raises for names that are alike, too."""
    check_names(value)
    return encode(value)


def check_names(value: Any) -> None:
    """Raise ValueError if an object would have two fields of one name: 1 and "1" are one name in JSON."""
    waiting = [value]
    # No answer has more; one that contains itself has no end.
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        one = waiting.pop()
        if type(one) in _WITHOUT_NAMES:
            continue
        if type(one) is list:
            waiting += one
        elif isinstance(one, Mapping):
            if not set(map(type, one)) <= _TEXT_ONLY:
                _check_written(one)
            waiting += one.values()
        elif not isinstance(parts := parts_of(one), TEXTS):
            waiting += parts


def _check_written(fields: Mapping[Any, Any]) -> None:
    seen = set()
    for name in fields:
        written = clean_text(name) if isinstance(name, str) else _written(name)
        if written in seen:
            raise ValueError(f"a tool returned an object with two keys that JSON writes alike: {written[:100]!r}")
        seen.add(written)


def _written(name: Any) -> str:
    try:
        return str(next(iter(msgspec.to_builtins({name: None}, str_keys=True))))
    except (TypeError, ValueError):
        return clean_text(str(name))


def to_plain(value: Any) -> Any:
    """The data as dicts, lists, strings, numbers, booleans and None."""
    return _plain(value, 0)


@lru_cache(maxsize=1_000, typed=True)
def plain_float(number: Any) -> str | None:
    """This float as Python and our JSON encoder both write it; None for others, with an exponent or infinite.

    Durations are rounded, so the same ones come again and again.
    """
    is_plain = type(number) is float and (_LEAST_PLAIN <= number < _MOST_PLAIN or number == 0)
    return repr(number) if is_plain else None


def clean_text(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    if type(text) is not str:
        # Parsers return subclasses of str, which the JSON encoder rejects.
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        if len(text) <= _PIECE:
            text.encode()
        else:
            for piece in pieces_of(text):
                piece.encode()
    except UnicodeEncodeError:
        return "".join([_joined(piece) for piece in _between_characters(text)])
    return text


def masked_json(text: str, mask: Callable[[str], str]) -> str:
    """Mask secrets in JSON text. The result is still JSON, even if a secret looks like a number."""
    masked = mask(text)
    if masked is text:
        return text
    whole = msgspec.json.decode(text)
    try:
        is_whole = _count_names(msgspec.json.decode(masked)) == _count_names(whole)
    except msgspec.DecodeError:
        is_whole = False
    # It is no JSON any more, or two names became one.
    return masked if is_whole else encode(masked_data(whole, mask))


def _count_names(data: Any) -> int:
    found, waiting = 0, [data]
    while waiting:
        one = waiting.pop()
        if type(one) is dict:
            found += len(one)
            waiting += one.values()
        elif type(one) is list:
            waiting += one
    return found


def read_back(value: Any, mask: Callable[[str], str] = str) -> Any:
    """The data as it is read from its JSON text: plain, and without secrets.

    To decode hundreds of thousands of values, or a text of megabytes, is one call into C that keeps the interpreter,
    so large data is encoded and decoded in pieces, and long texts are not encoded at all.
    """
    with collection_paused():
        return _read_back(value, mask, 0)


def _read_back(value: Any, mask: Callable[[str], str], depth: int) -> Any:
    if isinstance(value, str) and len(value) > _PIECE:
        return mask(clean_text(value))
    if depth > _MAX_DEPTH or not has_more_values(value, _PIECE_VALUES, _VALUE_CHARACTERS):
        return msgspec.json.decode(masked_json(encode(value), mask))
    if not isinstance(value, dict | list):
        value = to_plain(value)
        if not isinstance(value, dict | list):
            # One long text, or the base64 of bytes.
            return masked_data(value, mask)
    pieces = [value] if len(value) <= _PIECE_VALUES else _parts_of(value)
    if isinstance(value, list):
        return [one for piece in pieces for one in _piece_read_back(piece, mask, depth)]
    read: dict[str, Any] = {}
    for piece in pieces:
        _add_fields(read, _piece_read_back(piece, mask, depth))
    return read


def _add_fields(fields: dict[str, Any], more: dict[str, Any]) -> None:
    if fields.keys().isdisjoint(more):
        fields |= more
        return
    for name, item in more.items():
        fields[_distinct(name, fields)] = item


def _distinct(name: str, taken: Container[str]) -> str:
    """The name, with a number if another field has it: masks make one name of two."""
    return name if name not in taken else next(new for n in count(2) if (new := f"{name} ({n})") not in taken)


def _piece_read_back(piece: Any, mask: Callable[[str], str], depth: int) -> Any:
    """A list or a dict of few members: at once, or member by member where these are large."""
    if not has_more_values(piece, _MOST_VALUES_AT_ONCE, _VALUE_CHARACTERS):
        return msgspec.json.decode(masked_json(encode(piece), mask))
    if isinstance(piece, list):
        return [_read_back(one, mask, depth + 1) for one in piece]
    # A name is read back with an empty value: it may be a number, or hold a secret.
    read: dict[str, Any] = {}
    for name, one in piece.items():
        read[_distinct(_name_read_back(name, mask), read)] = _read_back(one, mask, depth + 1)
    return read


def _name_read_back(name: Any, mask: Callable[[str], str]) -> str:
    if isinstance(name, str) and len(name) > _PIECE:
        return mask(clean_text(name))
    read: str = next(iter(msgspec.json.decode(masked_json(encode({name: None}), mask))))
    return read


def _parts_of(value: Any) -> Iterator[Any]:
    """A long list or dict in short ones."""
    members = iter(value if isinstance(value, list) else value.items())
    while part := list(islice(members, _PIECE_VALUES)):
        yield part if isinstance(value, list) else dict(part)


def masked_data(value: Any, mask: Callable[[str], str]) -> Any:
    """Mask secrets in the strings, names and numbers of plain JSON data."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        masked: dict[str, Any] = {}
        for name, item in value.items():
            masked[_distinct(mask(name), masked)] = masked_data(item, mask)
        return masked
    if isinstance(value, list):
        return [masked_data(item, mask) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    return value if mask(written := str(value)) == written else MASK


def with_short_names(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields; a name that is longer than any text should be ends after its beginning, and stays unique."""
    if not any(len(name) > LONGEST_NAME for name in fields):
        return fields
    shortened: dict[str, Any] = {}
    for number, (name, item) in enumerate(fields.items()):
        whole = len(name) <= LONGEST_NAME
        # The number is that of the field: the same data gets the same names when it is read on.
        short = name if whole else f"{name[:_SHORT_NAME]}… [{len(name) - _SHORT_NAME:,} more characters, {number}]"
        shortened[short] = item
    return shortened


def _joined(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _between_characters(text: str) -> Iterator[str]:
    """Split a text without separating surrogate pairs."""
    start = 0
    while start < len(text):
        end = start + _SHORT_PIECE
        end += _FIRST_HALF <= text[end - 1 : end] < _SECOND_HALF
        yield text[start:end]
        start = end


def pieces_of(text: str) -> Iterator[str]:
    """Split a text into pieces. A regular expression over a whole long text would hold the interpreter too long."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _is_plain(value: Any) -> bool:
    """Whether a value of an answer needs no care, as most do not."""
    kind = type(value)
    return value.isascii() if kind is str else kind in _AS_IT_IS


def _plain_name(name: Any) -> str:
    return name if type(name) is str and name.isascii() else clean_text(str(name))


def _plain(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"a tool returned data nested deeper than {_MAX_DEPTH} levels")
    kind = type(value)
    if kind is dict:
        return {_plain_name(key): item if _is_plain(item) else _plain(item, depth + 1) for key, item in value.items()}
    if kind is list:
        return [item if _is_plain(item) else _plain(item, depth + 1) for item in value]
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, BaseModel):
        return _plain(_dump_model(value), depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
    return _plain(msgspec.to_builtins(value, enc_hook=_dump), depth + 1)
