"""A request that asks for another protocol is answered, and nothing that follows its head is taken for a request."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from scripts.call_driver import post

from .processes import WORKBENCH, serving

_UPGRADE = {"connection": "Upgrade", "upgrade": "h2c"}


def _echo(text: str, **headers: str) -> bytes:
    return post("/v1/tools/call", {"name": "echo", "parameters": {"text": text}}, headers)


def _answers(port: int, *pieces: bytes) -> bytes:
    """All that the server says until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
        said = b""
        while more := connection.recv(65536):
            said += more
        return said


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving(WORKBENCH, folder=tmp_path_factory.mktemp("upgrades")) as server:
        yield urlsplit(server.url()).port or 0


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "something"])
@pytest.mark.parametrize("in_pieces", [False, True], ids=["at once", "in pieces"])
def test_a_body_is_no_request(port: int, protocol: str, in_pieces: bool) -> None:
    hidden = _echo("hidden")
    head = _echo("first", connection="Upgrade", upgrade=protocol).partition(b"\r\n\r\n")[0]
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
    head = b"\r\n".join([*lines, b"content-length: %d" % len(hidden)]) + b"\r\n\r\n"

    said = _answers(port, head, hidden) if in_pieces else _answers(port, head + hidden + _echo("after"))

    assert said.count(b"HTTP/1.1 ") == 1
    assert b"hidden" not in said and b"after" not in said
    assert b"connection: close" in said.lower()


def test_a_request_without_a_body_gets_its_answer(port: int) -> None:
    said = _answers(port, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n")

    assert said.startswith(b"HTTP/1.1 200 ")


def test_the_requests_before_it_get_their_answers(port: int) -> None:
    said = _answers(port, _echo("one") + _echo("two") + _echo("three", **_UPGRADE))

    assert said.count(b"HTTP/1.1 ") == 3
    assert [json.dumps(text).encode() in said for text in ("one", "two")] == [True, True]
