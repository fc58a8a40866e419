"""The MCP server on the SDK's low-level server: tools, resources, prompts and completions."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from secrets import token_bytes
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from dogubako._version import __version__
from dogubako.contract.call import TRUSTED, Caller, Door, ToolCall, ToolResult
from dogubako.contract.conversation import TASKS, InputRequired
from dogubako.contract.errors import DogubakoError, ToolNotFoundError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.key_ring import KeyRing
from dogubako.transports.http.open_files import most_streams
from dogubako.transports.http.request import caller_in
from dogubako.transports.mcp import lists
from dogubako.transports.mcp.conversation import LOG_LEVEL_KEY, Context, McpConversation, connection_state
from dogubako.transports.mcp.handover import HANDOVER, Handover
from dogubako.transports.mcp.protocol import (
    INTERNAL_ERROR,
    MODERN_VERSION,
    Refusal,
    call_result,
    options_from,
    refusal_of,
    refusal_outside_tools,
    trace_context,
)
from dogubako.transports.mcp.question_state import STATE_SECONDS, Answers
from dogubako.transports.mcp.sdk_internals import SUBSCRIPTIONS_KEY, Listeners, session_of
from dogubako.transports.mcp.shared_sessions import SharedSessions
from dogubako.transports.mcp.tasks import TaskMethods, takes_tasks
from dogubako.transports.toolbox import SERVER_NAME, ServedToolbox

Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]

_MOST_SUBSCRIPTIONS: Final = 1_000
_LONGEST_URI: Final = 2_000
_MOST_URI_CHARACTERS: Final = 50_000

_HINT = CacheHint(ttl_ms=0, scope="private")


class LowLevelServer(Server[Any]):
    """Announces list changes also over HTTP, where the SDK asks for its options without arguments."""

    announces_changes = True
    # The extensions that are offered now, to clients of 2026-07-28 or older ones.
    offers: Callable[[bool], dict[str, dict[str, Any]]] = staticmethod(lambda modern: {})

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = self.announces_changes
        options = notification_options or NotificationOptions(changes, changes, changes)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        # Tasks exist since 2026-07-28.
        offers = self.offers(protocol_version == MODERN_VERSION)
        offered = {**(extensions or {}), **offers} or None
        return super().get_capabilities(
            notification_options, experimental_capabilities, offered, protocol_version=protocol_version
        )


class McpServer:
    """One MCP server for all connections of a process.

    With `announces_changes=False` its capabilities name no list changes, and nobody can subscribe: a change in one
    worker process is not heard in the others, and without sessions there is no stream to tell it on.
    """

    def __init__(
        self,
        inside: ServedToolbox,
        *,
        announces_changes: bool = True,
        handovers: dict[str | int, Handover] | None = None,
    ) -> None:
        self._inside = inside
        # Calls over stdio that run already, by the id of their request.
        self._handovers = {} if handovers is None else handovers
        self._announces_changes = announces_changes
        # With a shared Redis a change is heard in every process. Streams of 2026-07-28 need no session.
        self._listens = announces_changes or inside.settings.shared is not None
        self._tasks = TaskMethods(inside, caller_of)
        self.listeners = Listeners(inside)
        # Tells other processes of changes in a session.
        self.shared: SharedSessions | None = None
        self.listen = ListenHandler(self.listeners.bus, max_subscriptions=most_streams() // 2)
        self.server = self._build()

    def _build(self) -> LowLevelServer:
        server = LowLevelServer(
            SERVER_NAME,
            version=__version__,
            # One text for all callers of a process, written for whoever may see the most.
            instructions=lists.instructions(self._inside, TRUSTED),
            get_tool_input_schema=self._annotated_schema,
            on_subscriptions_listen=self._listen if self._announces_changes else None,
            cache_hints=dict.fromkeys(lists.CACHEABLE_METHODS, _HINT),
        )
        server.announces_changes = self._announces_changes
        server.offers = self._extensions
        # The SDK's telemetry costs an eighth of every call; we have our own log.
        server.middleware.clear()
        server.middleware.append(RequestStateBoundary(self._state_security(), default_audience=SERVER_NAME))
        server.middleware.append(self.listeners.remember)
        for method, (params_type, handler) in self._handlers().items():
            server.add_request_handler(method, params_type, self._guarded(handler))
        return server

    def _handlers(self) -> dict[str, tuple[type[BaseModel], Handler]]:
        subscriptions: dict[str, tuple[type[BaseModel], Handler]] = {
            "resources/subscribe": (types.SubscribeRequestParams, self._subscribe),
            "resources/unsubscribe": (types.UnsubscribeRequestParams, self._unsubscribe),
        }
        return {
            "tools/list": (types.PaginatedRequestParams, self._list_tools),
            "tools/call": (types.CallToolRequestParams, self._call_tool),
            "resources/list": (types.PaginatedRequestParams, self._list_resources),
            "resources/templates/list": (types.PaginatedRequestParams, self._list_templates),
            "resources/read": (types.ReadResourceRequestParams, self._read_resource),
            "skills/list": (types.PaginatedRequestParams, self._list_skills),
            "skills/get": (types.ReadResourceRequestParams, self._get_skill),
            "prompts/list": (types.PaginatedRequestParams, self._list_prompts),
            "prompts/get": (types.GetPromptRequestParams, self._get_prompt),
            "completion/complete": (types.CompleteRequestParams, self._complete),
            "logging/setLevel": (types.SetLevelRequestParams, self._set_level),
            **self._tasks.handlers(),
            **(subscriptions if self._announces_changes else {}),
        }

    def _guarded(self, handler: Handler) -> Callable[[ServerRequestContext[Any, Any], Any], Awaitable[HandlerResult]]:
        """Turn every exception into an error without private data."""

        async def guarded(ctx: Context, params: Any) -> HandlerResult:
            modern = ctx.protocol_version == MODERN_VERSION
            try:
                result = await handler(ctx, params)
            except MCPError:
                raise
            except DogubakoError as error:
                failed = self._inside.pipeline.responses.presentable(error)
                raise _raised(refusal_outside_tools(failed, modern=modern, uri=getattr(params, "uri", None))) from error
            except Exception as error:
                shown = self._inside.pipeline.broken(error, method=ctx.method)
                raise _raised(Refusal(INTERNAL_ERROR, shown.content[0]["text"], shown.meta)) from error
            return {**result, "resultType": result.get("resultType", "complete")} if modern else result

        return guarded

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return lists.tools(self._inside, caller_of(ctx), params.cursor)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        modern = ctx.protocol_version == MODERN_VERSION
        pipeline = self._inside.pipeline
        unasked = params.input_responses is not None and self._only_reads(params.name)
        conversation = self._conversation(ctx, params, unasked=unasked)
        call = ToolCall(
            name=params.name,
            parameters=params.arguments or {},
            door=_door(ctx),
            caller=caller_of(ctx),
            conversation=conversation,
            traceparent=trace_context((ctx.params or {}).get("_meta")),
        )
        if (running := self._handed_over(ctx)) is not None:
            return await self._answered(await running.adopt(conversation), conversation, modern=modern)
        try:
            options = options_from((ctx.params or {}).get("_meta"))
        except DogubakoError as error:
            return call_result(await pipeline.refuse(call, error), modern=modern)
        result = await pipeline.handle(msgspec.structs.replace(call, options=options))
        return await self._answered(result, conversation, modern=modern)

    def _handed_over(self, ctx: Context) -> Handover | None:
        """The call of this request, if it runs already."""
        if ctx.request is not None:
            found: Handover | None = ctx.request.scope.get(HANDOVER)
            return found
        return self._handovers.pop("" if ctx.request_id is None else ctx.request_id, None)

    async def _answered(self, result: ToolResult, conversation: McpConversation, *, modern: bool) -> dict[str, Any]:
        pipeline = self._inside.pipeline
        if result.task is not None and conversation.supports(TASKS):
            return {"resultType": "task", **result.task.fields()}
        if result.pending is not None:
            if modern:
                return conversation.input_required(result.pending)
            result = pipeline.unanswerable(result.pending)
        if result.error is not None and not result.error.retryable:
            await conversation.refused()
        if (refusal := refusal_of(result.error, modern=modern)) is not None:
            raise _raised(refusal)
        return call_result(result, modern=modern)

    def _conversation(
        self, ctx: Context, params: types.InputResponseRequestParams, *, unasked: bool = False
    ) -> McpConversation:
        responses, state = params.input_responses, params.request_state
        answers = Answers(self._inside.once, caller_of(ctx).identity, responses, state, unasked=unasked)
        return McpConversation(ctx, answers, takes_tasks=takes_tasks(ctx) and bool(self._tasks.offered))

    def _only_reads(self, name: str) -> bool:
        try:
            return self._inside.registry.get(name).metadata.effect is Effect.READ
        except ToolNotFoundError:
            return False

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return lists.resources(self._inside, caller_of(ctx), params.cursor)

    async def _list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return lists.templates(self._inside, caller_of(ctx), params.cursor)

    def _extensions(self, modern: bool) -> dict[str, dict[str, Any]]:
        skills: dict[str, dict[str, Any]] = {lists.SKILLS_EXTENSION: {}} if self._inside.catalog.has_skills else {}
        return skills | (self._tasks.offered if modern else {})

    async def _list_skills(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return lists.skills(self._inside, caller_of(ctx), params.cursor)

    async def _get_skill(self, ctx: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        return {"skill": dict(self._inside.catalog.skill(str(params.uri), caller_of(ctx)).entry), **lists.FRESH}

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return lists.prompts(self._inside, caller_of(ctx), params.cursor)

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        conversation = self._conversation(ctx, params)
        try:
            read = self._inside.catalog.read(str(params.uri), conversation, caller=caller_of(ctx), door=_door(ctx))
            return {"contents": [await read]}
        except InputRequired as needed:
            return conversation.input_required(needed.requests)

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> dict[str, Any]:
        conversation = self._conversation(ctx, params)
        try:
            prompt, messages = await self._inside.catalog.render(
                params.name, params.arguments or {}, conversation, caller=caller_of(ctx), door=_door(ctx)
            )
        except InputRequired as needed:
            return conversation.input_required(needed.requests)
        return {"description": prompt.description, "messages": messages}

    async def _complete(self, ctx: Context, params: types.CompleteRequestParams) -> dict[str, Any]:
        reference = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
        others: Mapping[str, str] = (params.context.arguments if params.context else None) or {}
        values = await self._inside.catalog.complete(
            reference, params.argument.name, params.argument.value, others, caller=caller_of(ctx), door=_door(ctx)
        )
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    async def _listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve subscriptions of 2026-07-28. Only callers who may read a resource are notified of its changes."""
        try:
            self._check_subscriptions(params.notifications.resource_subscriptions or (), caller_of(ctx))
            return await self._tasks.listen(ctx, params, self.listen)
        except DogubakoError as error:
            shown = self._inside.pipeline.responses.presentable(error)
            raise _raised(refusal_outside_tools(shown, modern=True)) from error

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> dict[str, Any]:
        uris = connection_state(ctx).setdefault(SUBSCRIPTIONS_KEY, set())
        self._check_subscriptions(uris | {str(params.uri)}, caller_of(ctx))
        if self.shared is not None and (session := session_of(ctx)) is not None:
            await self.shared.subscribe(session, str(params.uri))
        uris.add(str(params.uri))
        return {}

    def _check_subscriptions(self, uris: Collection[str], caller: Caller) -> None:
        """They are kept for as long as the client listens, so they are few and short."""
        if len(uris) > _MOST_SUBSCRIPTIONS or any(len(uri) > _LONGEST_URI for uri in uris):
            message = f"At most {_MOST_SUBSCRIPTIONS:,} subscriptions, each of at most {_LONGEST_URI:,} characters"
            raise ValidationError.of("uri", f"Invalid value for parameter uri: {message}")
        if sum(map(len, uris)) > _MOST_URI_CHARACTERS:
            message = f"All subscriptions together have at most {_MOST_URI_CHARACTERS:,} characters"
            raise ValidationError.of("uri", f"Invalid value for parameter uri: {message}")
        for uri in uris:
            self._inside.catalog.watch(uri, caller)

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> dict[str, Any]:
        if self.shared is not None and (session := session_of(ctx)) is not None:
            await self.shared.unsubscribe(session, str(params.uri))
        connection_state(ctx).setdefault(SUBSCRIPTIONS_KEY, set()).discard(str(params.uri))
        return {}

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, Any]:
        if self.shared is not None and (session := session_of(ctx)) is not None:
            await self.shared.set_log_level(session, params.level)
        connection_state(ctx)[LOG_LEVEL_KEY] = params.level
        return {}

    def _annotated_schema(self, name: str) -> Mapping[str, Any] | None:
        """Only tools with header annotations need the SDK's header check; for all others it is skipped."""
        return lists.annotated_schema(self._inside.registry, name)

    def _state_security(self) -> RequestStateSecurity:
        ring = KeyRing.of(self._inside.settings) or KeyRing([token_bytes(32)])
        secrets = [key.secret for key in ring.keys]
        return RequestStateSecurity(keys=secrets, ttl=STATE_SECONDS, bind_principal=_principal)


def caller_of(ctx: Context) -> Caller:
    """The caller, which the HTTP transport puts into the request's scope."""
    return TRUSTED if ctx.request is None else caller_in(ctx.request.scope)


def _principal(ctx: Context) -> str | None:
    """The owner of a sealed state; without authentication it belongs to everybody."""
    caller = caller_of(ctx)
    return caller.identity if caller.authenticated else None


def _door(ctx: Context) -> Door:
    return "stdio" if ctx.request is None else "http"


def _raised(refusal: Refusal) -> MCPError:
    return MCPError(refusal.code, refusal.message, refusal.data)
