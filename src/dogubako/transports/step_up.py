"""How a client with a token learns that what it asks for needs more than the token allows.

Other callers get the refusal as a result, which a model can read. A client that signed its user in can do better: it
takes the status 403 and the scope in `WWW-Authenticate` back to the authorization server, and calls again.
"""

from functools import partial
from typing import Any, Final

from starlette.types import Send

from dogubako.contract.call import Caller, error_facts
from dogubako.contract.errors import AuthorizationError, DogubakoError, ToolNotFoundError
from dogubako.contract.passing_tool import PassingTool
from dogubako.transports.body import send_json
from dogubako.transports.express import PlainCall, response, tool_call
from dogubako.transports.inside import Inside
from dogubako.transports.wire import INSUFFICIENT_SCOPE, Refusal, encode_message, is_request_id, refusal_outside_tools

# What else can be refused for a scope, and the parameter that says what is wanted.
_NAMED_BY: Final = {"resources/read": "uri", "prompts/get": "name"}
# `call_tool` may name `read_more`, which names a tool.
_MOST_PASSES: Final = 2


class StepUp:
    """Refuses calls, resources and prompts for which a token lacks a scope."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self.wanted = inside.settings.auth == "oauth"

    async def answered(self, message: Any, caller: Caller, send: Send, *, modern: bool) -> bool:
        """Whether this message asked for what the caller's token does not allow; then it has its answer."""
        if not isinstance(message, dict) or not is_request_id(message.get("id")):
            return False
        method, params = message.get("method"), _object(message.get("params"))
        if method == "tools/call" and isinstance(name := params.get("name"), str):
            call = PlainCall(message["id"], name, _object(params.get("arguments")), modern)
            return await self._called(call, caller, send)
        named = params.get(_NAMED_BY.get(str(method), ""))
        if isinstance(method, str) and isinstance(named, str) and self._lacks_scope_to_read(method, named, caller):
            return await self._read(message["id"], method, named, caller, send, modern=modern)
        return False

    async def _called(self, call: PlainCall, caller: Caller, send: Send) -> bool:
        if not self._lacks_scope(call.name, call.arguments, caller):
            return False
        # Down the path as any other call: there it is counted, refused and recorded. It must not go there twice, so
        # what it heard is the answer, also where the scope was not what it failed for.
        result = await self._inside.pipeline.handle(tool_call(call, "http", caller))
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
        if entry is None or self._inside.pipeline.policy.missing_scope(entry, caller) is not None:
            return entry is not None
        tool = entry.implementation
        if not isinstance(tool, PassingTool) or passes >= _MOST_PASSES:
            return False
        said = _object(arguments)
        return self._lacks_scope(said.get(tool.target), said.get("arguments"), caller, passes + 1)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
