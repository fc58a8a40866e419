"""Begin a request whose head is known in the read that brought it, and answer it without ASGI if that is possible.

What follows from the head alone (Host, Origin, route, media type, MCP's headers, the proof of its credentials) was
found when the head came first. Whatever is unusual about a request goes the usual way, as an ASGI request.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from starlette.types import ASGIApp, Receive, Scope, Send

from dogubako.contract.call import Caller, ToolResult
from dogubako.contract.errors import DogubakoError
from dogubako.contract.fair_queue import work_owner
from dogubako.engine.prepared import BegunCall
from dogubako.gate.authentication import Authenticator, proof_in
from dogubako.transports.http.request import SECURITY_HEADERS, admit

# The result of a call, or what gives it when it is awaited.
Outcome = ToolResult | Coroutine[Any, Any, ToolResult]
# An app for the request that it is given, with the error handling around it.
Edge = Callable[[Callable[[Scope], ASGIApp], Scope, Receive, Send], Awaitable[None]]

_WHOLE: Final = (
    b"content-type: application/json\r\ncontent-length: %d\r\n%b"
    + b"".join(b"%b: %b\r\n" % header for header in SECURITY_HEADERS)
    + b"\r\n%b"
)


def whole_json(body: bytes, more: bytes = b"") -> bytes:
    """A response with the status 200, as `send_json` sends it. `more` are lines of further headers."""
    return _WHOLE % (len(body), more, body)


class CallInRequest(ABC):
    """A call that has begun, and how its result becomes the response of its request."""

    __slots__ = ("_begun", "caller", "edge")
    caller: Caller
    edge: Edge

    def __init__(self, begun: ToolResult | BegunCall | Coroutine[Any, Any, ToolResult]) -> None:
        self._begun = begun

    @abstractmethod
    def whole_response(self, result: ToolResult) -> bytes:
        """The response of a call that ended well."""

    @abstractmethod
    def go_on(self, outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Send the response of any call."""

    def response(self) -> bytes | None:
        """The whole response, if the call has ended well; if not, the ASGI app has it."""
        if isinstance(self._begun, BegunCall) and (result := self._begun.take()) is not None:
            self._begun = result
        if not isinstance(self._begun, ToolResult) or self._begun.error is not None:
            return None
        return self.whole_response(self._begun)

    def when_ended(self, told: Callable[[], None]) -> bool:
        """Call back when the response may be asked for again. Returns False if only the ASGI app has it."""
        return isinstance(self._begun, BegunCall) and self._begun.when_ended(told)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Go on as an ASGI app."""
        await self.edge(self._admitted, scope, receive, send)

    def _admitted(self, scope: Scope) -> ASGIApp:
        admit(scope, self.caller, {})
        begun = self._begun
        return partial(self.go_on, begun.outcome() if isinstance(begun, BegunCall) else begun)


class _Failed(CallInRequest):
    """A call that could not begin: its error is handled like any other of a request."""

    __slots__ = ()

    def whole_response(self, result: ToolResult) -> bytes:
        raise AssertionError("unreachable")

    async def go_on(self, outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> None:
        assert not isinstance(outcome, ToolResult)
        await outcome


# Begins the call in this body. Returns the whole response (as `whole_json` makes it) if the call has ended well. None:
# the request is handled like any other.
BeginCall = Callable[[bytes, Caller], bytes | CallInRequest | None]


@runtime_checkable
class BeginsRequests(Protocol):
    """An app that can begin requests outside of ASGI."""

    def begins(self, scope: Scope) -> "KnownHeadRequests | None":
        """What begins requests with this head, if their head leaves nothing else to be decided."""


@runtime_checkable
class BeginsCalls(Protocol):
    """The same for a part of the app, behind authentication."""

    def begins(self, scope: Scope) -> BeginCall | None: ...


class KnownHeadRequests:
    """Requests of one connection with one head."""

    __slots__ = ("_authenticator", "_begin", "_edge", "_owner", "_proof")

    def __init__(self, scope: Scope, begin: BeginCall, authenticator: Authenticator, edge: Edge) -> None:
        self._begin = begin
        self._authenticator = authenticator
        self._edge = edge
        self._proof = proof_in(scope["headers"])
        self._owner = tuple(scope.get("client") or ())

    def begin(self, body: bytes) -> bytes | CallInRequest | None:
        """Begin the request with this body, or leave it to ASGI. Who calls is asked each time: keys are revoked."""
        caller = self._authenticator.recall(self._proof)
        if caller is None:
            return None
        # The tool copies the context. Nothing of this request may stay in that of the connection.
        outer = work_owner.set(caller.id or self._owner)
        try:
            begun = self._begin(body, caller)
        except Exception as error:
            begun = _Failed(_raising(error))
        finally:
            work_owner.reset(outer)
        if isinstance(begun, CallInRequest):
            begun.caller, begun.edge = caller, self._edge
        return begun


async def _raising(error: Exception) -> ToolResult:
    raise error


def begins(
    app: Any, scope: Scope, authenticator: Authenticator, credential_headers: Mapping[bytes, str], edge: Edge
) -> KnownHeadRequests | None:
    """What begins requests with this head for this part of the app."""
    names = [name for name, _ in scope["headers"]]
    if not isinstance(app, BeginsCalls) or not credential_headers.keys().isdisjoint(names):
        return None
    try:
        begin = app.begins(scope)
    except DogubakoError:
        return None
    return None if begin is None else KnownHeadRequests(scope, begin, authenticator, edge)
