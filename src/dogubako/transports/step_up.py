"""How a client with a token learns that a call needs more than the token allows.

Other callers get the refusal as a result, which a model can read. A client that signed its user in can do better: it
takes the status 403 and the scope in `WWW-Authenticate` back to the authorization server, and calls again.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.types import Send

from dogubako.contract.call import Caller, ToolCall, error_facts
from dogubako.contract.errors import AuthorizationError, ToolNotFoundError
from dogubako.contract.passing_tool import PassingTool
from dogubako.transports.body import send_json
from dogubako.transports.inside import Inside
from dogubako.transports.wire import INSUFFICIENT_SCOPE, Refusal

_encode = msgspec.json.Encoder().encode

# `call_tool` may name `read_more`, which names a tool.
_MOST_PASSES: Final = 2


class StepUp:
    """Refuses calls for which a token lacks a scope."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self.wanted = inside.settings.auth == "oauth"

    async def refused(self, message: Any, caller: Caller, send: Send) -> bool:
        """Whether this message was a call that the caller's token does not allow; then it has its answer."""
        if not isinstance(message, dict) or message.get("method") != "tools/call":
            return False
        params = message.get("params")
        name, arguments = (params.get("name"), params.get("arguments")) if isinstance(params, dict) else (None, None)
        if not isinstance(name, str) or not self._lacks_scope(name, arguments, caller):
            return False
        # Down the path as any other call: there it is counted, refused and recorded.
        call = ToolCall(name=name, parameters=_object(arguments), door="http", caller=caller)
        error = (await self._inside.pipeline.handle(call)).error
        if not isinstance(error, AuthorizationError) or not error.scope:
            return False
        refusal = Refusal(INSUFFICIENT_SCOPE, error.message, error_facts(error))
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": refusal.as_json()}
        challenge = self._inside.authenticator.challenge(error).encode("latin-1")
        await send_json(send, _encode(answer), error.http_status, [(b"www-authenticate", challenge)])
        return True

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


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
