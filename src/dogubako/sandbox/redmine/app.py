"""Redmine 5.0.4 as far as our tools use its REST API, with JSON.

An endpoint is a function that takes one `Ask` (asking.py) and returns

- an object, which becomes a 200 with JSON,
- `DONE` (204, empty), `created(body, location)` (201), or any other `Answer`,

or raises a refusal: `not_found()`, `forbidden()`, `unprocessable("Name cannot be blank")`, `ask.denied()` (403, or 401
for strangers), `BrokenError(500)` for what Redmine did not expect.

It is listed in issue_routes.py or other_routes.py as `("GET", "/projects/{project_id}/versions", list_versions)`: the
path without `.json`; PUT answers PATCH too, GET answers HEAD. A path that ends in `*` has no `.json` behind it.

What an endpoint finds in its `Ask`:

- `ask.store["issues"]` is a `Table` (store.py) of rows with Redmine's column names: get, at, where, first, add, remove.
- `ask.project()`, `ask.row("versions")`: what the path names, or 404. Then `ask.need(project, "manage_versions")`:
  one of the permissions, or 403/401, as a controller's `authorize` does. `ask.who` is the `Visitor` (visitor.py):
  `may(permission, project)`, `projects_with(permission)`, `sees_person(row)`, `admin`, `logged_in`, `id`, `row`.
- `ask.params` (query and body as Rails merges them), `ask.text(name)`, `ask.given("version")`, `ask.includes("users")`.
- `page_of(ask, "versions", rows, show)` makes a list with total_count, offset and limit.
- naming.py shows references (`{"id": 1, "name": "…"}`), custom_values.py shows and saves custom fields and
  custom_checks.py checks them, attaching.py shows files and attaches uploaded ones, filters.py reads and tests the
  filters of a list, clock.py makes and shows times, issue_access.py and time_access.py say which issues and time
  entries somebody sees, sharing.py knows the tree of projects and which versions a project may use.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dogubako.sandbox.redmine.answering import broken, lost, refused, written
from dogubako.sandbox.redmine.asking import Ask, BrokenError, RefusedError
from dogubako.sandbox.redmine.issue_routes import ISSUE_ROUTES
from dogubako.sandbox.redmine.other_routes import OTHER_ROUTES
from dogubako.sandbox.redmine.params import body_params, query_params
from dogubako.sandbox.redmine.routing import Endpoint, Place
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import ACTIVE, Visitor
from dogubako.sandbox.redmine.world import seeded_store

ADMIN_KEY: Final = "a" * 40
# The web server in front of Redmine reads no longer query than this.
_LONGEST_QUERY: Final = 10 * 1024
_METHODS: Final = {"PUT": ["PUT", "PATCH"]}


def redmine_app() -> Starlette:
    """A fresh Redmine that remembers what is done to it for as long as it lives."""
    app = Starlette(
        routes=[_route(place) for place in (*ISSUE_ROUTES, *OTHER_ROUTES)],
        exception_handlers={RefusedError: _refused, BrokenError: _broken, HTTPException: _no_such_place},
    )
    app.state.store = seeded_store()
    return app


def _route(place: Place) -> Route:
    method, path, endpoint = place
    whole = path.removesuffix("*") if path.endswith("*") else f"{path}.json"
    return Route(whole, _answering(endpoint), methods=_METHODS.get(method, [method]))


def _answering(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if len(request.url.query) > _LONGEST_QUERY:
            return Response(status_code=400)
        return written(endpoint(await _ask(request)))

    return answer


async def _ask(request: Request) -> Ask:
    store: Store = request.app.state.store
    raw, kind = await request.body(), request.headers.get("content-type", "")
    params = {**query_params(request.url.query), **body_params(raw, kind)}
    return Ask(
        store=store,
        who=_visitor(store, request, str(params.get("key") or "")),
        path=request.path_params,
        params=params,
        raw=raw,
        content_type=kind,
        accepts=request.headers.get("accept", ""),
        base_url=str(request.base_url).rstrip("/"),
    )


def _visitor(store: Store, request: Request, key_in_query: str) -> Visitor:
    """Whoever has the key and is active; anybody else is a stranger, without a word about it."""
    if not _api_enabled(store):
        return Visitor(store, None)
    token = store["tokens"].first(action="api", value=key_in_query or request.headers.get("x-redmine-api-key", ""))
    user: Row | None = store["users"].get(token["user_id"]) if token else None
    if user is None or user.get("status") != ACTIVE:
        return Visitor(store, None)
    return _switched(store, Visitor(store, user), request.headers.get("x-redmine-switch-user", ""))


def _switched(store: Store, visitor: Visitor, login: str) -> Visitor:
    """Administrators may ask as somebody else."""
    if not login or not visitor.admin:
        return visitor
    other = next((each for each in store["users"] if each.get("login", "").lower() == login.lower()), None)
    if other is None or other.get("status") != ACTIVE:
        raise RefusedError(412)
    return Visitor(store, other)


def _api_enabled(store: Store) -> bool:
    return str(store.setting("rest_api_enabled")) == "1"


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    # Nobody is asked for a key while no key is taken.
    hopeless = error.status == 401 and not _api_enabled(request.app.state.store)
    return refused(403 if hopeless else error.status, error.errors)


async def _broken(request: Request, error: Exception) -> Response:
    assert isinstance(error, BrokenError)
    return lost(400, request.headers.get("accept", "")) if error.status == 400 else broken(error.status)


async def _no_such_place(request: Request, _: Exception) -> Response:
    return lost(404, request.headers.get("accept", ""))
