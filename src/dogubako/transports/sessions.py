"""Sessions of the handshake era, as far as the short way must know them. The only place that looks into the SDK's."""

from functools import lru_cache

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette.sse import AppStatus

from dogubako.contract.call import ANONYMOUS, Caller


class Sessions:
    """Who has shaken hands. A session that is used stays alive."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager
        # On its own the SDK's stream library cuts every stream when the server is told to stop, also those on which
        # an answer is still to come. Ours are ended by `close_streams`, or by their answer.
        AppStatus.enable_automatic_graceful_drain = False

    def touch(self, session_id: str, caller: Caller) -> bool:
        """Whether the caller has this session open; if so, its idle time starts anew."""
        transport = self._manager._server_instances.get(session_id)
        if transport is None or transport.is_terminated:
            return False
        user = user_of(caller)
        if (authorization_context(user) if user else None) != self._manager._session_owners.get(session_id):
            return False
        scope, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if scope is not None and timeout is not None and not scope.cancel_called:
            scope.deadline = max(scope.deadline, anyio.current_time() + timeout)
        return True

    def close_streams(self) -> None:
        """End the streams on which clients only wait for news, so that a server can stop."""
        for transport in list(self._manager._server_instances.values()):
            transport.close_standalone_sse_stream()


@lru_cache(maxsize=10_000)
def user_of(caller: Caller) -> AuthenticatedUser | None:
    """The caller as the SDK wants it, which lets nobody use another's session or sealed state."""
    if caller is ANONYMOUS:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=sorted(caller.scopes)))
