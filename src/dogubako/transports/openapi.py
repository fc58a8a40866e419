"""The OpenAPI 3.1 description, made from the same models that check and shape what is served."""

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dogubako import __version__
from dogubako.settings import AuthKind
from dogubako.transports import rest_models as models

_REFERENCE = "#/components/schemas/{model}"
_COMMON_ERRORS = (400, 401, 403, 500)

_CREDENTIALS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key of this server, or an access token."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key of this server."},
}


@cache
def describe(auth: AuthKind = "off") -> dict[str, Any]:
    """The whole description. Where callers must prove who they are, it says how."""
    if auth == "off":
        return _described()
    ways = {name: _CREDENTIALS[name] for name in (("bearer", "apiKey") if auth == "keys" else ("bearer",))}
    described = _described()
    for path in FOR_EVERYBODY:
        described["paths"][path]["get"]["security"] = []
    described["components"]["securitySchemes"] = ways
    return {**described, "security": [{name: []} for name in ways]}


# For operators' probes, which bring no credentials.
FOR_EVERYBODY = frozenset({"/healthz", "/readyz"})


def _described() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dogubako",
            "version": __version__,
            "description": "Tools that AI agents can rely on. The same tools answer over MCP at /mcp.",
        },
        "paths": _paths(),
        "components": {"schemas": _schemas()},
    }


def _paths() -> dict[str, Any]:
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/": {"get": _operation("serverInfo", "Is the server running?", models.ServerInfo)},
        "/healthz": {"get": _operation("health", "Is the process alive?", models.Health)},
        "/readyz": {
            "get": _operation(
                "readiness", "Can every configured service be reached?", models.Readiness, not_yet=models.Readiness
            )
        },
        "/v1/tools": {
            "get": _operation("listTools", "List tools.", models.ToolList) | {"parameters": _list_parameters()}
        },
        "/v1/tools/{name}": {
            "get": _operation("showTool", "Show one tool.", models.ToolDetail, errors=(404,)) | {"parameters": [name]},
            "patch": _operation(
                "switchTool", "Enable or disable a tool.", models.ToolDetail, models.SwitchRequest, (404, 413, 415, 429)
            )
            | {"parameters": [name]},
        },
        "/v1/tools/call": {
            "post": _operation(
                "callTool",
                "Run a tool.",
                models.CallAnswer,
                models.CallRequest,
                (404, 408, 413, 415, 429, 499, 502, 503),
            )
        },
        "/v1/tools/search": {
            "post": _operation(
                "searchTools", "Find tools by plain words.", models.SearchAnswer, models.SearchRequest, (413, 415, 429)
            )
        },
    }


def _operation(
    operation_id: str,
    summary: str,
    answer: type[BaseModel],
    body: type[BaseModel] | None = None,
    errors: tuple[int, ...] = (),
    not_yet: type[BaseModel] | None = None,
) -> dict[str, Any]:
    statuses = sorted({*_COMMON_ERRORS, *errors})
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "summary": summary,
        "responses": {"200": _content("OK.", answer)}
        | {str(status): _content("Failed.", models.ErrorAnswer) for status in statuses},
    }
    if not_yet is not None:
        operation["responses"]["503"] = _content("Not ready.", not_yet)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _reference(body)}}}
    return operation


def _content(description: str, answer: type[BaseModel]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _reference(answer)}}}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def _list_parameters() -> list[dict[str, Any]]:
    properties = models.ListQuery.model_json_schema()["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in properties.items()]


def _schemas() -> dict[str, Any]:
    answers = (
        models.ServerInfo, models.Health, models.Readiness, models.ToolList, models.ToolDetail, models.CallAnswer,
        models.SearchAnswer, models.ErrorAnswer,
    )  # fmt: skip
    bodies = (models.CallRequest, models.SearchRequest, models.SwitchRequest)
    _, sent = models_json_schema([(model, "serialization") for model in answers], ref_template=_REFERENCE)
    _, taken = models_json_schema([(model, "validation") for model in bodies], ref_template=_REFERENCE)
    return {**sent["$defs"], **taken["$defs"]}
