"""n8n 2.41.1 as far as our tools use it: the public API, webhooks, and the public settings."""

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dogubako_sandbox.n8n import administration, executions
from dogubako_sandbox.n8n import other_endpoints as others
from dogubako_sandbox.n8n import workflow_endpoints as workflows
from dogubako_sandbox.n8n.other_endpoints import call_webhook
from dogubako_sandbox.n8n.replay import seeded_store
from dogubako_sandbox.n8n.request import ANY, NO_SCOPE_KEY, SANDBOX_KEY, Answer, Ask, RefusedError, check_scope
from dogubako_sandbox.n8n.store import Store

__all__ = ["NO_SCOPE_KEY", "SANDBOX_KEY", "n8n_app", "starting_app"]

Endpoint = Callable[[Store, Ask], Any]

_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_UNREADABLE: Final = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Error</title>\n</head>\n<body>\n'
    "<pre>ResponseError: Failed to parse request body</pre>\n</body>\n</html>\n"
)
_STARTING: Final = "n8n is starting up. Please wait"


def n8n_app() -> Starlette:
    """A new n8n that keeps its state as long as it lives."""
    app = Starlette(
        routes=[
            _api("GET", "/workflows", "workflow:list", workflows.list_workflows),
            _api("POST", "/workflows", "workflow:create", workflows.create_workflow, needs_body=True),
            _api("GET", "/workflows/{id}", "workflow:read", workflows.get_workflow),
            _api("PUT", "/workflows/{id}", "workflow:update", workflows.update_workflow, needs_body=True),
            _api("DELETE", "/workflows/{id}", "workflow:delete", workflows.delete_workflow),
            _api("POST", "/workflows/{id}/publish", "workflow:activate", workflows.publish_workflow),
            _api("POST", "/workflows/{id}/activate", "workflow:activate", workflows.publish_workflow),
            _api("POST", "/workflows/{id}/unpublish", "workflow:deactivate", workflows.unpublish_workflow),
            _api("POST", "/workflows/{id}/deactivate", "workflow:deactivate", workflows.unpublish_workflow),
            _api("POST", "/workflows/{id}/archive", "workflow:delete", workflows.archive_workflow),
            _api("POST", "/workflows/{id}/unarchive", "workflow:delete", workflows.unarchive_workflow),
            _api("GET", "/workflows/{id}/history", "workflow:read", workflows.list_versions),
            _api("GET", "/workflows/{id}/versions/{version}", "workflow:read", workflows.get_version),
            _api("GET", "/workflows/{id}/tags", "workflowTags:list", workflows.get_workflow_tags),
            _api("PUT", "/workflows/{id}/tags", "workflowTags:update", workflows.set_workflow_tags, needs_body=True),
            _api("GET", "/workflows/{id}/{version}", "workflow:read", workflows.get_version),
            _api("GET", "/executions", "execution:list", executions.list_executions),
            _api("GET", "/executions/{id}", "execution:read", executions.get_execution),
            _api("DELETE", "/executions/{id}", "execution:delete", executions.delete_execution),
            _api("POST", "/executions/{id}/stop", "execution:stop", executions.stop_execution),
            _api("POST", "/executions/{id}/retry", "execution:retry", executions.retry_execution),
            _api("GET", "/tags", "tag:list", others.list_tags),
            _api("POST", "/tags", "tag:create", others.create_tag, needs_body=True),
            _api("GET", "/credentials", "credential:list", others.list_credentials),
            _api("POST", "/credentials", "credential:create", others.create_credential, needs_body=True),
            _api("GET", "/credentials/schema/{type}", ANY, others.credential_schema),
            _api("POST", "/credentials/{id}/test", "credential:read", administration.test_credential),
            _api("PUT", "/tags/{id}", "tag:update", administration.rename_tag, needs_body=True),
            _api("DELETE", "/tags/{id}", "tag:delete", administration.delete_tag),
            _api("GET", "/data-tables", "dataTable:list", administration.list_tables),
            _api("POST", "/data-tables", "dataTable:create", administration.create_table, needs_body=True),
            _api("GET", "/data-tables/{id}/rows", "dataTableRow:read", administration.list_rows),
            _api("POST", "/data-tables/{id}/rows", "dataTableRow:create", administration.insert_rows, needs_body=True),
            _api("PATCH", "/data-tables/{id}/rows/update", "dataTableRow:update", administration.update_rows),
            _api("POST", "/data-tables/{id}/rows/upsert", "dataTableRow:upsert", administration.upsert_rows),
            _api("DELETE", "/data-tables/{id}/rows/delete", "dataTableRow:delete", administration.delete_rows),
            _api("POST", "/audit", "securityAudit:generate", administration.audit),
            _api("GET", "/insights/summary", "insights:read", administration.insights),
            _api("GET", "/users", "user:list", others.list_users),
            _api("GET", "/discover", ANY, others.discover),
            _api("GET", "/variables", ANY, others.unlicensed("feat:variables")),
            _api("GET", "/projects", ANY, others.unlicensed("feat:projectRole:admin")),
            Route("/", _editor),
            Route("/rest/settings", _public_settings),
            Route("/webhook/{path:path}", _webhook, methods=_METHODS),
        ],
        exception_handlers={RefusedError: _refused, HTTPException: _no_such_endpoint},
    )
    app.state.store = seeded_store()
    return app


