"""uvicorn's HTTP protocol with limits on size, time, connections and unread answers."""

import asyncio
import re
from heapq import nsmallest
from typing import ClassVar, Final, cast

import structlog
from starlette.types import Scope

from dogubako.contract.errors import BusyError, PayloadTooLargeError, ToolTimeoutError, ValidationError
from dogubako.transports.http.errors import EVICTED, problem_bytes
from dogubako.transports.http.known_heads import KnownHeadsProtocol
from dogubako.transports.http.open_files import (
    MOST_CONNECTIONS,
    connections_below,
    open_files_limit,
    raising_advice,
    reserved_below,
)

log = structlog.get_logger("dogubako.http")

MOST_HEAD_BYTES: Final = 64 * 1024
MOST_URL_BYTES: Final = 16 * 1024
MOST_HEADERS: Final = 200
# When it is crowded, this many connections are ended at once, or a tenth of all if that is less.
GIVE_WAY: Final = 100
_TELL_AGAIN_SECONDS: Final = 60.0

HEAD_SECONDS: Final = 30.0
# Who reads a body gives the rest of it 30 seconds. This is for those that do not begin, or that nobody reads.
REQUEST_SECONDS: Final = 40.0
# A client that does not take its answer keeps it in our memory.
READING_SECONDS: Final = 60.0
# What all clients together have not read yet. Beyond it, those that have not read for the longest time give way.
MOST_UNREAD_BYTES: Final = 64 * 1024 * 1024
# Requests on one connection that wait for the answer of the one before them.
MOST_PIPELINED: Final = 100


