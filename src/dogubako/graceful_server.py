"""uvicorn's server with our handling of signals: running calls finish, a second signal cancels them."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import structlog
import uvicorn

from dogubako import ending
from dogubako.signals import hangup, soon_on, stop_on_signals

log = structlog.get_logger("dogubako.http")


class GracefulServer(uvicorn.Server):
    """Logs where it listens, and exits with code 0 after the signal that asked it to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        ending.run_to_the_end(self.serve(sockets), self.config.get_loop_factory())

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        stop_on_signals(self.stop, self.hurry)
        yield

    def stop(self) -> None:
        """Accept no more connections; running calls have their grace time. Any thread may call this."""
        self.should_exit = True

    def hurry(self) -> None:
        """Cancel running calls at once and end within about a second. Any thread may call this."""
        self.should_exit = True
        ending.hurry()
        if self._loop is not None:
            soon_on(self._loop, self._cancel_calls)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        hangup.tell_on(self._loop)
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                log.info(
                    "Listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}", mcp="/mcp", docs="/docs"
                )

    def _cancel_calls(self) -> None:
        running = list(self.server_state.tasks)
        if running:
            log.warning("Running calls are cancelled: told twice to stop", calls=len(running))
        # Each connection hears of the stop first: its call is then answered with an error instead of being cut off.
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for task in running:
            task.cancel()
