"""Close HTTP connections so that the client receives the whole response."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, runtime_checkable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.transports.http.errors import problem_bytes

LINGER_SECONDS: Final = 2.0
# After its end of input a client may still read (`nc -N`), or it may be gone: TCP does not tell. For so long we assume
# that it reads; then its calls are stopped.
HALF_CLOSED_SECONDS: Final = 5.0
# The first request of a new connection is on its way: for so long a server that stops waits for it.
FRESH_SECONDS: Final = 1.0


@runtime_checkable
class HasStreams(Protocol):
    """An app that keeps streams open for clients who wait for news."""

    def stop_streams(self) -> None: ...


class LingeringHttpProtocol(HttpToolsProtocol):
    """uvicorn's own protocol, which waits for ever for the rest of a request that was answered already."""

    # The head of a request is here, and the rest of it is not.
    _arriving = False
    # Nothing that still comes is listened to.
    _deaf = False
    _refusal: DogubakoError | None = None
    _keeps_alive = True
    _end: asyncio.TimerHandle | None = None
    # The client has closed its sending side; when this timer fires, it is taken for gone.
    _half_closed: asyncio.TimerHandle | None = None
    _connected_at = 0.0
    # The server stops, and the connection waits for its first request.
    _fresh: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._connected_at = self.loop.time()
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._end, self._half_closed, self._fresh):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep the connection for the answers that are due. Returning None closes it."""
        if self._end is not None or self.transport.is_closing() or not self._earlier_answers_are_due():
            return None
        if self._arriving:
            self._refuse(ValidationError.of("request", "The request ended before it was complete."))
        if self._refusal is None:
            self.cycle.keep_alive = False
        self._half_closed = self.loop.call_later(HALF_CLOSED_SECONDS, self._give_up_on_client)
        return True

    def _give_up_on_client(self) -> None:
        # A connection that is closing has all its answers; how long a client may read them is bounded elsewhere.
        if not self.transport.is_closing():
            self.transport.abort()

    def on_response_complete(self) -> None:
        if self._refusal is not None and not self.pipeline:
            self._say(self._refusal)
        elif self._end is None:
            super().on_response_complete()

    def shutdown(self) -> None:
        """End streams at shutdown: the server waits for running requests, and streams would never end."""
        self._keeps_alive = False
        if isinstance(self.app, HasStreams):
            self.app.stop_streams()
        left = self._connected_at + FRESH_SECONDS - self.loop.time()
        if self.cycle is None and self._fresh is None and left > 0:
            self._fresh = self.loop.call_later(left, super().shutdown)
            return
        super().shutdown()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._fresh is not None and self.cycle is not None:
            # The first request of this connection is its last.
            self.cycle.keep_alive = False

    def _unsupported_upgrade_warning(self) -> None:
        """Answer a request that asks for another protocol as one that does not, and then end the connection.

        The parser takes what follows such a head for the next request; proxies take it for the body of this one.
        """
        if self._deaf or self.cycle is None:
            return
        self._expect_the_rest()
        self._deaf = True
        if self.cycle.response_complete:
            self._leave()

    def _refuse(self, error: DogubakoError) -> None:
        """Answer in our words, when the requests before this one have their answers, and end the connection."""
        if self._deaf:
            return
        self._deaf = True
        self.headers = _DiscardedHeaders()
        if not self._earlier_answers_are_due():
            self._say(error)
            return
        if self._arriving:
            # It waits in the line already, and what it gets is the refusal.
            self.pipeline.popleft()
            self._arriving = False
        self._refusal = error

    def _earlier_answers_are_due(self) -> bool:
        """Whether a request before the one that is arriving, or that would be next, has no answer yet."""
        if self._arriving:
            return bool(self.pipeline)
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_the_rest(self) -> None:
        """An answer that comes before the rest of its request says that it is the last one."""
        if self.cycle.transport is self.transport:
            self._keeps_alive = self.cycle.keep_alive
            self.cycle.keep_alive = False
            self.cycle.transport = _Lingering(self.transport, self._leave)

    def _the_rest_is_here(self) -> None:
        self._arriving = False
        if self.cycle.transport is not self.transport:
            self.cycle.transport = self.transport
            if not self.cycle.response_started:
                self.cycle.keep_alive = self._keeps_alive

    def _say(self, error: DogubakoError) -> None:
        begun = self._arriving and self.cycle.response_started
        if self._arriving:
            self._tell_that_the_client_is_gone()
        if not begun and not self.transport.is_closing():
            self.transport.write(problem_bytes(error))
        self._leave()

    def _tell_that_the_client_is_gone(self) -> None:
        """Tell the running request that its client disconnected, so that it stops and sends no second response."""
        self.cycle.disconnected = True
        self.cycle.waiting_for_100_continue = False
        self.cycle.message_event.set()

    def _leave(self) -> None:
        """Say no more, and let arrive what is under way: closing before that is a reset, and takes our words along."""
        self._deaf = True
        self._refusal = None
        self._unset_keepalive_if_required()
        if self.transport.is_closing() or self._end is not None:
            return
        if self._half_closed is not None:
            self.transport.close()
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._end = self.loop.call_later(LINGER_SECONDS, self.transport.abort)


class _DiscardedHeaders(list[tuple[bytes, bytes]]):
    """Discards headers: the rest of the buffer may hold thousands of requests that are never answered."""

    def append(self, header: tuple[bytes, bytes]) -> None:
        return None


class _Lingering(asyncio.Transport):
    """The transport as an answer sees it whose request is not complete. It does not close at once."""

    def __init__(self, transport: asyncio.Transport, leave: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._leave = leave

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._leave()
