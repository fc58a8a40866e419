"""Run the HTTP door: bind, serve, and stop gracefully."""

import contextlib
import errno
import multiprocessing
import os
import socket
import sys
from multiprocessing.process import BaseProcess
from secrets import token_urlsafe
from typing import Any

import structlog
import uvicorn

from dogubako import worker
from dogubako.app import Toolbox
from dogubako.graceful_server import GracefulServer
from dogubako.process_memory import settle
from dogubako.settings import Settings, SettingsError
from dogubako.supervisor import Supervisor
from dogubako.transports.bounded import BoundedProtocol
from dogubako.transports.http import HttpDoor
from dogubako.transports.open_files import raise_open_files_limit
from dogubako.transports.strangers import check_strangers

log = structlog.get_logger("dogubako.http")

_ADVICE = {
    errno.EADDRINUSE: "Another server may be running there; choose another port with --port or PORT.",
    errno.EADDRNOTAVAIL: "HOST must be an address of this machine.",
}
_CANNOT_BIND = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)


def serve(box: Toolbox, *, workers: int = 1, allow_unauthenticated: bool = False) -> None:
    """Serve until told to stop; running calls get their grace time, then the process ends with code 0."""
    settings = box.settings
    try:
        check_strangers(settings)
    except SettingsError:
        if not allow_unauthenticated:
            raise
        log.warning("Authentication is off: whoever can reach this server may do everything", host=settings.host)
    _check_that_nobody_listens_there(settings)
    raise_open_files_limit()
    if workers > 1:
        _serve_many(settings, workers)
        return
    door = HttpDoor(box)
    settle()
    config = uvicorn.Config(door, **_options(settings))
    GracefulServer(config).run()


def _check_that_nobody_listens_there(settings: Settings) -> None:
    """Found out before anything is started, and said in words that help."""
    where = f"{settings.host}:{settings.port}"
    try:
        places = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise SettingsError(f"HOST is {settings.host}, which cannot be bound to: {error.strerror}.") from None
    for family, kind, protocol, _, place in places:
        with contextlib.closing(socket.socket(family, kind, protocol)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(place)
            except OSError as error:
                if error.errno in _CANNOT_BIND:
                    advice = _ADVICE.get(error.errno, "Choose another address or port.")
                    raise SettingsError(f"Nothing can listen on {where}: {error.strerror}. {advice}") from None


def _serve_many(settings: Settings, workers: int) -> None:
    """Several processes share one port. Clients without a session may reach any of them."""
    if settings.rate_limit_storage == "memory" and (settings.rate_limit_max or settings.rate_limit_tool_max):
        log.warning("Each worker counts calls for itself; RATE_LIMIT_STORAGE=redis://… counts them together")
    # State that one worker sealed must open in another.
    if settings.request_state_key is None:
        os.environ["DOGUBAKO_REQUEST_STATE_KEY"] = token_urlsafe(48)
    options = {**_options(settings), "workers": workers}
    listening = [uvicorn.Config(worker.build_app, factory=True, **options).bind_socket()]
    # A forked process would have the locks of threads that it does not have.
    spawn = multiprocessing.get_context("spawn")

    def start(control: socket.socket) -> BaseProcess:
        process = spawn.Process(target=worker.run, args=(control, listening, options, settings.shutdown_grace))
        process.start()
        return process

    def close() -> None:
        # Connections that nobody would accept any more are refused instead of waiting.
        for one in listening:
            one.close()

    if code := Supervisor(start, workers, grace=settings.shutdown_grace, on_stop=close).run():
        sys.exit(code)


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
