"""One Redmine to ask, ours in small or a real one, and the people who ask it: through our tools, and directly."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from xml.etree import ElementTree as ET

import httpx2

from dogubako.app import Toolbox
from dogubako.contract.call import ToolResult
from dogubako.contract.errors import DogubakoError
from dogubako.contract.metadata import Effect
from dogubako.outbound.http import ServiceResponse
from tests.redmine_contract.answers import checked, parsed, texts_of
from tests.redmine_contract.seeded import KEYS

Side = Literal["sandbox", "real", "given"]
Asked = tuple[int, Any]


class Service(Protocol):
    """A Redmine that can be brought back to what it was."""

    url: str

    def transport(self) -> httpx2.AsyncBaseTransport: ...

    def reset(self) -> None: ...

    def set_setting(self, name: str, value: str) -> None: ...

    def stop_filtering_by(self, custom_field: int) -> None: ...


@dataclass(kw_only=True)
class Place:
    """Which side it is, who is there, and whether anything has been done to it."""

    side: Side
    service: Service
    box_of: Callable[[str | None], Toolbox]
    touched: bool = False
    _started: dict[str | None, Toolbox] = field(default_factory=dict)
    # Calls that begin at the same time wait until their tools are there.
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asking: AsyncExitStack = field(default_factory=AsyncExitStack)
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def person(self, key: str | None) -> "Person":
        """Whoever has this key; nobody's key and no key at all are people too."""
        client = httpx2.AsyncClient(base_url=self.service.url, transport=self.service.transport(), timeout=60)
        return Person(place=self, client=await self._asking.enter_async_context(client), key=key)

    async def who(self, login: str) -> "Person":
        """One of the people whom the seed has made."""
        return await self.person(KEYS[login])

    async def tools(self, key: str | None) -> Toolbox:
        """Our tools with this key."""
        async with self._starting:
            if key not in self._started:
                self._started[key] = self.box_of(key)
                await self._running.enter_async_context(self._started[key].running())
        return self._started[key]

    def set_setting(self, name: str, value: str) -> None:
        """Change what an administrator can change by hand only."""
        self._changed_by_hand()
        self.service.set_setting(name, value)

    def stop_filtering_by(self, custom_field: int) -> None:
        """Let a custom field no longer be used as a filter; the API cannot change that."""
        self._changed_by_hand()
        self.service.stop_filtering_by(custom_field)

    async def tidy(self) -> None:
        """Bring back what was changed, so that the next case finds what this one has found."""
        await self._asking.aclose()
        if self.touched:
            await self.close()
            self.service.reset()
            self.touched = False

    async def close(self) -> None:
        self._started.clear()
        await self._running.aclose()

    def _changed_by_hand(self) -> None:
        """What our tools remember is true for a minute, unless somebody goes behind their back."""
        self.touched = True
        self._started.clear()


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who asks."""

    place: Place
    client: httpx2.AsyncClient
    key: str | None

    async def call(self, tool: str, **arguments: Any) -> ET.Element:
        """What a tool answers when all is well."""
        return parsed(texts_of(await self.outcome(tool, **arguments))[0])

    async def outcome(self, tool: str, **arguments: Any) -> ToolResult:
        """The whole answer of a tool when all is well: pictures and further blocks too."""
        result = await self._result(tool, arguments)
        assert result.error is None, f"{result.error} {result.error.hint}"
        return result

    async def refused(self, tool: str, **arguments: Any) -> DogubakoError:
        """Why a tool does not do it."""
        result = await self._result(tool, arguments)
        assert result.error is not None, result.content
        return result.error

    async def _result(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        box = await self.place.tools(self.key)
        reads = box.registry.get(tool).metadata.effect is Effect.READ or box.settings.read_only
        self.place.touched |= not reads
        return checked(await box.call(tool, arguments))

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Asked:
        """Status and body as Redmine has them; a body that is no JSON is text."""
        answer = await self.answer(method, path, body, **more)
        return answer.status, await answer.json() if answer.is_json and answer.body.strip() else answer.body.decode()

    async def answer(self, method: str, path: str, body: Any = None, **more: Any) -> ServiceResponse:
        """The whole answer of Redmine, without any tool of ours."""
        self.place.touched |= method != "GET"
        assert method == "GET" or self.place.side != "given", "a server that somebody else gave us is only looked at"
        headers = {"Accept": "application/json", **more.pop("headers", {})}
        if self.key is not None:
            headers["X-Redmine-API-Key"] = self.key
        if body is not None:
            more["json"] = body
        response = await self.client.request(method, path, headers=headers, **more)
        kind = response.headers.get("content-type", "")
        return ServiceResponse(
            status=response.status_code, body=response.content, content_type=kind, headers=dict(response.headers)
        )

    async def told(self, path: str, **params: Any) -> Any:
        """What Redmine shows when it is asked directly and all is well."""
        status, body = await self.ask("GET", path, params=params or None)
        assert status == 200, (status, body)
        return body

    async def issue(self, id_: int, *include: str) -> dict[str, Any]:
        """An issue in Redmine's own words."""
        found: dict[str, Any] = (await self.told(f"/issues/{id_}.json", include=",".join(include)))["issue"]
        return found

    async def made(self, path: str, **body: Any) -> dict[str, Any]:
        """Something new, made directly; the body is named by its kind: `issue={…}`."""
        status, answer = await self.ask("POST", path, body)
        assert status == 201, (status, answer)
        return dict(next(iter(answer.values())))
