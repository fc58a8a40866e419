"""A small MCP server over HTTP of either era, which misbehaves on request."""

import asyncio
import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs

MODERN = "2026-07-28"
TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("echo", "wait", "cut", "silent")
]


@dataclass
class FakeHttp:
    """An ASGI app. Its attributes are what a test changes while it runs."""

    era: str = "legacy"
    # The token that every request needs; none for nobody.
    token: str = ""
    # More tokens that count, of other people.
    tokens: set[str] = field(default_factory=set)
    status: int = 0
    sessions: set[str] = field(default_factory=set)
    methods: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    disconnected: list[str] = field(default_factory=list)
    resumed_with: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: count(1))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = b""
        while (event := await receive())["type"] == "http.request":
            body += event["body"]
            if not event.get("more_body"):
                break
        answer = Answer(send, receive)
        if self.token and headers.get("authorization", "").removeprefix("Bearer ") not in {self.token, *self.tokens}:
            await answer.plain(401, {"www-authenticate": 'Bearer realm="fake"'})
        elif self.status:
            await answer.plain(self.status)
        elif scope["method"] == "POST":
            await self._post(json.loads(body), headers, answer)
        elif scope["method"] == "GET" and "last-event-id" in headers:
            self.resumed_with.append(headers["last-event-id"])
            await answer.events([{"jsonrpc": "2.0", "id": int(headers["last-event-id"]), "result": text("resumed")}])
        else:
            await answer.plain(405)

    async def _post(self, message: dict[str, Any], headers: dict[str, str], answer: "Answer") -> None:
        method, request = message.get("method", "answer"), message.get("id")
        self.methods.append(method)
        self.headers.append(headers)
        if request is None or method == "answer":
            await answer.plain(202)
        elif self.era == "legacy" and method == "initialize":
            session = f"s{next(self._numbers)}"
            self.sessions.add(session)
            info = {"serverInfo": {"name": "fake", "version": "1"}, "capabilities": {"tools": {}}}
            result = {"protocolVersion": "2025-11-25", **info}
            await answer.json({"jsonrpc": "2.0", "id": request, "result": result}, {"mcp-session-id": session})
        elif self.era == "legacy" and method == "server/discover":
            await answer.plain(400)
        elif self.era == "legacy" and headers.get("mcp-session-id") not in self.sessions:
            await answer.plain(404)
        else:
            await self._answer(method, request, message.get("params") or {}, answer)

    async def _answer(self, method: str, request: int, params: dict[str, Any], answer: "Answer") -> None:
        kind = {"resultType": "complete"} if self.era == "modern" else {}
        if method == "server/discover":
            result: dict[str, Any] = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif params.get("name") == "wait":
            await answer.events([], end=False)
            await answer.gone()
            self.disconnected.append(method)
            return
        elif params.get("name") == "silent":
            # No headers either, as before a long JSON answer.
            await answer.gone()
            return
        elif params.get("name") == "cut":
            # Ends early, with an id to continue from.
            await answer.raw(f"id: {request}\nretry: 1\ndata:\n\n")
            return
        else:
            result = text(str(params.get("arguments", {}).get("text", "")))
        await answer.json({"jsonrpc": "2.0", "id": request, "result": {**kind, **result}})


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


class Answer:
    """One HTTP response."""

    def __init__(self, send: Any, receive: Any) -> None:
        self._send = send
        self._receive = receive

    async def plain(self, status: int, headers: dict[str, str] | None = None) -> None:
        await self._start(status, {"content-length": "0", **(headers or {})})
        await self._send({"type": "http.response.body", "body": b""})

    async def json(self, message: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(message).encode()
        await self._start(
            200, {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        )
        await self._send({"type": "http.response.body", "body": body})

    async def events(self, messages: list[Any], *, end: bool = True) -> None:
        await self._start(200, {"content-type": "text/event-stream"})
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in messages)
        await self._send({"type": "http.response.body", "body": body.encode() or b": wait\n\n", "more_body": not end})

    async def raw(self, body: str) -> None:
        await self._start(200, {"content-type": "text/event-stream"})
        await self._send({"type": "http.response.body", "body": body.encode()})

    async def gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _start(self, status: int, headers: dict[str, str]) -> None:
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


@dataclass
class OldHttp:
    """A server that speaks only HTTP with SSE, the transport of 2024-11-05."""

    queues: dict[str, "asyncio.Queue[Any]"] = field(default_factory=dict)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        answer = Answer(send, receive)
        if scope["method"] == "GET" and scope["path"] == "/sse":
            await self._stream(answer)
        elif scope["method"] == "POST" and scope["path"] == "/messages":
            message = json.loads((await receive())["body"])
            queue = self.queues[parse_qs(scope["query_string"].decode())["session_id"][0]]
            await answer.plain(202)
            if "id" in message:
                await queue.put({"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)})
        else:
            await answer.plain(405)

    async def _stream(self, answer: Answer) -> None:
        name = str(len(self.queues))
        queue = self.queues[name] = asyncio.Queue()
        await answer._start(200, {"content-type": "text/event-stream"})
        first = f"event: endpoint\ndata: /messages?session_id={name}\n\n"
        await answer._send({"type": "http.response.body", "body": first.encode(), "more_body": True})
        while (message := await queue.get()) is not None:
            body = f"event: message\ndata: {json.dumps(message)}\n\n".encode()
            await answer._send({"type": "http.response.body", "body": body, "more_body": True})

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}}
        if message["method"] == "tools/list":
            return {"tools": TOOLS}
        return text(message["params"]["arguments"]["text"])
