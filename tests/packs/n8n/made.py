"""Executions made by hand, as n8n would tell them, and a toolbox whose n8n knows only these."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, Final

import httpx2
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dogubako.app import Toolbox, build
from dogubako.contract.pack import Host
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.client import connect as connect_client
from dogubako.packs.n8n.models import Execution, read_execution
from dogubako.packs.n8n.pack import N8nPack
from dogubako.packs.n8n.settings import N8nSettings
from dogubako.settings import Sources

JsonObject = dict[str, Any]

WORKFLOW_ID: Final = "made0000made0000"
_STARTED: Final = 1_763_251_200_000


def item(data: Any, paired: Any = 0, **more: Any) -> JsonObject:
    """One item; `paired` is what n8n says it was made from, and None says nothing."""
    return {"json": data, **more} | ({} if paired is None else {"pairedItem": paired})


def items(*data: Any) -> list[JsonObject]:
    """One item per value, each made from the item at the same place."""
    return [item(value, index) for index, value in enumerate(data)]


def run(
    *outputs: Sequence[JsonObject] | None, after: Sequence[str | JsonObject | None] | str = (), **more: Any
) -> JsonObject:
    """One run that gave out these items, by output, and was fed by these nodes, by input."""
    sources = [after] if isinstance(after, str) else after
    told = [{"previousNode": source} if isinstance(source, str) else source for source in sources]
    facts = {"startTime": _STARTED, "executionTime": 5, "executionStatus": "success", "source": told}
    return {**facts, "data": {"main": list(outputs)}, **more}


def failed_run(message: str, *, after: Sequence[str | JsonObject | None] | str, **error: Any) -> JsonObject:
    """A run that ended with an error and gave out nothing."""
    told = run(after=after, executionStatus="error", error={"message": message, **error}, executionIndex=99)
    del told["data"]
    return told


def node(name: str, code: str = "", **more: Any) -> JsonObject:
    """A node as the workflow has it; its code is where it says what it reads."""
    return {"name": name, "type": "n8n-nodes-base.code", "parameters": {"jsCode": code}, **more}


def made(
    runs: Mapping[str, Sequence[JsonObject]], *nodes: JsonObject, status: str = "error", **more: Any
) -> JsonObject:
    """An execution. Nodes that are not described are plain ones; the last in `runs` is the last executed."""
    described = {one["name"] for one in nodes}
    others = [node(name) for name in runs if name not in described]
    body = {"resultData": {"runData": runs, "lastNodeExecuted": next(reversed(list(runs)), None)}}
    workflow = {"id": WORKFLOW_ID, "name": "Made by hand", "nodes": [*others, *nodes], "connections": {}}
    facts = {"id": "1", "status": status, "mode": "webhook", "finished": True, "workflowId": WORKFLOW_ID}
    times = {"startedAt": "2026-11-16T00:00:00.000Z", "stoppedAt": "2026-11-16T00:00:01.500Z"}
    return {**facts, **times, "data": body, "workflowData": workflow, **more}


def wires(*names: str) -> JsonObject:
    """Connections from each node to the next."""
    return {one: {"main": [[{"node": other, "type": "main", "index": 0}]]} for one, other in pairwise(names)}


def as_read(execution: JsonObject) -> Execution:
    """What our client makes of it."""
    return read_execution(msgspec.json.encode(execution))


def box_with(execution: JsonObject, *others: JsonObject) -> Toolbox:
    """A toolbox whose n8n holds this execution, usually under the id '1', and these others."""
    sources = Sources(environ={"N8N_URL": "http://n8n.test", "N8N_API_KEY": "made-key"}, env_file=None)
    bodies = {str(one["id"]): msgspec.json.encode(one) for one in (execution, *others)}
    return build(sources, packs=[_MadePack(bodies)])


class _MadePack(N8nPack):
    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self._bodies = bodies

    @asynccontextmanager
    async def connect(self, settings: N8nSettings, host: Host) -> AsyncIterator[N8nClient]:
        app = Starlette(routes=[Route("/api/v1/executions/{number}", self._answer)])
        host.transport = httpx2.ASGITransport(app=app)
        async with connect_client(settings, host) as client:
            yield client

    async def _answer(self, request: Request) -> Response:
        body = self._bodies.get(request.path_params["number"])
        if body is None:
            return Response(b'{"message":"Not Found"}', status_code=404, media_type="application/json")
        return Response(body, media_type="application/json")


def cause_told(report: JsonObject) -> JsonObject:
    """What a diagnosis claims, or what it has noticed where it claims nothing."""
    return dict(report.get("origin") or report["noticed"])
