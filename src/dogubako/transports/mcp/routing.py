"""Which way an MCP request takes over HTTP, as far as its headers decide it."""

from functools import lru_cache
from typing import Final

import msgspec
from starlette.types import Scope

from dogubako.transports.http.request import require_json
from dogubako.transports.mcp.protocol import HANDSHAKE_VERSIONS, MODERN_VERSION

_ROUTING: Final = frozenset(
    {b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-session-id", b"accept", b"content-type"}
)


def shakes_hands(headers: dict[bytes, bytes]) -> bool:
    version = headers.get(b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_VERSIONS


def _routing_headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers that decide the path; None if one is repeated or mirrors an argument: the SDK judges those."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ROUTING:
            if name in found:
                return None
            found[name] = value.strip(b" \t")
        elif name.startswith(b"mcp-param-"):
            return None
    return found


class Routing(msgspec.Struct, frozen=True):
    """What the headers say about a request, whether they fit a simple call, and which."""

    headers: dict[bytes, bytes]
    fits: bool
    modern: bool
    session: str
    # The tool that the head names.
    tool: str | None
    # The header of a response in this session.
    session_line: bytes = b""


def routing_of(scope: Scope) -> Routing | None:
    """What the head of a request decides; None if the SDK judges it. Raises if it does not announce JSON."""
    require_json(scope)
    headers = _routing_headers(scope)
    if headers is None:
        return None
    version = headers.get(b"mcp-protocol-version")
    modern = version == MODERN_VERSION.encode()
    known = headers.get(b"mcp-method") == b"tools/call" if modern else shakes_hands(headers)
    session = headers.get(b"mcp-session-id", b"").decode("latin-1")
    line = b"mcp-session-id: %b\r\n" % headers[b"mcp-session-id"] if session and not modern else b""
    fits = known and _content_fits(headers)
    # Names have no other characters; what is no text equals none.
    tool = headers.get(b"mcp-name", b"").decode("utf-8", "replace")
    return Routing(headers, fits, modern, session, tool, line)


def headers_in(routing: Routing | None) -> dict[bytes, bytes]:
    return {} if routing is None else routing.headers


def _content_fits(headers: dict[bytes, bytes]) -> bool:
    accept, kind = headers.get(b"accept", b""), headers.get(b"content-type", b"")
    if len(accept) + len(kind) > _LONGEST_REMEMBERED:
        return _judge_content(accept, kind)
    return _content_judged(accept, kind)


def _judge_content(accept: bytes, kind: bytes) -> bool:
    accepted = {part.split(b";")[0].strip().lower() for part in accept.split(b",")}
    both = b"*/*" in accepted or (b"application/json" in accepted and b"text/event-stream" in accepted)
    # In capitals it is the same type, but the SDK refuses that; its refusals stay its own.
    return both and kind.split(b";")[0].strip() == b"application/json"


# The same few come with every request. What is longer is not remembered.
_LONGEST_REMEMBERED: Final = 256
_content_judged = lru_cache(maxsize=1_000)(_judge_content)
