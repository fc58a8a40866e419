"""Many sockets that hold a server's connections without asking for anything, or without ever finishing."""

import contextlib
import json
import resource
import socket
from collections.abc import Iterator, Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from tests.doors import messages
from tests.doors.processes import PATIENCE

_HEAD: Final = "{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
_POST: Final = _HEAD.format(method="POST", path="/v1/tools/call") + "Content-Type: application/json\r\n"
_DESCRIPTION: Final = _HEAD.format(method="GET", path="/openapi.json") + "\r\n"

# What each of a crowd sends when it comes.
SILENT: Final = b""
HALF_A_HEAD: Final = _POST.encode()
HALF_A_BODY: Final = f"{_POST}Content-Length: 100\r\n\r\n{{".encode()
# As many answers as wait on one connection, far more than the buffers of both kernels hold.
NEVER_READING: Final = _DESCRIPTION.encode() * 90


def listening(session: str | None = None) -> bytes:
    """A request whose answer is a stream that does not end: of a session, or of the modern era."""
    if session is not None:
        return _request("GET", messages.legacy_headers(session), b"")
    params = {"notifications": {"toolsListChanged": True}, "_meta": messages.envelope()}
    body = json.dumps(messages.request("subscriptions/listen", params)).encode()
    return _request("POST", messages.modern_headers("subscriptions/listen"), body)


def _request(method: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"{_HEAD.format(method=method, path='/mcp')}{lines}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Crowd:
    """Connections that stay open until the end, whatever the server does."""

    def __init__(self, url: str, *, buffer: int | None = None) -> None:
        address = urlsplit(url)
        assert address.hostname and address.port
        self._address = (address.hostname, address.port)
        self._buffer = buffer
        self._members: list[socket.socket] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.close()

    def __len__(self) -> int:
        return len(self._members)

    def grow(self, count: int, begin: bytes) -> None:
        for _ in range(count):
            member = socket.socket()
            self._members.append(member)
            member.settimeout(PATIENCE)
            if self._buffer is not None:
                member.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffer)
            member.connect(self._address)
            self._send(member, begin)

    def drip(self, byte: bytes) -> None:
        """Each member that still can sends one more byte."""
        for member in self._members:
            self._send(member, byte)

    def _send(self, member: socket.socket, data: bytes) -> None:
        # The server ends connections of a crowd; that is what it should do.
        with contextlib.suppress(ConnectionError):
            member.sendall(data)


@contextlib.contextmanager
def many_open_files() -> Iterator[None]:
    """Let this process open as many sockets as a crowd needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
