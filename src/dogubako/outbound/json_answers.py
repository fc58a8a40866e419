"""Decode the JSON that a service answers with, also where it is not strictly JSON."""

import json
from typing import Any, Final, NoReturn

import msgspec

from dogubako.contract.offload import collection_paused

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# The lenient decoder is one call into C and takes ten times as long as the strict one.
_MOST_LENIENT_BYTES: Final = 8 * 1024 * 1024
_MOST_LENIENT_VALUES: Final = 100_000
_BEFORE_VALUES: Final = b"[{,"
_REPLACEMENT: Final = "\ufffd"


class UnreadableJson(ValueError):  # noqa: N818 - the client of the service makes an error of it
    """It is complete, and no reader can read it. Its text says why, as a part of a sentence: "a number …"."""


def decode_json(body: bytes) -> Any:
    """JSON as data; ValueError when it is none. The caller bounds what it decodes."""
    try:
        with collection_paused():
            return msgspec.json.decode(body.removeprefix(BYTE_ORDER_MARK))
    except msgspec.ValidationError as error:
        # Without a type to validate against, only a number can be wrong.
        raise UnreadableJson("a number that is too large to be read") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError("not JSON") from error


def decode_any_json(body: bytes, *, keep_surrogates: bool = False) -> Any:
    """Like `decode_json`, also with lone surrogates, which become U+FFFD. Large bodies belong into a worker thread."""
    try:
        return decode_json(body)
    except UnreadableJson:
        raise
    except ValueError:
        if not _may_have_surrogates(body):
            raise
    decoded = _decode_leniently(body.removeprefix(BYTE_ORDER_MARK))
    return decoded if keep_surrogates else _without_surrogates(decoded)


def _may_have_surrogates(body: bytes) -> bool:
    return b"\\ud" in body or b"\\uD" in body or b"\xed" in body


def _decode_leniently(body: bytes) -> Any:
    if len(body) > _MOST_LENIENT_BYTES or len(body) - len(body.translate(None, _BEFORE_VALUES)) > _MOST_LENIENT_VALUES:
        raise UnreadableJson("half a Unicode character, and is too large to be repaired")
    try:
        return json.loads(body.decode("utf-8", "surrogatepass"), parse_float=_finite, parse_constant=_refuse_constant)
    except UnreadableJson:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error


def _finite(written: str) -> float:
    number = float(written)
    return number if abs(number) != float("inf") else _refuse_constant(written)


def _refuse_constant(_: str) -> NoReturn:
    raise UnreadableJson("a number that is too large to be read")


def _without_surrogates(value: Any) -> Any:
    """The same data with U+FFFD for each lone surrogate."""
    if isinstance(value, str):
        return value if value.isascii() else _replaced(value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(member) for key, member in value.items()}
    return [_without_surrogates(member) for member in value] if isinstance(value, list) else value


def _replaced(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if "\ud800" <= character <= "\udfff" else character for character in text)
    return text
