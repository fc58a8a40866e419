"""One other MCP server: its state and last error, its tools, those that wait for approval with their diff, restart."""

from typing import Final

from starlette.responses import Response

from dogubako.transports.console.page import Form, Visit, page, redirect
from dogubako.transports.console.session import PATH
from dogubako.transports.console.views import Views

# The level of each state, as the cards of services show it.
LEVELS: Final = {
    "ready": "ok",
    "sleeping": "ok",
    "starting": "warning",
    "sign_in_needed": "warning",
    "stopped": "off",
}


async def show(views: Views, visit: Visit) -> Response:
    """Everything about one server."""
    name = visit.request.path_params["name"]
    server = await views.inside.server_administration.show(name, caller=visit.caller, door="console")
    level = LEVELS.get(server["state"], "error")
    return await page(visit, "server.html", active="services", server=server, level=level)


async def approve(views: Views, visit: Visit, form: Form) -> Response:
    """Approve one held tool, or everything that the server shows now."""
    name, tool = visit.request.path_params["name"], form.first("tool")
    await views.inside.server_administration.approve(
        name, [tool] if tool else None, caller=visit.caller, door="console"
    )
    return redirect(_page_of(visit))


async def restart(views: Views, visit: Visit, form: Form) -> Response:
    """Stop the server and connect it again."""
    name = visit.request.path_params["name"]
    await views.inside.server_administration.restart(name, caller=visit.caller, door="console")
    return redirect(_page_of(visit))


def _page_of(visit: Visit) -> str:
    """The page of the server, from the path that the router matched."""
    return visit.request.url.path.rsplit("/", 1)[0] or PATH
