"""MCP messages for results and errors, and the limits of a message. Does not import the SDK."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeGuard

import msgspec

from dogubako._version import __version__
from dogubako.contract.call import NO_OPTIONS, ExecutionOptions, ToolResult, error_facts
from dogubako.contract.conversation import TASKS
from dogubako.contract.errors import (
    AuthorizationError,
    CapabilityRequiredError,
    DogubakoError,
    NotFoundError,
    ToolNotFoundError,
    ValidationError,
)
from dogubako.engine.validation import ModelValidator
from dogubako.transports.toolbox import SERVER_NAME

# Each of these begins a value or precedes one.
_BEFORE_VALUES: Final = b"[{,"
_DIGITS: Final = b"0123456789"
_BLANKS: Final = b" \t\r\n"
# Parsing a number takes quadratic time in its digits. Ordinary numbers have fewer than this many.
DIGITS_PER_VALUE: Final = 40


def at_most_values(body: bytes) -> int:
    """An upper bound of the number of values. Characters inside strings are counted too."""
    return _count(body, _BEFORE_VALUES)


def has_more_values(body: bytes, most: int) -> bool:
    """Whether there are more values than `most`, or more digits than so many values need. Strings do not count.

    It takes milliseconds for megabytes. Of a text that is not valid JSON, the part that a decoder would read before
    it fails is counted correctly.
    """
    most_digits = most * DIGITS_PER_VALUE
    if len(body) <= most or (at_most_values(body) <= most and _count(body, _DIGITS) <= most_digits):
        return False
    if not _is_utf8(body):
        # `json.loads` also reads UTF-16, where a quotation mark may be half of another character.
        return True
    outside = _outside_of_texts(body, most)
    return outside is None or _values(outside) > most or _count(outside, _DIGITS) > most_digits


def _values(outside: bytes) -> int:
    """Every comma precedes a value; so does the bracket of each list or object that is not empty."""
    bare = outside.translate(None, _BLANKS)
    return at_most_values(bare) - bare.count(b"[]") - bare.count(b"{}")


def _count(text: bytes, characters: bytes) -> int:
    return len(text) - len(text.translate(None, characters))


def _is_utf8(body: bytes) -> bool:
    """Whether it can only be UTF-8: UTF-16 and UTF-32 have one of these among their first four bytes."""
    return not any(byte in body[:4] for byte in (0x00, 0xFE, 0xFF))


def _outside_of_texts(body: bytes, most: int) -> bytes | None:
    """The JSON with each string replaced by a mark, or None if there are more strings than `most` values can have."""
    if b"\\" in body:
        # Without escaped backslashes and quotation marks, each quotation mark begins or ends a string.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    most_marks = 4 * most
    pieces = body.split(b'"', most_marks + 1)
    return b'"'.join(pieces[::2]) if len(pieces) <= most_marks + 1 else None


HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_VERSIONS[-1]
MODERN_VERSION: Final = "2026-07-28"

META_PREFIX: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = f"{META_PREFIX}protocolVersion"
CLIENT_INFO_KEY: Final = f"{META_PREFIX}clientInfo"
CAPABILITIES_KEY: Final = f"{META_PREFIX}clientCapabilities"
SERVER_INFO_KEY: Final = f"{META_PREFIX}serverInfo"
OPTIONS_KEY: Final = "dogubako/options"

# A message larger than this is refused, on every transport.
MAX_BODY_BYTES: Final = 4 * 1024 * 1024
# More values than this are refused before they are decoded: checking them would stop the event loop for everybody.
MAX_BODY_VALUES: Final = 10_000
# What the protocol itself defines is checked by the SDK, which tries many types for each value.
MAX_PROTOCOL_VALUES: Final = 2_000

TOO_MANY_VALUES: Final = f"more than {MAX_BODY_VALUES:,} values, or numbers of too many digits"
TOO_MANY_PROTOCOL_VALUES: Final = f"more than {MAX_PROTOCOL_VALUES:,} values beside the arguments of a tool"

# What the decoder raises where there is no JSON: wrong syntax, half characters, a bottomless nesting.
NOT_JSON: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
# Stands for a message that could not be decoded; `None` is a message too, if a wrong one.
UNREADABLE: Final = object()

encode_message: Final = msgspec.json.Encoder().encode

# An error repeats no more of an address.
_LONGEST_URI: Final = 200

# By type and not by `isinstance`: a bool is no id.
REQUEST_ID_TYPES: Final = frozenset({str, int})
_LONGEST_TRACEPARENT: Final = 200


def trace_context(meta: Any) -> str | None:
    """The W3C trace context in the `_meta` of a request."""
    found = meta.get("traceparent") if isinstance(meta, Mapping) else None
    return found if isinstance(found, str) and len(found) <= _LONGEST_TRACEPARENT else None


SERVER_INFO: Final = {"name": SERVER_NAME, "version": __version__}

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
# Of our own, in the range that JSON-RPC leaves to servers.
INSUFFICIENT_SCOPE: Final = -32090


class SimpleCall(msgspec.Struct, frozen=True):
    """A `tools/call` request that may take the fast path."""

    id: str | int
    name: str
    arguments: dict[str, Any]
    modern: bool
    # What the client declared, if a tool may talk to it; None if nobody would hear it.
    capabilities: dict[str, Any] | None = None


class Refusal(NamedTuple):
    """A JSON-RPC error."""

    code: int
    message: str
    data: dict[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        return error | {"data": self.data} if self.data else error

    def answer(self, request_id: str | int | None) -> dict[str, Any]:
        """The whole JSON-RPC message."""
        return {"jsonrpc": "2.0", "id": request_id, "error": self.as_json()}


def refusal_of(error: DogubakoError | None, *, modern: bool) -> Refusal | None:
    """The few failures that the protocol itself has a code for. All others are results with `isError`."""
    if isinstance(error, ToolNotFoundError) and error.asked_directly:
        return Refusal(INVALID_PARAMS, error.message, error_facts(error))
    if modern and isinstance(error, CapabilityRequiredError):
        wanted: dict[str, Any] = {error.capability: {}}
        required = {"requiredCapabilities": {"extensions": wanted} if error.capability == TASKS else wanted}
        return Refusal(MISSING_CAPABILITY, error.message, required | error_facts(error))
    return None


def refusal_outside_tools(error: DogubakoError, *, modern: bool, uri: str | None = None) -> Refusal:
    """Resources, prompts and completions have no `isError`; every failure is a JSON-RPC error."""
    known = refusal_of(error, modern=modern)
    if known is not None:
        return known
    data = error_facts(error) | ({"uri": uri[:_LONGEST_URI]} if uri is not None else {})
    code = INTERNAL_ERROR
    if isinstance(error, NotFoundError | ValidationError):
        code = INVALID_PARAMS
    elif isinstance(error, AuthorizationError):
        code = INVALID_REQUEST
    return Refusal(code, error.message, data)


def response(call: SimpleCall, result: ToolResult) -> dict[str, Any]:
    """The JSON-RPC response for the outcome of a call."""
    refusal = refusal_of(result.error, modern=call.modern)
    if refusal is not None:
        return refusal.answer(call.id)
    body = call_result(result, modern=call.modern)
    if call.modern:
        body["_meta"] = {**body.get("_meta", {}), SERVER_INFO_KEY: SERVER_INFO}
    return {"jsonrpc": "2.0", "id": call.id, "result": body}


_TEXT_BEGINS: Final = b'"result":{"content":[{"type":"text","text":'
_TEXT_ENDS: Final = b'}],"isError":false}}'
_MODERN_TEXT_ENDS: Final = b'}],"isError":false,"resultType":"complete","_meta":%b}}' % encode_message(
    {SERVER_INFO_KEY: SERVER_INFO}
)


def encoded_response(call: SimpleCall, result: ToolResult) -> bytes:
    """The response as JSON. The most frequent one, a single text, is put together from prepared bytes."""
    if result.kind != "text" or result.error is not None or result.structured is not None or len(result.content) != 1:
        return encode_message(response(call, result))
    begins = b'{"jsonrpc":"2.0","id":%b,%b%b' % (
        encode_message(call.id),
        _TEXT_BEGINS,
        encode_message(result.content[0]["text"]),
    )
    return begins + (_MODERN_TEXT_ENDS if call.modern else _TEXT_ENDS)


def is_message(message: Any) -> bool:
    """Whether this is a JSON-RPC request, notification or response. The SDK's own refusal would quote what it got."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if "id" in message and not is_request_id(message["id"]):
        return False
    if "method" in message:
        return isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)
    return "id" in message and (isinstance(message.get("result"), dict) or _is_error(message.get("error")))


