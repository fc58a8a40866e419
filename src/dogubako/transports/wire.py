"""MCP's words for our outcomes. Knows the protocol, not the SDK, so that a quick answer needs no heavy import."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeGuard

import msgspec

from dogubako.contract.call import NO_OPTIONS, ExecutionOptions, ToolResult, error_facts
from dogubako.contract.errors import (
    AuthorizationError,
    CapabilityRequiredError,
    DogubakoError,
    NotFoundError,
    ToolNotFoundError,
    ValidationError,
)
from dogubako.contract.json_values import has_more_values
from dogubako.engine.validation import ModelValidator

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_VERSIONS[-1]
MODERN_VERSION: Final = "2026-07-28"

META_PREFIX: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = f"{META_PREFIX}protocolVersion"
CLIENT_INFO_KEY: Final = f"{META_PREFIX}clientInfo"
CAPABILITIES_KEY: Final = f"{META_PREFIX}clientCapabilities"
SERVER_INFO_KEY: Final = f"{META_PREFIX}serverInfo"
OPTIONS_KEY: Final = "dogubako/options"

# A message larger than this is refused, whatever door it comes by.
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

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
MISSING_CAPABILITY: Final = -32021
# Of our own, in the range that JSON-RPC leaves to servers.
INSUFFICIENT_SCOPE: Final = -32090


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
        required: dict[str, Any] = {"requiredCapabilities": {error.capability: {}}}
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


def is_message(message: Any) -> bool:
    """Whether this is a JSON-RPC request, notification or response. The SDK's own refusal would quote what it got."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if "id" in message and not is_request_id(message["id"]):
        return False
    if "method" in message:
        return isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)
    return isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict)


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
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def call_result(result: ToolResult, *, modern: bool) -> dict[str, Any]:
    """The `tools/call` result of this protocol era."""
    body = result.to_mcp()
    if modern:
        body["resultType"] = "complete"
    return body


def options_from(meta: Mapping[str, Any] | None) -> ExecutionOptions:
    """What the caller asked for in `_meta["dogubako/options"]`."""
    if not meta or OPTIONS_KEY not in meta:
        return NO_OPTIONS
    return checked_options(meta[OPTIONS_KEY])


def checked_options(raw: Any) -> ExecutionOptions:
    """Options from outside, or a ValidationError that names what is wrong with them."""
    if not isinstance(raw, Mapping):
        raise ValidationError.of("options", "Invalid type for parameter options: expected object")
    return _OPTIONS.check(raw)


_OPTIONS = ModelValidator(ExecutionOptions, prefix="options")
