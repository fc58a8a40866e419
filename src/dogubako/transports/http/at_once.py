"""Begin a request whose head is known in the read that brought it, and answer it there if it does not wait.

What follows from the head alone (Host, Origin, route, media type, MCP's headers, the proof of its credentials) was
found when the head came first. Whatever is unusual about a request goes the usual way, as an ASGI request.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from starlette.types import ASGIApp, Receive, Scope, Send

from dogubako.contract.call import Caller
from dogubako.contract.errors import DogubakoError
from dogubako.contract.fair_queue import work_owner
from dogubako.gate.authentication import Authenticator, proof_in
from dogubako.transports.http.request import SECURITY_HEADERS, admit

# Begins the request with this body. Returns its whole response (without the first lines, which the server knows), or
# the app that goes on with it, or None: then the request is handled like any other.
BeginRequest = Callable[[bytes], "bytes | ASGIApp | None"]
# The same, for a caller that is known.
BeginCall = Callable[[bytes, Caller], "bytes | ASGIApp | None"]
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


@runtime_checkable
class BeginsRequests(Protocol):
    """An app that can begin requests outside of ASGI."""

    def begins(self, scope: Scope) -> BeginRequest | None:
        """What begins requests with this head, if their head leaves nothing else to be decided."""


@runtime_checkable
class BeginsCalls(Protocol):
    """The same for a part of the app, behind authentication."""

    def begins(self, scope: Scope) -> BeginCall | None: ...


class KnownHeadRequests:
    """The requests of one connection with one head."""

    __slots__ = ("_authenticator", "_begin", "_edge", "_owner", "_proof")

    def __init__(self, scope: Scope, begin: BeginCall, authenticator: Authenticator, edge: Edge) -> None:
        self._begin = begin
        self._authenticator = authenticator
        self._edge = edge
        self._proof = proof_in(scope["headers"])
        self._owner = tuple(scope.get("client") or ())

    def begin(self, body: bytes) -> bytes | ASGIApp | None:
        """A `BeginRequest`. The caller is asked for each time: a key may be revoked."""
        caller = self._authenticator.recall(self._proof)
        if caller is None:
            return None
        # The tool copies the context. Nothing of this request may stay in that of the connection.
        outer = work_owner.set(caller.id or self._owner)
        try:
            answer = self._begin(body, caller)
        except Exception as error:
            answer = _raising(error)
        finally:
            work_owner.reset(outer)
        return answer if answer is None or isinstance(answer, bytes) else partial(self._edge, _entered(answer, caller))


def _entered(app: ASGIApp, caller: Caller) -> Callable[[Scope], ASGIApp]:
    def enter(scope: Scope) -> ASGIApp:
        admit(scope, caller, {})
        return app

    return enter


def _raising(error: Exception) -> ASGIApp:
    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise error

    return fail


def begins(
    app: Any,
    scope: Scope,
    authenticator: Authenticator,
    credential_headers: Mapping[bytes, str],
    edge: Edge,
) -> BeginRequest | None:
    """What begins requests with this head for this part of the app."""
    names = [name for name, _ in scope["headers"]]
    if not isinstance(app, BeginsCalls) or not credential_headers.keys().isdisjoint(names):
        return None
    try:
        begin = app.begins(scope)
    except DogubakoError:
        return None
    return None if begin is None else KnownHeadRequests(scope, begin, authenticator, edge).begin
