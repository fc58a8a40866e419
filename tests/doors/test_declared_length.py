"""A body whose declared length is beyond the limit is refused by its head: nothing of it is asked for or waited for."""

import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from dogubako.transports.mcp.protocol import MAX_BODY_BYTES

from .processes import PATIENCE, WORKBENCH, serving

_BODY = b'{"name": "echo", "parameters": {"text": "a"}}'


@pytest.fixture(scope="module", params=["off", "keys"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = tmp_path_factory.mktemp(request.param)
    settings = {"DOGUBAKO_AUTH": request.param, "DOGUBAKO_DATA_DIR": str(folder / "data")}
    with serving(WORKBENCH, folder=folder, settings=settings) as command:
        yield command.url(), request.param


def _connect(url: str, path: str, length: int, *headers: str) -> socket.socket:
    """A connection on which the head was sent, and not a byte of the body."""
    address = urlsplit(url)
    assert address.hostname and address.port
    lines = [f"POST {path} HTTP/1.1", f"host: {address.netloc}", "content-type: application/json"]
    lines += ["accept: application/json, text/event-stream", f"content-length: {length}", *headers]
    connection = socket.create_connection((address.hostname, address.port), PATIENCE)
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


@pytest.mark.parametrize("path", ["/v1/tools/call", "/v1/tools/search", "/mcp"])
@pytest.mark.parametrize("headers", [["expect: 100-continue"], []], ids=["asking first", "not asking"])
def test_a_declared_length_beyond_the_limit_is_refused_at_once(
    server: tuple[str, str], path: str, headers: list[str]
) -> None:
    url, auth = server
    with closing(_connect(url, path, MAX_BODY_BYTES + 1, *headers)) as connection:
        heard = b"".join(iter(lambda: connection.recv(65_536), b""))

    # Who is not let in learns nothing of limits.
    status, code = (b"413", b"PAYLOAD_TOO_LARGE") if auth == "off" else (b"401", b"AUTHENTICATION_ERROR")
    assert heard.startswith(b"HTTP/1.1 " + status) and code in heard
    assert heard.count(b"HTTP/1.1") == 1 and b"connection: close" in heard.lower()


def test_who_asks_first_and_may_send_is_told_to_go_on(server: tuple[str, str]) -> None:
    url, auth = server
    with closing(
        _connect(url, "/v1/tools/call", len(_BODY), "expect: 100-continue", "connection: close")
    ) as connection:
        first = connection.recv(65_536)
        if auth == "off":
            connection.sendall(_BODY)
        heard = b"".join(iter(lambda: connection.recv(65_536), b""))

    assert first.startswith(b"HTTP/1.1 100 " if auth == "off" else b"HTTP/1.1 401 ")
    assert auth != "off" or heard.startswith(b"HTTP/1.1 200 ")
