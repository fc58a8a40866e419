"""Map an error class to its HTTP status and body, and log errors and requests."""

import math
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.call import error_facts
from dogubako.contract.errors import AuthenticationError, AuthorizationError, DogubakoError, MethodNotAllowedError
from dogubako.contract.timestamps import utc_text
from dogubako.gate.authentication import Authenticator
from dogubako.transports.http.request import caller_of

log = structlog.get_logger("dogubako.http")
access_log = structlog.get_logger("dogubako.access")

_LONGEST_PATH = 200
# In the scope of a request whose connection the server ended because too many were open. That is logged once for all.
EVICTED = "dogubako.evicted"


def json_response(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer; keys are camelCase already."""
    # What one caller may see must not be kept for others on the way; not all caches know the header X-API-Key.
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(msgspec.json.encode(body), status_code=status, headers=headers, media_type="application/json")


def problem(error: DogubakoError, started: float, headers: dict[str, str] | None = None) -> Response:
    """The error as a REST response. The response builder has redacted its message before."""
    facts = error_facts(error)
    body = {
        "success": False,
        "error": error.message,
        "code": error.code,
        "details": [],
        **facts,
        "executionTime": elapsed_ms(started),
        "timestamp": utc_text(),
    }
    return json_response(body, status=error.http_status, headers={**_headers(error), **(headers or {})})


def challenge(error: DogubakoError, authenticator: Authenticator) -> dict[str, str]:
    """The `WWW-Authenticate` header of a 401 or 403."""
    if isinstance(error, AuthenticationError) or (isinstance(error, AuthorizationError) and error.scope):
        return {"WWW-Authenticate": authenticator.challenge(error)}
    return {}


def problem_bytes(error: DogubakoError) -> bytes:
    """The error as a complete HTTP response, for a connection without a request."""
    response = problem(error, time.perf_counter(), {"Connection": "close"})
    head = [f"HTTP/1.1 {error.http_status} {HTTPStatus(error.http_status).phrase}".encode()]
    head += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*head, b"", bytes(response.body)])


def log_problem(error: DogubakoError, scope: Scope) -> None:
    """Log an HTTP error with method and path, and with the client's address if it was not authenticated."""
    if EVICTED in scope:
        return
    door = {"reason": error.message, "client": _sender(scope)} if error.http_status in (401, 403) else {}
    log.log(
        error.log_weight,
        "HTTP error",
        method=scope.get("method", ""),
        path=scope.get("path", "")[:_LONGEST_PATH],
        code=error.code,
        status=error.http_status,
        error_id=error.error_id,
        **door,
    )


async def log_request(
    answer: Callable[[Scope, Receive, Send], Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer the request, then log it. Queries and headers may hold secrets and are left out."""
    started, status, size = time.perf_counter(), 0, 0

    async def watched(message: Message) -> None:
        nonlocal status, size
        status = message.get("status", status)
        size += len(message.get("body", b""))
        await send(message)

    try:
        await answer(scope, receive, watched)
    finally:
        caller = caller_of(scope)
        access_log.info(
            "HTTP request",
            method=scope["method"][:20],
            path=scope["path"][:_LONGEST_PATH],
            status=status,
            ms=round((time.perf_counter() - started) * 1000, 1),
            bytes=size,
            caller=caller.name if caller is not None else None,
            client=_sender(scope),
        )


def _sender(scope: Scope) -> str | None:
    client = scope.get("client")
    return client[0] if client else None


def elapsed_ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def _headers(error: DogubakoError) -> dict[str, str]:
    headers = {}
    if error.retry_after is not None and math.isfinite(error.retry_after):
        headers["Retry-After"] = str(math.ceil(error.retry_after))
    if isinstance(error, MethodNotAllowedError) and error.allowed:
        headers["Allow"] = error.allowed
    return headers
