"""Error class → HTTP status and body."""

import math
import time
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from starlette.responses import Response
from starlette.types import Scope

from dogubako.contract.call import error_facts
from dogubako.contract.errors import AuthenticationError, AuthorizationError, DogubakoError, MethodNotAllowedError
from dogubako.contract.moment import utc_text
from dogubako.gate.authentication import Authenticator

log = structlog.get_logger("dogubako.http")

_LONGEST_PATH = 200
# In the scope of a request whose connection the server ended because too many were open. That is logged once for all.
EVICTED = "dogubako.evicted"


def json_response(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer; keys are camelCase already."""
    # What one caller may see must not be kept for others on the way; not all caches know the header X-API-Key.
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(msgspec.json.encode(body), status_code=status, headers=headers, media_type="application/json")


def problem(error: DogubakoError, started: float, headers: dict[str, str] | None = None) -> Response:
    """The failure in REST's words. The sentence has been masked by the response builder before it comes here."""
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
    """What a client has to bring, for one that did not get in or not far enough."""
    if isinstance(error, AuthenticationError) or (isinstance(error, AuthorizationError) and error.scope):
        return {"WWW-Authenticate": authenticator.challenge(error)}
    return {}


def problem_bytes(error: DogubakoError) -> bytes:
    """The failure as a whole HTTP answer, for a connection on which there is no request yet."""
    response = problem(error, time.perf_counter(), {"Connection": "close"})
    head = [f"HTTP/1.1 {error.http_status} {HTTPStatus(error.http_status).phrase}".encode()]
    head += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*head, b"", bytes(response.body)])


def log_problem(error: DogubakoError, scope: Scope) -> None:
    """Every HTTP error is logged with method and path, and with its sender where it got no further than the door."""
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
