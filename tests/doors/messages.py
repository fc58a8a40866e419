"""MCP messages as clients write them, in both protocol eras. Spelled out here, not taken from the code under test."""

import json
from collections.abc import Mapping
from typing import Any, Final

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
CLIENT_INFO: Final = {"name": "a client", "version": "1.0"}
BOTH: Final = "application/json, text/event-stream"

_PREFIX: Final = "io.modelcontextprotocol/"


def request(method: str, params: Mapping[str, Any] | None = None, *, request_id: int | str = 1) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def line(message: Mapping[str, Any]) -> str:
    """A message as stdio carries it."""
    return json.dumps(message) + "\n"


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(one) for one in text.split("\n") if one]


def initialize(version: str = LEGACY, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The params of the handshake."""
    return {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": CLIENT_INFO}


def envelope(capabilities: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The `_meta` that every modern request carries."""
    return {
        f"{_PREFIX}protocolVersion": MODERN,
        f"{_PREFIX}clientInfo": CLIENT_INFO,
        f"{_PREFIX}clientCapabilities": capabilities or {},
        **more,
    }


def call(
    name: str,
    arguments: Any = None,
    *,
    modern: bool,
    options: Any = None,
    meta: Mapping[str, Any] | None = None,
    capabilities: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The params of `tools/call`."""
    said = {**(envelope(capabilities) if modern else {}), **(meta or {})}
    if options is not None:
        said["dogubako/options"] = options
    params: dict[str, Any] = {"name": name, "arguments": {} if arguments is None else arguments}
    return {**params, "_meta": said} if said else params


def legacy_headers(session: str | None = None, version: str = LEGACY) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": BOTH}
    return {**headers, "mcp-session-id": session, "mcp-protocol-version": version} if session else headers


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": BOTH,
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
    }
    return {**headers, "mcp-name": name} if name is not None else headers


def events(body: bytes | str) -> list[dict[str, Any]]:
    """The messages of a stream of server-sent events; comments and empty events are left out."""
    text = body.decode() if isinstance(body, bytes) else body
    # Only these end a line in a stream; a text may hold other line separators of Unicode.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [json.loads(line[5:]) for line in lines if line.startswith("data:") and line[5:].strip()]


def response_in(content_type: str, body: bytes) -> dict[str, Any]:
    """The response to a request, answered as JSON or at the end of a stream."""
    if not content_type.startswith("text/event-stream"):
        answer = json.loads(body)
        assert isinstance(answer, dict)
        return answer
    return next(one for one in reversed(events(body)) if "result" in one or "error" in one)
