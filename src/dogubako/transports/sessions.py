"""Sessions of the handshake era, as far as the short way must know them. The only place that looks into the SDK's."""

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class Sessions:
    """Who has shaken hands. A session that is used stays alive."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    def touch(self, session_id: str) -> bool:
        """Whether the session is open; if so, its idle time starts anew."""
        transport = self._manager._server_instances.get(session_id)
        if transport is None or transport.is_terminated:
            return False
        scope, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if scope is not None and timeout is not None and not scope.cancel_called:
            scope.deadline = max(scope.deadline, anyio.current_time() + timeout)
        return True

    def close_streams(self) -> None:
        """End the streams on which clients only wait for news, so that a server can stop."""
        for transport in list(self._manager._server_instances.values()):
            transport.close_standalone_sse_stream()
