"""A toolbox whose search engines are whatever a test puts behind the wire."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

import httpx2

from dogubako.app import Toolbox, build
from dogubako.contract.call import NO_OPTIONS
from dogubako.packs.web.engines import Searching
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions, ToolResult
from tests.packs.through import Through
from tests.packs.web.in_process import WEB_IN_PROCESS

Answers = Callable[[httpx2.Request], httpx2.Response]
# As often as may be asked for, so that nobody waits in a test.
QUICK: Final = {"WEB_SEARCH_RATE": "50"}


class Wire(httpx2.MockTransport):
    """Remembers what went over it."""

    def __init__(self, answers: Answers) -> None:
        super().__init__(self._answer)
        self.answers = answers
        self.requests: list[httpx2.Request] = []

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return self.answers(request)

    @property
    def hosts(self) -> list[str]:
        return [request.url.host for request in self.requests]

    def forms(self) -> list[dict[str, str]]:
        return [dict(parse_qsl(request.content.decode(), keep_blank_values=True)) for request in self.requests]

    def questions(self) -> list[dict[str, str]]:
        return [dict(request.url.params) for request in self.requests]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A running toolbox and its wire."""

    box: Toolbox
    wire: Wire

    async def searching(self) -> Searching:
        client = await self.box.packs["web"].client.opened()
        return client.searching  # type: ignore[no-any-return]

    async def search(self, options: ExecutionOptions = NO_OPTIONS, /, **parameters: Any) -> ToolResult:
        return await self.box.call("web_search", {"query": "thing", **parameters}, options)

    async def text(self, **parameters: Any) -> str:
        """The text of an answer that has to be a success."""
        result = await self.search(**parameters)
        assert result.code == "OK", result.content
        return str(result.content[0]["text"])


@asynccontextmanager
async def bench(answers: Answers, environ: Mapping[str, str] | None = None) -> AsyncIterator[Bench]:
    wire = Wire(answers)
    box = build(Sources(environ={**QUICK, **(environ or {})}, env_file=None), packs=[WEB_IN_PROCESS])
    box.packs["web"].sandbox = Through(settings={}, app=lambda: None, wire=wire)
    async with box.running():
        yield Bench(box=box, wire=wire)


def told(result: ToolResult) -> tuple[str, str]:
    """Code and first text of a failure."""
    assert result.is_error, result.content
    return result.code, str(result.content[0]["text"])


def hint_of(result: ToolResult) -> str:
    assert result.error is not None
    return result.error.hint or ""


def page(body: str, status: int = 200) -> httpx2.Response:
    return httpx2.Response(status, text=body, headers={"content-type": "text/html; charset=UTF-8"})


def in_turn(*answers: httpx2.Response | Exception) -> Answers:
    """These answers, one after the other, and the last one for ever."""
    waiting = list(answers)

    def answer(_: httpx2.Request) -> httpx2.Response:
        given = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(given, Exception):
            raise given
        # A response can be read once; this one may be asked for again.
        return httpx2.Response(given.status_code, headers=given.headers, content=given.content)

    return answer
