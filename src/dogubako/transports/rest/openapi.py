"""The OpenAPI description of REST version 1, and on request one operation for each tool."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dogubako._version import __version__
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.settings import AuthKind
from dogubako.transports.rest import models

# The page that shows the description, and its files.
DOCS_FOLDER = Path(__file__).with_name("static")
DOCS_PATHS = frozenset({"/docs", "/docs/docs.css", "/docs/docs.js"})

_REFERENCE = "#/components/schemas/{model}"
_COMMON_ERRORS = (400, 401, 403, 500)
_CALL_ERRORS = (404, 408, 409, 413, 415, 429, 499, 502, 503, 508)

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


def with_tools(described: Mapping[str, Any], entries: Iterable[ToolRegistryEntry]) -> dict[str, Any]:
    """The description with an operation for each of these tools, whose body is its own schema."""
    named = {f"/v1/tools/{entry.name}/call": {"post": _tool_operation(entry)} for entry in entries}
    return {**described, "paths": {**described["paths"], **named}}


def _tool_operation(entry: ToolRegistryEntry) -> dict[str, Any]:
    metadata = entry.metadata
    schema = dict(metadata.input_schema)
    # A reference of a foreign schema would point into this document.
    schema = schema if b"$ref" not in msgspec.json.encode(schema) else {"type": "object"}
    content: dict[str, Any] = {"schema": schema}
    if metadata.examples:
        content["examples"] = {
            str(at): {"summary": one.description, "value": one.parameters} for at, one in enumerate(metadata.examples)
        }
    return {
        **_operation(f"tool_{entry.name}", metadata.title, models.CallAnswer, None, _CALL_ERRORS),
        "description": metadata.description,
        "tags": [entry.pack],
        "requestBody": {"required": bool(schema.get("required")), "content": {"application/json": content}},
    }


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
        "/metrics": {"get": _numbers()},
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
            "post": _with_task(
                _operation("callTool", "Run a tool.", models.CallAnswer, models.CallRequest, _CALL_ERRORS)
            )
        },
        "/v1/tools/{name}/call": {
            "post": _operation("callNamedTool", "Run this tool.", models.CallAnswer, models.Arguments, _CALL_ERRORS)
            | {"parameters": [name]}
        },
        "/v1/tools/search": {
            "post": _operation(
                "searchTools", "Find tools by plain words.", models.SearchAnswer, models.SearchRequest, (413, 415, 429)
            )
        },
        **_task_paths(),
        **_server_paths(name),
    }


def _with_task(operation: dict[str, Any]) -> dict[str, Any]:
    """With `options.task` a call is answered with a task."""
    started = _content("Started as a task.", models.TaskInfo)
    started["headers"] = {"Location": {"schema": {"type": "string"}, "description": "Where the task is."}}
    return {**operation, "responses": {**operation["responses"], "202": started}}


def _task_paths() -> dict[str, Any]:
    named = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]}
    task, errors = models.TaskInfo, (404, 429, 503)
    return {
        "/v1/tasks": {"get": _operation("listTasks", "List your tasks.", models.TaskList, errors=(429, 503))},
        "/v1/tasks/{id}": {
            "get": _operation("showTask", "Show a task, with its result.", task, errors=errors) | named,
            "delete": _operation("cancelTask", "Cancel a task.", task, errors=errors) | named,
        },
        "/v1/tasks/{id}/update": {
            "post": _operation(
                "updateTask", "Answer what a task waits for.", task, models.UpdateTask, (*errors, 413, 415)
            )
            | named
        },
    }


def _server_paths(name: dict[str, Any]) -> dict[str, Any]:
    changes = (404, 413, 415, 429, 502)
    detail, named = models.McpServerDetail, {"parameters": [name]}
    return {
        "/v1/servers": {
            "get": _operation("listServers", "List other MCP servers.", models.McpServerList),
            "post": _operation("addServer", "Connect and add a server.", detail, models.AddServer, changes, status=201),
        },
        "/v1/servers/{name}": {
            "get": _operation("showServer", "Show one server.", detail, errors=(404,)) | named,
            "delete": _operation("removeServer", "Remove a server.", models.RemovedServer, errors=changes) | named,
        },
        "/v1/servers/{name}/approve": {
            "post": _operation("approveServer", "Approve its tools.", detail, models.ApproveServer, changes) | named
        },
        "/v1/servers/{name}/restart": {
            "post": _operation("restartServer", "Connect it again.", models.McpServer, models.RestartServer, changes)
            | named
        },
    }


def _numbers() -> dict[str, Any]:
    operation = _operation("metrics", "Numbers for Prometheus.", models.Health)
    operation["responses"]["200"] = {"description": "OK.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return operation


def _operation(
    operation_id: str,
    summary: str,
    answer: type[BaseModel],
    body: type[BaseModel] | None = None,
    errors: tuple[int, ...] = (),
    not_yet: type[BaseModel] | None = None,
    status: int = 200,
) -> dict[str, Any]:
    codes = sorted({*_COMMON_ERRORS, *errors})
    operation: dict[str, Any] = {
        "operationId": operation_id,
        "summary": summary,
        "responses": {str(status): _content("OK.", answer)}
        | {str(code): _content("Failed.", models.ErrorAnswer) for code in codes},
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
        models.SearchAnswer, models.ErrorAnswer, models.McpServer, models.McpServerList, models.McpServerDetail,
        models.RemovedServer, models.TaskInfo, models.TaskList,
    )  # fmt: skip
    bodies = (
        models.Arguments, models.CallRequest, models.SearchRequest, models.SwitchRequest, models.AddServer,
        models.ApproveServer, models.RestartServer, models.UpdateTask,
    )  # fmt: skip
    _, sent = models_json_schema([(model, "serialization") for model in answers], ref_template=_REFERENCE)
    _, taken = models_json_schema([(model, "validation") for model in bodies], ref_template=_REFERENCE)
    return {**sent["$defs"], **taken["$defs"]}
