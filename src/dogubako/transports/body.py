"""Read a request's body: all of it, soon enough, and not more than we want."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from starlette.types import Receive, Scope, Send

from dogubako.contract.errors import (
    CancelledError,
    PayloadTooLargeError,
    ToolTimeoutError,
    UnsupportedMediaTypeError,
    ValidationError,
)
from dogubako.engine.alarm import set_alarm
from dogubako.transports.stopping import Stop
from dogubako.transports.wire import MAX_BODY_BYTES, NOT_JSON, TOO_MANY_VALUES, has_too_many_values

BODY_SECONDS: Final = 30.0

_decode = msgspec.json.Decoder().decode


async def read_body(receive: Receive) -> bytes:
    """The whole body. A client that dawdles or leaves does not keep us."""
    # Nearly always it is here already. One that has not even begun is the connection's to give up (bounded.py).
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        _check_size(body)
        return _with_few_values(body)
    with Stop() as stop:
        late = set_alarm(BODY_SECONDS, stop.cancel)
        try:
            return _with_few_values(await _read_on(message, receive))
        finally:
            late.cancel()
    raise ToolTimeoutError(f"The request body did not arrive within {BODY_SECONDS:g} seconds.")


async def _read_on(message: Any, receive: Receive) -> bytes:
    body = bytearray()
    while True:
        if message["type"] == "http.disconnect":
            raise CancelledError("The client went away.")
        body += message.get("body", b"")
        _check_size(body)
        if not message.get("more_body", False):
            return bytes(body)
        message = await receive()


def check_declared_length(scope: Scope) -> None:
    """Refuse a body by its Content-Length, before the client sends it (`Expect: 100-continue`)."""
    declared = header(scope, b"content-length")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise _too_large()


def _check_size(body: bytes | bytearray) -> None:
    if len(body) > MAX_BODY_BYTES:
        raise _too_large()


def _too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"The request body is larger than {MAX_BODY_BYTES:,} bytes.")


def _with_few_values(body: bytes) -> bytes:
    if has_too_many_values(body):
        raise PayloadTooLargeError(f"The request body has {TOO_MANY_VALUES}.")
    return body


def require_json(scope: Scope) -> None:
    """Browsers send other types without asking first; we take only JSON."""
    kind = header(scope, b"content-type").split(b";")[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        raise UnsupportedMediaTypeError("The request body must be application/json.")


def header(scope: Scope, name: bytes) -> bytes:
    """The first value of a header, or nothing."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


async def send_json(send: Send, body: bytes, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A JSON answer in two ASGI messages, without a response object in between."""
    known = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": known})
    await send({"type": "http.response.body", "body": body})


def decode_json(body: bytes) -> Any:
    """Any JSON. What only Python's lenient reader takes (NaN, half characters) is refused later, with its field."""
    try:
        return _decode(body)
    except NOT_JSON:
        return decode_leniently(body)


def decode_leniently(body: bytes) -> Any:
    """What only Python's own reader takes: NaN, half characters. All else is refused here."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValidationError.of("body", "The request body is not valid JSON.") from None


def decode_object(body: bytes) -> dict[str, Any]:
    """A JSON object, which is what every route of ours takes."""
    decoded = decode_json(body)
    if not isinstance(decoded, dict):
        raise ValidationError.of("body", "The request body must be a JSON object.")
    return decoded
