"""A service on loopback that answers whatever a test puts into it, also more than it should."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from tests.large_answers import ME_BODY

_CHUNK: Final = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Said:
    """One answer. Without a length it is sent in chunks; `size` repeats the body up to so many bytes."""

    body: bytes = b""
    status: int = 200
    size: int | None = None
    with_length: bool = True
    headers: dict[str, str] = field(default_factory=dict)


class Upstream:
    """Where it listens, and what it says at which path."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Said] = {"/users/current.json": Said(body=ME_BODY)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream: Upstream

    def do_GET(self) -> None:
        said = self.upstream.answers.get(self.path.partition("?")[0], Said(status=404))
        self.send_response(said.status)
        self.send_header("Content-Type", "application/json")
        for name, value in said.headers.items():
            self.send_header(name, value)
        size = len(said.body) if said.size is None else said.size
        name, value = ("Content-Length", str(size)) if said.with_length else ("Connection", "close")
        self.send_header(name, value)
        self.close_connection = not said.with_length
        self.end_headers()
        try:
            self._send(said.body, size)
        except OSError:
            # The other side has had enough.
            self.close_connection = True

    def _send(self, body: bytes, size: int) -> None:
        if len(body) == size:
            self.wfile.write(body)
            return
        for start in range(0, size, _CHUNK):
            self.wfile.write(body[: min(_CHUNK, size - start)])

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def lying_upstream() -> Iterator[Upstream]:
    class Handler(_Handler):
        """The class of one server: `upstream` belongs to it alone."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        upstream = Upstream(f"http://127.0.0.1:{server.server_port}")
        Handler.upstream = upstream
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()
            thread.join()
