"""Set the MCP headers for method and name, by which proxies route a message (since 2026-07-28)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dogubako.gateway.link import Message
from dogubako.gateway.session import MODERN_VERSION

_VERSION: Final = "mcp-protocol-version"
# The parameter that names what a request is about.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ANNOTATION: Final = "x-mcp-header"


class RoutingHeaders:
    """Headers for messages of one protocol version. `learn` finds arguments that have headers of their own."""

    def __init__(self) -> None:
        # Empty before the handshake has chosen one.
        self.version = ""
        self._annotated: dict[str, Any] = {}

    @property
    def is_modern(self) -> bool:
        return self.version == MODERN_VERSION

    def learn(self, tools: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
        """Remember which arguments of tools are mirrored in headers. Tools with wrong annotations are refused."""
        self._annotated, wrong = {}, {}
        for tool in tools if self.is_modern else ():
            if _ANNOTATION in str(tool.get("inputSchema")):
                from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map  # noqa: PLC0415 - heavy

                if find_invalid_x_mcp_header(tool["inputSchema"]) is None:
                    self._annotated[tool["name"]] = x_mcp_header_map(tool["inputSchema"])
                else:
                    wrong[str(tool["name"])] = f"has a wrong {_ANNOTATION}"
        return wrong

    def headers(self, message: Message | None) -> dict[str, str]:
        headers = {_VERSION: self.version} if self.version else {}
        if message is None or not self.is_modern or "method" not in message:
            return headers
        method, params = message["method"], message.get("params") or {}
        headers["mcp-method"] = method
        name = params.get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = _header_value(name)
        if method == "tools/call" and name in self._annotated:
            from mcp.shared.inbound import mcp_param_headers  # noqa: PLC0415 - heavy

            headers |= mcp_param_headers(self._annotated[name], params.get("arguments") or {})
        return headers


def _header_value(value: str) -> str:
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    from mcp.shared.inbound import encode_header_value  # noqa: PLC0415 - heavy

    return encode_header_value(value)
