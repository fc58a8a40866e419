"""The ways of a call into a server in this process: REST, and both eras of MCP, short and long."""

from itertools import count
from typing import Any, Final

from tests.doors import messages
from tests.doors.asgi import Client, Visit

from .speaking import Speaker

REST: Final = "rest"
# With an option a call takes the long way through the SDK; without, the short one.
WAYS: Final = (REST, "2025", "2025-long", "2026", "2026-long")

_ids = count(1)


class WayIn:
    """Somebody with a key, who calls in one way."""

    def __init__(self, web: Client, way: str, key: str) -> None:
        self.web = web
        self.way = way
        self.headers = {"x-api-key": key}
        self._speaker = Speaker(web, self.headers, "2026" if way.startswith("2026") else "2025")

    async def open(self) -> "WayIn":
        """Shake hands, where that is how one begins."""
        if self.way != REST:
            await self._speaker.open()
        return self

    async def call(self, name: str, /, **arguments: Any) -> Visit:
        visit = Visit()
        await self.start(visit, name, **arguments)
        return visit

    async def start(self, visit: Visit, name: str, /, **arguments: Any) -> None:
        """The call of a visitor who may leave before it is answered."""
        if self.way != REST:
            options = {"_meta": {"dogubako/options": {"retry": 0}}} if self.way.endswith("long") else {}
            params = {"name": name, "arguments": arguments, **options}
            await self._speaker.start(visit, "tools/call", params, name, next(_ids))
            return
        body = messages.line({"name": name, "parameters": arguments}).encode()
        visit.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        await self.web.run(visit, "POST", "/v1/tools/call", {"content-type": "application/json", **self.headers})


def facts(visit: Visit) -> dict[str, Any]:
    """Code and advice of an answer, wherever its way puts them."""
    answer = visit.response if "jsonrpc" in visit.body.decode() else visit.json
    if "success" in answer:
        return {"code": "OK"} if answer["success"] else dict(answer)
    if "error" in answer:
        return dict(answer["error"].get("data") or {})
    return dict(answer["result"].get("_meta") or {}) if answer["result"]["isError"] else {"code": "OK"}
