"""Responses that are written at once equal those of uvicorn. A version that is not proven is left alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http import whole_responses
from dogubako.transports.http.app import HttpApp
from scripts.call_driver import WORKBENCH, HttpConnection, post

pytestmark = pytest.mark.anyio

ECHO = post("/v1/tools/call", {"name": "echo", "parameters": {"text": "hello"}}, {})
NOTHING = post("/v1/tools/call", {"name": "nothing", "parameters": {}}, {})


@asynccontextmanager
async def _connection(**overrides: Any) -> AsyncIterator[HttpConnection]:
    chosen = {"tools": (WORKBENCH,), "packs": ("core",), **overrides}
    app = HttpApp(build(Sources(overrides=chosen, environ={}, env_file=None)))
    async with app._lifespan(app):
        connection = HttpConnection(app)
        try:
            yield connection
        finally:
            connection.close()


async def _answers(*requests: bytes, **overrides: Any) -> list[list[bytes]]:
    """The lines of each response; what differs from call to call is left out."""
    async with _connection(**overrides) as connection:
        answers = [await connection.request(one) for one in requests]
    # The length depends on the digits of `executionTime`.
    changing = (b"date:", b"content-length:")
    return [[line for line in answer.split(b"\r\n") if not line.startswith(changing)][:-1] for answer in answers]


def test_the_installed_uvicorn_is_one_that_it_was_proven_with() -> None:
    assert whole_responses.IS_PROVEN, f"run this file against uvicorn {uvicorn.__version__}, then add it"


@pytest.mark.parametrize("overrides", [{}, {"cors_enabled": True, "cors_origin": ("http://a.example",)}])
async def test_a_response_is_the_same_as_uvicorns_own(
    overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = await _answers(ECHO, NOTHING, ECHO, **overrides)
    monkeypatch.setattr(whole_responses, "IS_PROVEN", False)

    assert at_once == await _answers(ECHO, NOTHING, ECHO, **overrides)
    assert at_once[0][0] == b"HTTP/1.1 200 OK"
    assert at_once[1][0] == b"HTTP/1.1 404 Not Found"


async def test_a_plain_call_is_answered_in_the_read_that_brought_it() -> None:
    async with _connection() as connection:
        await connection.request(ECHO)
        connection.send(ECHO)

        assert b'"hello"' in connection.written
        assert connection.writes == 1


async def test_an_unproven_version_answers_later_in_two_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_responses, "IS_PROVEN", False)
    async with _connection() as connection:
        connection.send(ECHO)
        assert connection.written == b""

        await connection.request(b"")
        assert connection.writes == 2


async def test_the_last_answer_of_a_connection_says_so() -> None:
    last = post("/v1/tools/call", {"name": "echo", "parameters": {"text": "hello"}}, {"connection": "close"})

    [answer] = await _answers(last)

    assert b"connection: close" in answer


async def test_two_requests_in_one_read_are_answered_in_order() -> None:
    async with _connection() as connection:
        other = post("/v1/tools/call", {"name": "echo", "parameters": {"text": "second"}}, {})
        written = await connection.request(ECHO + other, responses=2)

        assert written.index(b"hello") < written.index(b"second")


async def test_a_request_in_pieces_waits_for_its_rest() -> None:
    async with _connection() as connection:
        connection.send(ECHO[:-5])
        await asyncio.sleep(0)
        assert connection.written == b""

        answer = await connection.request(ECHO[-5:])
        assert b'"hello"' in answer
