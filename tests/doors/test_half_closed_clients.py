"""Clients that end their sending side and still read (`nc -N`): they get their answer if it comes soon."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dogubako.transports.http.lingering_protocol import HALF_CLOSED_SECONDS

from . import messages
from .connections import listening
from .loop_clock import LoopClock
from .processes import HERE, PATIENCE, WORKBENCH, serving
from .waiting import says

_JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(WORKBENCH, HERE / "odd_tools.py", folder=tmp_path_factory.mktemp("serve")) as command:
        yield command.url()


def _encoded(url: str, path: str, headers: Mapping[str, str], body: Any) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", f"host: {urlsplit(url).netloc}", f"content-length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _call(url: str, tool: str, arguments: dict[str, Any], *, door: str = "rest", **more: Any) -> bytes:
    if door == "rest":
        return _encoded(url, "/v1/tools/call", _JSON, {"name": tool, "parameters": arguments, **more})
    body = messages.request("tools/call", messages.call(tool, arguments, modern=True, **more))
    return _encoded(url, "/mcp", messages.modern_headers("tools/call", tool), body)


def _half_closed(url: str, said: bytes) -> socket.socket:
    """A connection on which everything was said and whose sending side is closed."""
    address = urlsplit(url)
    assert address.hostname and address.port
    connection = socket.create_connection((address.hostname, address.port), PATIENCE)
    connection.sendall(said)
    connection.shutdown(socket.SHUT_WR)
    return connection


def _everything(url: str, said: bytes) -> bytes:
    with closing(_half_closed(url, said)) as connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize("door", ["rest", "2026"])
@pytest.mark.parametrize("seconds", [0, 1])
def test_a_half_closed_client_gets_its_answer(url: str, door: str, seconds: int, tmp_path: Path) -> None:
    arguments = {"marker": str(tmp_path / "marker"), "seconds": seconds}
    heard = _everything(url, _call(url, "pause", arguments, door=door))

    assert heard.startswith(b"HTTP/1.1 200 ") and b"done" in heard


def test_all_requests_of_a_half_closed_client_are_answered_in_order(url: str) -> None:
    calls = b"".join(_call(url, "echo", {"text": f"number {number}"}) for number in range(3))
    heard = _everything(url, calls)

    assert heard.count(b"HTTP/1.1 200 ") == 3
    assert heard.index(b"number 0") < heard.index(b"number 1") < heard.index(b"number 2")


@pytest.mark.parametrize(
    ("second", "answers"),
    [
        pytest.param(b"GET /healthz HT", [b"200"], id="half a head"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf", [b"200", b"400"], id="half a body"
        ),
        pytest.param(b"HELLO\r\n\r\n", [b"200", b"400"], id="no HTTP"),
    ],
)
def test_what_comes_before_an_unfinished_request_is_answered(
    url: str, second: bytes, answers: list[bytes], tmp_path: Path
) -> None:
    first = _call(url, "pause", {"marker": str(tmp_path / "marker"), "seconds": 0.3})
    heard = _everything(url, first + second)

    assert [part[:3] for part in heard.split(b"HTTP/1.1 ")[1:]] == answers


@pytest.mark.parametrize("tool", ["linger", "linger_talking"])
@pytest.mark.parametrize("door", ["rest", "2026"])
async def test_a_call_that_takes_longer_is_stopped(url: str, door: str, tool: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    call = _call(url, tool, {"marker": str(marker)}, door=door, options={"timeout": 110_000})
    with closing(_half_closed(url, call)):
        await says(marker, "started")
        # Long before the time that the call has.
        await says(marker, "cancelled", seconds=60)


async def test_a_large_answer_is_read_to_its_end_however_long_that_takes(loop_clock: LoopClock) -> None:
    large = b"x" * 16_000_000

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        length = (b"content-length", b"%d" % len(large))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": large})

    async with listening(answering) as place:
        reader, writer = await place.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        writer.write_eof()
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(3):
            await loop_clock.passes(HALF_CLOSED_SECONDS)
        heard = await reader.read()

    assert len(heard) == len(large)
