"""Connections on which a request does not end: bounded in bytes and in time, and taking no other answer along."""

import asyncio
import json
from typing import Any

import pytest

from dogubako.transports.http import lingering_protocol, uvicorn_protocol
from dogubako.transports.http.uvicorn_protocol import HEAD_SECONDS, MOST_HEAD_BYTES, MOST_URL_BYTES, REQUEST_SECONDS

from .connections import (
    HEAD,
    App,
    answer,
    answer_to,
    drip,
    everything_after,
    listening,
    next_answer,
    not_reading,
    reading,
)
from .loop_clock import LoopClock
from .processes import PATIENCE

CHUNKED = b"POST /chunked HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG = b"POST /long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
GET = HEAD + b"\r\n"


class Slow:
    """An app that answers only when it is told to; `begun` says that it has a request."""

    def __init__(self, then: App | None = None) -> None:
        self.begun, self.ready = asyncio.Event(), asyncio.Event()
        self._then = then

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.set()
        await self.ready.wait()
        await (self._then(scope, receive, send) if self._then else answer(send, b"done"))

    async def has_begun(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.begun.wait()


async def _far_too_long(clock: LoopClock) -> None:
    """More time than any request may take, with looks at the clock in between."""
    for _ in range(4):
        await clock.passes(HEAD_SECONDS)


# More than a head may have, and than one read can bring along with the end of a body.
MUCH = MOST_HEAD_BYTES * 8

ENDLESS = [
    pytest.param(b"0\r\nX-A: " + b"a" * MUCH, id="one line"),
    pytest.param(b"0\r\n" + b"X-A: a\r\n" * (MUCH // 8), id="many lines"),
    pytest.param(b"0\r\n" + b"a" * MUCH, id="a name"),
    pytest.param(b"3;a=" + b"a" * MUCH, id="what stands behind a chunk's length"),
]


@pytest.mark.parametrize("endless", ENDLESS)
async def test_what_follows_a_body_is_bounded_as_a_head_is(endless: bytes) -> None:
    async with listening() as place:
        refused = await answer_to(place, CHUNKED, b"1\r\nx\r\n", endless)
        fine = await answer_to(
            place,
            CHUNKED.replace(b"chunked HTTP", b"fine HTTP"),
            b"1\r\nx\r\n0\r\nX-A: a\r\n\r\n" + HEAD + b"Connection: close\r\n\r\n",
        )

    assert (refused[0], refused[1]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert fine[0] == 200


async def test_many_small_chunks_are_no_large_head() -> None:
    async with listening() as place:
        pieces = [b"1\r\nx\r\n" * 1_000] * 30
        status, _ = await answer_to(
            place, CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), *pieces, b"0\r\n\r\n"
        )

    assert status == 200


async def test_the_beginning_of_a_head_behind_a_large_body_is_no_large_head() -> None:
    body = b"x" * (MOST_HEAD_BYTES * 2)
    async with listening() as place:
        reader, writer = await place.connect()
        writer.write(b"POST /first HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body + HEAD)
        first = await next_answer(reader)
        writer.write(b"\r\n")
        second = await next_answer(reader)

    assert (first[1], second[1]) == (b"/first", b"/healthz")


UNFINISHED = [pytest.param(LONG, id="a body"), pytest.param(CHUNKED + b"0\r\nX-A: a", id="a trailer")]


@pytest.mark.parametrize("request_", UNFINISHED)
async def test_after_its_answer_nobody_waits_for_the_rest_of_a_request(loop_clock: LoopClock, request_: bytes) -> None:
    async with listening(not_reading) as place:
        connection = await place.connect()
        connection[1].write(request_)
        head, _ = await next_answer(connection[0])
        said = await drip(connection, b"x", loop_clock)
        await place.is_left(loop_clock)

    assert b"\r\nconnection: close\r\n" in head
    assert said == b""


async def test_a_silent_client_is_left_too(loop_clock: LoopClock) -> None:
    async with listening(not_reading) as place:
        reader, writer = await place.connect()
        writer.write(LONG)
        await next_answer(reader)
        await place.is_left(loop_clock)


async def _waiting(scope: Any, receive: Any, send: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _streaming(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"one", "more_body": True})
    await _waiting(scope, receive, send)


LATE = [
    pytest.param(reading, HEAD, b"x", b"HTTP/1.1 408 ", id="a head"),
    pytest.param(reading, b"", b"\n", b"HTTP/1.1 408 ", id="empty lines"),
    pytest.param(reading, LONG, b"x", b"HTTP/1.1 408 ", id="a body that is read"),
    pytest.param(reading, CHUNKED + b"0\r\nX-A: ", b"x", b"HTTP/1.1 408 ", id="a trailer"),
    pytest.param(_waiting, LONG, b"x", b"HTTP/1.1 408 ", id="a body that nobody answers"),
    pytest.param(_streaming, LONG, b"x", b"HTTP/1.1 200 ", id="a body beside a stream"),
]


@pytest.mark.parametrize(("app", "begun", "byte", "status"), LATE)
async def test_single_bytes_win_no_time(
    loop_clock: LoopClock, app: App, begun: bytes, byte: bytes, status: bytes
) -> None:
    async with listening(app) as place:
        connection = await place.connect()
        connection[1].write(begun)
        said = await drip(connection, byte, loop_clock)
        await place.is_left(loop_clock)

    assert said.startswith(status) and said.count(b"HTTP/1.1") == 1


async def test_empty_lines_between_requests_win_no_time(loop_clock: LoopClock) -> None:
    async with listening() as place:
        connection = await place.connect()
        connection[1].write(GET)
        await next_answer(connection[0])
        said = await drip(connection, b"\n", loop_clock)
        await place.is_left(loop_clock)

    assert said.startswith(b"HTTP/1.1 408 ")


async def test_a_slow_answer_is_not_a_slow_request(loop_clock: LoopClock) -> None:
    slow = Slow()
    async with listening(slow) as place:
        reader, writer = await place.connect()
        writer.write(GET)
        await slow.has_begun()
        await _far_too_long(loop_clock)
        slow.ready.set()
        _, body = await next_answer(reader)

    assert body == b"done"


async def test_a_body_that_comes_after_its_head_keeps_the_connection() -> None:
    async with listening() as place:
        reader, writer = await place.connect()
        heads = []
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
            await asyncio.wait({asyncio.ensure_future(writer.drain())}, timeout=0.05)
            writer.write(b"a")
            await writer.drain()
            writer.write(b"b")
            heads.append((await next_answer(reader))[0])

    assert [b"connection: close" in head for head in heads] == [False, False, False]


async def test_who_sends_everything_before_reading_gets_its_answer() -> None:
    body = b"x" * 8_000_000
    async with listening(not_reading) as place:
        said = await everything_after(
            place, b"POST /sent HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body), body
        )

    assert said.endswith(b"\r\n\r\n/sent")


async def test_a_trailer_is_no_header() -> None:
    async def telling(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await answer(send, json.dumps([name.decode() for name, _ in scope["headers"]]).encode())

    async with listening(telling) as place:
        reader, writer = await place.connect()
        writer.write(CHUNKED + b"1\r\nx\r\n0\r\nX-API-Key: secret\r\nHost: localhost\r\n\r\n")
        _, told = await next_answer(reader)
        writer.write(GET)
        _, then = await next_answer(reader)

    assert (json.loads(told), json.loads(then)) == (["host", "transfer-encoding"], ["host"])


SECOND = [
    pytest.param(b"GET /" + b"a" * MOST_URL_BYTES + b" HTTP/1.1\r\n\r\n", 413, id="a long address"),
    pytest.param(HEAD + b"X: " + b"a" * MOST_HEAD_BYTES + b"\r\n\r\n", 413, id="a large header"),
    pytest.param(CHUNKED + b"0\r\nX: " + b"a" * MOST_HEAD_BYTES + b"\r\n\r\n", 413, id="a large trailer"),
    pytest.param(HEAD + b"Host: two\r\n\r\n", 400, id="two hosts"),
    pytest.param(b"HELLO\r\n\r\n", 400, id="no HTTP"),
    pytest.param(CHUNKED + b"nonsense\r\n", 400, id="no chunk"),
]


@pytest.mark.parametrize(("second", "status"), SECOND)
@pytest.mark.parametrize("before", [1, 3])
async def test_a_request_that_is_refused_waits_for_its_turn(second: bytes, status: int, before: int) -> None:
    slow = Slow()
    async with listening(slow) as place:
        reader, writer = await place.connect()
        writer.write(GET * before + second + GET)
        await slow.has_begun()
        early = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({early}, timeout=0.05)
        assert not early.done()
        slow.ready.set()
        async with asyncio.timeout(PATIENCE):
            said = await early + await reader.read()

    statuses = [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [200] * before + [status]


async def test_a_late_head_waits_for_its_turn_too(loop_clock: LoopClock) -> None:
    slow = Slow()
    async with listening(slow) as place:
        connection = await place.connect()
        connection[1].write(GET + HEAD)
        await slow.has_begun()
        await _far_too_long(loop_clock)
        slow.ready.set()
        first, _ = await next_answer(connection[0])
        said = first + await drip(connection, b"x", loop_clock)

    assert [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]] == [200, 408]


async def test_who_had_to_wait_for_an_answer_has_time_for_the_next_body(loop_clock: LoopClock) -> None:
    slow = Slow(then=reading)
    async with listening(slow) as place:
        reader, writer = await place.connect()
        writer.write(GET + b"POST /next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
        await slow.has_begun()
        await _far_too_long(loop_clock)
        slow.ready.set()
        await next_answer(reader)
        # Nearly all the time that a request has; some is left for a slow machine.
        for _ in range(2):
            await loop_clock.passes(REQUEST_SECONDS / 2 - 10)
        writer.write(b"x")
        _, body = await next_answer(reader)

    assert body == b"/next"


async def test_whoever_works_on_a_late_request_hears_at_once_that_its_client_is_gone(
    loop_clock: LoopClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering_protocol, "LINGER_SECONDS", 6_000.0)
    begun, gone = asyncio.Event(), asyncio.Event()

    async def working(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await _waiting(scope, receive, send)
        gone.set()
        await answer(send, b"too late")

    async with listening(working) as place:
        reader, writer = await place.connect()
        writer.write(LONG)
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
        await _far_too_long(loop_clock)
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
            said = await reader.read()

    assert said.count(b"HTTP/1.1") == 1 and b"TIMEOUT" in said


async def test_a_client_that_goes_on_after_its_refusal_is_not_heard(loop_clock: LoopClock) -> None:
    async with listening() as place:
        connection = await place.connect()
        connection[1].write(b"HELLO\r\n\r\n")
        said = await drip(connection, GET, loop_clock)
        await place.is_left(loop_clock)

    assert said.count(b"HTTP/1.1") == 1


async def test_a_client_that_sends_on_and_on_without_an_answer_is_refused_after_those_that_are_due(
    loop_clock: LoopClock,
) -> None:
    async def held(scope: Any, receive: Any, send: Any) -> None:
        await go_on.wait()
        await answer(send, scope["path"].encode())

    go_on = asyncio.Event()
    async with listening(held) as place:
        reader, writer = await place.connect()
        writer.write(GET * (uvicorn_protocol.MOST_PIPELINED + 50))
        await writer.drain()
        go_on.set()
        everything = await asyncio.wait_for(reader.read(), PATIENCE)
        await place.is_left(loop_clock)

    assert uvicorn_protocol.MOST_PIPELINED <= everything.count(b"HTTP/1.1 200") <= uvicorn_protocol.MOST_PIPELINED + 2
    assert everything.count(b"HTTP/1.1 503") == 1 and b"Too many requests wait on this connection" in everything


async def test_a_client_that_does_not_take_its_answer_is_left(loop_clock: LoopClock) -> None:
    begun = asyncio.Event()

    async def large(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(50):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})

    async with listening(large) as place:
        _, writer = await place.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(GET)
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
        await place.is_left(loop_clock)


async def test_the_next_request_of_a_connection_waits_until_its_client_has_read(loop_clock: LoopClock) -> None:
    started: list[str] = []
    written = asyncio.Event()

    async def large(scope: Any, receive: Any, send: Any) -> None:
        started.append(scope["path"])
        await answer(send, b"x" * 20_000_000)
        written.set()

    async with listening(large) as place:
        reader, writer = await place.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(GET * 3)
        async with asyncio.timeout(PATIENCE):
            await written.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        before = len(started)
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(20_000_000)

    assert (before, len(started)) == (1, 3)
