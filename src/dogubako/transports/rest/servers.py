"""The routes `/v1/servers…` for administrators: other MCP servers in the box."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from dogubako.engine.validation import ModelValidator
from dogubako.transports.http.errors import json_response
from dogubako.transports.http.request import caller_in, decode_object, read_body, require_json
from dogubako.transports.rest.models import AddServer, ApproveServer
from dogubako.transports.toolbox import ServedToolbox

_ADD = ModelValidator(AddServer)
_APPROVE = ModelValidator(ApproveServer)


class ServerRoutes:
    """Lists, shows, adds, removes, approves and restarts servers."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/servers", self._all, methods=["GET", "POST"]),
            Route("/v1/servers/{name}", self._one, methods=["GET", "DELETE"]),
            Route("/v1/servers/{name}/approve", self._approve, methods=["POST"]),
            Route("/v1/servers/{name}/restart", self._restart, methods=["POST"]),
        ]

    async def _all(self, request: Request) -> Response:
        servers, caller = self._inside.server_administration, caller_in(request.scope)
        if request.method != "POST":
            return json_response({"servers": await servers.list(caller=caller, door="rest")})
        body = _ADD.check(await _body(request))
        added = await servers.add(body.name, body.settings, approve=body.approve, caller=caller, door="rest")
        return json_response(added, status=201)

    async def _one(self, request: Request) -> Response:
        servers, caller, name = (
            self._inside.server_administration,
            caller_in(request.scope),
            request.path_params["name"],
        )
        if request.method != "DELETE":
            return json_response(await servers.show(name, caller=caller, door="rest"))
        await servers.remove(name, caller=caller, door="rest")
        return json_response({"removed": name})

    async def _approve(self, request: Request) -> Response:
        body = _APPROVE.check(await _body(request))
        caller, name = caller_in(request.scope), request.path_params["name"]
        servers = self._inside.server_administration
        return json_response(await servers.approve(name, body.tools, caller=caller, door="rest"))

    async def _restart(self, request: Request) -> Response:
        await _body(request)
        caller, name = caller_in(request.scope), request.path_params["name"]
        return json_response(await self._inside.server_administration.restart(name, caller=caller, door="rest"))


async def _body(request: Request) -> dict[str, Any]:
    """The body as an object. JSON is required, so that no page of another site can send it."""
    require_json(request.scope)
    return decode_object(await read_body(request.receive))
