"""How a client with a token learns that a call needs more than the token allows.

Other callers get the refusal as a result, which a model can read. A client that signed its user in can do better: it
takes the status 403 and the scope in `WWW-Authenticate` back to the authorization server, and calls again.
"""

from typing import Any, Final

from starlette.types import Send

from dogubako.contract.call import Caller, error_facts
from dogubako.contract.errors import AuthorizationError, ToolNotFoundError
from dogubako.contract.passing_tool import PassingTool
from dogubako.transports.body import send_json
from dogubako.transports.express import PlainCall, response, tool_call
from dogubako.transports.inside import Inside
from dogubako.transports.wire import INSUFFICIENT_SCOPE, Refusal, encode_message, is_request_id

# `call_tool` may name `read_more`, which names a tool.
_MOST_PASSES: Final = 2


class StepUp:
    """Refuses calls for which a token lacks a scope."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self.wanted = inside.settings.auth == "oauth"

    async def answered(self, message: Any, caller: Caller, send: Send, *, modern: bool) -> bool:
        """Whether this message was a call that the caller's token does not allow; then it has its answer."""
        call = _call_in(message, modern)
        if call is None or not self._lacks_scope(call.name, call.arguments, caller):
            return False
        # Down the path as any other call: there it is counted, refused and recorded. It must not go there twice, so
        # what it heard is the answer, also where the scope was not what it failed for.
        result = await self._inside.pipeline.handle(tool_call(call, "http", caller))
        error = result.error
        if isinstance(error, AuthorizationError) and error.scope:
            await self._demand(error, call, send)
        else:
            await send_json(send, encode_message(response(call, result)))
        return True

    async def _demand(self, error: AuthorizationError, call: PlainCall, send: Send) -> None:
        refusal = Refusal(INSUFFICIENT_SCOPE, error.message, error_facts(error))
        challenge = self._inside.authenticator.challenge(error).encode("latin-1")
        body = encode_message(refusal.answer(call.id))
        await send_json(send, body, error.http_status, [(b"www-authenticate", challenge)])

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


def _call_in(message: Any, modern: bool) -> PlainCall | None:
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return None
    params, request_id = _object(message.get("params")), message.get("id")
    if not is_request_id(request_id) or not isinstance(params.get("name"), str):
        return None
    return PlainCall(request_id, params["name"], _object(params.get("arguments")), modern)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
