"""A caller that speaks MCP over HTTP in either era."""

from collections.abc import Mapping
from typing import Any, Final

import anyio

from tests.doors import messages
from tests.doors.asgi import Client, Visit
from tests.doors.waiting import until

from .methods import Era

_ABOUT_THE_ANSWER: Final = frozenset({"resultType", "cacheScope", "ttlMs"})
_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
_NAMED: Final = {
    "tools": "name",
    "resources": "uri",
    "resourceTemplates": "uriTemplate",
    "prompts": "name",
    "skills": "uri",
}


class Speaker:
    """Sends every message with the same credentials, in a session where the era has sessions."""

    def __init__(
        self, client: Client, credentials: Mapping[str, str], era: Era, capabilities: Mapping[str, Any] | None = None
    ) -> None:
        self._client = client
        self._credentials = credentials
        self._capabilities = capabilities
        self.era = era
        self.session: str | None = None

    async def open(self) -> "Speaker":
        if self.era == "2025":
            opening = messages.request("initialize", messages.initialize(capabilities=self._capabilities))
            opened = await self.send(opening, messages.legacy_headers())
            self.session = opened.headers["mcp-session-id"]
            await self.send(messages.notification("notifications/initialized"), self.headers("", None))
        return self

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, name: str | None = None) -> Visit:
        return await self.send(self.request(method, params), self.headers(method, name))

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        visit = await self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, tool)
        return outcome(visit.response)

    async def send(self, message: Any, headers: Mapping[str, str]) -> Visit:
        return await self._client.request("POST", "/mcp", headers={**headers, **self._credentials}, body=message)

    def request(self, method: str, params: Mapping[str, Any] | None = None, request_id: int = 1) -> dict[str, Any]:
        said = dict(params or {})
        if self.era == "2026":
            said["_meta"] = {**messages.envelope(self._capabilities), **said.get("_meta", {})}
        return messages.request(method, said, request_id=request_id)

    def headers(self, method: str, name: str | None) -> dict[str, str]:
        if self.era == "2026":
            return messages.modern_headers(method, name)
        return messages.legacy_headers(self.session)

    async def start(
        self, visit: Visit, method: str, params: Mapping[str, Any], name: str | None = None, request_id: int = 1
    ) -> None:
        """The request of a visitor who may leave before it is answered."""
        body = messages.line(self.request(method, params, request_id)).encode()
        visit.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        await self._client.run(visit, "POST", "/mcp", {**self.headers(method, name), **self._credentials})

    async def listen(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Open a stream of news, and leave when the first message is there: a word that it is open, or a refusal."""
        visit = Visit()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.start, visit, "subscriptions/listen", params)
            await until(lambda: b"{" in visit.body, "the stream says something")
            visit.leave()
        if visit.headers["content-type"].startswith("application/json"):
            return visit.response
        return messages.events(visit.body)[0]


def outcome(response: Mapping[str, Any]) -> Any:
    """The result or the error, without what the eras say about answers; of lists only the names."""
    if "error" in response:
        return {"error": response["error"]}
    result = {key: value for key, value in response["result"].items() if key not in _ABOUT_THE_ANSWER}
    meta = {key: value for key, value in result.pop("_meta", {}).items() if key != _SERVER_INFO}
    if "capabilities" in result:
        return "welcome"
    for key, name in _NAMED.items():
        if key in result:
            result[key] = sorted(one[name] for one in result[key])
    return {**result, "_meta": meta} if meta else result
