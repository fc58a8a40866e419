"""What is refused before there is a request: heads that are too large or too slow, and too many connections."""

import asyncio
from contextlib import suppress

import pytest
import structlog.testing

from dogubako.transports import bounded
from dogubako.transports.bounded import MOST_HEAD_BYTES, MOST_HEADERS, MOST_URL_BYTES

from .connections import END, HEAD, Place, answer_to, listening, next_answer, not_reading
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
    monkeypatch.setattr(bounded, "HEAD_SECONDS", 0.1)
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


BUSY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"


async def test_one_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_CONNECTIONS", 2)
    async with listening() as place:
        for _ in range(2):
            assert (await (await _connected(place, BUSY)).readline()).startswith(b"HTTP/1.1 100")
        async with asyncio.timeout(PATIENCE):
            status, body = await answer_to(place, HEAD + END)

    assert (status, body["code"], body["retryable"]) == (503, "BUSY", True)


async def test_who_asks_nothing_gives_way_to_who_does_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(bounded, "GIVE_WAY", 1)
    monkeypatch.setattr(bounded.BoundedProtocol, "_told_of_crowd", float("-inf"))
    structlog.reset_defaults()
    async with listening() as place, asyncio.timeout(PATIENCE):
        busy = await _connected(place, BUSY)
        await busy.readline()
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

    assert served[0] == 200
    assert again[0].startswith(b"HTTP/1.1 200") and not busy.at_eof()
    assert [line["event"] for line in log] == ["Too many connections are open"]


async def test_who_was_answered_and_only_lingers_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MOST_CONNECTIONS", 1)
    async with listening(not_reading) as place, asyncio.timeout(PATIENCE):
        reader = await _connected(place, BUSY.replace(b"Expect: 100-continue\r\n", b""))
        await next_answer(reader)
        served = await answer_to(place, HEAD + END)

    assert served[0] == 200
