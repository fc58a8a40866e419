"""A tiny ASGI client: real requests to the HTTP door without sockets, and with full control over what a client does."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.types import ASGIApp, Message

from dogubako.transports.http.app import HttpApp

from . import messages
from .processes import PATIENCE

Headers = Mapping[str, str] | Sequence[tuple[bytes, bytes]]


@dataclass
class Visit:
    """One request while it runs. The client may go at any time."""

    sent: list[Message] = field(default_factory=list)
    incoming: "asyncio.Queue[Message]" = field(default_factory=asyncio.Queue)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.complete.set()
            # As servers do: once the answer is out, who asks again hears that the exchange is over.
            self.leave()

    @property
    def answered(self) -> bool:
        return bool(self.sent)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode().lower(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.sent[1:])

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def response(self) -> dict[str, Any]:
        """The JSON-RPC response, however it was carried."""
        return messages.response_in(self.headers.get("content-type", ""), self.body)


class Client:
    """Sends requests to one app."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1:3000", address: str = "127.0.0.1") -> None:
        self._app = app
        self._host = host
        self._address = address

    async def request(
        self, method: str, path: str, *, headers: Headers = (), body: bytes | Any = b"", seconds: float = PATIENCE
    ) -> Visit:
        """A whole exchange with a client that sends everything at once and waits."""
        visit = Visit()
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        visit.incoming.put_nowait({"type": "http.request", "body": content, "more_body": False})
        with anyio.fail_after(seconds):
            await self.run(visit, method, path, headers)
        return visit

    async def run(self, visit: Visit, method: str, path: str, headers: Headers = ()) -> None:
        """Let the app answer whatever the visitor says, piece by piece."""
        route, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": route,
            "raw_path": route.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": self._headers(headers),
            "client": (self._address, 50_000),
            "server": ("127.0.0.1", 3000),
            "state": {},
        }
        await self._app(scope, visit.incoming.get, visit.send)

    async def get(self, path: str, **headers: str) -> Visit:
        return await self.request("GET", path, headers=headers)

    async def post(self, path: str, body: Any, headers: Headers | None = None) -> Visit:
        return await self.request("POST", path, body=body, headers=headers or {"content-type": "application/json"})

    async def open_session(self, capabilities: Mapping[str, Any] | None = None) -> str:
        """Shake hands and get the session's id."""
        opening = messages.request("initialize", messages.initialize(capabilities=capabilities))
        opened = await self.post("/mcp", opening, messages.legacy_headers())
        session = opened.headers["mcp-session-id"]
        ready = messages.notification("notifications/initialized")
        await self.post("/mcp", ready, messages.legacy_headers(session))
        return session

    def _headers(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        if isinstance(headers, Mapping):
            pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        else:
            pairs = list(headers)
        known = {name for name, _ in pairs}
        return pairs if b"host" in known else [(b"host", self._host.encode()), *pairs]


@asynccontextmanager
async def opened(door: HttpApp) -> AsyncIterator[Client]:
    """The door while its server would be running."""
    incoming: asyncio.Queue[Message] = asyncio.Queue()
    outgoing: asyncio.Queue[Message] = asyncio.Queue()
    life = asyncio.ensure_future(door({"type": "lifespan", "asgi": {"version": "3.0"}}, incoming.get, outgoing.put))
    try:
        incoming.put_nowait({"type": "lifespan.startup"})
        with anyio.fail_after(PATIENCE):
            assert (await outgoing.get())["type"] == "lifespan.startup.complete"
        yield Client(door)
    finally:
        incoming.put_nowait({"type": "lifespan.shutdown"})
        with anyio.fail_after(PATIENCE):
            await life
