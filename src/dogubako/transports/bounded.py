"""Bounds that hold before there is a request: the size of its head, its time, the number of connections."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dogubako.contract.errors import BusyError, DogubakoError, PayloadTooLargeError, ToolTimeoutError, ValidationError
from dogubako.transports.problems import problem_bytes

MOST_HEAD_BYTES: Final = 64 * 1024
MOST_URL_BYTES: Final = 16 * 1024
MOST_HEADERS: Final = 200
HEAD_SECONDS: Final = 30.0
MOST_CONNECTIONS: Final = 2_000


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, which would wait for the end of a head for ever, and take one of any size."""

    _head: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _unfinished = 0
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(BusyError("Too many connections are open.", hint="Try again later."))
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._unfinished += len(data)
        super().data_received(data)
        if self._head is None:
            self._unfinished = 0
        elif self._unfinished > MOST_HEAD_BYTES:
            # A single header without an end would otherwise grow inside the parser.
            self._refuse(_head_too_large())

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        super().on_message_begin()
        self._await_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL_BYTES:
            self._refuse(PayloadTooLargeError(f"The address is longer than {MOST_URL_BYTES:,} bytes."))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > MOST_HEAD_BYTES or len(self.headers) >= MOST_HEADERS:
            self._refuse(_head_too_large())
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_is_here()
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()

    def _await_head(self) -> None:
        self._head_is_here()
        self._head = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _head_is_here(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        self._refuse(ToolTimeoutError(f"The request did not arrive within {HEAD_SECONDS:g} seconds."))

    def _refuse(self, error: DogubakoError) -> None:
        """The answer in our words, and the end of the connection."""
        if self._refused:
            return
        self._refused = True
        self._head_is_here()
        if not self.transport.is_closing():
            self.transport.write(problem_bytes(error))
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        self._refuse(ValidationError.of("request", "This is not an HTTP request."))


def _head_too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"There are more than {MOST_HEADERS} headers, or {MOST_HEAD_BYTES:,} bytes of them.")
