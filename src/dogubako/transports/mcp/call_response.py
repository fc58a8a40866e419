"""The response to one simple call over HTTP: JSON, or an event stream if the call takes long."""

from typing import Final

from starlette.types import Receive, Send

from dogubako._tasks import Ended
from dogubako.contract.call import ToolResult
from dogubako.transports.http.at_once import Outcome
from dogubako.transports.http.disconnect import DisconnectWatcher, first_step
from dogubako.transports.http.request import send_json
from dogubako.transports.mcp.fast_path import CANCELLED, FastPath
from dogubako.transports.mcp.protocol import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    SimpleCall,
    encode_message,
    encoded_response,
    refusal_of,
)

_PING: Final = b": ping\r\n\r\n"
_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_ERROR_STATUS: Final = {INVALID_PARAMS: 400, MISSING_CAPABILITY: 400}


class CallResponse:
    """Sends the answer as JSON, or as an event stream once a keep-alive was sent. Cancels on disconnect."""

    def __init__(self, call: SimpleCall, session: str, receive: Receive, send: Send) -> None:
        self._call = call
        self._session = session
        self._receive = receive
        self._send = send
        self._streaming = False

    async def run(self, fast_path: FastPath, outcome: Outcome) -> None:
        """Send the answer. The call is cancelled by its request id, or because the client disconnected."""
        step = Ended(outcome) if isinstance(outcome, ToolResult) else first_step(outcome)
        if isinstance(step, Ended):
            await self.finish(step.value)
            return
        result: ToolResult | None = None
        watcher = None
        with fast_path.cancellable(self._call, self._session) as handle:
            async with DisconnectWatcher(self._receive, handle, self._ping) as watcher:
                result = await step
        if result is not None or watcher is None or not watcher.disconnected:
            await self.finish(result)

    async def _ping(self) -> None:
        """Send a keep-alive comment. The response becomes an event stream with the first one."""
        if not self._streaming:
            self._streaming = True
            headers = [*_STREAM_HEADERS, *self._own_headers()]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": _PING, "more_body": True})

    async def finish(self, result: ToolResult | None) -> None:
        """Send the result of the call; None if it was cancelled."""
        headers = self._own_headers()
        if result is None:
            status, body = 200, encode_message(CANCELLED.answer(self._call.id))
        else:
            status, body = self._status(result), encoded_response(self._call, result)
        if result is None and self._session:
            # A client of the SDK that closes meanwhile fails with late JSON, but not with a late event.
            await self._ping()
        if not self._streaming:
            await send_json(self._send, body, status, headers)
            return
        frame = b"event: message\r\ndata: " + body + b"\r\n\r\n"
        await self._send({"type": "http.response.body", "body": frame, "more_body": False})

    def _status(self, result: ToolResult) -> int:
        """Clients that use `initialize` (2025-11-25 and older) take an error status for a broken transport."""
        if result.error is None or not self._call.modern:
            return 200
        refusal = refusal_of(result.error, modern=True)
        return 200 if refusal is None else _ERROR_STATUS.get(refusal.code, 200)

    def _own_headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"mcp-session-id", self._session.encode("latin-1"))] if self._session else []
