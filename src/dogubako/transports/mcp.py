"""tools, resources and prompts, in MCP's words, on the SDK's low-level server."""

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

from dogubako import __version__
from dogubako.contract.call import TRUSTED, Caller, Door, ToolCall
from dogubako.contract.conversation import InputRequired
from dogubako.contract.errors import DogubakoError, ToolNotFoundError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.transports import listing
from dogubako.transports.callers import caller_in
from dogubako.transports.conversation import LOG_LEVEL_KEY, Context, McpConversation, connection_state
from dogubako.transports.inside import SERVER_NAME, Inside
from dogubako.transports.listeners import SUBSCRIPTIONS_KEY, Listeners
from dogubako.transports.open_files import most_streams
from dogubako.transports.question_state import STATE_SECONDS, Answers
from dogubako.transports.wire import (
    INTERNAL_ERROR,
    MODERN_VERSION,
    Refusal,
    call_result,
    options_from,
    refusal_of,
    refusal_outside_tools,
)

Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]

_MOST_SUBSCRIPTIONS: Final = 1_000
_LONGEST_URI: Final = 2_000
_MOST_URI_CHARACTERS: Final = 50_000

# Lists differ by caller and change at any time: nobody may share one, or use one again without asking.
_HINT = CacheHint(ttl_ms=0, scope="private")


class LowLevelServer(Server[Any]):
    """Announces list changes also over HTTP, where the SDK asks for its options without arguments."""

    announces_changes = True

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = self.announces_changes
        options = notification_options or NotificationOptions(changes, changes, changes)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class McpDoor:
    """One MCP server for all connections of a process.

    With `announces_changes=False` its capabilities name no list changes, and nobody can subscribe: a change in one
    worker process is not heard in the others, and without sessions there is no stream to tell it on.
    """

    def __init__(self, inside: Inside, *, announces_changes: bool = True) -> None:
        self._inside = inside
        self._announces_changes = announces_changes
        self.listeners = Listeners(inside)
        self.listen = ListenHandler(self.listeners.bus, max_subscriptions=most_streams() // 2)
        self.server = self._build()

    def _build(self) -> LowLevelServer:
        server = LowLevelServer(
            SERVER_NAME,
            version=__version__,
            # One text for all callers of a process, written for whoever may see the most.
            instructions=listing.instructions(self._inside, TRUSTED),
            get_tool_input_schema=self._annotated_schema,
            on_subscriptions_listen=self._listen if self._announces_changes else None,
            cache_hints=dict.fromkeys(listing.CACHEABLE_METHODS, _HINT),
        )
        server.announces_changes = self._announces_changes
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
            "prompts/list": (types.PaginatedRequestParams, self._list_prompts),
            "prompts/get": (types.GetPromptRequestParams, self._get_prompt),
            "completion/complete": (types.CompleteRequestParams, self._complete),
            "logging/setLevel": (types.SetLevelRequestParams, self._set_level),
            **(subscriptions if self._announces_changes else {}),
        }

    def _guarded(self, handler: Handler) -> Callable[[ServerRequestContext[Any, Any], Any], Awaitable[HandlerResult]]:
        """The edge around a request: nothing private leaves in an error, whatever the era does with exceptions."""

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
        return listing.tools(self._inside, caller_of(ctx), params.cursor)

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
        )
        try:
            options = options_from((ctx.params or {}).get("_meta"))
        except DogubakoError as error:
            return call_result(await pipeline.refuse(call, error), modern=modern)
        result = await pipeline.handle(msgspec.structs.replace(call, options=options))
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
        return McpConversation(
            ctx, Answers(self._inside.once, caller_of(ctx).identity, responses, state, unasked=unasked)
        )

    def _only_reads(self, name: str) -> bool:
        try:
            return self._inside.registry.get(name).metadata.effect is Effect.READ
        except ToolNotFoundError:
            return False

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return listing.resources(self._inside, caller_of(ctx), params.cursor)

    async def _list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return listing.templates(self._inside, caller_of(ctx), params.cursor)

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        return listing.prompts(self._inside, caller_of(ctx), params.cursor)

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
        """Subscriptions of the modern era. News of a resource are for those who may read it."""
        try:
            self._check_subscriptions(params.notifications.resource_subscriptions or (), caller_of(ctx))
        except DogubakoError as error:
            shown = self._inside.pipeline.responses.presentable(error)
            raise _raised(refusal_outside_tools(shown, modern=True)) from error
        return await self.listen(ctx, params)

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> dict[str, Any]:
        uris = connection_state(ctx).setdefault(SUBSCRIPTIONS_KEY, set())
        self._check_subscriptions(uris | {str(params.uri)}, caller_of(ctx))
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
            self._inside.catalog.check_readable(uri, caller)

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> dict[str, Any]:
        connection_state(ctx).setdefault(SUBSCRIPTIONS_KEY, set()).discard(str(params.uri))
        return {}

    async def _set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, Any]:
        connection_state(ctx)[LOG_LEVEL_KEY] = params.level
        return {}

    def _annotated_schema(self, name: str) -> Mapping[str, Any] | None:
        """Only tools with header annotations need the SDK's header check; for all others it is skipped."""
        return listing.annotated_schema(self._inside.registry, name)

    def _state_security(self) -> RequestStateSecurity:
        key = self._inside.settings.request_state_key
        secret = key.get_secret_value() if key else token_bytes(32)
        return RequestStateSecurity(keys=[secret], ttl=STATE_SECONDS, bind_principal=_principal)


def caller_of(ctx: Context) -> Caller:
    """Who is calling; the HTTP door puts the caller into the request's scope."""
    return TRUSTED if ctx.request is None else caller_in(ctx.request.scope)


def _principal(ctx: Context) -> str | None:
    """Whose the sealed state is; where nobody has to prove anything, it is everybody's."""
    caller = caller_of(ctx)
    return None if caller is TRUSTED else caller.identity


def _door(ctx: Context) -> Door:
    return "stdio" if ctx.request is None else "http"


def _raised(refusal: Refusal) -> MCPError:
    return MCPError(refusal.code, refusal.message, refusal.data)
