"""The fast path: answer `initialize`, `ping`, `tools/list` and simple `tools/call` requests without the SDK.

It takes a message only when its answer cannot differ from the SDK's: a known tool that does not talk, no unusual field,
nothing to negotiate. A tool of another server could talk: its call is taken for a client that hears nothing, and for
others where the transport can hand a running call over to the SDK (`handover.py`). Everything else is left for the SDK,
unread and unchanged.
"""

from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast

import msgspec

from dogubako.contract.call import TRUSTED, Caller, Door, ToolCall, ToolResult
from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.tool import PassingTool
from dogubako.engine.prepared import BegunCall
from dogubako.transports.http.disconnect import CancelHandle
from dogubako.transports.mcp import lists
from dogubako.transports.mcp.handover import Handover
from dogubako.transports.mcp.protocol import (
    CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_VERSION,
    NOT_JSON,
    REQUEST_CANCELLED,
    REQUEST_ID_TYPES,
    SERVER_INFO,
    VERSION_KEY,
    Refusal,
    SimpleCall,
    is_request_id,
)
from dogubako.transports.toolbox import ServedToolbox

_MESSAGE_KEYS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_PARAM_KEYS: Final = frozenset({"name", "arguments", "_meta"})
_LEGACY_META_KEYS: Final = frozenset({"progressToken"})
_MODERN_META_KEYS: Final = frozenset({VERSION_KEY, CLIENT_INFO_KEY, CAPABILITIES_KEY, "progressToken"})
_LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
_TALKING_META_KEYS: Final = _MODERN_META_KEYS | {_LOG_LEVEL_KEY}
_TALK: Final = frozenset({"elicitation", "sampling", "roots"})
_MOST_ENVELOPES: Final = 1_000
_LONGEST_ENVELOPE: Final = 4_096

NO_META: Final = msgspec.Raw()


