"""n8n's own MCP server: node types, and runs that the public API does not offer. It has a token of its own."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dogubako.contract.errors import ApiError
from dogubako.outbound.http import Operation, ServiceHttp, ServiceResponse

_PATH: Final = "/mcp-server/http"
_HEADERS: Final = {"Accept": "application/json, text/event-stream"}
_EVENT: Final = b"data:"
_LONGEST_REASON: Final = 500
_SECONDS: Final = 60.0


class McpEndpoint:
    """Calls tools of n8n's MCP server. It keeps no session: every call is one request."""

    def __init__(self, http: ServiceHttp, token: str) -> None:
        self._http = http
        self._headers = {**_HEADERS, "Authorization": f"Bearer {token}"}

    async def call(
        self, tool: str, arguments: Mapping[str, Any], operation: Operation, *, seconds: float = _SECONDS
    ) -> dict[str, Any]:
        """The structured result of a tool; ApiError with n8n's own reason if it failed."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = await self._http.request(
            "POST", _PATH, operation, json=request, headers=self._headers, seconds=seconds
        )
        if not answer.ok:
            raise self._refused(answer, operation)
        message = _message(answer.body)
        result = message.get("result")
        if not isinstance(result, Mapping):
            raise self._http.failed(operation, _reason(message.get("error")))
        if result.get("isError"):
            raise self._http.failed(operation, _text(result))
        structured = result.get("structuredContent")
        return dict(structured) if isinstance(structured, Mapping) else {"text": _text(result)}

    def _refused(self, answer: ServiceResponse, operation: Operation) -> ApiError:
        hint = "Check N8N_MCP_TOKEN: n8n makes one under Settings → Instance-level MCP."
        if answer.status in (403, 404):
            hint = "An administrator has to switch on MCP access under Settings → Instance-level MCP."
        reason = f"n8n's MCP endpoint answered with status {answer.status}"
        return self._http.failed(operation, reason, status=answer.status, hint=hint)


def _message(body: bytes) -> dict[str, Any]:
    """The JSON-RPC message, alone or as the last event of a stream."""
    lines = [line[len(_EVENT) :] for line in body.splitlines() if line.startswith(_EVENT)]
    try:
        found = msgspec.json.decode(lines[-1] if lines else body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _reason(error: Any) -> str:
    message = error.get("message") if isinstance(error, Mapping) else None
    return str(message)[:_LONGEST_REASON] if message else "n8n's MCP endpoint gave no answer"


def _text(result: Mapping[str, Any]) -> str:
    blocks = result.get("content")
    texts = [str(one.get("text")) for one in (blocks if isinstance(blocks, list) else ()) if isinstance(one, Mapping)]
    return "\n".join(texts)[:_LONGEST_REASON] or "the tool failed without a reason"
