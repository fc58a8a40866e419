"""One worker process: the same app as its siblings, on the listening sockets that it shares with them."""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import structlog
import uvicorn

from dogubako import ending, logs
from dogubako.app import build
from dogubako.contract.secrets import Redactor
from dogubako.engine.admission import RegistrationError
from dogubako.graceful_server import GracefulServer
from dogubako.process_memory import settle
from dogubako.settings import SettingsError
from dogubako.signals import hangup, stop_on_signals
from dogubako.supervisor import HURRY, REOPEN, SERVING, START_FAILED, STARTING, STOP
from dogubako.transports.http import HttpDoor
from dogubako.worker_sharing import shared_sources

log = structlog.get_logger("dogubako.http")

_BEAT_SECONDS: Final = 1.0
# After the grace time: for the last lines.
_AFTER_GRACE_SECONDS: Final = 5.0


def run(control: socket.socket, sockets: list[socket.socket], options: dict[str, Any], grace: float) -> None:
    """The whole life of a worker process."""
    if hasattr(os, "setpgrp"):
        # Ctrl-C in a terminal reaches the supervisor only, and what this worker starts can be killed with it.
        os.setpgrp()
    hangup.install()
    link = SupervisorLink(control, grace)
    try:
        app = build_app()
    except (SettingsError, RegistrationError) as error:
        log.error("A worker process cannot start", reason=str(error))
        sys.exit(START_FAILED)
    server = WorkerServer(uvicorn.Config(app, **options), link)
    link.server = server
    server.run(sockets)


def build_app() -> HttpDoor:
    """Made anew in every worker. Clients of the handshake era get no session: it would live in one worker only."""
    redactor, sources = Redactor(), shared_sources()
    settings = sources.load()
    # First the logs: whoever is built before them keeps the loggers of a process without any.
    logs.configure(settings.log_level, settings.log_dir, redactor)
    box = build(sources, redactor=redactor)
    box.switchboard.alone = False
    door = HttpDoor(box, stateless=True)
    settle()
    return door


class SupervisorLink:
    """A thread that obeys the supervisor, reports to it, and stops the worker when the supervisor is gone."""

    def __init__(self, control: socket.socket, grace: float) -> None:
        self.server: GracefulServer | None = None
        self._control = control
        self._grace = grace
        self._orphaned = False
        self._beats = self._reported_beats = 0
        self._control.settimeout(_BEAT_SECONDS)
        # Registered before the log is: it runs after the last line is written.
        ending.at_the_end(self._end_children_of_an_orphan)
        threading.Thread(target=self._run, name="supervisor link", daemon=True).start()

    def beat(self) -> None:
        """Called by the event loop, again and again, as a sign that it runs."""
        self._beats += 1
        asyncio.get_running_loop().call_later(_BEAT_SECONDS, self.beat)

    def _run(self) -> None:
        while (commands := self._commands()) is not None:
            if REOPEN in commands:
                hangup.reopen()
            if STOP in commands:
                self._stop()
            if HURRY in commands and self.server is not None:
                self.server.hurry()
            self._report()
        self._end_as_orphan()

    def _commands(self) -> bytes | None:
        """What the supervisor says, which may be nothing; None when it is gone."""
        try:
            return self._control.recv(64) or None
        except TimeoutError:
            return b""
        except OSError:
            return None

    def _report(self) -> None:
        if self._beats == self._reported_beats:
            return
        self._reported_beats = self._beats
        serving = self.server is not None and self.server.started
        # A supervisor that does not read must not keep us from listening to it.
        with suppress(OSError):
            self._control.send(SERVING if serving else STARTING)

    def _stop(self) -> None:
        if self.server is None:
            # Nothing has begun that would have to be finished.
            os._exit(0)
        self.server.stop()

    def _end_as_orphan(self) -> None:
        self._orphaned = True
        self._stop()
        log.error("The supervisor process is gone, so this worker process stops", grace_seconds=self._grace)
        time.sleep(self._grace + _AFTER_GRACE_SECONDS)
        self._end_children_of_an_orphan()

    def _end_children_of_an_orphan(self) -> None:
        """Nobody is left who would do it. This worker belongs to its process group, too, and ends here."""
        if self._orphaned and hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)


class WorkerServer(GracefulServer):
    """Tells the supervisor that its event loop runs. Only the supervisor hurries it: see `supervisor.py`."""

    def __init__(self, config: uvicorn.Config, link: SupervisorLink) -> None:
        super().__init__(config)
        self._link = link

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        stop_on_signals(self.stop, self.stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._link.beat()
        await super().startup(sockets)
