"""Sign in at another MCP server in a browser: as oneself, or, by an administrator, for all callers."""

from typing import Final
from urllib.parse import urlencode, urlsplit

from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dogubako.contract.errors import ApiError
from dogubako.transports.console.page import Form, Visit, page, redirect, secured
from dogubako.transports.console.session import PATH
from dogubako.transports.console.views import Views

_FINISH: Final = f"{PATH}/signed-in/finish"
# What an authorization server sends a browser back with.
_BROUGHT: Final = ("code", "state", "iss", "error", "error_description")
_LONGEST: Final = 4_000


async def show(views: Views, visit: Visit) -> Response:
    """Whether the visitor has signed in, and the button that begins it."""
    name = visit.request.path_params["name"]
    state = await views.inside.server_administration.sign_in_state(name, caller=visit.caller, door="console")
    return await page(visit, "sign_in_at.html", active="services", server=state, address=None)


async def begin(views: Views, visit: Visit, form: Form) -> Response:
    """Begin to sign in, or sign out. The next page has the link: a form must not lead to another site."""
    name, servers = visit.request.path_params["name"], views.inside.server_administration
    if form.first("out"):
        await servers.sign_out(name, caller=visit.caller, door="console")
        return redirect(visit.request.url.path)
    base = views.inside.settings.browser_address or str(visit.request.base_url).rstrip("/")
    address = await servers.begin_sign_in(name, f"{base}{PATH}/signed-in", caller=visit.caller, door="console")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        raise ApiError("The server names an address to sign in at that is no web page.")
    state = await servers.sign_in_state(name, caller=visit.caller, door="console")
    return await page(
        visit, "sign_in_at.html", active="services", server=state, address=address, place=parts.hostname or ""
    )


async def come_back(request: Request) -> Response:
    """The page that browsers come back to. It sends them on to ourselves, because of their cookie.

    A browser that comes from another site does not send it; one that comes from this page does.
    """
    brought = {name: request.query_params[name][:_LONGEST] for name in _BROUGHT if name in request.query_params}
    target = escape(f"{_FINISH}?{urlencode(brought)}")
    text = f'<!doctype html><meta http-equiv="refresh" content="0;url={target}"><title>Dogubako</title>'
    return secured(HTMLResponse(f'{text}<p><a href="{target}">Dogubako</a>'))


async def finish(views: Views, visit: Visit) -> Response:
    """Complete the sign-in that this visitor began."""
    brought = {name: visit.query[name] for name in _BROUGHT if name in visit.query}
    name = await views.inside.server_administration.finish_sign_in(brought, caller=visit.caller, door="console")
    return redirect(f"{PATH}/sign-in-at/{name}")
