"""A web server on loopback in a thread, for servers of ours that are processes of their own."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

# Lets fetch_page read from loopback.
SETTINGS: Final = {"WEB_ALLOWED_HOSTS": "127.0.0.1"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedPage:
    """A page, and how its server describes it."""

    body: bytes
    content_type: str = "text/html"
    status: int = 200


class PageServer:
    """Serves pages by path and counts who asks for them."""

    def __init__(self, pages: Mapping[str, ServedPage], port: int) -> None:
        self.pages = dict(pages)
        self.url = f"http://127.0.0.1:{port}"
        self.requests: Counter[str] = Counter()


@contextmanager
def page_server(pages: Mapping[str, ServedPage]) -> Iterator[PageServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place.requests[self.path] += 1
            page = place.pages.get(self.path)
            self.send_response(page.status if page else 404)
            body = page.body if page else b""
            self.send_header("Content-Type", page.content_type if page else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        place = PageServer(pages, server.server_port)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield place
        finally:
            server.shutdown()
            thread.join()