class _CallParams(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    meta: msgspec.Raw = msgspec.field(name="_meta", default=NO_META)


class _CallMessage(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of nearly all calls."""

    jsonrpc: str
    # Not declared as it must be: that would take a number like 1.0 for an integer.
    id: Any
    method: str
    params: _CallParams


_read_message = msgspec.json.Decoder(_CallMessage).decode
_decode = msgspec.json.Decoder().decode

CANCELLED: Final = Refusal(REQUEST_CANCELLED, "Request cancelled", None)


class FastPath:
    """Matches simple calls and answers them. `taken` counts them, for tests."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside
        self._envelopes: set[bytes] = set()
        # The same as they were sent: equal ones may be written in many ways.
        self._raw_envelopes: set[bytes] = set()
        # The tools whose calls are simple, as of one state of the registry.
        self._plain: set[str] = set()
        self._plain_of = -1
        self._running: dict[tuple[str, str | int], CancelHandle] = {}
        self.taken = 0

    def match(
        self, message: Any, *, modern: bool, hands_over: bool = False, declared: dict[str, Any] | None = None
    ) -> SimpleCall | None:
        """The call, if the message is a simple one.

        `hands_over`: the transport can hand a call over when its tool talks. `declared` are the capabilities of a
        client of an older revision, which its requests do not repeat.
        """
        if not isinstance(message, dict) or message.keys() != _MESSAGE_KEYS or message["method"] != "tools/call":
            return None
        params, request_id = message["params"], message["id"]
        if message["jsonrpc"] != "2.0" or type(request_id) not in REQUEST_ID_TYPES or not isinstance(params, dict):
            return None
        name, arguments = params.get("name"), params.get("arguments", {})
        if not (params.keys() <= _PARAM_KEYS and isinstance(name, str) and isinstance(arguments, dict)):
            return None
        meta = params.get("_meta", {})
        if not (self._modern_meta(meta, with_logs=hands_over) if modern else _legacy_meta(meta)):
            return None
        hears_nothing = modern and _hears_nothing(meta)
        if self._is_plain(name, arguments, hears_nothing=hears_nothing):
            return SimpleCall(request_id, name, arguments, modern)
        capabilities = meta[CAPABILITIES_KEY] if modern else declared
        if not hands_over or hears_nothing or capabilities is None:
            return None
        if not self._is_plain(name, arguments, hears_nothing=True):
            return None
        return SimpleCall(request_id, name, arguments, modern, capabilities)

    def read(self, body: bytes, *, modern: bool) -> SimpleCall | None:
        """The call, if the body is a simple one in the shape of nearly all: no more is decoded than it needs.

        It takes nothing that `match` does not take.
        """
        try:
            message = _read_message(body)
        except NOT_JSON:
            return None
        params = message.params
        if message.method != "tools/call" or message.jsonrpc != "2.0" or type(message.id) not in REQUEST_ID_TYPES:
            return None
        if not (self._is_known_envelope(params.meta) if modern else params.meta == NO_META):
            return None
        if self._plain_of != self._inside.registry.generation:
            self._plain.clear()
            self._plain_of = self._inside.registry.generation
        if params.name not in self._plain:
            if not self._is_plain(params.name) or self._inside.registry.get(params.name).passes_on:
                return None
            self._plain.add(params.name)
        return SimpleCall(message.id, params.name, params.arguments, modern)

    def _is_known_envelope(self, meta: msgspec.Raw) -> bool:
        """Whether the `_meta` of a 2026-07-28 request is valid, as `_modern_meta` finds it."""
        if (encoded := bytes(meta)) in self._raw_envelopes:
            return True
        try:
            found = _decode(encoded)
        except NOT_JSON:
            return False
        if len(encoded) > _LONGEST_ENVELOPE or not self._modern_meta(found, with_logs=True):
            return False
        if "progressToken" not in found:
            if len(self._raw_envelopes) >= _MOST_ENVELOPES:
                self._raw_envelopes.clear()
            self._raw_envelopes.add(encoded)
        return True

    def begin(
        self, call: SimpleCall, *, door: Door, caller: Caller
    ) -> ToolResult | BegunCall | Coroutine[Any, Any, ToolResult]:
        """Begin a call. One that does not end at once is awaited inside of `cancellable`."""
        self.taken += 1
        tool_call = ToolCall(name=call.name, parameters=call.arguments, door=door, caller=caller)
        return self._inside.pipeline.begin(tool_call) or self._inside.pipeline.outcome(tool_call)

    def answer(self, call: SimpleCall, *, door: Door, caller: Caller) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        """The same, where a call that waits is awaited in any case."""
        begun = self.begin(call, door=door, caller=caller)
        return begun.outcome() if isinstance(begun, BegunCall) else begun

    async def talk(self, call: SimpleCall, handover: Handover, *, door: Door, caller: Caller) -> ToolResult | None:
        """The result of a call whose tool may talk, inside of `cancellable`; None if the SDK answers it."""
        self.taken += 1
        result = None
        try:
            tool_call = ToolCall(
                name=call.name, parameters=call.arguments, door=door, caller=caller, conversation=handover
            )
            result = await self._inside.pipeline.handle(tool_call)
            return None if handover.begun else result
        finally:
            handover.finish(result)

    @contextmanager
    def cancellable(
        self, call: SimpleCall, session: str = "", handle: CancelHandle | None = None
    ) -> Iterator[CancelHandle]:
        """While inside, `cancel` with the id of the request, or of the handle, cancels what runs."""
        key = (session, call.id)
        self._running[key] = handle = handle or CancelHandle()
        try:
            with handle:
                yield handle
        finally:
            # A client that uses an id twice at once must not lose its way to cancel the other call.
            if self._running.get(key) is handle:
                del self._running[key]

    def handed_over(self, call: SimpleCall, handle: CancelHandle, session: str = "") -> None:
        """Forget how to cancel a call by its id: the SDK does it from now on."""
        if self._running.get((session, call.id)) is handle:
            del self._running[session, call.id]

    def cancel(self, session: str, request_id: Any) -> bool:
        """Cancel a call that is running on the fast path; False if there is none of this id."""
        stop = self._running.get((session, request_id)) if is_request_id(request_id) else None
        if stop is None:
            return False
        stop.cancel()
        return True

    def _is_plain(self, name: Any, arguments: Mapping[str, Any] | None = None, *, hears_nothing: bool = False) -> bool:
        try:
            entry = self._inside.registry.get(name) if isinstance(name, str) else None
        except ToolNotFoundError:
            return False
        if entry is None or entry.mirrored_in_headers or isinstance(entry.implementation, EffectByCall):
            return False
        if entry.implementation.long_running:
            return False
        if entry.implementation.talks and not (entry.implementation.foreign and hears_nothing):
            return False
        if self._inside.pipeline.policy.may_ask(entry):
            return False
        if not entry.passes_on:
            return True
        # What is passed on must be plain itself. What that one would pass on again is left to the long way.
        target = cast("PassingTool[Any]", entry.implementation).target
        return arguments is not None and self._is_plain(arguments.get(target), hears_nothing=hears_nothing)

    def _modern_meta(self, meta: Any, *, with_logs: bool = False) -> bool:
        """Whether the `_meta` of a 2026-07-28 request is valid. The SDK checks it the first time that it is seen."""
        if (
            not isinstance(meta, dict)
            or meta.get(VERSION_KEY) != MODERN_VERSION
            or not meta.keys() <= (_TALKING_META_KEYS if with_logs else _MODERN_META_KEYS)
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


def _hears_nothing(meta: Mapping[str, Any]) -> bool:
    """Whether a client of 2026-07-28 takes no progress in this call and answers no questions.

    A tool can talk to it as little as to nobody. Lines for its log need a level.
    """
    if "progressToken" in meta or _LOG_LEVEL_KEY in meta:
        return False
    return not (_TALK & meta[CAPABILITIES_KEY].keys())


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


CAPABILITIES: Final = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "tools": {"listChanged": True},
}
_INITIALIZE_KEYS: Final = frozenset({"protocolVersion", "capabilities", "clientInfo"})
_CLIENT_KEYS: Final = frozenset({"name", "version", "title", "description", "websiteUrl"})
_SIMPLE_CAPABILITIES: Final = frozenset({"sampling", "elicitation", "experimental"})


class Handshake:
    """Answers `initialize`, `ping` and `tools/list`, exactly as the SDK would."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside
        self.opened = False
        # What the client declared, if it was answered here.
        self.capabilities: dict[str, Any] | None = None
        self.version = LATEST_HANDSHAKE_VERSION

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The response, or nothing: then the SDK decides."""
        request_id = message.get("id")
        if not is_request_id(request_id) or message.get("jsonrpc") != "2.0":
            return None
        params = message.get("params", {})
        result = self._result(message.get("method"), params if isinstance(params, dict) else None)
        return None if result is None else {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _result(self, method: Any, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if params is None:
            return None
        if method == "initialize" and not self.opened:
            return self._initialize(params)
        if method == "ping" and not params:
            return {}
        # Revisions before 2025-06-18 know fewer fields; the SDK sieves those.
        if method == "tools/list" and self.opened and not params and self.version >= "2025-06-18":
            page = lists.tools(self._inside, TRUSTED)
            return page if self._is_plain(page) else None
        return None

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if params.keys() != _INITIALIZE_KEYS or not _is_simple_client(params) or self._inside.catalog.has_skills:
            return None
        requested = params["protocolVersion"]
        self.version = requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE_VERSION
        self.opened = True
        self.capabilities = params["capabilities"]
        return {
            "protocolVersion": self.version,
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": lists.instructions(self._inside, TRUSTED),
        }

    def _is_plain(self, page: dict[str, Any]) -> bool:
        """Whether revisions before 2026-07-28 know all of it: there, an output schema describes an object."""
        return all(tool.get("outputSchema", {"type": "object"}).get("type") == "object" for tool in page["tools"])


def _is_simple_client(params: dict[str, Any]) -> bool:
    info, capabilities = params["clientInfo"], params["capabilities"]
    return (
        isinstance(params["protocolVersion"], str)
        and isinstance(capabilities, dict)
        and all(_is_simple_capability(name, value) for name, value in capabilities.items())
        and isinstance(info, dict)
        and {"name", "version"} <= info.keys() <= _CLIENT_KEYS
        and all(isinstance(value, str) for value in info.values())
    )


def _is_simple_capability(name: str, value: Any) -> bool:
    """Whether the capability is valid: a client that the SDK would refuse must not be accepted here."""
    if not isinstance(value, dict):
        return False
    if name == "roots":
        return all(key == "listChanged" and isinstance(flag, bool) for key, flag in value.items())
    return name in _SIMPLE_CAPABILITIES and all(isinstance(detail, dict) for detail in value.values())
