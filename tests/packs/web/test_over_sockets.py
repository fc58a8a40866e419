"""The sandbox's search engine over a real socket: the same answers as inside the process."""

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
import structlog.testing
import uvicorn

from dogubako.app import Toolbox
from dogubako_sandbox.web.app import web_app
from tests.packs.through import Through

from .boxes import sandbox, text_of, urls_in


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Over(httpx2.AsyncHTTPTransport):
    """Whatever host is meant, the connection goes to our own server; the name stays in the Host header."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return await super().handle_async_request(request)


@asynccontextmanager
async def _served() -> AsyncIterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # From now on whoever connects waits for the server instead of being refused.
        listening.listen()
        server = _Quiet(uvicorn.Config(web_app(), log_config=None, lifespan="off", timeout_graceful_shutdown=1))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield listening.getsockname()[1]
            server.should_exit = True


@pytest.fixture
async def far(tmp_path: Path) -> AsyncIterator[Toolbox]:
    """A toolbox whose web is behind a socket."""
    with structlog.testing.capture_logs():
        async with _served() as port:
            box = sandbox(tmp_path)
            box.packs["web"].sandbox = Through(settings={}, app=web_app, wire=_Over(port))
            async with box.running():
                yield box


@pytest.mark.parametrize("tool", ["web_search", "instant_answer"])
async def test_a_socket_changes_no_answer(far: Toolbox, box: Toolbox, tool: str) -> None:
    question = {"query": "toolbox"}

    assert text_of(await far.call(tool, question)) == text_of(await box.call(tool, question))


async def test_pages_follow_each_other_over_a_socket(far: Toolbox) -> None:
    pages = [urls_in(text_of(await far.call("web_search", {"query": "toolbox", "page": page}))) for page in (1, 2, 3)]

    assert [len(page) for page in pages] == [10, 10, 9]
    assert len({url for page in pages for url in page}) == 29


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param("blocked", "SEARCH_BLOCKED", id="challenge with 202"),
        pytest.param("blocked with 200", "SEARCH_BLOCKED", id="challenge with 200"),
        pytest.param("blocked with 403", "SEARCH_BLOCKED", id="challenge with 403"),
        pytest.param("blocked with 429", "SEARCH_BLOCKED", id="challenge with 429"),
        pytest.param("nothing at all", "OK", id="nothing found"),
        pytest.param("broken page", "HTML_PARSE_ERROR", id="neither"),
        pytest.param("huge page", "HTTP_ERROR", id="too large"),
    ],
)
async def test_bad_days_are_told_apart_over_a_socket(far: Toolbox, query: str, code: str) -> None:
    result = await far.call("web_search", {"query": query})

    assert result.code == code
    assert (result.content[0]["text"] == "No results found.") == (query == "nothing at all")


async def test_results_in_an_old_encoding_read_the_same(far: Toolbox) -> None:
    old = await far.call("web_search", {"query": "toolbox old encoding"})
    new = await far.call("web_search", {"query": "toolbox"})

    assert urls_in(text_of(old)) == urls_in(text_of(new))
