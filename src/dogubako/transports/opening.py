"""The first words of a conversation in the handshake era: `initialize`, `ping`, `tools/list`.

They are the same every time, so they need no SDK. A test compares each with the SDK's own answer.
"""

from typing import Any, Final

from dogubako.contract.call import TRUSTED
from dogubako.transports import listing
from dogubako.transports.express import SERVER_INFO
from dogubako.transports.inside import Inside
from dogubako.transports.wire import HANDSHAKE_VERSIONS, LATEST_HANDSHAKE_VERSION, is_request_id

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


class Opening:
    """Answers the opening, exactly as the SDK would."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self.opened = False
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
            page = listing.tools(self._inside, TRUSTED)
            return page if self._is_plain(page) else None
        return None

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any] | None:
        if params.keys() != _INITIALIZE_KEYS or not _is_simple_client(params):
            return None
        requested = params["protocolVersion"]
        self.version = requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE_VERSION
        self.opened = True
        return {
            "protocolVersion": self.version,
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER_INFO,
            "instructions": listing.instructions(self._inside, TRUSTED),
        }

    def _is_plain(self, page: dict[str, Any]) -> bool:
        return all("outputSchema" not in tool for tool in page["tools"])


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
    """Whether nothing in it can be wrong; what the SDK would refuse must not be welcomed by us."""
    if not isinstance(value, dict):
        return False
    if name == "roots":
        return all(key == "listChanged" and isinstance(flag, bool) for key, flag in value.items())
    return name in _SIMPLE_CAPABILITIES and all(isinstance(detail, dict) for detail in value.values())
