"""What is refused before there is a request: heads that are too large or too slow, and too many connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from dogubako.transports import bounded
from dogubako.transports.bounded import MOST_HEAD_BYTES, MOST_HEADERS, MOST_URL_BYTES, BoundedProtocol

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
END = b"Connection: close\r\n\r\n"

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@asynccontextmanager
async def listening() -> AsyncIterator[Connect]:
    """A server that answers everything with 204, on a free port."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, http=BoundedProtocol, log_config=None, lifespan="off", ws="none")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BoundedProtocol(config, state, {}), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield lambda: asyncio.open_connection("127.0.0.1", port)
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def answer_to(connect: Connect, *pieces: bytes) -> tuple[int, dict[str, Any]]:
    """Status and body of whatever comes back until the connection ends."""
    reader, writer = await connect()
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    async with asyncio.timeout(10):
        raw = await reader.read()
    writer.close()
    head, _, body = raw.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else {}


REFUSED = [
    pytest.param([b"HELLO\r\n\r\n"], 400, "VALIDATION_ERROR", id="no HTTP"),
    pytest.param([HEAD, b"X: " + b"a" * MOST_HEAD_BYTES + b"\r\n", END], 413, "PAYLOAD_TOO_LARGE", id="a large header"),
    pytest.param([HEAD, b"X: " + b"a" * (MOST_HEAD_BYTES + 1)], 413, "PAYLOAD_TOO_LARGE", id="a header without an end"),
    pytest.param(
        [HEAD, b"".join(b"X-%d: a\r\n" % number for number in range(MOST_HEADERS)), END],
        413,
        "PAYLOAD_TOO_LARGE",
        id="many headers",
    ),
    pytest.param(
        [b"GET /" + b"a" * MOST_URL_BYTES + b" HTTP/1.1\r\nHost: localhost\r\n", END],
        413,
        "PAYLOAD_TOO_LARGE",
        id="a long address",
    ),
]


@pytest.mark.parametrize(("pieces", "status", "code"), REFUSED)
async def test_a_head_out_of_bounds_is_refused_in_our_words(pieces: list[bytes], status: int, code: str) -> None:
    async with listening() as connect:
        refused = await answer_to(connect, *pieces)
        fine = await answer_to(connect, HEAD + END)

    assert (refused[0], refused[1]["code"], refused[1]["success"]) == (status, code, False)
    assert fine == (204, {})


async def test_a_head_just_inside_the_bounds_is_taken() -> None:
    headers = b"".join(b"X-%d: a\r\n" % number for number in range(MOST_HEADERS - 2))
    long = b"X: " + b"a" * (MOST_HEAD_BYTES - 2_000) + b"\r\n"
    address = b"GET /" + b"a" * (MOST_URL_BYTES - 10) + b" HTTP/1.1\r\nHost: localhost\r\n"
    async with listening() as connect:
        answers = [await answer_to(connect, head, END) for head in (HEAD + headers, HEAD + long, address)]

    assert [status for status, _ in answers] == [204, 204, 204]


async def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "HEAD_SECONDS", 0.1)
    async with listening() as connect:
        status, body = await answer_to(connect, HEAD)
        silent = await answer_to(connect)

    assert (status, body["code"], body["error"]) == (
        408,
        "TIMEOUT",
        "The request did not arrive within 0.1 seconds.",
    )
    assert silent[0] == 408


async def test_a_large_body_is_no_large_head() -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n" + END
    async with listening() as connect:
        assert await answer_to(connect, request, b"x" * 200_000) == (204, {})


async def test_several_requests_on_one_connection_are_each_bounded() -> None:
    request = HEAD + b"X: " + b"a" * (MOST_HEAD_BYTES // 2) + b"\r\n"
    async with listening() as connect:
        reader, writer = await connect()
        for _ in range(4):
            writer.write(request + b"\r\n")
            async with asyncio.timeout(10):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        writer.close()


async def test_one_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_CONNECTIONS", 2)
    async with listening() as connect:
        others = [await connect() for _ in range(2)]
        async with asyncio.timeout(10):
            status, body = await answer_to(connect, HEAD + END)
        for _, writer in others:
            writer.close()

    assert (status, body["code"], body["retryable"]) == (503, "BUSY", True)
