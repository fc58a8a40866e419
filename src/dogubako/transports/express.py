"""The short way for a plain `tools/call`: straight to the pipeline, past everything that such a call does not need.

It takes a message only when its answer cannot differ from the long way's: a known tool that does not talk, no
unusual field, nothing to negotiate. Everything else is left for the SDK, unread and unchanged.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dogubako import __version__
from dogubako.contract.call import Caller, Door, ToolCall, ToolResult
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.passing_tool import PassingTool
from dogubako.transports.inside import SERVER_NAME, Inside
from dogubako.transports.stopping import Stop
from dogubako.transports.wire import (
    CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    MODERN_VERSION,
    REQUEST_CANCELLED,
    SERVER_INFO_KEY,
    VERSION_KEY,
    Refusal,
    call_result,
    is_request_id,
    refusal_of,
)

_MESSAGE_KEYS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_PARAM_KEYS: Final = frozenset({"name", "arguments", "_meta"})
_LEGACY_META_KEYS: Final = frozenset({"progressToken"})
_MODERN_META_KEYS: Final = frozenset({VERSION_KEY, CLIENT_INFO_KEY, CAPABILITIES_KEY, "progressToken"})
_MOST_ENVELOPES: Final = 1_000
_LONGEST_ENVELOPE: Final = 4_096

SERVER_INFO: Final = {"name": SERVER_NAME, "version": __version__}
CANCELLED: Final = Refusal(REQUEST_CANCELLED, "Request cancelled", None)


class PlainCall(msgspec.Struct, frozen=True):
    """A message that may take the short way."""

    id: str | int
    name: str
    arguments: dict[str, Any]
    modern: bool


class Express:
    """Recognises plain calls and answers them. `taken` counts, so that a test can see the way was used."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._envelopes: set[bytes] = set()
        self._running: dict[tuple[str, str | int], Stop] = {}
        self.taken = 0

    def recognise(self, message: Any, *, modern: bool) -> PlainCall | None:
        """The call, if this message is nothing but one."""
        if not isinstance(message, dict) or message.keys() != _MESSAGE_KEYS or message["method"] != "tools/call":
            return None
        params, request_id = message["params"], message["id"]
        if message["jsonrpc"] != "2.0" or not is_request_id(request_id) or not isinstance(params, dict):
            return None
        name, arguments = params.get("name"), params.get("arguments", {})
        if not (params.keys() <= _PARAM_KEYS and isinstance(name, str) and isinstance(arguments, dict)):
            return None
        meta_fits = self._modern_meta(params.get("_meta")) if modern else _legacy_meta(params.get("_meta", {}))
        if not meta_fits or not self._is_plain(name, arguments):
            return None
        return PlainCall(request_id, name, arguments, modern)

    async def answer(self, call: PlainCall, *, door: Door, caller: Caller, session: str = "") -> dict[str, Any]:
        """The JSON-RPC response. A call that is cancelled by its id is answered with an error, as the SDK does."""
        self.taken += 1
        key = (session, call.id)
        with Stop() as stop:
            self._running[key] = stop
            try:
                return response(call, await self._inside.pipeline.handle(tool_call(call, door, caller)))
            finally:
                # A client that uses an id twice at once must not lose its way to stop the other call.
                if self._running.get(key) is stop:
                    del self._running[key]
        return CANCELLED.answer(call.id)

    def cancel(self, session: str, request_id: Any) -> bool:
        """Stop a call that is running on the short way; False if there is none of this id."""
        stop = self._running.get((session, request_id)) if is_request_id(request_id) else None
        if stop is None:
            return False
        stop.cancel()
        return True

    def _is_plain(self, name: Any, arguments: Mapping[str, Any] | None = None) -> bool:
        try:
            entry = self._inside.registry.get(name) if isinstance(name, str) else None
        except ToolNotFoundError:
            return False
        if entry is None or entry.implementation.talks or entry.mirrored_in_headers:
            return False
        if self._inside.pipeline.policy.may_ask(entry):
            return False
        if not isinstance(entry.implementation, PassingTool):
            return True
        # What is passed on must be plain itself. What that one would pass on again is left to the long way.
        return arguments is not None and self._is_plain(arguments.get(entry.implementation.target))

    def _modern_meta(self, meta: Any) -> bool:
        """The envelope of a modern request, checked by the SDK the first time that it is seen."""
        if (
            not isinstance(meta, dict)
            or meta.get(VERSION_KEY) != MODERN_VERSION
            or not meta.keys() <= _MODERN_META_KEYS
        ):
            return False
        if "progressToken" in meta:
            if not is_request_id(meta["progressToken"]):
                return False
            meta = {key: value for key, value in meta.items() if key != "progressToken"}
        envelope = msgspec.json.encode(meta)
        if envelope in self._envelopes:
            return True
        # What is remembered must not depend on how much a client has to say.
        if len(envelope) > _LONGEST_ENVELOPE or not _valid_envelope(meta):
            return False
        if len(self._envelopes) >= _MOST_ENVELOPES:
            self._envelopes.clear()
        self._envelopes.add(envelope)
        return True


def tool_call(call: PlainCall, door: Door, caller: Caller) -> ToolCall:
    return ToolCall(name=call.name, parameters=call.arguments, door=door, caller=caller)


def response(call: PlainCall, result: ToolResult) -> dict[str, Any]:
    """The JSON-RPC response for the outcome of a call."""
    refusal = refusal_of(result.error, modern=call.modern)
    if refusal is not None:
        return refusal.answer(call.id)
    body = call_result(result, modern=call.modern)
    if call.modern:
        body["_meta"] = {**body.get("_meta", {}), SERVER_INFO_KEY: SERVER_INFO}
    return {"jsonrpc": "2.0", "id": call.id, "result": body}


def _legacy_meta(meta: Any) -> bool:
    if not isinstance(meta, dict) or not meta.keys() <= _LEGACY_META_KEYS:
        return False
    return all(is_request_id(token) for token in meta.values())


def _valid_envelope(meta: Mapping[str, Any]) -> bool:
    # Heavy, and only modern clients need it.
    from mcp_types.methods import validate_client_request  # noqa: PLC0415
    from pydantic import ValidationError  # noqa: PLC0415

    if CAPABILITIES_KEY not in meta:
        return False
    try:
        validate_client_request("tools/call", MODERN_VERSION, {"name": "x", "_meta": dict(meta)})
    except ValidationError:
        return False
    return True