class LimitedHttpProtocol(KnownHeadsProtocol):
    """uvicorn's own protocol, which would wait for a request for ever, and take a head of any size."""

    _look: asyncio.TimerHandle | None = None
    # Bytes of all reads since one in which something came to its end: a head, a piece of the body, a request.
    _unfinished = 0
    # No head or trailer that ends in this read has more bytes.
    _at_most = 0
    _not_read_since: float | None = None
    # The answer is complete, and what comes after it has to wait: the client does not read.
    _next_is_held = False
    _told_of_crowd: ClassVar[float] = float("-inf")
    # Connections whose client does not read, the longest wait first, and the bytes that each of them keeps.
    _unread: ClassVar[dict["LimitedHttpProtocol", int]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.headers = []
        if self._is_crowded() and not self._found_room():
            self._turn_away()
            return
        self._waiting_since = self.loop.time()
        self._look = self.loop.call_later(HEAD_SECONDS, self._look_at_the_clock)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        self._unread.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._later is not None:
            self._make_request()
        if self._deaf or self._is_taken(data):
            return
        self._unfinished += len(data)
        self._at_most = self._unfinished
        super().data_received(data)
        if self._arriving:
            self._expect_the_rest()
        # A single line without an end would otherwise grow inside the parser.
        if self._unfinished > MOST_HEAD_BYTES or len(self.headers) > MOST_HEADERS:
            self._refuse(_too_large())
        self._start_next()

    def on_message_begin(self) -> None:
        if not self._deaf:
            self._waiting_since = self.loop.time()
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._deaf:
            return
        super().on_url(url)
        if len(self.url) > MOST_URL_BYTES:
            self._refuse(PayloadTooLargeError(f"The address is longer than {MOST_URL_BYTES:,} bytes."))

    def on_headers_complete(self) -> None:
        if self._deaf or self._is_refused_for_its_head():
            return
        self._unfinished = 0
        self._take_host_from_target()
        super().on_headers_complete()
        self._arriving = True
        # What comes after the body was not there when we decided who may call: it goes into a list that nobody reads.
        self.headers = []
        if len(self.pipeline) > MOST_PIPELINED:
            self._refuse(BusyError("Too many requests wait on this connection.", hint="Read some answers first."))

    def _take_host_from_target(self) -> None:
        """Replace the Host header by the authority of a target in absolute form (RFC 9112, 3.2.2)."""
        if self.url.startswith(b"/"):
            return
        scheme, separator, rest = self.url.partition(b"://")
        if separator and scheme.isalpha():
            authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
            self.headers[:] = [one for one in self.headers if one[0] != b"host"] + [(b"host", authority)]

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
        if self.flow.write_paused and not self.transport.is_closing():
            # The next request of this connection waits until the client has read this answer.
            self._next_is_held = True
            self.flow.pause_reading()
            return
        # A client may send the next request at once, but while others had their turn it could not go on.
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self._not_read_since = self.loop.time()
        super().pause_writing()
        self._unread[self] = self.transport.get_write_buffer_size()
        self._bound_unread()

    def _bound_unread(self) -> None:
        """End connections that keep too much unread, the longest wait first, and never the one that is answered now."""
        kept = sum(self._unread.values())
        for one, size in list(self._unread.items()):
            if kept <= MOST_UNREAD_BYTES or one is self:
                return
            kept -= size
            del self._unread[one]
            one.transport.abort()

    def resume_writing(self) -> None:
        self._not_read_since = None
        self._unread.pop(self, None)
        super().resume_writing()
        if self._next_is_held:
            self._next_is_held = False
            self.on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP with 400."""
        self._refuse(ValidationError.of("request", "This is not an HTTP request."))

    def _look_at_the_clock(self) -> None:
        """One timer for the whole life of a connection: requests only write down when they began."""
        if self._not_read_since is not None and self.loop.time() - self._not_read_since >= READING_SECONDS:
            self.transport.abort()
            return
        allowed = self._allowed_seconds()
        left = self._waiting_since + allowed - self.loop.time()
        if self._earlier_answers_are_due():
            left = HEAD_SECONDS
        if left > 0:
            self._look = self.loop.call_later(min(left, HEAD_SECONDS), self._look_at_the_clock)
        elif self.transport.is_closing():
            # It was closed after its last answer, and the client did not take the rest of that.
            self.transport.abort()
        else:
            self._refuse(ToolTimeoutError(f"The request did not arrive within {allowed:g} seconds."))

    def _allowed_seconds(self) -> float:
        if self.transport.is_closing():
            return READING_SECONDS
        return REQUEST_SECONDS if self._arriving else HEAD_SECONDS

    def _is_crowded(self) -> bool:
        """Whether this connection is one too many, by the count of all or by the descriptors that are left.

        The system gives out the lowest free descriptor: a high number means that nearly all are in use, also by others.
        """
        limit = open_files_limit()
        if len(self.connections) > connections_below(limit):
            return True
        opened = self.transport.get_extra_info("socket")
        return opened is not None and opened.fileno() >= limit - reserved_below(limit) // 4

    def _found_room(self) -> bool:
        """End the connections that have kept us waiting for the longest time.

        Many at once, so that a crowd that goes on coming does not make us look for them every time.
        """
        limit = open_files_limit()
        most = connections_below(limit)
        others = (one for one in self.connections if isinstance(one, LimitedHttpProtocol) and one is not self)
        waiting = [(since, id(one), one) for one in others if (since := one._waits_for_client_since()) is not None]
        evicted = nsmallest(min(GIVE_WAY, most // 10 + 1), waiting)
        for _, _, one in evicted:
            one._evict()
        self._log_that_it_is_crowded(most, limit, len(evicted))
        return bool(evicted)

    def _log_that_it_is_crowded(self, most: int, limit: int, ended: int) -> None:
        now = self.loop.time()
        if now - LimitedHttpProtocol._told_of_crowd >= _TELL_AGAIN_SECONDS:
            LimitedHttpProtocol._told_of_crowd = now
            hint = raising_advice() if most < MOST_CONNECTIONS else "See who opens so many connections."
            log.warning("Too many connections are open", most=most, open_files=limit, ended=ended, hint=hint)

    def _waits_for_client_since(self) -> float | None:
        """Since when nothing happens because of the client; None while the client waits for an answer.

        Silent connections wait for their client, and so do those with an unfinished request, those that were answered
        and linger, and those whose client does not read.
        """
        if self._not_read_since is not None:
            return self._not_read_since
        leaves = self._end is not None or self.transport.is_closing()
        return None if self._earlier_answers_are_due() and not leaves else self._waiting_since

    def _evict(self) -> None:
        if self._arriving and not self.cycle.response_started and not self.transport.is_closing():
            cast("Scope", self.cycle.scope)[EVICTED] = True
            self._turn_away()
        else:
            self.transport.abort()

    def _turn_away(self) -> None:
        """Lingering here would keep open what is too much already."""
        self._deaf = True
        self.transport.write(problem_bytes(BusyError("Too many connections are open.", hint="Try again later.")))
        self.transport.close()


def _size(header: tuple[bytes, bytes]) -> int:
    return len(header[0]) + len(header[1])


def _too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"There are more than {MOST_HEADERS} headers, or {MOST_HEAD_BYTES:,} bytes of them.")
