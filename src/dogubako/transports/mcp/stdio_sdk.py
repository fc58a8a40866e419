"""Load the SDK behind stdio when it is needed, and replay what it missed."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread

from dogubako._lazy import load
from dogubako.transports.mcp.handover import Handover
from dogubako.transports.mcp.pipes import PendingRequests
from dogubako.transports.mcp.protocol import is_request_id
from dogubako.transports.toolbox import ServedToolbox

Write = Callable[[bytes], Awaitable[None]]

_MOST_WAITING = 10_000


class SdkPeer:
    """Feeds lines to an SDK server and writes its messages, except responses that were already sent."""

    def __init__(
        self, inside: ServedToolbox, tasks: anyio.abc.TaskGroup, write: Write, outstanding: PendingRequests
    ) -> None:
        self._inside = inside
        self._tasks = tasks
        self._write = write
        self._outstanding = outstanding
        self._send, self._receive = anyio.create_memory_object_stream[bytes](_MOST_WAITING)
        self._missed: list[bytes] = []
        self._answered: set[Any] = set()
        # Calls that run already, by the id of their request.
        self.handovers: dict[str | int, Handover] = {}
        self._started = False
        self._here = anyio.Event()

    @property
    def here(self) -> bool:
        return self._here.is_set()

    async def loaded(self) -> None:
        """Wait for the SDK, if something has been handed to it."""
        if self._started:
            await self._here.wait()

    def catch_up(self, message: dict[str, Any], line: bytes) -> None:
        """Remember a message that was answered without the SDK but that the SDK must know of."""
        if message["method"] == "initialize":
            self._answered.add(message["id"])
            self._missed.append(line)

    def close(self) -> None:
        """No more lines: the SDK may end, and one that was never needed leaves nothing open."""
        self._send.close()
        if not self._started:
            self._receive.close()

    async def send(self, line: bytes, message: dict[str, Any]) -> None:
        """Hand a message to the SDK. A notification alone is no reason to load it."""
        if "id" not in message and not self._started:
            self._missed.append(line)
            return
        self._expect(message)
        if not self._started:
            self._started = True
            self._tasks.start_soon(self._run)
        await self._send.send(line)

    def _expect(self, message: dict[str, Any]) -> None:
        """Note a request whose response is pending. Subscriptions and cancelled requests are not waited for."""
        method, params = message.get("method"), message.get("params")
        if method == "notifications/cancelled":
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            self._outstanding.discard(cancelled if is_request_id(cancelled) else None)
        elif method not in (None, "subscriptions/listen") and is_request_id(request_id := message.get("id")):
            self._outstanding.add(request_id)

    async def _run(self) -> None:
        with self._receive:
            # In a thread, so that plain calls are answered while it loads.
            loop = await anyio.to_thread.run_sync(load, "dogubako.transports.mcp.stdio_loop")
            self._here.set()
            await loop.run(self._inside, self._missed, self._receive, self._written, self._refused, self.handovers)

    async def _refused(self, line: bytes, encoded: bytes) -> None:
        """Drop the request of a line that the SDK cannot read: its error response has no id."""
        request_id = json.loads(line).get("id")
        self._outstanding.discard(request_id if is_request_id(request_id) else None)
        await self._write(encoded)

    async def _written(self, request_id: Any, encoded: bytes) -> None:
        if request_id in self._answered:
            self._answered.discard(request_id)
            return
        self._outstanding.discard(request_id)
        await self._write(encoded)
