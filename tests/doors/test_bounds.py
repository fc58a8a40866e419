"""What is refused before there is a request: heads that are too large or too slow, and too many connections."""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import pytest
import structlog.testing

from dogubako.transports.http import open_files, uvicorn_protocol
from dogubako.transports.http.uvicorn_protocol import MOST_HEAD_BYTES, MOST_HEADERS, MOST_URL_BYTES

from .connections import END, HEAD, Place, answer_to, listening, next_answer, not_reading, reading
from .processes import PATIENCE
from .waiting import until

REFUSED = [
    pytest.param([b"HELLO\r\n\r\n"], 400, "VALIDATION_ERROR", id="no HTTP"),
    pytest.param([HEAD, b"Host: evil.example\r\n", END], 400, "VALIDATION_ERROR", id="two hosts"),
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
    async with listening() as place:
        refused = await answer_to(place, *pieces)
        fine = await answer_to(place, HEAD + END)

    assert (refused[0], refused[1]["code"], refused[1]["success"]) == (status, code, False)
    assert fine == (200, "/healthz")


async def test_a_head_just_inside_the_bounds_is_taken() -> None:
    headers = b"".join(b"X-%d: a\r\n" % number for number in range(MOST_HEADERS - 2))
    long = b"X: " + b"a" * (MOST_HEAD_BYTES - 2_000) + b"\r\n"
    address = b"GET /" + b"a" * (MOST_URL_BYTES - 10) + b" HTTP/1.1\r\nHost: localhost\r\n"
    async with listening() as place:
        answers = [await answer_to(place, head, END) for head in (HEAD + headers, HEAD + long, address)]

    assert [status for status, _ in answers] == [200, 200, 200]


async def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn_protocol, "HEAD_SECONDS", 0.1)
    async with listening() as place:
        status, body = await answer_to(place, HEAD)
        silent = await answer_to(place)

    assert (status, body["code"], body["error"]) == (
        408,
        "TIMEOUT",
        "The request did not arrive within 0.1 seconds.",
    )
    assert silent[0] == 408


async def test_a_large_body_is_no_large_head() -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n" + END
    async with listening() as place:
        assert await answer_to(place, request, b"x" * 200_000) == (200, "/")


async def test_several_requests_on_one_connection_are_each_bounded() -> None:
    request = HEAD + b"X: " + b"a" * (MOST_HEAD_BYTES // 2) + b"\r\n"
    async with listening() as place:
        reader, writer = await place.connect()
        for _ in range(4):
            writer.write(request + b"\r\n")
            assert (await next_answer(reader))[0].startswith(b"HTTP/1.1 200")


async def _connected(place: Place, begun: bytes) -> asyncio.StreamReader:
    """A connection that has come as far as this, and on which the server knows it."""
    before = len(place.state.connections)
    reader, writer = await place.connect()
    writer.write(begun)
    await until(lambda: len(place.state.connections) > before, "the server has the connection")
    return reader


UNFINISHED = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"
# Asked, and not answered yet.
BUSY = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Working:
    """Answers everything but `/slow`, on which it works without an end."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.begun += 1
            await asyncio.Event().wait()
        await reading(scope, receive, send)


async def _busy(place: Place, working: Working) -> asyncio.StreamReader:
    before = working.begun
    reader = await _connected(place, BUSY)
    await until(lambda: working.begun > before, "the app works on the request")
    return reader


async def test_one_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "MOST_CONNECTIONS", 2)
    working = Working()
    async with listening(working) as place:
        for _ in range(2):
            await _busy(place, working)
        async with asyncio.timeout(PATIENCE):
            status, body = await answer_to(place, HEAD + END)

    assert (status, body["code"], body["retryable"]) == (503, "BUSY", True)


async def test_who_asks_nothing_gives_way_to_who_does_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(uvicorn_protocol, "GIVE_WAY", 1)
    monkeypatch.setattr(uvicorn_protocol.LimitedHttpProtocol, "_told_of_crowd", float("-inf"))
    structlog.reset_defaults()
    working = Working()
    async with listening(working) as place, asyncio.timeout(PATIENCE):
        busy = await _busy(place, working)
        oldest = await _connected(place, b"")
        younger, its_writer = await place.connect()
        its_writer.write(HEAD + b"\r\n")
        await next_answer(younger)
        with structlog.testing.capture_logs() as log:
            served = await answer_to(place, HEAD + END)
        with suppress(ConnectionError):
            assert await oldest.read() == b""
        its_writer.write(HEAD + END)
        again = await next_answer(younger)
        still_served = not busy.at_eof()

    assert served[0] == 200
    assert again[0].startswith(b"HTTP/1.1 200") and still_served
    assert [line["event"] for line in log] == ["Too many connections are open"]


async def test_who_was_answered_and_only_lingers_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "MOST_CONNECTIONS", 1)
    async with listening(not_reading) as place, asyncio.timeout(PATIENCE):
        reader = await _connected(place, UNFINISHED)
        await next_answer(reader)
        served = await answer_to(place, HEAD + END)

    assert served[0] == 200


async def test_who_does_not_finish_its_request_gives_way_and_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(uvicorn_protocol, "GIVE_WAY", 1)
    async with listening() as place, asyncio.timeout(PATIENCE):
        oldest = await _connected(place, UNFINISHED)
        await until(lambda: any(one._arriving for one in place.state.connections), "the head is here")  # type: ignore[union-attr]
        younger = await _connected(place, HEAD)
        served = await answer_to(place, HEAD + END)
        told = await oldest.read()
        still_waited_for = not younger.at_eof()

    assert served[0] == 200 and still_waited_for
    assert told.startswith(b"HTTP/1.1 503 ") and b'"code":"BUSY"' in told


@pytest.mark.parametrize("limit", [64, 256, 1_024, 20_000])
def test_below_the_limit_of_open_files_descriptors_are_kept_for_everything_else(limit: int) -> None:
    most = open_files.connections_below(limit)

    assert 0 < most <= open_files.MOST_CONNECTIONS
    assert limit - most >= min(256, limit // 2)


async def test_a_process_with_few_descriptors_left_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as place, asyncio.timeout(PATIENCE):
        oldest = await _connected(place, b"")
        with socket.socket() as next_one:
            lowest_free = next_one.fileno()
        monkeypatch.setattr(uvicorn_protocol, "open_files_limit", lambda: lowest_free)
        served = await answer_to(place, HEAD + END)
        with suppress(ConnectionError):
            assert await oldest.read() == b""

    assert served[0] == 200
