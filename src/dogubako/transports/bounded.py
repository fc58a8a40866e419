"""Bounds that hold before there is a request: its size without the body, its time, the number of connections."""

import asyncio
from heapq import nsmallest
from typing import ClassVar, Final

import structlog

from dogubako.contract.errors import BusyError, PayloadTooLargeError, ToolTimeoutError, ValidationError
from dogubako.transports.leaving import LeavingProtocol
from dogubako.transports.problems import problem_bytes

log = structlog.get_logger("dogubako.http")

MOST_HEAD_BYTES: Final = 64 * 1024
MOST_URL_BYTES: Final = 16 * 1024
MOST_HEADERS: Final = 200
MOST_CONNECTIONS: Final = 2_000
# So many idle ones make room when it is crowded.
GIVE_WAY: Final = 100
_TELL_AGAIN_SECONDS: Final = 60.0

HEAD_SECONDS: Final = 30.0
# Who reads a body gives the rest of it 30 seconds. This is for those that do not begin, or that nobody reads.
REQUEST_SECONDS: Final = 40.0
# A client that does not take its answer keeps it in our memory.
READING_SECONDS: Final = 60.0
# Requests on one connection that wait for the answer of the one before them.
MOST_PIPELINED: Final = 100


class BoundedProtocol(LeavingProtocol):
    """uvicorn's own protocol, which would wait for a request for ever, and take a head of any size."""

    # When we began to wait for the client. It wins no time by sending a byte now and then.
    _waiting_since = 0.0
    _look: asyncio.TimerHandle | None = None
    # Bytes of all reads since one in which something came to its end: a head, a piece of the body, a request.
    _unfinished = 0
    # No head or trailer that ends in this read has more bytes.
    _at_most = 0
    _not_read_since: float | None = None
    _told_of_crowd: ClassVar[float] = float("-inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.headers = []
        if len(self.connections) > MOST_CONNECTIONS and not self._found_room():
            self._turn_away()
            return
        self._waiting_since = self.loop.time()
        self._look = self.loop.call_later(HEAD_SECONDS, self._look_at_the_clock)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._unfinished += len(data)
        self._at_most = self._unfinished
        super().data_received(data)
        if self._arriving:
            self._expect_the_rest()
        # A single line without an end would otherwise grow inside the parser.
        if self._unfinished > MOST_HEAD_BYTES or len(self.headers) > MOST_HEADERS:
            self._refuse(_too_large())

    def on_message_begin(self) -> None:
        if not self._deaf:
            self._waiting_since = self.loop.time()
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL_BYTES:
            self._refuse(PayloadTooLargeError(f"The address is longer than {MOST_URL_BYTES:,} bytes."))

    def on_headers_complete(self) -> None:
        if self._deaf or self._is_refused_for_its_head():
            return
        self._unfinished = 0
        super().on_headers_complete()
        self._arriving = True
        if len(self.pipeline) > MOST_PIPELINED:
            self._refuse(BusyError("Too many requests wait on this connection.", hint="Read some answers first."))
        # What comes after the body was not there when we decided who may call: it goes into a list that nobody reads.
        self.headers = []

    def _is_refused_for_its_head(self) -> bool:
        if len(self.headers) > MOST_HEADERS or self._has_too_many_bytes():
            self._refuse(_too_large())
        elif [name for name, _ in self.headers].count(b"host") > 1:
            # Whoever looked before us may have looked at the other one.
            self._refuse(ValidationError.of("host", "The request has more than one Host header."))
        return self._deaf

    def _has_too_many_bytes(self) -> bool:
        # Few reads are so large that it is worth counting.
        return self._at_most > MOST_HEAD_BYTES and sum(map(_size, self.headers)) > MOST_HEAD_BYTES

    def on_body(self, body: bytes) -> None:
        if not self._deaf:
            self._unfinished = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.headers and self._has_too_many_bytes():
            self._refuse(_too_large())
        if not self._deaf:
            self._unfinished = 0
            self._the_rest_is_here()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        # A client may send the next request at once, but while others had their turn it could not go on.
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._not_read_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._not_read_since = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP at all."""
        self._refuse(ValidationError.of("request", "This is not an HTTP request."))

    def _look_at_the_clock(self) -> None:
        """One timer for the whole life of a connection: requests only write down when they began."""
        if self._not_read_since is not None and self.loop.time() - self._not_read_since >= READING_SECONDS:
            self.transport.abort()
            return
        allowed = REQUEST_SECONDS if self._arriving else HEAD_SECONDS
        left = self._waiting_since + allowed - self.loop.time()
        if self._earlier_answers_are_due():
            left = HEAD_SECONDS
        if left > 0:
            self._look = self.loop.call_later(min(left, HEAD_SECONDS), self._look_at_the_clock)
        else:
            self._refuse(ToolTimeoutError(f"The request did not arrive within {allowed:g} seconds."))

    def _found_room(self) -> bool:
        """Connections on which nothing is asked must not keep out those who want to ask: the oldest of them give way.

        Many at once, so that a crowd that goes on coming does not make us look for them every time.
        """
        others = (one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self)
        idle = (one for one in others if one._is_idle())
        gives_way = nsmallest(GIVE_WAY, idle, key=lambda one: one._waiting_since)
        for one in gives_way:
            one.transport.abort()
        self._say_that_it_is_crowded(len(gives_way))
        return bool(gives_way)

    def _say_that_it_is_crowded(self, gave_way: int) -> None:
        now = self.loop.time()
        if now - BoundedProtocol._told_of_crowd >= _TELL_AGAIN_SECONDS:
            BoundedProtocol._told_of_crowd = now
            log.warning("Too many connections are open", most=MOST_CONNECTIONS, idle_ones_ended=gave_way)

    def _is_idle(self) -> bool:
        """Whether nobody waits for an answer here. Who has had the last one, and only lingers, does not."""
        if self.transport.is_closing():
            return False
        return self._end is not None or not (self._arriving or self._earlier_answers_are_due())

    def _turn_away(self) -> None:
        """Lingering here would keep open what is too much already."""
        self._deaf = True
        self.transport.write(problem_bytes(BusyError("Too many connections are open.", hint="Try again later.")))
        self.transport.close()


def _size(header: tuple[bytes, bytes]) -> int:
    return len(header[0]) + len(header[1])


def _too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"There are more than {MOST_HEADERS} headers, or {MOST_HEAD_BYTES:,} bytes of them.")
