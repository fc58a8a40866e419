"""The ASGI app: `/mcp`, `/v1`, `/docs` and health checks, with the error handling around every request."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dogubako._lazy import load
from dogubako._version import __version__
from dogubako.contract.errors import (
    AuthorizationError,
    BusyError,
    DogubakoError,
    MethodNotAllowedError,
    RouteNotFoundError,
)
from dogubako.contract.offload import offload
from dogubako.contract.timestamps import utc_text
from dogubako.gate.oauth import metadata, metadata_paths
from dogubako.gate.scopes import ADMIN, METRICS, may_read_metrics
from dogubako.transports.console.recorder import CallRecorder
from dogubako.transports.http.at_once import KnownHeadRequests, begins
from dogubako.transports.http.errors import challenge, json_response, log_problem, log_request, problem
from dogubako.transports.http.hosts import HostGuard
from dogubako.transports.http.readiness import Readiness
from dogubako.transports.http.request import RESPOND, ResponseTracker, admit, caller_in, head_fact, header
from dogubako.transports.mcp.http import McpEndpoint
from dogubako.transports.metrics import CONTENT_TYPE, Metrics
from dogubako.transports.rest.openapi import DOCS_FOLDER, DOCS_PATHS, FOR_EVERYBODY, describe, with_tools
from dogubako.transports.rest.routes import CALL_PATH, RestV1
from dogubako.transports.rest.servers import ServerRoutes
from dogubako.transports.toolbox import SERVER_NAME, ServedToolbox

log = structlog.get_logger("dogubako.http")

_MCP_PATH = "/mcp"
CONSOLE_PATH = "/console"
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_MCP_METHODS = frozenset({"GET", "POST", "DELETE"})

# What a page may send along, and what it may see of an answer besides its body.
_PAGE_HEADERS = ("authorization", "content-type", "x-api-key")
_MCP_PAGE_HEADERS = ("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id")
_SHOWN_HEADERS = ("retry-after", "www-authenticate")


class HttpApp:
    """The ASGI app: routing, authentication, CORS and error handling."""

    def __init__(self, inside: ServedToolbox, *, stateless: bool = False) -> None:
        self._inside = inside
        # What people open in a browser, which the server says when it listens.
        self.pages = {"console": "/", "docs": "/docs"} if inside.settings.console else {"docs": "/docs"}
        self._started = time.monotonic()
        self._stopping = False
        settings = inside.settings
        self.drain_seconds = settings.drain
        self._cors = settings.cors_enabled
        self._for_all_pages = settings.cors_enabled and "*" in settings.cors_origin
        self.mcp = McpEndpoint(inside, stateless=stateless)
        self._guard = HostGuard(
            settings.host, settings.allowed_hosts, settings.cors_origin if settings.cors_enabled else ()
        )
        rest = RestV1(inside)
        self._readiness = Readiness(inside.check, discreet=settings.auth != "off")
        self._access_log = settings.access_log
        self._responds_whole = not (settings.access_log or settings.cors_enabled)
        self._recorder = _recorder(inside)
        self._shared_calls: Any = None
        if self._recorder is not None and inside.messages is not None:
            module = load("dogubako.transports.console.shared_calls")
            self._shared_calls = module.SharedCalls(self._recorder, inside.messages)
        self._metrics = _metrics(inside)
        self._console: Any = None
        self._metadata_paths = metadata_paths(settings.oauth_audience or "") if settings.auth == "oauth" else ()
        routes = [*rest.routes(), *ServerRoutes(inside).routes(), *self._own_routes()]
        self._router = Router(routes, redirect_slashes=False, default=_no_such_route, lifespan=self._lifespan)
        # What is called most often does not wait for the router to try all routes.
        self._direct: dict[tuple[str, str], ASGIApp] = {(method, _MCP_PATH): self.mcp for method in _MCP_METHODS}
        self._direct["POST", CALL_PATH] = rest.call
        # Bound once, as a name for what is found.
        self._find_direct = self._checked_direct
        # Who has no token yet must be able to read where to get one.
        self._open_paths = FOR_EVERYBODY.union(self._metadata_paths, DOCS_PATHS)
        self._rest_for_pages = self._readable(settings.cors_origin, ("GET", "POST", "PATCH"))
        # "*" is meant for REST; the pages that may use `/mcp` are named one by one.
        named = [origin for origin in settings.cors_origin if origin != "*"]
        self._mcp_for_pages = self._readable(named, sorted(_MCP_METHODS), _MCP_PAGE_HEADERS, ("mcp-session-id",))

    def drain(self) -> bool:
        """Say from now on that no more calls should come. Returns whether this is news."""
        news, self._readiness.stopping = not self._readiness.stopping, True
        return news

    def stop_streams(self) -> None:
        """End open streams at shutdown, before the server waits for running calls."""
        if not self._stopping:
            self._stopping = True
            self.mcp.stop_streams()
            self._inside.tasks.drain()
            if self._console is not None:
                self._console.stop_streams()

    def begins(self, scope: Scope) -> KnownHeadRequests | None:
        """What begins requests with this head in the read that brings them; None if they are handled by ASGI only."""
        if not self._responds_whole:
            # Behind CORS or the access log, others add to the response or look at it.
            return None
        try:
            app = head_fact(scope, self._find_direct)
        except DogubakoError:
            return None
        inside = self._inside
        return begins(app, scope, inside.authenticator, inside.credential_headers, self._edge)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Not `async`: a coroutine that only awaits another would cost every call something."""
        if scope["type"] == "http":
            if self._access_log:
                return log_request(partial(self._edge, self._app_for), scope, receive, send)
            return self._edge(self._app_for, scope, receive, send)
        if scope["type"] == "lifespan":
            return self._router(scope, receive, send)
        return send({"type": "websocket.close", "code": 1000})

    def _app_for(self, scope: Scope) -> ASGIApp:
        app = head_fact(scope, self._find_direct)
        if app is not None:
            return self._admitted(app, scope)
        if not self._cors:
            return self._behind_the_gate(scope)
        return self._mcp_for_pages if scope["path"] == _MCP_PATH else self._rest_for_pages

    def _checked_direct(self, scope: Scope) -> ASGIApp | None:
        """Check Host and Origin. Return the app that needs nothing but a caller, if it is one of those called most."""
        # "*" is meant for REST; `/mcp` always asks where a page came from.
        self._guard.check(scope, any_origin=self._for_all_pages and scope["path"] != _MCP_PATH)
        return None if self._cors else self._direct.get((scope["method"], scope["path"]))

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
            allow_headers=[*_PAGE_HEADERS, *sent, *(name.decode() for name in self._inside.credential_headers)],
            expose_headers=[*_SHOWN_HEADERS, *shown],
        )

    def _behind_the_gate(self, scope: Scope) -> ASGIApp:
        app, path = self._direct.get((scope["method"], scope["path"]), self._route), scope["path"]
        if path in self._open_paths:
            return app
        if self._recorder is not None and _is_for_console(path, scope):
            # The console has sessions of its own.
            return self._enter_console
        return self._admitted(app, scope)

    def _admitted(self, app: ASGIApp, scope: Scope) -> ASGIApp:
        """Authenticate the caller, then return the app. Nothing of a request is read before that."""
        caller = self._inside.authenticator.authenticate_cached(scope["headers"])
        if caller is None:
            return partial(self._enter_late, app)
        admit(scope, caller, self._inside.credential_headers)
        return app

    async def _enter_console(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/":
            headers = {"Vary": "Accept", "Cache-Control": "no-store"}
            await RedirectResponse(CONSOLE_PATH, status_code=303, headers=headers)(scope, receive, send)
            return
        if self._console is None:
            # Templates and ciphers are loaded by the first browser.
            module = load("dogubako.transports.console.routes")
            self._console = module.Console(self._inside, self._recorder, self._readiness)
        await self._console(scope, receive, send)

    async def _enter_late(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        caller = await self._inside.authenticator.authenticate(scope["headers"])
        admit(scope, caller, self._inside.credential_headers)
        await app(scope, receive, send)

    async def _edge(self, choose: Callable[[Scope], ASGIApp], scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        # Behind CORS or the access log, others add to the response or look at it.
        watched = ResponseTracker(send, respond=scope.get(RESPOND) if self._responds_whole else None)
        try:
            await choose(scope)(scope, receive, watched)
        except DogubakoError as error:
            await self._fail(error, scope, watched, started)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            # The grace time is over. Whoever waited still hears it, in our words; a stream ends in order.
            if watched.started:
                await watched.end()
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

    async def _fail(self, error: DogubakoError, scope: Scope, send: ResponseTracker, started: float) -> None:
        error = self._inside.pipeline.responses.presentable(error)
        log_problem(error, scope)
        if not send.started:
            await problem(error, started, challenge(error, self._inside.authenticator))(scope, _nothing_more, send)

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        shared_calls = self._shared_calls.running() if self._shared_calls is not None else nullcontext()
        async with self._inside.running(), self.mcp.running(), shared_calls:
            # The first search must not wait for the index. Over stdio it does: an idle process stays small.
            preparing = asyncio.create_task(self._inside.registry.prepare_search())
            entries = self._inside.registry.list()
            enabled = [entry for entry in entries if entry.enabled]
            packs = len({entry.pack for entry in enabled})
            log.info("Tools are ready", enabled=len(enabled), total=len(entries), packs=packs)
            try:
                yield
            finally:
                preparing.cancel()

    def _own_routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._status, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._ready, methods=["GET"]),
            *([Route("/metrics", self._numbers, methods=["GET"])] if self._metrics is not None else []),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            *(Route(path, self._docs, methods=["GET"]) for path in sorted(DOCS_PATHS)),
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
        ready, body = await self._readiness.report(for_administrator=await self._asks_administrator(request.scope))
        return json_response(body, status=200 if ready else 503)

    async def _asks_administrator(self, scope: Scope) -> bool:
        """Whether an administrator asks what everybody may ask. Credentials that do not count change nothing."""
        try:
            caller = await self._inside.authenticator.authenticate(scope["headers"])
        except DogubakoError:
            return False
        return ADMIN in caller.scopes

    async def _numbers(self, request: Request) -> Response:
        if not may_read_metrics(caller_in(request.scope).scopes):
            raise AuthorizationError("/metrics needs the scope metrics.", scope=METRICS)
        assert self._metrics is not None
        entries, checks = self._inside.registry.list(), await self._readiness.findings()
        enabled = sum(entry.enabled for entry in entries)
        text = self._metrics.text(enabled=enabled, disabled=len(entries) - enabled, checks=checks)
        return Response(text, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})

    async def _openapi(self, request: Request) -> Response:
        described = describe(self._inside.settings.auth)
        if request.query_params.get("tools", "") in ("1", "true"):
            caller, forbidden = caller_in(request.scope), self._inside.pipeline.policy.refusal
            entries = [one for one in self._inside.registry.list() if forbidden(one, caller) is None]
            described = await offload(with_tools, described, entries)
        return json_response(described)

    async def _docs(self, request: Request) -> Response:
        """The page and its files. They are for everybody: what they show is fetched with the visitor's key."""
        name = request.url.path.removeprefix("/docs").strip("/") or "docs.html"
        headers = {"Content-Security-Policy": _DOCS_POLICY, "Cache-Control": "public, max-age=300"}
        return FileResponse(DOCS_FOLDER / name, headers=headers)


def _recorder(inside: ServedToolbox) -> CallRecorder | None:
    """The recorder of calls for the console, if there is one."""
    settings = inside.settings
    if not settings.console:
        return None
    recorder = CallRecorder(settings.console_calls, inside.redactor, keep_values=settings.console_values)
    inside.watch_calls(recorder.add)
    return recorder


def _metrics(inside: ServedToolbox) -> Metrics | None:
    """The numbers of `/metrics`, unless they are switched off."""
    if not inside.settings.metrics:
        return None
    metrics = Metrics(inside.registry.knows)
    inside.watch_calls(metrics.add)
    return metrics


def _is_for_console(path: str, scope: Scope) -> bool:
    """Whether the console answers: every path of its own, and `/` for browsers."""
    if path == "/":
        return scope["method"] in ("GET", "HEAD") and b"text/html" in header(scope, b"accept")
    return path == CONSOLE_PATH or path.startswith(f"{CONSOLE_PATH}/")


def _not_allowed(error: HTTPException, scope: Scope) -> DogubakoError:
    """The error for a wrong method, the only thing for which the router raises."""
    allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
    method, path = scope["method"][:20], scope["path"][:200]
    return MethodNotAllowedError(f"Method not allowed: {method} {path}", allowed=allowed)


async def _no_such_route(scope: Scope, receive: Receive, send: Send) -> None:
    raise RouteNotFoundError(
        f"Route not found: {scope['method'][:20]} {scope['path'][:200]}", hint="See /docs for all routes."
    )


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}
