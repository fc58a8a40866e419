"""A client of revision 2026-07-28 that forges, repeats and swaps what it sends, over a real socket."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from tests.doors import messages
from tests.doors.processes import PATIENCE

FORMS: Final[dict[str, Any]] = {"elicitation": {"form": {}}}
YES: Final = {"action": "accept", "content": {"confirm": True}}
FORGED: Final = {"dogubako_confirm": YES}


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Somebody with these credentials. Every request has a connection of its own, so that any worker may take it."""

    url: str
    credentials: Mapping[str, str] = field(default_factory=dict)

    def call(self, name: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return self.send("tools/call", {"name": name, "arguments": arguments, **more}, name)

    def send(self, method: str, params: Mapping[str, Any], name: str) -> dict[str, Any]:
        body = messages.request(method, {**params, "_meta": messages.envelope(FORMS)})
        headers = {**messages.modern_headers(method, name), **self.credentials, "connection": "close"}
        response = httpx2.post(f"{self.url}/mcp", json=body, headers=headers, timeout=PATIENCE, trust_env=False)
        return messages.response_in(response.headers["content-type"], response.content)

    def question(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call without any answer: the state that comes with the question."""
        result = self.call(name, arguments)["result"]
        assert result["resultType"] == "input_required"
        return str(result["requestState"])


def was_asked(answer: Mapping[str, Any]) -> bool:
    """Whether the answer is a question to the person."""
    return bool(answer.get("result", {}).get("resultType") == "input_required")


def was_refused(answer: Mapping[str, Any]) -> bool:
    """Whether the server did not accept the state at all."""
    return bool(answer.get("error", {}).get("data", {}).get("reason") == "invalid_request_state")


def text_of(answer: Mapping[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])
