"""One ASGI app: `/mcp`, `/v1`, the description, and health."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dogubako import __version__
from dogubako.contract.call import Caller
from dogubako.contract.errors import BusyError, DogubakoError, MethodNotAllowedError, RouteNotFoundError
from dogubako.contract.moment import utc_text
from dogubako.gate.resource_metadata import metadata, metadata_paths
from dogubako.transports.body import check_declared_length, header
from dogubako.transports.callers import put_caller
from dogubako.transports.docs_page import PAGE
from dogubako.transports.hosts import HostGuard
from dogubako.transports.inside import SERVER_NAME, Inside
from dogubako.transports.mcp_http import McpEndpoint
from dogubako.transports.openapi import FOR_EVERYBODY, describe
from dogubako.transports.problems import challenge, json_response, log_problem, problem
from dogubako.transports.readiness import Readiness
from dogubako.transports.rest_v1 import CALL_PATH, RestV1

log = structlog.get_logger("dogubako.http")

_MCP_PATH = "/mcp"
_MCP_METHODS = frozenset({"GET", "POST", "DELETE"})

# What a page may send along, and what it may see of an answer besides its body.
_PAGE_HEADERS = ("authorization", "content-type", "x-api-key")
_MCP_PAGE_HEADERS = ("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id")
_SHOWN_HEADERS = ("retry-after", "www-authenticate")


class HttpDoor:
    """The app that an ASGI server runs. It owns the edge around every request."""

    def __init__(self, inside: Inside, *, stateless: bool = False) -> None:
        self._inside = inside
        self._started = time.monotonic()
        self._stopping = False
        settings = inside.settings
        self._cors = settings.cors_enabled
        self._for_all_pages = settings.cors_enabled and "*" in settings.cors_origin
        self.mcp = McpEndpoint(inside, stateless=stateless)
        self._guard = HostGuard(
            settings.host, settings.allowed_hosts, settings.cors_origin if settings.cors_enabled else ()
        )
        rest = RestV1(inside)
        self._readiness = Readiness(inside.check, discreet=settings.auth != "off")
        self._metadata_paths = metadata_paths(settings.oauth_audience or "") if settings.auth == "oauth" else ()
        routes = [*rest.routes(), *self._own_routes()]
        self._router = Router(routes, redirect_slashes=False, default=_no_such_route, lifespan=self._lifespan)
        # What is called most often does not wait for the router to try all routes.
        self._direct: dict[tuple[str, str], ASGIApp] = {(method, _MCP_PATH): self.mcp for method in _MCP_METHODS}
        self._direct["POST", CALL_PATH] = rest.call
        # Who has no token yet must be able to read where to get one.
        self._open_paths = FOR_EVERYBODY.union(self._metadata_paths)
        self._rest_for_pages = self._readable(settings.cors_origin, ("GET", "POST", "PATCH"))
        # "*" is meant for REST; the pages that may use `/mcp` are named one by one.
        named = [origin for origin in settings.cors_origin if origin != "*"]
        self._mcp_for_pages = self._readable(named, sorted(_MCP_METHODS), _MCP_PAGE_HEADERS, ("mcp-session-id",))

    def stop_streams(self) -> None:
        """Called when the server is told to stop, for every connection, before it waits for what is still running."""
        if not self._stopping:
            self._stopping = True
            self.mcp.stop_streams()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Not `async`: a coroutine that only awaits another would cost every call something."""
        if scope["type"] == "http":
            return self._edge(self._app_for, scope, receive, send)
        if scope["type"] == "lifespan":
            return self._router(scope, receive, send)
        return send({"type": "websocket.close", "code": 1000})

    def _app_for(self, scope: Scope) -> ASGIApp:
        self._check_host(scope)
        if not self._cors:
            return self._behind_the_gate(scope)
        return self._mcp_for_pages if scope["path"] == _MCP_PATH else self._rest_for_pages

    def _readable(
        self, origins: Sequence[str], methods: Sequence[str], sent: Sequence[str] = (), shown: Sequence[str] = ()
    ) -> ASGIApp:
        """The app behind CORS: refusals are made inside of it, so that pages can read them too.

        What a browser asks beforehand has no credentials, and is answered before anybody looks for some.
        """
        return CORSMiddleware(
            partial(self._edge, self._behind_the_gate),
            allow_origins=origins,
            allow_methods=methods,
            allow_headers=[*_PAGE_HEADERS, *sent],
            expose_headers=[*_SHOWN_HEADERS, *shown],
        )

    def _behind_the_gate(self, scope: Scope) -> ASGIApp:
        return self._entered(self._direct.get((scope["method"], scope["path"]), self._route), scope)

    def _entered(self, app: ASGIApp, scope: Scope) -> ASGIApp:
        """The app for somebody whom we know. Nothing of a request is read before that."""
        if scope["path"] in self._open_paths:
            return app
        caller = self._inside.authenticator.known(scope["headers"])
        if caller is None:
            return partial(self._enter_late, app)
        _admit(scope, caller)
        return app

    async def _enter_late(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        _admit(scope, await self._inside.authenticator.find(scope["headers"]))
        await app(scope, receive, send)

    async def _edge(self, choose: Callable[[Scope], ASGIApp], scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        watched = _Answer(send)
        try:
            await choose(scope)(scope, receive, watched)
        except DogubakoError as error:
            await self._fail(error, scope, watched, started)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            # The grace time is over. Whoever waited still hears it, in our words; a stream ends in order.
            if watched.unfinished:
                await watched({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                stopped = BusyError("The server is stopping; the call was cancelled.", hint="Try again in a moment.")
                await self._fail(stopped, scope, watched, started)
        except HTTPException as error:
            await self._fail(_not_allowed(error, scope), scope, watched, started)
        except Exception as error:
            result = self._inside.pipeline.broken(error, method=scope["method"], path=scope["path"])
            assert result.error is not None
            await self._fail(result.error, scope, watched, started)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == _MCP_PATH:
            allowed = ", ".join(sorted(_MCP_METHODS))
            raise MethodNotAllowedError(f"Method not allowed: {scope['method'][:20]} {_MCP_PATH}", allowed=allowed)
        # With an app in its scope, the router raises instead of answering in words of its own.
        await self._router({**scope, "app": self}, receive, send)

    async def _fail(self, error: DogubakoError, scope: Scope, send: "_Answer", started: float) -> None:
        error = self._inside.pipeline.responses.presentable(error)
        log_problem(error, scope)
        if not send.started:
            await problem(error, started, challenge(error, self._inside.authenticator))(scope, _nothing_more, send)

    def _check_host(self, scope: Scope) -> None:
        # "*" is meant for REST; `/mcp` always asks where a page came from.
        rest_for_all = self._for_all_pages and scope["path"] != _MCP_PATH
        self._guard.check(header(scope, b"host"), header(scope, b"origin"), any_origin=rest_for_all)

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        async with self._inside.running(), self.mcp.running():
            yield

    def _own_routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._status, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            Route("/docs", self._docs, methods=["GET"]),
            *(Route(path, self._resource_metadata, methods=["GET"]) for path in self._metadata_paths),
        ]

    async def _resource_metadata(self, request: Request) -> Response:
        settings = self._inside.settings
        return json_response(metadata(settings.oauth_audience or "", settings.oauth_issuer or "", SERVER_NAME))

    async def _status(self, request: Request) -> Response:
        return json_response(
            {
                "status": "ok",
                "message": "MCP Server is running",
                "version": __version__,
                "uptime": round(time.monotonic() - self._started, 3),
                "timestamp": utc_text(),
            }
        )

    async def _health(self, request: Request) -> Response:
        return json_response({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        ready, body = await self._readiness.report()
        return json_response(body, status=200 if ready else 503)

    async def _openapi(self, request: Request) -> Response:
        return json_response(describe(self._inside.settings.auth))

    async def _docs(self, request: Request) -> Response:
        return HTMLResponse(PAGE, headers={"Content-Security-Policy": "default-src 'self' 'unsafe-inline'"})


def _admit(scope: Scope, caller: Caller) -> None:
    put_caller(scope, caller)
    check_declared_length(scope)


def _not_allowed(error: HTTPException, scope: Scope) -> DogubakoError:
    """The one thing for which the router raises; what has no route goes to its default."""
    allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
    method, path = scope["method"][:20], scope["path"][:200]
    return MethodNotAllowedError(f"Method not allowed: {method} {path}", allowed=allowed)


# For browsers: nothing of ours belongs into a frame, is of another type than it says, or is told to other sites.
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


class _Answer:
    """How far the answer is: once it has begun, it is too late for another one. It gets what all answers have."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = self.unfinished = False

    def __call__(self, message: Message) -> Awaitable[None]:
        self.unfinished = not self.started or bool(message.get("more_body"))
        if not self.started:
            self.started = True
            headers = message.get("headers", ())
            # With CORS there are two edges, one inside the other.
            message["headers"] = headers if _ALWAYS[0] in headers else [*headers, *_ALWAYS]
        return self._send(message)


async def _no_such_route(scope: Scope, receive: Receive, send: Send) -> None:
    raise RouteNotFoundError(
        f"Route not found: {scope['method'][:20]} {scope['path'][:200]}", hint="See /docs for all routes."
    )


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}
