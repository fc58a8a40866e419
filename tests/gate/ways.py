"""The ways of a call into a server in this process: REST, and both eras of MCP, short and long."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tests.doors import messages
from tests.doors.asgi import Client, Visit

REST: Final = "rest"
# With an option a call takes the long way through the SDK; without, the short one.
WAYS: Final = (REST, "2025", "2025-long", "2026", "2026-long")

_ids = count(1)


@dataclass(kw_only=True)
class Caller:
    """Somebody with a key, who calls in one way."""

    web: Client
    way: str
    key: str
    session: str = ""

    @property
    def modern(self) -> bool:
        return self.way.startswith("2026")

    async def open(self, capabilities: Mapping[str, Any] | None = None) -> "Caller":
        """Shake hands, where that is how one begins."""
        if self.way.startswith("2025"):
            body = messages.request("initialize", messages.initialize(capabilities=capabilities), request_id=0)
            opened = await self.web.post("/mcp", body, {**messages.legacy_headers(), **self._key()})
            self.session = opened.headers["mcp-session-id"]
            ready = messages.notification("notifications/initialized")
            await self.web.post("/mcp", ready, self._headers(""))
        return self

    async def call(self, name: str, /, **arguments: Any) -> Visit:
        visit = Visit()
        await self.start(visit, name, **arguments)
        return visit

    async def start(self, visit: Visit, name: str, /, **arguments: Any) -> None:
        """The call of a visitor who may leave before it is answered."""
        body = self._body(name, arguments)
        visit.incoming.put_nowait({"type": "http.request", "body": messages.line(body).encode(), "more_body": False})
        path = "/v1/tools/call" if self.way == REST else "/mcp"
        await self.web.run(visit, "POST", path, self._headers(name))

    def _body(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if self.way == REST:
            return {"name": name, "parameters": arguments}
        options = {"retry": 0} if self.way.endswith("long") else None
        params = messages.call(name, arguments, modern=self.modern, options=options)
        return messages.request("tools/call", params, request_id=next(_ids))

    def _headers(self, name: str) -> dict[str, str]:
        if self.way == REST:
            return {"content-type": "application/json", **self._key()}
        if self.modern:
            return {**messages.modern_headers("tools/call", name), **self._key()}
        return {**messages.legacy_headers(self.session), **self._key()}

    def _key(self) -> dict[str, str]:
        return {"x-api-key": self.key} if self.key else {}


def facts(visit: Visit) -> dict[str, Any]:
    """Code and advice of an answer, wherever its way puts them."""
    answer = visit.response if "jsonrpc" in visit.body.decode() else visit.json
    if "success" in answer:
        return {"code": "OK"} if answer["success"] else dict(answer)
    if "error" in answer:
        return dict(answer["error"].get("data") or {})
    return dict(answer["result"].get("_meta") or {}) if answer["result"]["isError"] else {"code": "OK"}
