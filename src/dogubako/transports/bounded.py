"""Bounds that hold before there is a request: its size without the body, its time, the number of connections."""

import asyncio
from math import inf
from typing import Final

from dogubako.contract.errors import BusyError, PayloadTooLargeError, ToolTimeoutError, ValidationError
from dogubako.transports.leaving import LeavingProtocol
from dogubako.transports.problems import problem_bytes

MOST_HEAD_BYTES: Final = 64 * 1024
MOST_URL_BYTES: Final = 16 * 1024
MOST_HEADERS: Final = 200
MOST_CONNECTIONS: Final = 2_000

HEAD_SECONDS: Final = 30.0
# Who reads a body gives it 30 seconds and answers in words that fit. This is for bodies that nobody reads.
REQUEST_SECONDS: Final = 70.0


class BoundedProtocol(LeavingProtocol):
    """uvicorn's own protocol, which would wait for a request for ever, and take a head of any size."""

    # When we began to wait for the client; it does not matter how many bytes have come since.
    _waiting_since = inf
    _look: asyncio.TimerHandle | None = None
    _head_bytes = 0
    # Bytes of all reads since one in which something came to its end: a head, a piece of the body, a request.
    _unfinished = 0
    _has_host = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._turn_away()
            return
        self._waiting_since = self.loop.time()
        self._look = self.loop.call_later(HEAD_SECONDS, self._look_at_the_clock)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unfinished += len(data)
        super().data_received(data)
        if self._unfinished > MOST_HEAD_BYTES:
            # A single line without an end would otherwise grow inside the parser.
            self.refuse(_too_large())

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        self._has_host = False
        self._waiting_since = self.loop.time()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL_BYTES:
            self.refuse(PayloadTooLargeError(f"The address is longer than {MOST_URL_BYTES:,} bytes."))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > MOST_HEAD_BYTES or len(self.headers) >= MOST_HEADERS:
            self.refuse(_too_large())
        elif self._arriving:
            # What comes after the body was not there when we decided who may call.
            return
        elif len(name) == 4 and name.lower() == b"host":
            self._on_host(value)
        else:
            super().on_header(name, value)

    def _on_host(self, value: bytes) -> None:
        if self._has_host:
            # Somebody before us may have looked at the other one.
            self.refuse(ValidationError.of("host", "The request has more than one Host header."))
        self._has_host = True
        self.headers.append((b"host", value))

    def on_headers_complete(self) -> None:
        self._unfinished = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unfinished = 0
        self._waiting_since = inf
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline or self._waiting_since != inf:
            # While others had their turn, this client could not go on.
            self._waiting_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        self.refuse(ValidationError.of("request", "This is not an HTTP request."))

    def _look_at_the_clock(self) -> None:
        """One timer for the whole life of a connection: requests only write down when they began."""
        now = self.loop.time()
        allowed = REQUEST_SECONDS if self._arriving else HEAD_SECONDS
        left = min(self._waiting_since + allowed - now, HEAD_SECONDS)
        if self._earlier_answers_are_due():
            left = HEAD_SECONDS
        if left <= 0:
            self.refuse(ToolTimeoutError(f"The request did not arrive within {allowed:g} seconds."))
            return
        self._look = self.loop.call_later(left, self._look_at_the_clock)

    def _turn_away(self) -> None:
        """Lingering here would keep open what is too much already."""
        self._deaf = True
        self.transport.write(problem_bytes(BusyError("Too many connections are open.", hint="Try again later.")))
        self.transport.close()


def _too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"There are more than {MOST_HEADERS} headers, or {MOST_HEAD_BYTES:,} bytes of them.")