def starting_app() -> Starlette:
    """n8n in its first seconds: every answer is 200 and no JSON."""

    async def answer(_: Request) -> Response:
        return PlainTextResponse(_STARTING)

    return Starlette(routes=[Route("/{path:path}", answer, methods=_METHODS)])


def _api(method: str, path: str, scope: str, endpoint: Endpoint, *, needs_body: bool = False) -> Route:
    """One endpoint of the public API. Key and scope are checked before the request itself."""

    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await request.body() or b"null") if _is_json(request) else None
        except ValueError:
            return HTMLResponse(_UNREADABLE, status_code=500)
        key = request.headers.get("x-n8n-api-key", "")
        check_scope(key, scope)
        kind = request.headers.get("content-type", "undefined" if needs_body else "")
        if kind and not _is_json(request):
            raise RefusedError(415, f"unsupported media type {kind}")
        ask = Ask(path=request.path_params, query=request.query_params, body=body, key=key)
        return _written(endpoint(request.app.state.store, ask))

    return Route(f"/api/v1{path}", answer, methods=[method])


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/json")


async def _webhook(request: Request) -> Response:
    path, headers = request.path_params["path"], dict(request.headers)
    return _written(call_webhook(request.app.state.store, request.method, path, headers))


async def _editor(_: Request) -> Response:
    """The page of the editor. Its error reporting has the only mention of the version."""
    reporting = json.dumps({"dsn": "", "environment": "development", "release": "n8n@2.41.1"})
    encoded = b64encode(reporting.encode()).decode()
    return HTMLResponse(f'<html><head><meta name="n8n:config:sentry" content="{encoded}"></head></html>')


async def _public_settings(_: Request) -> Response:
    """n8n does not reveal its version here without a login."""
    users = {"authenticationMethod": "email", "showSetupOnFirstLoad": False, "smtpSetup": False, "passwordMinLength": 8}
    return JSONResponse({"data": {"settingsMode": "public", "defaultLocale": "en", "userManagement": users}})


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return JSONResponse({"message": error.message}, status_code=error.status)


async def _no_such_endpoint(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    missing = error.status_code == 404
    message = "not found" if missing else f"{request.method} method not allowed"
    return JSONResponse({"message": message}, status_code=error.status_code)


def _written(answer: Any) -> Response:
    if isinstance(answer, Answer):
        return JSONResponse(answer.body, status_code=answer.status)
    return JSONResponse(answer)
