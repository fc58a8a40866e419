"""A session with one server: protocol era, requests and answers, progress, cancellation, and the server's questions.

Two eras of the protocol exist. Up to 2025-11-25 a session begins with `initialize`, and the server may send requests
while it works. Since 2026-07-28 every request carries all that the server needs, and a server that needs input answers
with `input_required`. `handshake.py` finds out which of them a server speaks.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

import structlog

from dogubako._version import __version__
from dogubako.contract.offload import has_more_values
from dogubako.gateway.link import Link, Message, RequestId, UpstreamError, UpstreamLost
from dogubako.gateway.pending_requests import (
    Acknowledged,
    Answered,
    Failed,
    LogLine,
    PendingRequest,
    Progress,
    ServerRequest,
    finite_number,
)

log = structlog.get_logger("dogubako.gateway")

Era = Literal["legacy", "modern"]
MODERN_VERSION: Final = "2026-07-28"
LEGACY_VERSION: Final = "2025-11-25"
_META: Final = "io.modelcontextprotocol/"
CLIENT_INFO: Final = {"name": "dogubako", "version": __version__}
# What our callers may be able to do. A server lists other tools to a client that can do less.
ALL_CAPABILITIES: Final[Mapping[str, Any]] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

REQUEST_SECONDS: Final = 30.0

# Of a progress message or a log line, so much is passed on.
_LONGEST_TEXT: Final = 10_000
_MOST_LOGGED_VALUES: Final = 1_000
# Of its name, version and pictures, and of its capabilities.
_MOST_VALUES: Final = 8_000
_VALUE_CHARACTERS: Final = 64
_VERSION: Final = re.compile(r"[0-9A-Za-z.\-]{1,32}\Z")
# Open questions of one call.
_MOST_QUESTIONS: Final = 32
# Answers to questions of a server that does not read them wait, and are dropped beyond this.
_MOST_REPLIES: Final = 1_000
_METHOD_NOT_FOUND: Final = -32601
_NOBODY_TO_ASK: Final = -32603
_QUESTIONS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
_CHANGES: Final = frozenset({"tools", "resources", "prompts"})


class SessionEvents(Protocol):
    """What a session reports outside of requests. Called on the event loop; must not block."""

    def list_changed(self) -> None: ...

    def resource_updated(self, uri: str) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class UpstreamSession:
    """A session over one link. `handshake.connect` must succeed before anything else is called."""

    def __init__(self, link: Link, events: SessionEvents) -> None:
        self.link = link
        self._events = events
        self._pending: dict[RequestId, PendingRequest] = {}
        self._last_id = 0
        self._replies: set[asyncio.Task[None]] = set()
        self._lost: str | None = None
        self.era: Era = "legacy"
        self.protocol = ""
        self.info: Message = {}
        self.instructions = ""
        self.capabilities: Message = {}

    def adopt(self, era: Era, result: Message) -> None:
        """Take over what the server says of itself."""
        modern = era == "modern"
        self.era = era
        self.protocol = MODERN_VERSION if modern else _version_in(result)
        info = as_object(result.get("_meta")).get(f"{_META}serverInfo") if modern else result.get("serverInfo")
        self.info = _bounded(info)
        instructions = result.get("instructions")
        self.instructions = instructions if isinstance(instructions, str) else ""
        self.capabilities = _bounded(result.get("capabilities"))
        self.link.use(self.protocol)

    # Requests.

    async def start(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        owner: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        modern: bool | None = None,
    ) -> PendingRequest:
        """Send a request. Its answer and all else that belongs to it are the events of what is returned."""
        if self._lost is not None:
            raise UpstreamLost(self._lost, may_have_run=False)
        self._last_id += 1
        pending = PendingRequest(self._last_id, method, owner)
        meta: Message = dict(params.get("_meta") or {})
        if owner is not None:
            meta["progressToken"] = pending.id
        if self.era == "modern" if modern is None else modern:
            meta |= _envelope(ALL_CAPABILITIES if capabilities is None else capabilities, wants_logs=owner is not None)
        message: Message = {"jsonrpc": "2.0", "id": pending.id, "method": method}
        if meta or params:
            message["params"] = {**params, "_meta": meta} if meta else dict(params)
        self._pending[pending.id] = pending
        sent = False
        try:
            await self.link.send(message)
            sent = True
        finally:
            if not sent:
                self._pending.pop(pending.id, None)
        return pending

    async def request(self, method: str, params: Mapping[str, Any], *, seconds: float = REQUEST_SECONDS) -> Message:
        """The result of a request of our own. Raises `UpstreamError`, `UpstreamLost` or TimeoutError."""
        pending = await self.start(method, params)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    event = await pending.next()
                    if isinstance(event, Answered):
                        return event.result
                    if isinstance(event, Failed):
                        raise event.error
        finally:
            self.abandon(pending)

    def abandon(self, pending: PendingRequest, reason: str = "") -> None:
        """Stop waiting for a request, and tell the server unless the answer has arrived."""
        if self._pending.pop(pending.id, None) is None or self._lost is not None or not pending.cancellable:
            return
        if not self.link.cancel(pending.id):
            params = {"requestId": pending.id, **({"reason": reason} if reason else {})}
            self._send_soon({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self.link.send({"jsonrpc": "2.0", "method": method, **({"params": dict(params)} if params else {})})

    def reply(self, pending: PendingRequest, request: RequestId, answer: Message | UpstreamError) -> None:
        """Answer a request of the server."""
        pending.open_questions.discard(request)
        self._reply(request, answer)

    async def close(self) -> None:
        """End the connection, in order. Never raises."""
        self._end("The connection was closed.")
        for task in self._replies:
            task.cancel()
        await self.link.close()

    # What the link calls.

    def received(self, message: Message, within: RequestId | None) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            self._answer(message)
        elif "id" in message:
            self._server_request(message["id"], method, as_object(message.get("params")), within)
        else:
            self._notification(method, as_object(message.get("params")), within)

    def failed(self, request: RequestId, error: Exception) -> None:
        if (pending := self._pending.pop(request, None)) is not None:
            pending.put(Failed(error))

    def lost(self, reason: str) -> None:
        if self._lost is None:
            self._end(reason)
            self._events.connection_lost(reason)

    def _end(self, reason: str) -> None:
        self._lost = self._lost or reason
        waiting, self._pending = list(self._pending.values()), {}
        for pending in waiting:
            pending.put(Failed(UpstreamLost(reason)))

    def _answer(self, message: Message) -> None:
        pending = self._pending.pop(_own_id(message.get("id")), None)
        if pending is None:
            # The answer to a request that nobody waits for any more.
            return
        if "error" in message:
            error = as_object(message["error"])
            code = error.get("code")
            text = error.get("message")
            pending.put(
                Failed(
                    UpstreamError(
                        code if isinstance(code, int) else _NOBODY_TO_ASK,
                        text if isinstance(text, str) else "",
                        error.get("data"),
                    )
                )
            )
        else:
            pending.put(Answered(as_object(message.get("result"))))

    def _server_request(self, request: RequestId, method: str, params: Message, within: RequestId | None) -> None:
        if not isinstance(request, int | str) or isinstance(request, bool):
            # Nobody could tell its answer from others.
            log.debug("An MCP server asked under an id that is none", method=method[:64])
            return
        if method == "ping":
            self._reply(request, {})
            return
        if method not in _QUESTIONS:
            self._reply(request, UpstreamError(_METHOD_NOT_FOUND, "Method not found"))
            return
        asking = self._asking(within)
        if asking is not None and len(asking.open_questions) < _MOST_QUESTIONS:
            asking.open_questions.add(request)
            asking.put(ServerRequest(request, method, params))
        elif asking is None and method == "roots/list":
            # Servers ask for folders before the first call. Those of one caller must not count for all.
            self._reply(request, {"roots": []})
        elif asking is not None:
            self._reply(request, UpstreamError(_NOBODY_TO_ASK, "Too many questions of this call are open."))
        else:
            self._reply(request, UpstreamError(_NOBODY_TO_ASK, "No call is running that this question belongs to."))

    def _asking(self, within: RequestId | None) -> PendingRequest | None:
        """The call that a message of the server belongs to.

        Only HTTP streams tell it. On a pipe it is clear if all calls that could ask belong to one caller: nobody may
        be asked a question of somebody else's call. A call that waits for an answer asks no second question.
        """
        if within is not None:
            found = self._pending.get(within)
            return found if found is not None and found.owner is not None else None
        calls = [one for one in self._pending.values() if one.owner is not None and not one.open_questions]
        return calls[-1] if len({one.owner for one in calls}) == 1 else None

    def _notification(self, method: str, params: Message, within: RequestId | None) -> None:
        match method.removeprefix("notifications/").split("/"):
            case ["progress"]:
                pending = self._pending.get(_own_id(params.get("progressToken")))
                done = finite_number(params.get("progress"))
                if pending is not None and done is not None:
                    text = params.get("message")
                    total = finite_number(params.get("total"))
                    pending.put(Progress(done, total, text[:_LONGEST_TEXT] if isinstance(text, str) else None))
            case ["message"]:
                self._log_line(params, within)
            case ["subscriptions", "acknowledged"]:
                subscription = as_object(params.get("_meta")).get(f"{_META}subscriptionId")
                pending = self._pending.get(_own_id(subscription)) or self._pending.get(_own_id(within))
                if pending is not None:
                    pending.put(Acknowledged())
            case ["cancelled"]:
                for pending in self._pending.values():
                    pending.open_questions.discard(_own_id(params.get("requestId")))
            case [kind, "list_changed"] if kind in _CHANGES:
                self._events.list_changed()
            case ["resources", "updated"] if isinstance(uri := params.get("uri"), str):
                self._events.resource_updated(uri)

    def _log_line(self, params: Message, within: RequestId | None) -> None:
        data = params.get("data")
        if not isinstance(data, str):
            text = "[data]" if has_more_values(data, _MOST_LOGGED_VALUES, 100) else repr(data)[:_LONGEST_TEXT]
        else:
            text = data[:_LONGEST_TEXT]
        if (pending := self._asking(within)) is not None:
            pending.put(LogLine(str(params.get("level") or "info"), text))

    def _reply(self, request: RequestId, answer: Message | UpstreamError) -> None:
        message: Message = {"jsonrpc": "2.0", "id": request}
        if isinstance(answer, UpstreamError):
            message["error"] = {"code": answer.code, "message": answer.message}
        else:
            message["result"] = answer
        self._send_soon(message)

    def _send_soon(self, message: Message) -> None:
        if len(self._replies) >= _MOST_REPLIES:
            log.debug("An MCP server asks faster than it reads; it gets no answer")
            return

        async def send() -> None:
            try:
                await self.link.send(message)
            except UpstreamLost as lost:
                log.debug("A message to an MCP server was not sent", reason=lost.reason)

        task = asyncio.get_running_loop().create_task(send())
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)


def _envelope(capabilities: Mapping[str, Any], *, wants_logs: bool) -> Message:
    logs = {f"{_META}logLevel": "info"} if wants_logs else {}
    return {
        f"{_META}protocolVersion": MODERN_VERSION,
        f"{_META}clientInfo": CLIENT_INFO,
        f"{_META}clientCapabilities": dict(capabilities),
        **logs,
    }


def _version_in(result: Message) -> str:
    """The revision that a server chose. It is sent with every request, so anything else counts as ours."""
    version = result.get("protocolVersion")
    return version if isinstance(version, str) and _VERSION.match(version) else LEGACY_VERSION


def _bounded(value: Any) -> Message:
    """What a server says of itself; nothing, if it is far too much to be kept and shown."""
    return {} if has_more_values(value, _MOST_VALUES, _VALUE_CHARACTERS) else as_object(value)


def as_object(value: Any) -> Message:
    return value if isinstance(value, dict) else {}


def _own_id(value: Any) -> RequestId:
    """Our ids are integers; some servers return them as strings."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else ""
