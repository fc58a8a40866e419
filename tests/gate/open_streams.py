"""Clients that keep a stream of news open on a real server, in either era, and remember how it ended."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2

from tests.doors import messages
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until

from .methods import Era

_NEWS: dict[str, Any] = {"notifications": {"toolsListChanged": True}}


class OpenRequest:
    """A request whose answer comes bit by bit. It ends in order, or `broken` says how it broke off."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.ended = False
        self.broken = ""

    async def run(self, client: httpx2.AsyncClient, method: str, headers: Mapping[str, str], body: Any = None) -> None:
        try:
            async with client.stream(method, "/mcp", headers=headers, json=body) as response:
                self.status = response.status_code
                async for piece in response.aiter_raw():
                    self.body += piece
        except httpx2.TransportError as error:
            self.broken = f"{type(error).__name__}: {error}"
        self.ended = True

    async def ends(self, seconds: float) -> None:
        await until(lambda: self.ended, "the answer ends", seconds)

    def heard(self, method: str) -> int:
        return self.body.count(f'"{method}"'.encode())


class Listener:
    """Somebody with a key who listens for news, and can ask for other things as well."""

    def __init__(self, client: httpx2.AsyncClient, key: str, era: Era) -> None:
        self._client = client
        self._key = {"x-api-key": key}
        self.era = era
        self._session: str | None = None

    async def open(self) -> "Listener":
        if self.era == "2025":
            opened = await self.post(messages.request("initialize", messages.initialize()))
            self._session = opened.headers["mcp-session-id"]
            await self.post(messages.notification("notifications/initialized"))
        return self

    async def post(self, message: Mapping[str, Any], name: str | None = None) -> httpx2.Response:
        return await self._client.post("/mcp", json=message, headers=self._headers(str(message["method"]), name))

    async def ask(self, method: str) -> httpx2.Response:
        return await self.post(self._request(method, {}))

    async def listen(self, stream: OpenRequest) -> None:
        """Until the stream ends."""
        if self.era == "2025":
            await stream.run(self._client, "GET", self._headers("", None))
        else:
            body = self._request("subscriptions/listen", _NEWS)
            await stream.run(self._client, "POST", self._headers("subscriptions/listen", None), body)

    async def call(
        self, answer: OpenRequest, tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        """Until the call has been answered, or has ended without an answer."""
        params = messages.call(tool, arguments, modern=self.era == "2026", meta=meta)
        body = messages.request("tools/call", params, request_id=7)
        await answer.run(self._client, "POST", self._headers("tools/call", tool), body)

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        said = {"_meta": messages.envelope()} if self.era == "2026" else {}
        return messages.request(method, {**params, **said}, request_id=7)

    def _headers(self, method: str, name: str | None) -> dict[str, str]:
        if self.era == "2026":
            return {**messages.modern_headers(method, name), **self._key}
        return {**messages.legacy_headers(self._session), **self._key}


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that waits for bytes no longer than a test may take."""
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        yield client


@asynccontextmanager
async def listening(*listeners: Listener) -> AsyncIterator[list[OpenRequest]]:
    """All their streams, open; what is still open at the end is left by its client."""
    streams = [OpenRequest() for _ in listeners]
    async with anyio.create_task_group() as tasks:
        for listener, stream in zip(listeners, streams, strict=True):
            tasks.start_soon(listener.listen, stream)
        await until(lambda: all(stream.status == 200 for stream in streams), "all streams are open")
        yield streams
        tasks.cancel_scope.cancel()
