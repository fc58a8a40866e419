"""What is left of a connection: nothing after its end, and no grudge against a client that was slow once."""

import asyncio
from typing import Any

from dogubako.transports.http.uvicorn_protocol import HEAD_SECONDS, READING_SECONDS, LimitedHttpProtocol

from .connections import Place, listening, reading
from .loop_clock import LoopClock
from .processes import PATIENCE
from .waiting import until

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"
LARGE = b"x" * 16_000_000


def _only_connection_of(place: Place) -> LimitedHttpProtocol:
    (connection,) = place.state.connections
    assert isinstance(connection, LimitedHttpProtocol)
    return connection


async def test_a_connection_that_is_over_is_not_looked_at_again() -> None:
    async with listening() as place:
        _, writer = await place.connect()
        await until(lambda: bool(place.state.connections), "the server sees the client")
        look = _only_connection_of(place)._look
        writer.close()
        await until(lambda: not place.state.connections, "the server sees that the client has left")

    assert look is not None and look.cancelled()


async def test_a_client_that_took_its_answer_late_is_served_to_the_end(loop_clock: LoopClock) -> None:
    go_on = asyncio.Event()

    async def in_two_parts(scope: Any, receive: Any, send: Any) -> None:
        length = (b"content-length", b"%d" % (len(LARGE) + 1))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": LARGE, "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"!"})

    async with listening(in_two_parts) as place:
        reader, writer = await place.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(GET)
        await until(lambda: bool(place.state.connections), "the server sees the client")
        connection = _only_connection_of(place)
        await until(lambda: connection._not_read_since is not None, "the answer is not taken")
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(LARGE))
        for _ in range(4):
            await loop_clock.passes(max(HEAD_SECONDS, READING_SECONDS))
        go_on.set()
        async with asyncio.timeout(PATIENCE):
            assert await reader.readexactly(1) == b"!"


async def test_who_is_in_the_middle_of_a_request_when_the_server_stops_gets_a_last_answer() -> None:
    async with listening(reading) as place:
        reader, writer = await place.connect()
        writer.write(POST)
        await until(lambda: any(one._arriving for one in place.state.connections), "the head is here")  # type: ignore[union-attr]
        _only_connection_of(place).shutdown()
        writer.write(b"abc")
        async with asyncio.timeout(PATIENCE):
            everything = await reader.read()

    head, _, body = everything.lower().partition(b"\r\n\r\n")
    assert head.startswith(b"http/1.1 200") and b"connection: close" in head and body == b"/"


async def test_a_client_that_never_takes_the_last_bytes_of_its_answer_is_left(loop_clock: LoopClock) -> None:
    """Fewer bytes than make a transport say that it is full, on a connection that was closed after them."""
    done = asyncio.Event()

    async def until_the_kernel_is_full(scope: Any, receive: Any, send: Any) -> None:
        transport = _only_connection_of(place).transport
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        while not transport.get_write_buffer_size():
            await send({"type": "http.response.body", "body": b"x" * 10_000, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})
        done.set()

    async with listening(until_the_kernel_is_full) as place:
        _, writer = await place.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(GET)
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        assert _only_connection_of(place)._not_read_since is None
        await place.is_left(loop_clock)
