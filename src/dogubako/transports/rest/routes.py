"""The routes of REST version 1, as one list."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from pydantic import ValidationError as ModelError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from dogubako._tasks import Ended
from dogubako.contract.call import NO_OPTIONS, Caller, ToolCall, ToolResult
from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.contract.timestamps import utc_text
from dogubako.engine.registration import ListFilter, ToolRegistryEntry
from dogubako.engine.search import Match
from dogubako.engine.validation import ModelValidator
from dogubako.engine.validation_messages import Complaint, collected
from dogubako.transports.http.at_once import BeginCall, CallInRequest, Outcome, whole_json
from dogubako.transports.http.disconnect import first_step, watched
from dogubako.transports.http.errors import challenge, elapsed_ms, json_response, log_problem, problem
from dogubako.transports.http.request import (
    caller_in,
    decode_object,
    head_fact,
    header,
    read_body,
    require_json,
    send_json,
)
from dogubako.transports.mcp.protocol import MAX_BODY_VALUES, NOT_JSON, trace_context
from dogubako.transports.rest.models import CallRequest, ListQuery, SearchRequest, SwitchRequest, tool_detail, tool_info
from dogubako.transports.rest.tasks import TASKS_PATH, TaskRoutes, task_info
from dogubako.transports.toolbox import ServedToolbox

Handler = Callable[[Request], Awaitable[Response]]

CALL_PATH = "/v1/tools/call"
_TURN_SECONDS = 0.02

_encode = msgspec.json.Encoder().encode
_SUCCESS = b'{"success":true,"result":%b,"executionTime":%d,"timestamp":"%b"}'
_CALL = ModelValidator(CallRequest)
_SEARCH = ModelValidator(SearchRequest)
_SWITCH = ModelValidator(SwitchRequest)


class CallRoute:
    """`POST /v1/tools/call`: the one route that must be fast. An ASGI app of its own, so that no router is needed."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside
        self._traced = inside.settings.otel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        head_fact(scope, require_json)
        encoded = await read_body(receive)
        call, wrong = self._read(encoded, scope)
        if self._traced and (parent := header(scope, b"traceparent")):
            call = msgspec.structs.replace(call, traceparent=trace_context({"traceparent": parent.decode("latin-1")}))
        pipeline = self._inside.pipeline
        outcome = pipeline.handle(call) if wrong is None else pipeline.refuse(call, wrong)
        await self.answer(started, outcome, scope, receive, send)

    def begins(self, scope: Scope) -> BeginCall | None:
        """What begins calls with this head in the read that brings them."""
        head_fact(scope, require_json)
        return None if self._traced else self._begin

    def _begin(self, body: bytes, caller: Caller) -> bytes | CallInRequest | None:
        started = time.perf_counter()
        if len(body) > MAX_BODY_VALUES:
            # Its values have to be counted first.
            return None
        try:
            plain = _read_plain(body)
        except NOT_JSON:
            return None
        call = ToolCall(name=plain.name, parameters=plain.parameters, door="rest", caller=caller)
        pipeline = self._inside.pipeline
        begun = pipeline.begin(call) or pipeline.outcome(call)
        if isinstance(begun, ToolResult) and begun.error is None:
            return whole_json(_success(begun, started))
        return _CallInRequest(begun, self, started)

    async def answer(self, started: float, outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the result of a call, when it is there."""
        step = Ended(outcome) if isinstance(outcome, ToolResult) else first_step(outcome)
        result = step.value if isinstance(step, Ended) else await watched(step, receive)
        if result.error is not None:
            log_problem(result.error, scope)
            headers = challenge(result.error, self._inside.authenticator)
            await problem(result.error, started, headers)(scope, receive, send)
            return
        if result.task is not None:
            location = (b"location", f"{TASKS_PATH}/{result.task.id}".encode())
            await send_json(send, _encode(task_info(result.task)), 202, [location])
            return
        await send_json(send, _success(result, started))

    def _read(self, encoded: bytes, scope: Scope) -> tuple[ToolCall, ValidationError | None]:
        """The call, and what is wrong with what stands around it."""
        return _read_call(encoded, caller_in(scope))


class _CallInRequest(CallInRequest):
    """A call in a request over REST."""

    __slots__ = ("_route", "_started")

    def __init__(self, begun: Any, route: CallRoute, started: float) -> None:
        super().__init__(begun)
        self._route = route
        self._started = started

    def whole_response(self, result: ToolResult) -> bytes:
        return whole_json(_success(result, self._started))

    def go_on(self, outcome: Outcome, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return self._route.answer(self._started, outcome, scope, receive, send)


def _success(result: ToolResult, started: float) -> bytes:
    # JSON is encoded already, and goes between prepared bytes.
    value = result.content[0]["text"].encode() if result.kind == "json" else _encode(result.value)
    return _SUCCESS % (value, elapsed_ms(started), utc_text().encode())


class NamedCallRoute(CallRoute):
    """`POST /v1/tools/{name}/call`: the body is the arguments alone."""

    def _read(self, encoded: bytes, scope: Scope) -> tuple[ToolCall, ValidationError | None]:
        arguments = decode_object(encoded) if encoded.strip() else {}
        name = scope["path_params"]["name"]
        return ToolCall(name=name, parameters=arguments, door="rest", caller=caller_in(scope)), None


class _PlainCall(msgspec.Struct, forbid_unknown_fields=True):
    """Nearly every call. All others go to the model, which has more fields and the words for what is wrong."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    parameters: dict[str, Any] = {}


_read_plain = msgspec.json.Decoder(_PlainCall).decode


def _read_call(encoded: bytes, caller: Caller) -> tuple[ToolCall, ValidationError | None]:
    """The call, and what is wrong with what stands around it. Without a name there is none."""
    try:
        plain = _read_plain(encoded)
    except NOT_JSON:
        return _read_by_model(decode_object(encoded), caller)
    return ToolCall(name=plain.name, parameters=plain.parameters, door="rest", caller=caller), None


def _read_by_model(said: Mapping[str, Any], caller: Caller) -> tuple[ToolCall, ValidationError | None]:
    try:
        body = _CALL.check(said)
    except ValidationError as error:
        if not isinstance(said.get("name"), str):
            raise
        return ToolCall(name=said["name"], door="rest", caller=caller), error
    options = body.options or NO_OPTIONS
    call = ToolCall(
        name=body.name, parameters=body.parameters, options=options, version=body.version, door="rest", caller=caller
    )
    return call, None


class RestV1:
    """Lists, shows, searches, switches and calls tools."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside
        self.call = CallRoute(inside)

    def routes(self) -> list[BaseRoute]:
        return [
            Route(CALL_PATH, self.call, methods=["POST"]),
            Route("/v1/tools/search", self._search, methods=["POST"]),
            Route("/v1/tools", self._list, methods=["GET"]),
            Route("/v1/tools/{name}/call", NamedCallRoute(self._inside), methods=["POST"]),
            Route("/v1/tools/{name}", self._one, methods=["GET", "PATCH"]),
            *TaskRoutes(self._inside).routes(),
            Route("/tools", _redirect("/v1/tools", 302), methods=["GET"]),
            Route("/tools/call", _redirect("/v1/tools/call", 307), methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        query = _list_query(request)
        wanted = ListFilter(category=query.category, tags=_each_once(query.tag), enabled=query.enabled)
        entries = [one for one in self._inside.registry.list(wanted) if self._forbidden(one, request) is None]
        start = (query.page - 1) * query.limit
        pages = -(-len(entries) // query.limit)
        return json_response(
            {
                "tools": await _in_turns(entries[start : start + query.limit]),
                "pagination": {"page": query.page, "limit": query.limit, "total": len(entries), "totalPages": pages},
            }
        )

    async def _one(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "PATCH":
            await self._switch(request, name)
            return json_response(tool_detail(self._inside.registry, name))
        entry = self._inside.registry.get(name, may_see=lambda one: self._forbidden(one, request) is None)
        if (error := self._forbidden(entry, request)) is not None:
            raise error
        return json_response(tool_detail(self._inside.registry, name))

    async def _search(self, request: Request) -> Response:
        require_json(request.scope)
        body = _SEARCH.check(decode_object(await read_body(request.receive)))
        if not body.query.strip():
            raise ValidationError.of("query", "Query is required")
        wanted = ListFilter(category=body.filters.category, tags=_each_once(body.filters.tags))
        found = await self._inside.finder.find(body.query, wanted, caller=caller_in(request.scope), door="rest")
        return json_response(
            {
                "query": body.query,
                "results": _scored(found.matches[: body.limit]),
                "total": len(found.matches),
                "nearest": _scored(found.nearest),
                "notIndexed": found.not_indexed,
            }
        )

    def _forbidden(self, entry: ToolRegistryEntry, request: Request) -> DogubakoError | None:
        """The one thing that hides a tool here: lists of REST also show what is disabled, and why."""
        return self._inside.pipeline.policy.forbidden(entry, caller_in(request.scope))

    async def _switch(self, request: Request, name: str) -> None:
        require_json(request.scope)
        body = _SWITCH.check(decode_object(await read_body(request.receive)))
        await self._inside.switchboard.switch(name, body.enabled, caller=caller_in(request.scope), door="rest")


async def _in_turns(entries: Sequence[ToolRegistryEntry]) -> list[dict[str, Any]]:
    """Describe many tools. Others get their turn meanwhile: schemas are derived when they are first shown."""
    shown, begun = [], time.perf_counter()
    for entry in entries:
        shown.append(tool_info(entry))
        if time.perf_counter() - begun > _TURN_SECONDS:
            await asyncio.sleep(0)
            begun = time.perf_counter()
    return shown


def _scored(matches: Sequence[Match]) -> list[dict[str, Any]]:
    return [{**tool_info(match.entry), "score": match.score} for match in matches]


def _list_query(request: Request) -> ListQuery:
    raw: dict[str, Any] = dict(request.query_params)
    if "tag" in raw:
        raw["tag"] = [tag for tags in request.query_params.getlist("tag") for tag in tags.split(",") if tag]
    try:
        return ListQuery.model_validate(raw)
    except ModelError as error:
        raise collected(_query_complaint(dict(one)) for one in error.errors(include_url=False)) from None


def _query_complaint(found: Mapping[str, Any]) -> Complaint:
    field = str(found["loc"][0])[:64]
    if found["type"] == "extra_forbidden":
        return Complaint.of(field, f"Unknown parameter: {field}")
    expected = {"int_parsing": "integer", "bool_parsing": "boolean"}.get(found["type"])
    if expected:
        return Complaint.of(field, f"Invalid type for parameter {field}: expected {expected}")
    constraint = str(found["msg"])[:1].lower() + str(found["msg"])[1:]
    return Complaint.of(field, f"Invalid value for parameter {field}: {constraint}")


def _each_once(tags: Sequence[str]) -> tuple[str, ...]:
    """Remove repeated tags: each is compared with the tags of every tool."""
    return tuple(dict.fromkeys(tags))


def _redirect(target: str, status: int) -> Handler:
    async def redirect(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{target}{query}", status_code=status)

    return redirect
