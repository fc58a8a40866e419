"""An agent that speaks MCP with the HTTP door, in one of the protocol's two eras."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Literal

from dogubako.app import Toolbox
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.answers import Answer, from_response
from tests.doors.asgi import Client, opened

Era = Literal["handshake", "modern"]


class Agent:
    """Asks whatever the protocol has a method for."""

    def __init__(self, client: Client, session: str | None) -> None:
        self._client = client
        self._session = session
        self._ids = count(1)

    async def ask(self, method: str, params: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
        """The whole response; `name` is what a modern request repeats in its headers."""
        modern = self._session is None
        said = {**params, "_meta": messages.envelope()} if modern else dict(params)
        headers = messages.modern_headers(method, name) if modern else messages.legacy_headers(self._session)
        request = messages.request(method, said, request_id=next(self._ids))
        return (await self._client.post("/mcp", request, headers)).response

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return from_response(await self.ask("tools/call", {"name": tool, "arguments": arguments}, tool))


@asynccontextmanager
async def speaking(box: Toolbox, era: Era) -> AsyncIterator[Agent]:
    """An agent for as long as the server runs."""
    async with opened(HttpApp(box)) as client:
        yield await _agent(client, era)


@asynccontextmanager
async def speaking_in_both_eras(box: Toolbox) -> AsyncIterator[tuple[Agent, Agent]]:
    """Two agents of one server, for questions that change nothing."""
    async with opened(HttpApp(box)) as client:
        yield await _agent(client, "handshake"), await _agent(client, "modern")


async def _agent(client: Client, era: Era) -> Agent:
    return Agent(client, await client.open_session() if era == "handshake" else None)
