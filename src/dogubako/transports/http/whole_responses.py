"""Answer a whole request in the read that brought it, and write its response at once.

This uses parts of uvicorn's protocol that are not its public interface. With a version that it was not proven with,
requests are answered as uvicorn does it.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from dogubako._tasks import Ended, begin
from dogubako.transports.http.lingering_protocol import LingeringHttpProtocol
from dogubako.transports.http.request import RESPOND

# `tests/doors/test_whole_responses.py` proves it for a version: run it before you add one.
PROVEN_VERSIONS: Final = ("0.54",)
IS_PROVEN: Final = ".".join(uvicorn.__version__.split(".")[:2]) in PROVEN_VERSIONS

Header = tuple[bytes, bytes]
# Writes a response with the status 200, or returns False: then it is sent as usual.
Respond = Callable[[list[Header], bytes], bool]


class WholeResponsesProtocol(LingeringHttpProtocol):
    """Starts a request when all is parsed that came with it: mostly that is the whole request."""

    _is_parsing = False
    # The beginning of a response, and the headers that it is made of.
    _begun = b""
    _begun_of: list[Header] | None = None
    # The request whose head was parsed in this read.
    _next: tuple[RequestResponseCycle, ASGI3Application] | None = None

    def data_received(self, data: bytes) -> None:
        self._is_parsing = IS_PROVEN
        try:
            super().data_received(data)
        finally:
            self._is_parsing = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if self._is_parsing:
            self._next = (cycle, app)
        else:
            super()._start_asgi_task(cycle, app)

    def _start_next(self) -> None:
        """Answer a whole request at once, if nothing else is under way. What has to wait becomes a task, as usual."""
        if self._next is None:
            return
        (cycle, app), self._next = self._next, None
        if self._arriving or self._deaf or self.pipeline or self.transport.is_closing():
            super()._start_asgi_task(cycle, app)
            return
        cycle.scope[RESPOND] = partial(self._respond, cycle)  # type: ignore[typeddict-unknown-key]
        begun = begin(cycle.run_asgi(app), loop=self.loop)
        # It leads back to the cycle: a reference cycle, if the scope kept it.
        del cycle.scope[RESPOND]  # type: ignore[typeddict-item]
        if not isinstance(begun, Ended):
            begun.add_done_callback(self.tasks.discard)
            self.tasks.add(begun)

    def _respond(self, cycle: RequestResponseCycle, headers: list[Header], body: bytes) -> bool:
        """Write head and body at once, as `cycle.send` would write them one after the other."""
        if cycle.response_started or cycle.disconnected or not cycle.keep_alive or cycle.waiting_for_100_continue:
            return False
        if self.flow.write_paused or cycle.transport is not self.transport or cycle.scope["method"] == "HEAD":
            return False
        self.transport.write(b"%b%b\r\n%b" % (self._beginning(cycle.default_headers), _lines(headers), body))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        cycle.on_response()
        return True

    def _beginning(self, default_headers: list[Header]) -> bytes:
        """The first lines of a response with the status 200. uvicorn makes a new list when the date has changed."""
        if default_headers is not self._begun_of:
            self._begun_of, self._begun = default_headers, STATUS_LINE[200] + _lines(default_headers)
        return self._begun


def _lines(headers: Iterable[Header]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
