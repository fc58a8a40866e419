"""Close a caller's streams when its credentials expire or are revoked, and ask for more scope (step-up)."""

import asyncio
from functools import partial
from typing import Any, Final

import structlog
from starlette.types import Message, Receive, Scope, Send

from dogubako._timers import CoarseTimer, call_later
from dogubako.contract.call import Caller, ToolCall, error_facts
from dogubako.contract.errors import ApiError, AuthenticationError, AuthorizationError, DogubakoError, ToolNotFoundError
from dogubako.contract.tool import PassingTool
from dogubako.gate.authentication import Authenticator
from dogubako.transports.http.request import ResponseTracker, send_json
from dogubako.transports.mcp.protocol import (
    INSUFFICIENT_SCOPE,
    Refusal,
    SimpleCall,
    encode_message,
    is_request_id,
    refusal_outside_tools,
    response,
)
from dogubako.transports.toolbox import ServedToolbox

# What else can be refused for a scope, and the parameter that says what is wanted.
_NAMED_BY: Final = {"resources/read": "uri", "prompts/get": "name"}
# `call_tool` may name `read_more`, which names a tool.
_MOST_PASSES: Final = 2


class StepUp:
    """Refuses calls, resources and prompts for which a token lacks a scope."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside
        self.wanted = inside.settings.auth == "oauth"

    async def answered(self, message: Any, caller: Caller, send: Send, *, modern: bool) -> bool:
        """Answer a message for which the caller's token lacks a scope. Return whether it was answered."""
        if not isinstance(message, dict) or not is_request_id(message.get("id")):
            return False
        method, params = message.get("method"), _object(message.get("params"))
        if method == "tools/call" and isinstance(name := params.get("name"), str):
            call = SimpleCall(message["id"], name, _object(params.get("arguments")), modern)
            return await self._called(call, caller, send)
        named = params.get(_NAMED_BY.get(str(method), ""))
        if isinstance(method, str) and isinstance(named, str) and self._lacks_scope_to_read(method, named, caller):
            return await self._read(message["id"], method, named, caller, send, modern=modern)
        return False

    async def _called(self, call: SimpleCall, caller: Caller, send: Send) -> bool:
        if not self._lacks_scope(call.name, call.arguments, caller):
            return False
        # Down the path as any other call: there it is counted, refused and recorded. It must not go there twice, so
        # what it heard is the answer, also where the scope was not what it failed for.
        result = await self._inside.pipeline.handle(
            ToolCall(name=call.name, parameters=call.arguments, door="http", caller=caller)
        )
        error = result.error
        if isinstance(error, AuthorizationError) and error.scope:
            await self._demand(error, call.id, send)
        else:
            await send_json(send, encode_message(response(call, result)))
        return True

    async def _read(
        self, request_id: str | int, method: str, named: str, caller: Caller, send: Send, *, modern: bool
    ) -> bool:
        catalog = self._inside.catalog
        reading = catalog.read if method == "resources/read" else partial(catalog.render, arguments={})
        try:
            await reading(named, caller=caller, door="http")
        except DogubakoError as error:
            if isinstance(error, AuthorizationError) and error.scope:
                await self._demand(error, request_id, send)
            else:
                refusal = refusal_outside_tools(error, modern=modern)
                await send_json(send, encode_message(refusal.answer(request_id)))
            return True
        return False

    async def _demand(self, error: AuthorizationError, request_id: str | int, send: Send) -> None:
        refusal = Refusal(INSUFFICIENT_SCOPE, error.message, error_facts(error))
        challenge = self._inside.authenticator.challenge(error).encode("latin-1")
        body = encode_message(refusal.answer(request_id))
        await send_json(send, body, error.http_status, [(b"www-authenticate", challenge)])

    def _lacks_scope_to_read(self, method: str, named: str, caller: Caller) -> bool:
        pack = self._inside.catalog.home_of(method, named)
        return pack is not None and self._inside.pipeline.policy.missing_scope_to_read(pack, caller) is not None

    def _lacks_scope(self, name: Any, arguments: Any, caller: Caller, passes: int = 0) -> bool:
        try:
            entry = self._inside.registry.get(name) if isinstance(name, str) else None
        except ToolNotFoundError:
            return False
        if entry is None:
            return False
        entry = entry.for_call(arguments)
        if self._inside.pipeline.policy.missing_scope(entry, caller) is not None:
            return True
        tool = entry.implementation
        if not isinstance(tool, PassingTool) or passes >= _MOST_PASSES:
            return False
        said = _object(arguments)
        return self._lacks_scope(said.get(tool.target), said.get("arguments"), caller, passes + 1)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


log = structlog.get_logger("dogubako.http")

# As often as keys are looked at.
LOOK_AGAIN_SECONDS: Final = 1.0


class CredentialWatch:
    """Checks the credentials of an open request repeatedly; when they are refused, it simulates a disconnect.

    A key that was revoked or a token that expired must not go on hearing of changes through a stream that it opened
    before. The work behind it ends as it does for every client that leaves.
    """

    def __init__(self, authenticator: Authenticator, scope: Scope, receive: Receive, send: Send) -> None:
        self._authenticator = authenticator
        self._headers = scope["headers"]
        self._receive = receive
        self.send = ResponseTracker(send)
        self._over: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._looking: asyncio.Task[None] | None = None
        self._reason: AuthenticationError | None = None
        self._alarm: CoarseTimer

    async def __aenter__(self) -> "CredentialWatch":
        self._alarm = call_later(LOOK_AGAIN_SECONDS, self._look)
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._alarm.cancel()
        if self._looking is not None:
            self._looking.cancel()
        if self._reason is None or kind is not None:
            return
        if not self.send.started:
            raise self._reason
        # An orderly end, after which the client may come again and hear why.
        await self.send.end()

    async def receive(self) -> Message:
        """The next message of the client, or a disconnect."""
        said: asyncio.Future[Message] = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({said, self._over}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            said.cancel()
            raise
        if said.done():
            return said.result()
        said.cancel()
        return self._over.result()

    def _look(self) -> None:
        self._looking = asyncio.get_running_loop().create_task(self._look_again())

    async def _look_again(self) -> None:
        try:
            if self._authenticator.authenticate_cached(self._headers) is None:
                await self._authenticator.authenticate(self._headers)
        except AuthenticationError as error:
            self._reason = error
            self._over.set_result({"type": "http.disconnect"})
            return
        except ApiError:
            # Who was let in stays, while the authorization server cannot be asked.
            pass
        except Exception as error:
            # The edge of a task of its own. Whatever went wrong with this look, it must not be the last one.
            log.error("A caller's credentials could not be checked again", exc_info=error)
        self._alarm = call_later(LOOK_AGAIN_SECONDS, self._look)
