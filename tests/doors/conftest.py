"""The server behind every door, started once, and the `door` fixture that runs a conversation through each of them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx2
import pytest
import structlog

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp

from .asgi import Client, opened
from .described import DescribedClient
from .loop_clock import LoopClock
from .pipe import Pipe, speaking
from .processes import HERE, PATIENCE, WORKBENCH, serving
from .speakers import KINDS, InMemory, Kind, OnCommandLine, OverHttp, OverRest, OverStdio, Speaker

_TOOLS: Final = (WORKBENCH, HERE / "closed_pack.py")


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Quiet unless a test reads the log. Commands configure the whole process; the next test finds it as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    _be_quiet()
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture
async def loop_clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    """The clock of the loop that runs this test."""
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop.time)
    monkeypatch.setattr(loop, "time", clock)
    return clock


@pytest.fixture(scope="session")
def box() -> Toolbox:
    """The tools of the conversations, in this process."""
    _be_quiet()
    return build(Sources(overrides={"tools": _TOOLS}, environ={}, env_file=None))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server that all reading conversations share."""
    with serving(*_TOOLS, folder=tmp_path_factory.mktemp("serve")) as command:
        yield command.url()


@pytest.fixture(scope="session")
def legacy_pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(*_TOOLS, folder=tmp_path_factory.mktemp("stdio-2025")) as pipe:
        pipe.open()
        yield pipe


@pytest.fixture(scope="session")
def modern_pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(*_TOOLS, folder=tmp_path_factory.mktemp("stdio-2026"), modern=True) as pipe:
        yield pipe


@pytest.fixture(scope="session")
def memory(box: Toolbox) -> InMemory:
    return InMemory(box)


@pytest.fixture(scope="session")
def client(server: str) -> Iterator[httpx2.Client]:
    """A plain HTTP client of the shared server."""
    with httpx2.Client(base_url=server, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="session", params=KINDS)
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Speaker:
    """The same conversation over every door."""
    kind: Kind = request.param
    if kind == "memory":
        return InMemory(request.getfixturevalue("box"))
    if kind == "cli":
        return OnCommandLine(_TOOLS, tmp_path_factory.mktemp("cli"))
    if kind == "rest":
        return OverRest(request.getfixturevalue("client"))
    if kind in ("http-2025", "http-2026"):
        return OverHttp(kind, request.getfixturevalue("client"))
    return OverStdio(kind, request.getfixturevalue("modern_pipe" if kind == "stdio-2026" else "legacy_pipe"))


@pytest.fixture
async def web(box: Toolbox) -> AsyncIterator[Client]:
    """The HTTP door in this process, for questions that need no socket."""
    async with opened(HttpApp(box)) as client:
        yield client


@pytest.fixture
async def rest(box: Toolbox) -> AsyncIterator[DescribedClient]:
    """The REST door; each answer is also held against the server's own description."""
    door = HttpApp(box)
    async with opened(door) as client:
        yield DescribedClient(door, (await client.get("/openapi.json")).json)


def _be_quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
