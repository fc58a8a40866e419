"""A service that repeats everything it was sent, in every way a service can answer: the worst upstream there is."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_STATUSES = (200, 302, 400, 401, 403, 404, 409, 422, 429, 500, 502)


class _Echoing(BaseHTTPRequestHandler):
    seen: list[str]

    def _answer(self) -> None:
        said = f"{self.command} {self.path}\n{self.headers}"
        self.seen.append(said)
        status = _STATUSES[len(self.seen) % len(_STATUSES)]
        body = json.dumps({"message": said, "errors": [said], "data": [{"id": "1", "name": said}]}).encode()
        self.send_response(status, "Refused " + self.path[:100])
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", str(self.headers).replace("\r", " ").replace("\n", " ")[:2000])
        self.send_header("Location", f"http://{self.headers.get('host')}/elsewhere?from={self.path}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def echoing_service() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it was sent so far."""

    seen: list[str] = []
    handler = type("Handler", (_Echoing,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join(10)
