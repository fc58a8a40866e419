"""Every HTTP route, and what each kind of caller gets there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dogubako import __version__
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit

from .callers import NEEDED, TASK_TOOLS, Kind
from .seen import body_of, refusal, without_scope

Answer = tuple[int, Any]
Route = tuple[str, str]

_STATUS: Final = {"status": "ok", "message": "MCP Server is running", "version": __version__}
_NO_SESSION: Final = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32600, "message": "Bad Request: Missing session ID"},
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One request to a route. `answers` says what a caller of a kind gets; `open` routes ask for no key."""

    path: str
    answers: Callable[[Kind], Answer]
    body: Any = None
    headers: dict[str, str] | None = None
    open: bool = False


def _always(status: int, body: Any) -> Callable[[Kind], Answer]:
    return lambda _kind: (status, body)


def _list(kind: Kind) -> Answer:
    names = sorted(kind.sees)
    pages = {"page": 1, "limit": 50, "total": len(names), "totalPages": 1 if names else 0}
    return 200, {"tools": names, "pagination": pages}


def _search(kind: Kind) -> Answer:
    names = sorted(name for name in kind.sees if name.endswith("_redmine"))
    return 200, {"query": _SEARCH["query"], "results": names, "total": len(names), "nearest": [], "notIndexed": 0}


def _detail(kind: Kind) -> Answer:
    if kind.may("write_redmine"):
        return 200, "write_redmine"
    return 403, _lacks(kind, "write_redmine", NEEDED["write_redmine"])


def _switch(kind: Kind) -> Answer:
    if kind.scope == "admin" or not kind.may("write_redmine"):
        return _detail(kind)
    return 403, _lacks(kind, "Switching tools", "admin")


def _call(kind: Kind) -> Answer:
    if kind.may("write_redmine"):
        return 200, {"success": True, "result": "done"}
    return 403, _lacks(kind, "write_redmine", NEEDED["write_redmine"])


def _metrics(kind: Kind) -> Answer:
    if kind.scope == "admin":
        return 200, "text/plain; version=0.0.4; charset=utf-8"
    return 403, refusal("/metrics needs the scope metrics.", "AUTHORIZATION_ERROR")


def _lacks(kind: Kind, what: str, scope: str) -> Any:
    return without_scope(what, scope, f"a caller with {kind.scope}", kind.scopes)


def _mcp(kind: Kind) -> Answer:
    names = sorted(kind.sees - {"search_tools", "describe_tool", "call_tool"} - TASK_TOOLS)
    return 200, names


def _readiness(kind: Kind) -> Answer:
    checks = ["audit log", "authentication", "n8n", "redmine"]
    return 200, {"ready": True, **({"checks": checks} if kind.scope == "admin" else {})}


def _for_administrators(status: int, body: Any) -> Callable[[Kind], Answer]:
    def answers(kind: Kind) -> Answer:
        return (status, body) if kind.scope == "admin" else (403, _lacks(kind, "Looking after servers", "admin"))

    return answers


_NO_SERVER: Final = refusal("There is no such server.", "NOT_FOUND", "There is no server 'one'. Known servers: none.")
_SET_ONE: Final = "[servers.one]: set either command (a program) or url (an address)."
_NO_WAY: Final = {
    **refusal(_SET_ONE, "VALIDATION_ERROR"),
    "details": [{"field": "settings", "message": _SET_ONE}],
}

_NO_TASK: Final = refusal("There is no such task.", "NOT_FOUND", "It may have expired. start_task starts a new one.")

_CALL: Final = {"name": "write_redmine", "parameters": {}}
_SEARCH: Final = {"query": "what is called write at redmine", "filters": {"category": "redmine"}}

