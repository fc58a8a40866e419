"""A toolbox on the sandbox's Redmine, as any of its users, and a wire that remembers what went over it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
from starlette.applications import Starlette

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.tools import ToolResult
from dogubako_sandbox.redmine.app import redmine_app
from dogubako_sandbox.redmine.store import Store
from tests.packs.through import Through

URL: Final = "http://redmine.test"
KEYS: Final = {
    "admin": "a" * 40,
    "reporter": "b" * 40,
    "dev": "c" * 40,
    "outsider": "d" * 40,
    "locked": "e" * 40,
    "manager": "f" * 40,
    "kim1": "1" * 40,
    "kim2": "2" * 40,
}
Answers = Callable[[httpx2.Request], httpx2.Response | None]


class Wire(httpx2.AsyncBaseTransport):
    """Asks `answers` first; what it leaves to others goes to the sandbox's Redmine, which lives as long as the wire."""

    def __init__(self, answers: Answers | None = None) -> None:
        self.requests: list[httpx2.Request] = []
        self.answers = answers

    @cached_property
    def app(self) -> Starlette:
        return redmine_app()

    @property
    def store(self) -> Store:
        """Everything that this Redmine knows, to change it behind everybody's back."""
        store: Store = self.app.state.store
        return store

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        answer = self.answers(request) if self.answers else None
        if answer is None:
            return await httpx2.ASGITransport(app=self.app).handle_async_request(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=_Pieces(answer.content))

    def asked(self) -> list[str]:
        """Method and path of every request but those that only ask who we are."""
        told = [f"{one.method} {one.url.path.removesuffix('.json')}" for one in self.requests]
        return [one for one in told if one != "GET /users/current"]

    def writes(self) -> list[str]:
        return [one for one in self.asked() if not one.startswith("GET ")]

    def body(self, method: str) -> Any:
        """What was sent with the last request of this method."""
        return msgspec.json.decode([one for one in self.requests if one.method == method][-1].content)

    def query(self, path: str) -> dict[str, str]:
        """The parameters of the last request to this place."""
        found = [one for one in self.requests if one.url.path.removesuffix(".json") == path]
        return dict(found[-1].url.params)


class _Pieces(httpx2.AsyncByteStream):
    """A body as it comes from a socket: not read yet."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A running toolbox and its wire."""

    box: Toolbox
    wire: Wire

    async def call(self, name: str, /, **parameters: Any) -> ToolResult:
        return await self.box.call(name, parameters)

    async def data(self, name: str, /, **parameters: Any) -> Any:
        """The data of an answer that has to be a success."""
        result = await self.box.call(name, parameters)
        assert result.code == "OK", result.content
        return result.value["data"]

    async def refusal(self, name: str, /, **parameters: Any) -> tuple[str, str]:
        """Message and hint of an answer that has to be a failure."""
        result = await self.box.call(name, parameters)
        assert result.is_error, result.content
        texts = [str(block["text"]) for block in result.content]
        return texts[0], texts[1] if len(texts) > 1 else ""


def box_on(wire: httpx2.AsyncBaseTransport, folder: Path, user: str = "admin", **environ: str) -> Toolbox:
    """A toolbox with nothing of this machine in it. Its answers are JSON, which tests can look into."""
    basics = {"REDMINE_URL": URL, "REDMINE_API_KEY": KEYS[user], "REDMINE_FORMAT": "json", "DOGUBAKO_PACKS": "redmine"}
    box = build(Sources(environ={**basics, "DOGUBAKO_DATA_DIR": str(folder / "data"), **environ}, env_file=None))
    box.packs["redmine"].sandbox = Through(settings={}, app=redmine_app, wire=wire)
    return box


@asynccontextmanager
async def bench(
    folder: Path, user: str = "admin", answers: Answers | None = None, *, wire: Wire | None = None, **environ: str
) -> AsyncIterator[Bench]:
    """A toolbox of this user; with `wire` one more on a Redmine that others use too."""
    wire = wire or Wire(answers)
    async with box_on(wire, folder, user, **environ).running() as box:
        yield Bench(box=box, wire=wire)
