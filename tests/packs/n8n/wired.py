"""A toolbox whose n8n is whatever a test puts behind the wire, and a wire that remembers what went over it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import httpx2

from dogubako.app import Toolbox, build
from dogubako.contract.call import NO_OPTIONS
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions, ToolResult
from dogubako_sandbox.n8n.app import SANDBOX_KEY, n8n_app
from tests.packs.through import Through

URL: Final = "http://n8n.test"
Answers = Callable[[httpx2.Request], httpx2.Response | None]


class Wire(httpx2.AsyncBaseTransport):
    """Asks `answers` first; what it leaves to others goes to the sandbox's n8n, which lives as long as the wire."""

    def __init__(self, answers: Answers | None = None) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers = answers

    @cached_property
    def _n8n(self) -> httpx2.ASGITransport:
        return httpx2.ASGITransport(app=n8n_app())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        answer = self.answers(request) if self.answers else None
        return _streamed(answer) if answer is not None else await self._n8n.handle_async_request(request)

    def sent(self, method: str) -> list[str]:
        """Paths of the requests with this method, in order."""
        return [request.url.path for request in self.requests if request.method == method]

    def writes(self) -> list[str]:
        return [f"{one.method} {one.url.path}" for one in self.requests if one.method != "GET"]


class Pieces(httpx2.AsyncByteStream):
    """A body that has not been read yet."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


def _streamed(answer: httpx2.Response) -> httpx2.Response:
    """As it would come from a socket: not read yet."""
    if isinstance(answer.stream, Pieces):
        return answer
    return httpx2.Response(answer.status_code, headers=answer.headers, stream=Pieces(answer.content))


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A running toolbox and its wire."""

    box: Toolbox
    wire: Wire

    async def call(self, name: str, options: ExecutionOptions = NO_OPTIONS, /, **parameters: Any) -> ToolResult:
        return await self.box.call(name, parameters, options)

    async def data(self, name: str, /, **parameters: Any) -> Any:
        """The data of an answer that has to be a success."""
        result = await self.box.call(name, parameters)
        assert result.code == "OK", result.content
        return result.value["data"]


def box_on(wire: httpx2.AsyncBaseTransport, folder: Path, environ: Mapping[str, str] | None = None) -> Toolbox:
    """A toolbox with nothing of this machine in it."""
    basics = {"N8N_URL": URL, "N8N_API_KEY": SANDBOX_KEY, "DOGUBAKO_PACKS": "n8n"}
    data = {"DOGUBAKO_DATA_DIR": str(folder / "data")}
    box = build(Sources(environ={**basics, **data, **(environ or {})}, env_file=None))
    box.packs["n8n"].sandbox = Through(settings={}, app=n8n_app, wire=wire)
    return box


@asynccontextmanager
async def bench(folder: Path, answers: Answers | None = None, **environ: str) -> AsyncIterator[Bench]:
    wire = Wire(answers)
    async with box_on(wire, folder, environ).running() as box:
        yield Bench(box=box, wire=wire)


def told(result: ToolResult) -> tuple[str, str]:
    """Code and first text of a failure."""
    assert result.is_error, result.content
    return result.code, str(result.content[0]["text"])


def first(answer: httpx2.Response | Exception, method: str = "GET") -> Answers:
    """This to the first request with this method, and the sandbox's own answers to all others."""
    waiting = [answer]

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.method != method or not waiting:
            return None
        odd = waiting.pop()
        if isinstance(odd, Exception):
            raise odd
        return odd

    return answers