ROUTES: Final[dict[Route, Case]] = {
    ("GET", "/"): Case(path="/", answers=_always(200, _STATUS)),
    ("GET", "/healthz"): Case(path="/healthz", answers=_always(200, {"status": "ok"}), open=True),
    ("GET", "/readyz"): Case(path="/readyz", answers=_readiness, open=True),
    ("GET", "/docs"): Case(path="/docs", answers=_always(200, "text/html; charset=utf-8"), open=True),
    ("GET", "/docs/docs.js"): Case(
        path="/docs/docs.js", answers=_always(200, "text/javascript; charset=utf-8"), open=True
    ),
    ("GET", "/docs/docs.css"): Case(path="/docs/docs.css", answers=_always(200, "text/css; charset=utf-8"), open=True),
    ("GET", "/metrics"): Case(path="/metrics", answers=_metrics),
    ("GET", "/openapi.json"): Case(
        path="/openapi.json", answers=_always(200, ["components", "info", "openapi", "paths", "security"])
    ),
    ("GET", "/v1/tools"): Case(path="/v1/tools", answers=_list),
    ("GET", "/v1/tools/{name}"): Case(path="/v1/tools/write_redmine", answers=_detail),
    ("PATCH", "/v1/tools/{name}"): Case(path="/v1/tools/write_redmine", answers=_switch, body={"enabled": True}),
    ("POST", "/v1/tools/call"): Case(path="/v1/tools/call", answers=_call, body=_CALL),
    ("POST", "/v1/tools/{name}/call"): Case(path="/v1/tools/write_redmine/call", answers=_call, body={}),
    ("POST", "/v1/tools/search"): Case(path="/v1/tools/search", answers=_search, body=_SEARCH),
    ("GET", "/v1/tasks"): Case(path="/v1/tasks", answers=_always(200, {"tasks": []})),
    ("GET", "/v1/tasks/{id}"): Case(path="/v1/tasks/one", answers=_always(404, _NO_TASK)),
    ("DELETE", "/v1/tasks/{id}"): Case(path="/v1/tasks/one", answers=_always(404, _NO_TASK)),
    ("POST", "/v1/tasks/{id}/update"): Case(
        path="/v1/tasks/one/update", answers=_always(404, _NO_TASK), body={"inputResponses": {}}
    ),
    ("GET", "/v1/servers"): Case(path="/v1/servers", answers=_for_administrators(200, {"servers": []})),
    ("POST", "/v1/servers"): Case(
        path="/v1/servers", answers=_for_administrators(400, _NO_WAY), body={"name": "one", "settings": {}}
    ),
    ("GET", "/v1/servers/{name}"): Case(path="/v1/servers/one", answers=_for_administrators(404, _NO_SERVER)),
    ("DELETE", "/v1/servers/{name}"): Case(path="/v1/servers/one", answers=_for_administrators(404, _NO_SERVER)),
    ("POST", "/v1/servers/{name}/approve"): Case(
        path="/v1/servers/one/approve", answers=_for_administrators(404, _NO_SERVER), body={}
    ),
    ("POST", "/v1/servers/{name}/restart"): Case(
        path="/v1/servers/one/restart", answers=_for_administrators(404, _NO_SERVER), body={}
    ),
    ("GET", "/tools"): Case(path="/tools?limit=5", answers=_always(302, "/v1/tools?limit=5")),
    ("POST", "/tools/call"): Case(path="/tools/call", answers=_always(307, "/v1/tools/call"), body=_CALL),
    ("POST", "/mcp"): Case(
        path="/mcp",
        answers=_mcp,
        body=messages.request("tools/list", {"_meta": messages.envelope()}),
        headers=messages.modern_headers("tools/list"),
    ),
    ("GET", "/mcp"): Case(path="/mcp", answers=_always(400, _NO_SESSION), headers={"accept": messages.BOTH}),
    ("DELETE", "/mcp"): Case(path="/mcp", answers=_always(400, _NO_SESSION), headers={"accept": messages.BOTH}),
}

GUARDED: Final = [route for route, case in ROUTES.items() if not case.open]
OPEN: Final = [route for route, case in ROUTES.items() if case.open]

# Not routes of ours. Who has no key does not even learn that.
NO_ROUTES: Final = {
    ("GET", "/nowhere"): (404, "ROUTE_NOT_FOUND"),
    ("GET", "/v1/tools/"): (404, "ROUTE_NOT_FOUND"),
    ("GET", "/healthz/"): (404, "ROUTE_NOT_FOUND"),
    ("GET", "//healthz"): (404, "ROUTE_NOT_FOUND"),
    ("GET", "/.well-known/oauth-protected-resource"): (404, "ROUTE_NOT_FOUND"),
    ("DELETE", "/v1/tools/echo"): (405, "METHOD_NOT_ALLOWED"),
    ("PUT", "/mcp"): (405, "METHOD_NOT_ALLOWED"),
    ("OPTIONS", "/mcp"): (405, "METHOD_NOT_ALLOWED"),
    ("OPTIONS", "/v1/tools"): (405, "METHOD_NOT_ALLOWED"),
    ("POST", "/"): (405, "METHOD_NOT_ALLOWED"),
    ("BREW", "/openapi.json"): (405, "METHOD_NOT_ALLOWED"),
}


async def ask(client: Client, route: Route, credentials: dict[str, str]) -> Visit:
    """The request of the route's case, with these credentials."""
    method, case = route[0], ROUTES[_asked_for(route)]
    own = {"content-type": "application/json"} if case.headers is None else case.headers
    return await client.request(
        method, case.path, headers={**own, **credentials}, body=b"" if case.body is None else case.body
    )


def case_of(route: Route) -> Case:
    return ROUTES[_asked_for(route)]


def _asked_for(route: Route) -> Route:
    """`HEAD` is answered as `GET` would be."""
    return ("GET", route[1]) if route[0] == "HEAD" else route


def routes_of(door: HttpApp) -> set[Route]:
    """What the app itself answers; `HEAD` comes with every `GET` of the router."""
    routed = {(method, route.path) for route in door._router.routes for method in route.methods}  # type: ignore[attr-defined]
    return {(method, path) for method, path in routed | set(door._direct) if method != "HEAD"}


def shown(route: Route, visit: Visit) -> Any:
    """What of the body the table holds: names, in the order of the alphabet."""
    body = body_of(visit)
    if route == ("POST", "/mcp"):
        return sorted(tool["name"] for tool in visit.response["result"]["tools"])
    if route == ("POST", "/v1/tools/search"):
        return {**body, "results": sorted(body["results"])}
    if route == ("GET", "/v1/tools"):
        return {**body, "tools": sorted(body["tools"])}
    if route == ("GET", "/readyz") and "checks" in body:
        names = {"API keys": "authentication", "OAuth": "authentication"}
        return {**body, "checks": sorted(names.get(one["subject"], one["subject"]) for one in body["checks"])}
    return body
