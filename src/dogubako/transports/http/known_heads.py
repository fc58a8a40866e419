"""Do not parse a head again that came before on the same connection: most clients repeat it byte for byte.

A plain call that does not wait is answered at once (`at_once.py`). Whatever else a request needs is the same: a cycle
of uvicorn, the ASGI app, the limits of the connection. Heads are kept as long as their connection, because they may
hold credentials.
"""

import asyncio
from typing import Any, Final, cast

import msgspec
from starlette.types import ASGIApp
from uvicorn._types import ASGI3Application, HTTPScope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from dogubako._timers import CoarseClock, set_timer
from dogubako.transports.http import whole_responses
from dogubako.transports.http.at_once import BeginsRequests, CallInRequest, KnownHeadRequests
from dogubako.transports.http.request import HEAD_FACTS, MOST_KNOWN_BODY_BYTES
from dogubako.transports.http.whole_responses import WholeResponsesProtocol

_MOST_HEADS: Final = 4
_LONGEST_HEAD: Final = 1_024
_END: Final = b"\r\n\r\n"
# Then a call becomes an ASGI request, which tells its client that it still runs. It is less than a connection may idle.
_LONGEST_WAIT_SECONDS: Final = 2.0
# They change what the bytes after the head mean, or what is answered before them.
_UNUSUAL: Final = frozenset(
    {b"transfer-encoding", b"expect", b"upgrade", b"connection", b"keep-alive", b"te", b"trailer"}
)


class KnownHead(msgspec.Struct, frozen=True):
    """What the parser made of a head, and the length of the body that follows."""

    scope: dict[str, Any]
    length: int
    requests: KnownHeadRequests | None = None


class KnownHeadsProtocol(WholeResponsesProtocol):
    """Takes a whole request with a known head past the parser, which is between two requests and stays there."""

    # When we began to wait for the client. It wins no time by sending a byte now and then.
    _waiting_since = 0.0
    # Whether the parser is inside of a request.
    _is_inside = False
    # The bytes of a head that is parsed now, and may come again.
    _candidate: bytes | None = None
    _known: dict[bytes, KnownHead] | None = None
    # A call that waits, for a short time, outside of ASGI. Nobody needs the body of its request again.
    _later: CallInRequest | None = None
    _head_of_later: KnownHead | None = None
    _clock: CoarseClock | None = None

    def _is_taken(self, data: bytes) -> bool:
        """Start the request if these are the bytes of a whole one, its head is known, and nothing else is under way."""
        self._candidate = None
        if self._is_inside or not whole_responses.IS_PROVEN or not self._is_idle():
            return False
        end = data.find(_END) + len(_END)
        if not len(_END) <= end <= _LONGEST_HEAD:
            return False
        raw = data[:end]
        head = None if self._known is None else self._known.get(raw)
        if head is None:
            self._candidate = raw
            return False
        if len(data) - end != head.length:
            return False
        body = data[end:]
        begun = None if head.requests is None else head.requests.begin(body)
        if isinstance(begun, bytes):
            self._write_whole(begun)
        elif begun is None:
            self._start_known(head, body, self.app)
        elif begun.when_ended(self._later_ended):
            self._waiting_since = now = self.loop.time()
            self._later, self._head_of_later = begun, head
            self._clock = set_timer(self, now + _LONGEST_WAIT_SECONDS, self.loop)
        else:
            self._start_known(head, body, begun.app)
        return True

    def _later_ended(self) -> None:
        """Write the response of a call that had to wait."""
        if self._later is None:
            return
        if self.transport.is_closing() or (response := self._later.response()) is None:
            self._make_request()
            return
        self._forget_later()
        self._write_whole(response)

    def _make_request(self) -> None:
        """Make an ASGI request of a call that waits: it takes long, or something happens on its connection."""
        later, head = self._later, self._head_of_later
        if later is not None and head is not None:
            self._forget_later()
            self._start_known(head, b"", later.app)

    def _forget_later(self) -> None:
        self._later = self._head_of_later = None
        if self._clock is not None:
            self._clock.cancel(self)

    # It is on the clock while a call waits.
    ring = _make_request

    def eof_received(self) -> bool | None:  # type: ignore[override]
        self._make_request()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._make_request()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        self._make_request()
        super().shutdown()

    def _earlier_answers_are_due(self) -> bool:
        return self._later is not None or super()._earlier_answers_are_due()

    def _start_known(self, head: KnownHead, body: bytes, app: ASGIApp) -> None:
        """Start a request as uvicorn does it."""
        self._unset_keepalive_if_required()
        cycle = self._cycle_of(head)
        cycle.body += body
        cycle.more_body = False
        cycle.message_event.set()
        self._next = (cycle, cast("ASGI3Application", app))
        self._start_next()

    def _write_whole(self, response: bytes) -> None:
        """Write a response with the status 200, and wait for the next request."""
        self.transport.write(self._beginning(self.server_state.default_headers) + response)
        if self.flow.write_paused or self.timeout_keep_alive_task is None:
            self.on_response_complete()
            return
        # The timer goes on, and looks at the clock when it fires.
        self.server_state.total_requests += 1
        self._waiting_since = self.loop.time()

    def timeout_keep_alive_handler(self) -> None:
        left = self._waiting_since + self.timeout_keep_alive - self.loop.time()
        if left > 0 and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _is_idle(self) -> bool:
        """Whether every request so far has its answer, and the connection goes on."""
        if self._later is not None or (self.cycle is not None and not self.cycle.response_complete):
            return False
        if self._refusal is not None or self._end is not None or self._half_closed is not None:
            return False
        return self._keeps_alive and self.limit_concurrency is None and not self.flow.write_paused

    def _cycle_of(self, head: KnownHead) -> RequestResponseCycle:
        """The cycle that uvicorn makes for this head."""
        own = {"headers": list(head.scope["headers"]), "state": self.app_state.copy()}
        self.scope = cast("HTTPScope", {**head.scope, **own})
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        return self.cycle

    def on_message_begin(self) -> None:
        self._is_inside = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        raw, self._candidate = self._candidate, None
        headers = self.headers
        super().on_headers_complete()
        if raw is not None and self.cycle is not None:
            self._remember(raw, headers)

    def on_message_complete(self) -> None:
        self._is_inside = False
        super().on_message_complete()

    def _remember(self, raw: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        """Keep a head that means the same whenever it comes: a plain POST whose body has a declared length."""
        names, scope = [name for name, _ in headers], cast("dict[str, Any]", self.cycle.scope)
        lines = raw.count(b"\r\n")
        is_plain = lines == raw.count(b"\n") == raw.count(b"\r") == len(names) + 2
        if not is_plain or not raw.startswith(b"POST /") or scope["http_version"] != "1.1" or not self.cycle.keep_alive:
            return
        length = [value for name, value in headers if name == b"content-length"]
        if len(length) != 1 or names.count(b"host") != 1 or not _UNUSUAL.isdisjoint(names):
            return
        if not length[0].isdigit() or not 0 < int(length[0]) <= MOST_KNOWN_BODY_BYTES:
            return
        if self._known is None or len(self._known) >= _MOST_HEADS:
            self._known = {}
        kept = {name: value for name, value in scope.items() if name != "state"} | {HEAD_FACTS: {}}
        requests = self.app.begins(kept) if isinstance(self.app, BeginsRequests) else None
        self._known[raw] = KnownHead(kept, int(length[0]), requests)
