"""Render pages: templates, the visitor's language and colours, and the security headers of every page."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dogubako._version import __version__
from dogubako.contract.call import Caller
from dogubako.contract.offload import offload
from dogubako.contract.output import Language
from dogubako.gate.scopes import ADMIN
from dogubako.transports.console import charts
from dogubako.transports.console.session import COOKIE, PATH, Session
from dogubako.transports.console.texts import preferred, translator
from dogubako.transports.http.request import header, read_body

LANGUAGE_COOKIE: Final = "dogubako_lang"
THEME_COOKIE: Final = "dogubako_theme"
_YEAR: Final = 365 * 24 * 3600
_MOST_FIELDS: Final = 1_000

# No inline script or style, nothing from elsewhere. Pictures in answers are data: addresses.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    f"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; report-uri {PATH}/csp-report"
)

Theme = Literal["auto", "light", "dark"]


class Visit:
    """One request of one visitor."""

    def __init__(self, request: Request, session: Session, default_language: Language) -> None:
        self.request = request
        self.session = session
        self.caller = Caller()
        self.csrf = ""
        self.needs_sign_in = False
        chosen = request.cookies.get(LANGUAGE_COOKIE)
        accepted = request.headers.get("accept-language", "")
        self.language: Language = (
            "ja" if chosen == "ja" else "en" if chosen == "en" else preferred(accepted, default_language)
        )
        theme = request.cookies.get(THEME_COOKIE)
        self.theme: Theme = "light" if theme == "light" else "dark" if theme == "dark" else "auto"
        self.t = translator(self.language)

    @property
    def is_admin(self) -> bool:
        return ADMIN in self.caller.scopes

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    def path_with(self, **changes: str | int | None) -> str:
        """This page with other parameters; None removes one."""
        wanted = {**self.request.query_params, **changes}
        kept = {name: value for name, value in wanted.items() if value not in (None, "")}
        return f"{self.request.url.path}?{urlencode(kept)}" if kept else self.request.url.path

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the query between 1 and `most`; anything else is the default."""
        text = self.query.get(name, "")
        return min(int(text), most) if text.isascii() and text.isdigit() and int(text[:9]) > 0 else default


class Form(dict[str, list[str]]):
    """The fields of a form that was sent."""

    def first(self, name: str) -> str:
        return self.get(name, [""])[0]


async def read_form(request: Request) -> Form:
    """The fields of a URL-encoded form, within the same bounds as every other body."""
    body = await read_body(request.receive)
    form = Form()
    kind = header(request.scope, b"content-type").split(b";")[0].strip().lower()
    if kind != b"application/x-www-form-urlencoded":
        return form
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return form
    for name, value in pairs:
        form.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return form


@cache
def environment() -> Environment:
    """The templates. Everything is escaped unless it is `Markup`."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"clock": _clock, "moment": _moment, "ms": _ms, "count": _count}
    made.filters |= {"path": _quoted, "pretty": _pretty, "compact": _compact}
    made.globals |= {"version": __version__, "PATH": PATH, "meter": charts.meter}
    return made


async def page(visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
    """Render a page. In a worker thread: a long table takes longer than the event loop may."""
    common = {"visit": visit, "t": visit.t, "caller": visit.caller, "csrf": visit.csrf, "is_admin": visit.is_admin}
    text = await offload(environment().get_template(template).render, {**common, **values})
    return secured(HTMLResponse(text, status_code=status))


def secured(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    response.headers["Cache-Control"] = "no-store"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Vary"] = "Accept, Accept-Language, Cookie"
    return response


def redirect(path: str) -> Response:
    """After a form: the answer is another page, so that reloading does not send the form again."""
    return secured(RedirectResponse(path, status_code=303))


def safe_path(path: str) -> str:
    """A path of the console, for redirects that a form names. No other site and no other page of ours."""
    inside = path == PATH or path.startswith((f"{PATH}/", f"{PATH}?"))
    return path if inside and "\\" not in path and path.isprintable() else PATH


def set_cookie(response: Response, name: str, value: str, *, seconds: int, secure: bool) -> None:
    response.set_cookie(name, value, max_age=seconds, path=PATH, httponly=True, samesite="strict", secure=secure)


def set_preference(response: Response, name: str, value: str, *, secure: bool) -> None:
    set_cookie(response, name, value, seconds=_YEAR, secure=secure)


def is_encrypted(request: Request) -> bool:
    """Whether the visitor's browser uses TLS. Behind a proxy only the browser's own Origin says so."""
    return request.url.scheme == "https" or header(request.scope, b"origin").startswith(b"https:")


def cookie_of(request: Request) -> str | None:
    return request.cookies.get(COOKIE)


def pages_of(total: int, size: int, current: int) -> tuple[int, int]:
    """The current page and the number of pages."""
    count = max(1, -(-total // size))
    return min(current, count), count


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"


def _moment(value: float | datetime) -> str:
    moment = value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:,.1f} s" if value >= 1000 else f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _compact(value: Any) -> str:
    """JSON in one line. (Jinja's own filter leaves quotes as they are, which is not safe in an attribute.)"""
    return json.dumps(value, ensure_ascii=False, default=str)
