"""Sessions of the handshake era, as far as the short way must know them. The only place that looks into the SDK's."""

from functools import lru_cache
from typing import Any, Final

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette.sse import AppStatus

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import BusyError

_MOST_SESSIONS: Final = 500


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
        if _owner(caller) != self._manager._session_owners.get(session_id):
            return False
        scope, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if scope is not None and timeout is not None and not scope.cancel_called:
            scope.deadline = max(scope.deadline, anyio.current_time() + timeout)
        return True

    def check_room(self, caller: Caller) -> None:
        """Refuse a caller who opens sessions and forgets them; all callers share the memory that they take."""
        owner = _owner(caller)
        held = sum(one == owner for one in list(self._manager._session_owners.values()))
        if owner is not None and held >= _MOST_SESSIONS:
            message = f"You have {held:,} open sessions, which is as many as one caller may have."
            raise BusyError(message, hint="End those that you no longer use (DELETE /mcp), or wait until they expire.")

    def close_streams(self) -> None:
        """End the streams on which clients only wait for news, so that a server can stop."""
        for transport in list(self._manager._server_instances.values()):
            transport.close_standalone_sse_stream()


def _owner(caller: Caller) -> Any:
    user = user_of(caller)
    return authorization_context(user) if user else None


@lru_cache(maxsize=10_000)
def user_of(caller: Caller) -> AuthenticatedUser | None:
    """The caller as the SDK wants it, which lets nobody use another's session or sealed state."""
    if caller is TRUSTED:
        return None
    return AuthenticatedUser(AccessToken(token="", client_id=caller.identity, scopes=sorted(caller.scopes)))
