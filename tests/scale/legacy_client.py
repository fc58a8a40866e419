"""A client of 2025-11-25 that chooses the server of each of its requests."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
import httpx2

from tests.doors import messages
from tests.doors.processes import PATIENCE


class LegacyClient:
    """One session. Requests name the address of their server."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._ids = count(1)
        self.session: str | None = None

    async def open(self, url: str) -> httpx2.Response:
        params = messages.initialize(capabilities={"elicitation": {}})
        answer = await self.send(url, messages.request("initialize", params, request_id=0))
        self.session = answer.headers.get("mcp-session-id")
        return answer

    async def send(self, url: str, message: dict[str, Any]) -> httpx2.Response:
        return await self._http.post(f"{url}/mcp", json=message, headers=self._headers)

    async def delete(self, url: str) -> httpx2.Response:
        return await self._http.delete(f"{url}/mcp", headers=self._headers)

    async def ask(self, url: str, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response to a request."""
        answer = await self.send(url, messages.request(method, params, request_id=next(self._ids)))
        assert answer.status_code == 200, answer.text
        return messages.response_in(answer.headers["content-type"], answer.content)

    async def call(self, url: str, name: str, **arguments: Any) -> str:
        answer = await self.ask(url, "tools/call", messages.call(name, arguments, modern=False))
        return str(answer["result"]["content"][0]["text"])

    @asynccontextmanager
    async def stream(self, url: str, message: dict[str, Any] | None = None) -> AsyncIterator["Events"]:
        """The messages that answer a request, or else what the server tells without being asked."""
        method = "GET" if message is None else "POST"
        async with self._http.stream(method, f"{url}/mcp", json=message, headers=self._headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield Events(answer.aiter_lines())

    @property
    def _headers(self) -> dict[str, str]:
        return messages.legacy_headers(self.session)


class Events:
    """The messages of a stream, one after the other."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines

    async def next(self, method: str | None = None) -> dict[str, Any]:
        """The next message, or the next one of this method. Fails when the stream ends."""
        with anyio.fail_after(PATIENCE):
            async for line in self._lines:
                if line.startswith("data:") and line[5:].strip():
                    message: dict[str, Any] = json.loads(line[5:])
                    if method is None or message.get("method") == method:
                        return message
        raise AssertionError("the stream has ended")

    async def rest(self) -> list[dict[str, Any]]:
        """All messages until the stream ends."""
        with anyio.fail_after(PATIENCE):
            return [json.loads(line[5:]) async for line in self._lines if line.startswith("data:") and line[5:].strip()]


@asynccontextmanager
async def legacy_client(key: str) -> AsyncIterator[LegacyClient]:
    # Each request has a connection of its own.
    headers = {"x-api-key": key, "connection": "close"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        yield LegacyClient(http)
