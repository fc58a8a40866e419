"""The console as an ASGI app: routes, sessions, CSRF, and errors as pages."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from dogubako.contract.errors import (
    AuthenticationError,
    AuthorizationError,
    DogubakoError,
    ReadOnlyError,
    RouteNotFoundError,
)
from dogubako.gate.code_flow import CALLBACK_PATH
from dogubako.gate.oauth import TokenAuthentication
from dogubako.transports.console.issuer_sign_in import START_PATH, IssuerSignIn, came_without_cookies, load_again
from dogubako.transports.console.live import LiveStreams
from dogubako.transports.console.page import (
    LANGUAGE_COOKIE,
    THEME_COOKIE,
    Form,
    Visit,
    cookie_of,
    is_encrypted,
    page,
    read_form,
    redirect,
    safe_path,
    secured,
    set_cookie,
    set_preference,
)
from dogubako.transports.console.recorder import CallRecorder
from dogubako.transports.console.session import COOKIE, PATH, SESSION_SECONDS, Sessions
from dogubako.transports.console.views import Views, audit, calls, keys, servers, setup, sign_ins, tasks, tools
from dogubako.transports.http.errors import log_problem
from dogubako.transports.http.readiness import Readiness
from dogubako.transports.http.request import header, read_body
from dogubako.transports.toolbox import ServedToolbox

log = structlog.get_logger("dogubako.console")

Handler = Callable[[Views, Visit], Awaitable[Response]]
Answer = Callable[[Visit], Awaitable[Response]]
Action = Callable[[Views, Visit, Form], Awaitable[Response]]

_LONGEST_KEY: Final = 8_000
_REPORT_BYTES: Final = 8_192
_REPORT_SECONDS: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsoleRoute:
    """A page, and what its form does. `admin` pages need the scope of that name."""

    path: str
    name: str
    show: Handler | None = None
    act: Action | None = None
    admin: bool = False


# Everything that somebody who has signed in may open.
ROUTES: Final = (
    ConsoleRoute(path="", name="tools", show=tools.index),
    ConsoleRoute(path="/tools/{name}", name="tools", show=tools.show, act=tools.call),
    ConsoleRoute(path="/tools/{name}/switch", name="tools", act=tools.switch, admin=True),
    ConsoleRoute(path="/calls", name="calls", show=calls.index),
    ConsoleRoute(path="/calls/{id}", name="calls", show=calls.show),
    ConsoleRoute(path="/tasks", name="tasks", show=tasks.index),
    ConsoleRoute(path="/tasks/{id}/cancel", name="tasks", act=tasks.cancel),
    ConsoleRoute(path="/services", name="services", show=setup.services, admin=True),
    ConsoleRoute(path="/services/{name}", name="services", show=servers.show, admin=True),
    ConsoleRoute(path="/services/{name}/approve", name="services", act=servers.approve, admin=True),
    ConsoleRoute(path="/services/{name}/restart", name="services", act=servers.restart, admin=True),
    ConsoleRoute(path="/sign-in-at/{name}", name="services", show=sign_ins.show, act=sign_ins.begin),
    ConsoleRoute(path="/signed-in/finish", name="services", show=sign_ins.finish),
    ConsoleRoute(path="/keys", name="keys", show=keys.index, act=keys.create, admin=True),
    ConsoleRoute(path="/keys/{id}/revoke", name="keys", show=keys.ask, act=keys.revoke, admin=True),
    ConsoleRoute(path="/audit", name="audit", show=audit.index, admin=True),
    ConsoleRoute(path="/audit.csv", name="audit", show=audit.as_csv, admin=True),
    ConsoleRoute(path="/audit.json", name="audit", show=audit.as_json, admin=True),
    ConsoleRoute(path="/settings", name="settings", show=setup.settings, admin=True),
    ConsoleRoute(path="/connect", name="connect", show=setup.connect),
)


class Console:
    """Serves every path below `/console`."""

    def __init__(self, inside: ServedToolbox, recorder: CallRecorder, readiness: Readiness) -> None:
        self._inside = inside
        self.sessions = Sessions(inside.settings, inside.authenticator, inside.store)
        self._issuer = _issuer_sign_in(inside, self.sessions)
        self._views = Views(inside, recorder, readiness)
        self._live = LiveStreams(recorder)
        self._reported = float("-inf")
        nowhere = Route(f"{PATH}/{{rest:path}}", partial(self._shown, answer=self._nowhere), methods=["GET"])
        routes = [*self._open_routes(), *map(self._route, ROUTES), nowhere]
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # With an app in its scope, the router raises instead of answering in words of its own.
        await self._router({**scope, "app": self}, receive, send)

    def stop_streams(self) -> None:
        """End live updates when the server stops."""
        self._live.stop()

    def _open_routes(self) -> list[BaseRoute]:
        static = StaticFiles(packages=[("dogubako.transports.console", "static")])
        return [
            Route(f"{PATH}/static/{{file}}", partial(_static, static), methods=["GET"]),
            Route(f"{PATH}/csp-report", self._csp_report, methods=["POST"]),
            Route(f"{PATH}/sign-in", partial(self._shown, answer=self._sign_in), methods=["GET", "POST"]),
            Route(START_PATH, partial(self._shown, answer=self._start_at_issuer), methods=["GET"]),
            Route(CALLBACK_PATH, self._callback, methods=["GET"]),
            Route(f"{PATH}/sign-out", partial(self._shown, answer=self._sign_out), methods=["POST"]),
            Route(f"{PATH}/preferences", partial(self._shown, answer=self._preferences), methods=["POST"]),
            Route(f"{PATH}/signed-in", sign_ins.come_back, methods=["GET"]),
            Route(f"{PATH}/events", self._events, methods=["GET"]),
        ]

    def _route(self, route: ConsoleRoute) -> Route:
        methods = [name for name, given in (("GET", route.show), ("POST", route.act)) if given is not None]
        return Route(PATH + route.path, partial(self._page, route), methods=methods)

    async def _page(self, route: ConsoleRoute, request: Request) -> Response:
        return await self._shown(request, partial(self._signed_in, route), route.name)

    async def _shown(
        self, request: Request, answer: Callable[[Visit], Awaitable[Response]], name: str = ""
    ) -> Response:
        """The answer, or a page that says what is wrong."""
        visit = self._visit(request)
        if came_without_cookies(request):
            # A cookie that is set now would replace the session which the browser did not show.
            return await load_again(visit)
        try:
            response = await answer(visit)
        except AuthenticationError as error:
            log_problem(error, request.scope)
            response = await self._sign_in_page(visit, error)
        except DogubakoError as error:
            shown = self._inside.pipeline.responses.presentable(error)
            log_problem(shown, request.scope)
            response = await page(visit, "error.html", shown.http_status, error=shown, active=name)
        self._keep(response, visit)
        return response

    async def _signed_in(self, route: ConsoleRoute, visit: Visit) -> Response:
        visit.caller = await self.sessions.caller(visit.session)
        if route.admin and not visit.is_admin:
            raise AuthorizationError("This page needs the scope admin.", scope="admin")
        return await self._answer(route, visit)

    async def _answer(self, route: ConsoleRoute, visit: Visit) -> Response:
        if visit.request.method == "POST":
            assert route.act is not None
            form = await self._checked_form(visit)
            return await route.act(self._views, visit, form)
        assert route.show is not None
        return await route.show(self._views, visit)

    async def _checked_form(self, visit: Visit) -> Form:
        """The fields of a form that this session was given, or AuthorizationError."""
        if header(visit.request.scope, b"sec-fetch-site") not in (b"", b"same-origin", b"none"):
            raise AuthorizationError("This form came from another site; nothing was done.")
        form = await read_form(visit.request)
        if not self.sessions.check_csrf(self.sessions.open(cookie_of(visit.request)), form.first("csrf")):
            raise AuthorizationError(
                "This form has expired; nothing was done.", hint="Open the page again and send the form once more."
            )
        return form

    def _visit(self, request: Request) -> Visit:
        session = self.sessions.open(cookie_of(request))
        visit = Visit(request, session or self.sessions.visitor(), self._inside.settings.lang)
        visit.csrf = self.sessions.csrf_token(visit.session)
        visit.needs_sign_in = self.sessions.needed
        return visit

    def _keep(self, response: Response, visit: Visit) -> None:
        """Send the session where it is new. The CSRF token of the page belongs to it."""
        if self.sessions.open(cookie_of(visit.request)) != visit.session:
            seconds = min(SESSION_SECONDS, max(0, round(visit.session.until - time.time())))
            sealed = self.sessions.seal(visit.session)
            set_cookie(response, COOKIE, sealed, seconds=seconds, secure=self._encrypted(visit.request))

    def _encrypted(self, request: Request) -> bool:
        """Whether a cookie may be for TLS alone. Whoever comes back from the issuer used our own address."""
        known = self._issuer is not None and self._issuer.encrypted and request.url.path == CALLBACK_PATH
        return known or is_encrypted(request)

    async def _sign_in_page(self, visit: Visit, error: AuthenticationError | None = None) -> Response:
        path = visit.request.url.path
        own = path.startswith(f"{PATH}/sign-in") or path == CALLBACK_PATH
        # Only a page can be loaded again; a form that was sent cannot.
        here = visit.path_with() if visit.request.method == "GET" else PATH
        back = safe_path(visit.query.get("back", "") if own else here)
        if not self.sessions.needed:
            visit.caller = await self.sessions.caller(None)
        values = {
            "error": None if error is None or error.missing else error,
            "back": back,
            "kind": self._inside.settings.auth,
            "start": self._issuer.start_address(back) if self._issuer else "",
            "issuer": urlsplit(self._issuer.issuer).netloc if self._issuer else "",
        }
        return await page(visit, "sign_in.html", 200 if error is None else 401, active="", **values)

    async def _sign_in(self, visit: Visit) -> Response:
        if visit.request.method != "POST":
            return await self._sign_in_page(visit)
        form = await self._checked_form(visit)
        session = await self.sessions.sign_in(form.first("key")[:_LONGEST_KEY])
        log.info("Signed in to the console", caller=session.name)
        # A new session id: whoever knew the old one knows nothing. Nobody could sign it out any more.
        await self.sessions.end(visit.session)
        visit.session = session
        return redirect(safe_path(form.first("back")))

    async def _start_at_issuer(self, visit: Visit) -> Response:
        if self._issuer is None:
            raise RouteNotFoundError("There is no such page.")
        return await self._issuer.start(visit)

    async def _callback(self, request: Request) -> Response:
        response = await self._shown(request, self._finish_at_issuer)
        if self._issuer is not None and not came_without_cookies(request):
            self._issuer.forget(response)
        return response

    async def _finish_at_issuer(self, visit: Visit) -> Response:
        if self._issuer is None:
            raise RouteNotFoundError("There is no such page.")
        session, back = await self._issuer.finish(visit)
        await self.sessions.end(visit.session)
        visit.session = session
        log.info("Signed in to the console", caller=visit.session.name)
        return redirect(back)

    async def _nowhere(self, visit: Visit) -> Response:
        """Who has not signed in does not even learn that."""
        visit.caller = await self.sessions.caller(visit.session)
        raise RouteNotFoundError("There is no such page.")

    async def _sign_out(self, visit: Visit) -> Response:
        await self._checked_form(visit)
        session, visit.session = visit.session, self.sessions.visitor()
        if not await self.sessions.end(session):
            visit.csrf = self.sessions.csrf_token(visit.session)
            raise ReadOnlyError(
                "You are signed out here, but a copy of the session's cookie may still work at other processes.",
                hint="The server's log says why. An administrator can revoke the key.",
            )
        return redirect(f"{PATH}/sign-in")

    async def _preferences(self, visit: Visit) -> Response:
        form = await self._checked_form(visit)
        response = redirect(safe_path(form.first("back")))
        secure = is_encrypted(visit.request)
        if (language := form.first("language")) in ("en", "ja"):
            set_preference(response, LANGUAGE_COOKIE, language, secure=secure)
        if (theme := form.first("theme")) in ("auto", "light", "dark"):
            set_preference(response, THEME_COOKIE, theme, secure=secure)
        return response

    async def _events(self, request: Request) -> Response:
        session = self.sessions.open(cookie_of(request))
        await self.sessions.caller(session)
        return secured(self._live.stream(lambda: self.sessions.caller(session)))

    async def _csp_report(self, request: Request) -> Response:
        """What a browser refused to run. One line a minute at most: anybody may send reports."""
        body = await read_body(request.receive)
        if time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            report = self._inside.redactor.mask_all(body[:_REPORT_BYTES].decode("utf-8", "replace")[:500])
            log.warning("A browser blocked something on a page of the console", report=report)
        return Response(status_code=204)


def _issuer_sign_in(inside: ServedToolbox, sessions: Sessions) -> IssuerSignIn | None:
    """Sign-in through the authorization server, where this server is a client of it."""
    authenticator = inside.authenticator
    flow = authenticator.code_flow if isinstance(authenticator, TokenAuthentication) else None
    return None if flow is None else IssuerSignIn(flow, sessions)


async def _static(files: StaticFiles, request: Request) -> Response:
    name = request.path_params["file"]
    if not name.replace(".", "").replace("-", "").isalnum():
        raise RouteNotFoundError("Route not found")
    response = await files.get_response(name, request.scope)
    response.headers["Cache-Control"] = "public, max-age=300"
    return response
