"""Run the HTTP door: bind, serve, and stop gracefully."""

import contextlib
import gc
import os
import signal
import socket
from collections.abc import Iterator
from secrets import token_urlsafe
from typing import Any

import structlog
import uvicorn
from uvicorn.supervisors import Multiprocess

from dogubako.app import Toolbox
from dogubako.ending import run_to_the_end
from dogubako.settings import Settings, SettingsError
from dogubako.transports.bounded import BoundedProtocol
from dogubako.transports.hosts import is_loopback
from dogubako.transports.http import HttpDoor

log = structlog.get_logger("dogubako.http")

_FACTORY = "dogubako.worker:app"


def serve(box: Toolbox, *, workers: int = 1, allow_unauthenticated: bool = False) -> None:
    """Serve until told to stop; running calls get their grace time, then the process ends with code 0."""
    settings = box.settings
    if settings.auth == "off" and not allow_unauthenticated:
        _refuse_strangers(settings)
    if workers > 1:
        _serve_many(settings, workers)
        return
    door = HttpDoor(box)
    settle()
    config = uvicorn.Config(door, **_options(settings))
    run_to_the_end(GracefulServer(config).serve(), config.get_loop_factory())


def _refuse_strangers(settings: Settings) -> None:
    """Nobody has to prove anything: then nobody but this machine may be able to call."""
    if not is_loopback(settings.host):
        raise SettingsError(
            f"HOST is {settings.host}, which others can reach, and authentication is off. "
            "Use HOST=127.0.0.1, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is what you want."
        )
    if settings.cors_enabled and "*" in settings.cors_origin:
        raise SettingsError(
            "CORS_ORIGIN is *, so every web page that somebody here opens could call tools, and authentication is off. "
            "Name the sites in CORS_ORIGIN, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is meant."
        )


class GracefulServer(uvicorn.Server):
    """Says where it listens, and does not die of the signal that asked it to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                log.info(
                    "Listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}", mcp="/mcp", docs="/docs"
                )


def settle() -> None:
    """What lives as long as the server need not be looked at again and again by the garbage collector."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _serve_many(settings: Settings, workers: int) -> None:
    """Several processes share one port. Clients without a session may reach any of them."""
    if settings.rate_limit_storage == "memory" and (settings.rate_limit_max or settings.rate_limit_tool_max):
        log.warning("Each worker counts calls for itself; RATE_LIMIT_STORAGE=redis://… counts them together")
    # State that one worker sealed must open in another.
    if settings.request_state_key is None:
        os.environ["DOGUBAKO_REQUEST_STATE_KEY"] = token_urlsafe(48)
    config = uvicorn.Config(_FACTORY, factory=True, workers=workers, **_options(settings))
    Multiprocess(config, sockets=[config.bind_socket()]).run()


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "http": BoundedProtocol,
        "interface": "asgi3",
        # uvloop, where there is one.
        "loop": "auto",
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_grace)),
    }
