"""The sandbox's Redmine: an ASGI app, and every endpoint of it: method, path without `.json`, and function."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from dogubako_sandbox.redmine import (
    attachments,
    issue_saving,
    issues,
    journals,
    lookups,
    pages,
    project_records,
    projects,
    relations,
    time_entries,
    users,
    wiki,
)
from dogubako_sandbox.redmine.issue_list import list_issues
from dogubako_sandbox.redmine.memberships import MEMBERSHIPS
from dogubako_sandbox.redmine.permissions import ACTIVE, CurrentUser
from dogubako_sandbox.redmine.records import Endpoint, Route
from dogubako_sandbox.redmine.request import Answer, ApiRequest, BrokenError, RefusedError, body_params
from dogubako_sandbox.redmine.search import search
from dogubako_sandbox.redmine.store import Row, Store
from dogubako_sandbox.redmine.world import WORLD, seeded_store

_WIKI: Final = "/projects/{project_id}/wiki"

ROUTES: Final[tuple[Route, ...]] = (
    ("GET", "/issues", list_issues),
    ("POST", "/issues", issues.create_issue),
    ("GET", "/projects/{project_id}/issues", list_issues),
    ("POST", "/projects/{project_id}/issues", issues.create_issue),
    ("GET", "/issues/{id}", issues.show_issue),
    ("PUT", "/issues/{id}", issues.update_issue),
    ("DELETE", "/issues/{id}", issues.delete_issue),
    ("POST", "/issues/{issue_id}/watchers", relations.add_watcher),
    ("DELETE", "/issues/{issue_id}/watchers/{user_id}", relations.remove_watcher),
    ("GET", "/issues/{issue_id}/relations", relations.list_relations),
    ("POST", "/issues/{issue_id}/relations", relations.create_relation),
    ("GET", "/relations/{id}", relations.show_relation),
    ("DELETE", "/relations/{id}", relations.delete_relation),
    *project_records.CATEGORIES.routes(),
    *project_records.VERSIONS.routes(),
    *MEMBERSHIPS.routes(),
    ("GET", "/news", project_records.list_news),
    ("GET", "/projects/{project_id}/news", project_records.list_news),
    ("POST", "/projects/{project_id}/news", project_records.create_news),
    ("GET", "/news/{id}", project_records.show_news),
    ("PUT", "/news/{id}", project_records.update_news),
    ("DELETE", "/news/{id}", project_records.delete_news),
    ("PUT", "/journals/{id}", journals.update_journal),
    ("GET", "/projects", projects.list_projects),
    ("POST", "/projects", projects.create_project),
    ("GET", "/projects/{id}", projects.show_project),
    ("PUT", "/projects/{id}", projects.update_project),
    ("DELETE", "/projects/{id}", projects.delete_project),
    *((method, "/projects/{id}/archive", projects.archive_project) for method in ("PUT", "POST")),
    *((method, "/projects/{id}/unarchive", projects.unarchive_project) for method in ("PUT", "POST")),
    *((method, "/projects/{id}/close", projects.close_project) for method in ("PUT", "POST")),
    *((method, "/projects/{id}/reopen", projects.reopen_project) for method in ("PUT", "POST")),
    ("GET", "/time_entries", time_entries.list_time_entries),
    ("POST", "/time_entries", time_entries.create_time_entry),
    ("GET", "/projects/{project_id}/time_entries", time_entries.list_time_entries),
    ("GET", "/time_entries/{id}", time_entries.show_time_entry),
    ("PUT", "/time_entries/{id}", time_entries.update_time_entry),
    ("DELETE", "/time_entries/{id}", time_entries.delete_time_entry),
    ("GET", "/users", users.list_users),
    ("POST", "/users", users.create_user),
    ("GET", "/users/{id}", users.show_user),
    ("PUT", "/users/{id}", users.update_user),
    ("DELETE", "/users/{id}", users.delete_user),
    ("GET", "/my/account", users.show_account),
    ("PUT", "/my/account", users.update_account),
    ("GET", "/groups", users.list_groups),
    ("GET", "/groups/{id}", users.show_group),
    ("GET", _WIKI, wiki.show_page),
    ("GET", f"{_WIKI}/index", wiki.list_pages),
    ("GET", f"{_WIKI}/{{title}}", wiki.show_page),
    ("GET", f"{_WIKI}/{{title}}/{{version}}", wiki.show_page),
    ("PUT", f"{_WIKI}/{{title}}", wiki.save_page),
    ("DELETE", f"{_WIKI}/{{title}}", wiki.delete_page),
    ("GET", "/projects/{project_id}/files", attachments.list_files),
    ("POST", "/projects/{project_id}/files", attachments.create_file),
    ("POST", "/uploads", attachments.upload_file),
    ("GET", "/attachments/{id}", attachments.show_attachment),
    ("PUT", "/attachments/{id}", attachments.update_attachment),
    ("DELETE", "/attachments/{id}", issue_saving.delete_attachment),
    ("GET", "/attachments/download/{id}/{filename}*", attachments.download),
    ("GET", "/attachments/download/{id}*", attachments.download),
    ("GET", "/search", search),
    ("GET", "/projects/{project_id}/search", search),
    ("GET", "/issue_statuses", lookups.list_statuses),
    ("GET", "/trackers", lookups.list_trackers),
    ("GET", "/enumerations/{kind}", lookups.list_enumerations),
    ("GET", "/roles", lookups.list_roles),
    ("GET", "/roles/{id}", lookups.show_role),
    ("GET", "/queries", lookups.list_queries),
    ("GET", "/custom_fields", lookups.list_custom_fields),
    ("GET", "/issues*", pages.issues_page),
    ("GET", "/projects/{project_id}/issues*", pages.issues_page),
    ("GET", "/issues/{id:int}*", pages.issue_page),
    ("GET", "/my/account*", pages.account_page),
)


ADMIN_KEY: Final = "a" * 40
# The web server in front of Redmine reads no longer query than this.
_LONGEST_QUERY: Final = 10 * 1024
_METHODS: Final = {"PUT": ["PUT", "PATCH"]}
_JSON: Final = "application/json; charset=utf-8"
# Redmine's JSON escapes what a web page could trip over.
_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_NO_PAGE: Final = "<!DOCTYPE html>\n<html>\n<head><title>Redmine 404 error</title></head>\n<body></body>\n</html>\n"
_REASONS: Final = {400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}


def redmine_app(recording: Path = WORLD) -> Starlette:
    """Return a fresh Redmine that remembers all changes for as long as it lives."""
    app = Starlette(
        routes=[_route(*each) for each in ROUTES],
        exception_handlers={RefusedError: _refused, BrokenError: _broken, HTTPException: _no_route},
    )
    app.state.store = seeded_store(recording)
    return app


def _route(method: str, path: str, endpoint: Endpoint) -> StarletteRoute:
    whole = path.removesuffix("*") if path.endswith("*") else f"{path}.json"
    return StarletteRoute(whole, _answering(endpoint), methods=_METHODS.get(method, [method]))


def _answering(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        if len(request.url.query) > _LONGEST_QUERY:
            return Response(status_code=400)
        return _response(endpoint(await _api_request(request)))

    return answer


async def _api_request(request: Request) -> ApiRequest:
    store: Store = request.app.state.store
    raw, kind = await request.body(), request.headers.get("content-type", "")
    params = {**dict(parse_qsl(request.url.query, keep_blank_values=True)), **body_params(raw, kind)}
    return ApiRequest(
        store=store,
        user=_current_user(store, request, str(params.get("key") or "")),
        path=request.path_params,
        params=params,
        raw=raw,
        content_type=kind,
        accepts=request.headers.get("accept", ""),
        base_url=str(request.base_url).rstrip("/"),
    )


def _current_user(store: Store, request: Request, key_in_query: str) -> CurrentUser:
    """Return the active user with this key; any other key is as good as none."""
    key = key_in_query or request.headers.get("x-redmine-api-key", "")
    token = store["tokens"].first(action="api", value=key) if _api_enabled(store) else None
    user: Row | None = store["users"].get(token["user_id"]) if token else None
    if user is None or user.get("status") != ACTIVE:
        return CurrentUser(store, None)
    login = request.headers.get("x-redmine-switch-user", "").lower()
    if login and user.get("admin"):
        # Administrators may ask as another user.
        user = next((each for each in store["users"] if each.get("login", "").lower() == login), {})
        if user.get("status") != ACTIVE:
            raise RefusedError(412)
    return CurrentUser(store, user)


def _api_enabled(store: Store) -> bool:
    return str(store.setting("rest_api_enabled")) == "1"


def _response(answer: Any) -> Response:
    if not isinstance(answer, Answer):
        return _json(200, answer)
    if answer.content is not None:
        return Response(answer.content, answer.status, dict(answer.headers))
    if answer.body is None:
        return Response(status_code=answer.status)
    response = _json(answer.status, answer.body)
    response.headers.update(answer.headers)
    return response


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a refusal: empty, although its type is JSON, unless the validation has sentences."""
    assert isinstance(error, RefusedError)
    if error.errors is not None:
        return _json(error.status, {"errors": error.errors})
    # Redmine asks for no key while it takes none.
    status = 403 if error.status == 401 and not _api_enabled(request.app.state.store) else error.status
    login = {"www-authenticate": 'Basic realm="Redmine API"'} if status == 401 else {}
    return Response(status_code=status, headers={"content-type": "application/json", **login})


async def _broken(request: Request, error: Exception) -> Response:
    assert isinstance(error, BrokenError)
    return _rails_error(error.status, request) if error.status == 400 else _rails_error(error.status)


async def _no_route(request: Request, _: Exception) -> Response:
    return _rails_error(404, request)


def _rails_error(status: int, request: Request | None = None) -> Response:
    """Answer in JSON, or with a page for clients that do not ask for JSON."""
    if request is None or "application/json" in request.headers.get("accept", ""):
        return _json(status, {"status": status, "error": _REASONS[status]})
    return Response(_NO_PAGE if status == 404 else "", status, {"content-type": "text/html; charset=utf-8"})


def _json(status: int, body: Any) -> Response:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return Response(text.encode("utf-8", "surrogatepass"), status, {"content-type": _JSON})
