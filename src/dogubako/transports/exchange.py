"""One request on the short way: answered at once if possible, watched if slow, kept open if very slow."""

from collections.abc import Coroutine
from typing import Any, Final

from starlette.types import Receive, Send

from dogubako.transports.body import send_json
from dogubako.transports.departure import Departure
from dogubako.transports.express import PlainCall
from dogubako.transports.stopping import Stop
from dogubako.transports.wire import INVALID_PARAMS, MISSING_CAPABILITY, encode_message

_PING: Final = b": ping\r\n\r\n"
_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_ERROR_STATUS: Final = {INVALID_PARAMS: 400, MISSING_CAPABILITY: 400}


class Exchange:
    """Sends the answer as JSON, or as a stream once pings were needed. Stops the call when the client leaves."""

    def __init__(self, call: PlainCall, session: str, receive: Receive, send: Send) -> None:
        self._call = call
        self._session = session
        self._receive = receive
        self._send = send
        self._streaming = False

    async def run(self, answer: Coroutine[Any, Any, dict[str, Any]]) -> None:
        response: dict[str, Any] | None = None
        with Stop() as stop:
            async with Departure(self._receive, stop, self._ping):
                response = await answer
        if response is not None:
            await self._finish(response)

    async def _ping(self) -> None:
        """Once we must say that we are still here, the answer becomes a stream."""
        if not self._streaming:
            self._streaming = True
            headers = [*_STREAM_HEADERS, *self._own_headers()]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": _PING, "more_body": True})

    async def _finish(self, response: dict[str, Any]) -> None:
        body = encode_message(response)
        if self._streaming:
            frame = b"event: message\r\ndata: " + body + b"\r\n\r\n"
            await self._send({"type": "http.response.body", "body": frame, "more_body": False})
            return
        await send_json(self._send, body, self._status(response), self._own_headers())

    def _status(self, response: dict[str, Any]) -> int:
        """Clients of the handshake era take an error status for a broken transport."""
        if not self._call.modern or "error" not in response:
            return 200
        return _ERROR_STATUS.get(response["error"]["code"], 200)

    def _own_headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"mcp-session-id", self._session.encode("latin-1"))] if self._session else []