def _is_error(error: Any) -> bool:
    return isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)


def has_too_many_values(body: bytes) -> bool:
    """Whether a message or body holds more values than we decode."""
    return has_more_values(body, MAX_BODY_VALUES)


def has_too_many_protocol_values(message: Any) -> bool:
    """Whether a message holds more values than it can need, apart from the arguments of a tool."""
    waiting, left = [message], MAX_PROTOCOL_VALUES
    while waiting:
        value = waiting.pop()
        if not isinstance(value, dict | list):
            continue
        left -= len(value)
        if left < 0:
            return True
        if isinstance(value, list):
            waiting += value
        else:
            waiting += [member for key, member in value.items() if key != "arguments" or value is not _params(message)]
    return False


def _params(message: Any) -> Any:
    """The params of a call; what stands in their `arguments` is the tool's own."""
    return message.get("params") if isinstance(message, dict) and message.get("method") == "tools/call" else None


def is_request_id(value: Any) -> TypeGuard[str | int]:
    return type(value) in REQUEST_ID_TYPES


def call_result(result: ToolResult, *, modern: bool) -> dict[str, Any]:
    """The `tools/call` result of this protocol version."""
    body = result.to_mcp()
    if modern:
        body["resultType"] = "complete"
    return body


def options_from(meta: Mapping[str, Any] | None) -> ExecutionOptions:
    """Read the execution options in `_meta["dogubako/options"]`."""
    if not meta or OPTIONS_KEY not in meta:
        return NO_OPTIONS
    return checked_options(meta[OPTIONS_KEY])


def checked_options(raw: Any) -> ExecutionOptions:
    """Options from outside, or a ValidationError that names what is wrong with them."""
    if not isinstance(raw, Mapping):
        raise ValidationError.of("options", "Invalid type for parameter options: expected object")
    return _OPTIONS.check(raw)


_OPTIONS = ModelValidator(ExecutionOptions, prefix="options")
