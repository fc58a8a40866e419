"""The socket of the HTTP server: whether it can be bound, and who waits at it."""

import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any, Final

import structlog

from dogubako.settings import Settings, SettingsError

log = structlog.get_logger("dogubako.http")

# Clients that may wait to be accepted; as many as uvicorn lets wait.
_BACKLOG: Final = 2048

_ADVICE = {
    errno.EADDRINUSE: "Another server may be running there; choose another port with --port or PORT.",
    errno.EADDRNOTAVAIL: "HOST must be an address of this machine.",
}
_CANNOT_BIND = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)


def check_that_nobody_listens(settings: Settings) -> None:
    """Check that the port is free before anything starts."""
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


def listening_socket(settings: Settings) -> socket.socket:
    """The socket of all workers. It listens before any address is logged, so that early clients wait for a worker.

    uvicorn logs that it runs, and lets the first worker listen seconds later: until then clients are refused.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((settings.host, settings.port))
    listening.listen(_BACKLOG)
    listening.set_inheritable(True)
    host, port = listening.getsockname()[:2]
    log.info("Starting workers", url=address_of(host, port))
    return listening


def waiting_at(listening: Any) -> Iterator[socket.socket]:
    """The connections that nobody has accepted yet."""
    with listening.dup() as copy:
        copy.setblocking(False)
        while True:
            try:
                accepted, _ = copy.accept()
            except OSError:
                return
            accepted.setblocking(False)
            yield accepted


def address_of(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
