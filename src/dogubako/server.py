"""Start the HTTP server: one process, or a supervisor with workers that share the socket."""

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog
import uvicorn

from dogubako import _runner, logs
from dogubako.app import Toolbox, build
from dogubako.contract.redaction import Redactor
from dogubako.engine.registration import RegistrationError
from dogubako.listening import address_of, check_that_nobody_listens, listening_socket, waiting_at
from dogubako.process_memory import settle
from dogubako.settings import Settings, SettingsError, Sources
from dogubako.signals import hangup, soon_on, stop_on_signals, woken_by_signals
from dogubako.supervisor import HURRY, REOPEN, SERVING, START_FAILED, STARTING, STOP, Supervisor
from dogubako.transports.http.app import HttpApp
from dogubako.transports.http.hosts import refuse_open_bind
from dogubako.transports.http.open_files import raise_open_files_limit
from dogubako.transports.http.uvicorn_protocol import LimitedHttpProtocol
from dogubako.transports.metrics import FOLDER_VARIABLE

_VARIABLE = "_DOGUBAKO_COMMAND_LINE"


def _command_line(sources: Sources) -> str:
    """The options of the command line, for the workers."""
    config = sources.path if sources.path.is_file() else None
    return json.dumps({"overrides": sources.overrides, "config": config}, default=_plain)


def shared_sources() -> Sources:
    """The options of the parent's command line."""
    options = json.loads(os.environ.get(_VARIABLE, "{}"))
    config = options.get("config")
    return Sources(overrides=options.get("overrides"), config_file=Path(config) if config else None)


def _plain(value: Any) -> Any:
    return [str(item) for item in value] if isinstance(value, tuple | list) else str(value)


log = structlog.get_logger("dogubako.http")

_BEAT_SECONDS: Final = 1.0
# Time for the last log lines, after the grace time.
_AFTER_GRACE_SECONDS: Final = 5.0


def run(control: socket.socket, sockets: list[socket.socket], options: dict[str, Any], grace: float) -> None:
    """Run a worker process."""
    if hasattr(os, "setpgrp"):
        # Ctrl-C in a terminal then reaches the supervisor only, and the worker's children can be killed with it.
        os.setpgrp()
    hangup.install()
    link = SupervisorLink(control, grace)
    try:
        app = build_app()
    except (SettingsError, RegistrationError) as error:
        log.error("A worker process cannot start", reason=str(error))
        sys.exit(START_FAILED)
    server = WorkerServer(app, options, link)
    link.server = server
    server.run(sockets)


def build_app() -> HttpApp:
    """Build the ASGI app of a worker. Without a shared Redis it has no sessions: one would live in one worker only."""
    redactor, sources = Redactor(), shared_sources()
    settings = sources.load()
    # Logs come first: objects that are built earlier would keep unconfigured loggers.
    logs.configure(settings.log_level, settings.log_dir, redactor)
    box = build(sources, redactor=redactor, sole_process=False)
    box.gate.ship_audit(stdout=True)
    box.tasks.works = settings.tasks == "on"
    door = HttpApp(box, stateless=settings.shared is None)
    settle()
    return door


class SupervisorLink:
    """A thread that executes the supervisor's commands, reports to it, and stops the worker when it is gone."""

    def __init__(self, control: socket.socket, grace: float) -> None:
        self.server: GracefulServer | None = None
        self._control = control
        self._grace = grace
        self._orphaned = False
        self._beats = self._reported_beats = 0
        self._control.settimeout(_BEAT_SECONDS)
        # Registered before the log, so that it runs after the last line is written.
        _runner.at_the_end(self._end_children_of_an_orphan)
        threading.Thread(target=self._run, name="supervisor link", daemon=True).start()

    def beat(self) -> None:
        """Called regularly by the event loop to show that it runs."""
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
        """The supervisor's commands, possibly empty; None when it is gone."""
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
        # A supervisor that does not read must not block this thread.
        with suppress(OSError):
            self._control.send(SERVING if serving else STARTING)

    def _stop(self) -> None:
        if self.server is None:
            # Nothing has started that would have to be finished.
            os._exit(0)
        self.server.stop()

    def _end_as_orphan(self) -> None:
        self._orphaned = True
        self._stop()
        log.error("The supervisor process is gone, so this worker process stops", grace_seconds=self._grace)
        time.sleep(self._grace + _AFTER_GRACE_SECONDS)
        self._end_children_of_an_orphan()

    def _end_children_of_an_orphan(self) -> None:
        """Kill the process group of this worker, including the worker, because the supervisor is gone."""
        if self._orphaned and hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)


class GracefulServer(uvicorn.Server):
    """Logs its addresses, and exits with code 0 after a stop signal."""

    def __init__(self, app: HttpApp, options: dict[str, Any]) -> None:
        super().__init__(uvicorn.Config(app, **options))
        self._pages = app.pages
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        _runner.run_to_the_end(self.serve(sockets), self.config.get_loop_factory())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        stop_on_signals(self.stop, self.hurry)
        yield

    def stop(self) -> None:
        """Accept no more connections; running calls have their grace time. Any thread may call this.

        With DOGUBAKO_DRAIN, `/readyz` says no first, and connections are accepted until balancers have noticed.
        """
        if self._loop is None or not self._app.drain_seconds:
            self.should_exit = True
        else:
            soon_on(self._loop, self._drain)

    def _drain(self) -> None:
        assert self._loop is not None
        if self._app.drain():
            log.info("Calls are taken until balancers have noticed the end", seconds=self._app.drain_seconds)
            self._loop.call_later(self._app.drain_seconds, self._end)

    def _end(self) -> None:
        self.should_exit = True

    def hurry(self) -> None:
        """Cancel running calls at once and end within about a second. Any thread may call this."""
        self.should_exit = True
        _runner.hurry()
        if self._loop is not None:
            soon_on(self._loop, self._cancel_calls)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        hangup.tell_on(self._loop)
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                log.info("Listening", url=address_of(host, port), mcp="/mcp", **self._pages)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take the connections that wait to be accepted: closing the socket would reset them, with their requests."""
        loop = asyncio.get_running_loop()
        protocol = partial(
            LimitedHttpProtocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=loop,
        )
        waiting = [one for server in self.servers for listening in server.sockets for one in waiting_at(listening)]
        for accepted in waiting:
            await loop.connect_accepted_socket(protocol, accepted)
        await super().shutdown(sockets)

    def _cancel_calls(self) -> None:
        running = list(self.server_state.tasks)
        if running:
            log.warning("Running calls are cancelled after a second stop signal", calls=len(running))
        # Connections are notified first: their calls are answered with an error instead of being cut off.
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for task in running:
            task.cancel()


class WorkerServer(GracefulServer):
    """Reports to the supervisor that its event loop runs. Only the supervisor hurries it: see `supervisor.py`."""

    def __init__(self, app: HttpApp, options: dict[str, Any], link: SupervisorLink) -> None:
        super().__init__(app, options)
        self._link = link

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        stop_on_signals(self.stop, self.stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._link.beat()
        await super().startup(sockets)


def serve(box: Toolbox, *, workers: int = 1, allow_unauthenticated: bool = False) -> None:
    """Serve until stopped; running calls get their grace time, then the process ends with code 0."""
    settings = box.settings
    try:
        refuse_open_bind(settings)
    except SettingsError:
        if not allow_unauthenticated:
            raise
        log.warning(
            "Authentication is off: everybody who can reach this server may call every tool", host=settings.host
        )
    if workers > 1 and not settings.shared and any(state.sandbox for state in box.packs.values()):
        raise SettingsError(
            "The sandbox keeps what tools change in one process: leave --workers out, or set DOGUBAKO_SHARED."
        )
    check_that_nobody_listens(settings)
    box.processes.join(workers)
    raise_open_files_limit()
    if workers > 1:
        _serve_many(box, workers)
        return
    box.gate.ship_audit(stdout=True)
    box.tasks.works = settings.tasks == "on"
    door = HttpApp(box)
    settle()
    GracefulServer(door, _options(settings)).run()


def work(box: Toolbox, *, concurrency: int | None = None) -> None:
    """Run tasks of the servers that share a Redis, until stopped. Running tasks get their grace time."""
    if box.settings.shared is None:
        raise SettingsError("`dogubako worker` runs the tasks of other processes: it needs DOGUBAKO_SHARED.")
    if box.tasks.unavailable is not None:
        raise SettingsError(box.tasks.unavailable)
    box.tasks.works, box.tasks.concurrency = True, concurrency or box.settings.task_concurrency
    settle()
    _runner.run_to_the_end(_work(box))


async def _work(box: Toolbox) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    stop_on_signals(lambda: soon_on(loop, stopped.set), _runner.hurry)
    hangup.tell_on(loop)
    with woken_by_signals(loop):
        async with box.running():
            log.info("Running tasks", at_once=box.tasks.concurrency)
            await stopped.wait()
            log.info("Stopping", grace_seconds=box.settings.shutdown_grace)


def _serve_many(box: Toolbox, workers: int) -> None:
    """Serve one port with several processes. Clients without a session may reach any of them."""
    settings = box.settings
    counts_alone = settings.rate_limit_storage == "memory" and settings.shared is None
    if counts_alone and (settings.rate_limit_max or settings.rate_limit_tool_max):
        log.warning("Rate limits are counted per worker; RATE_LIMIT_STORAGE=redis://… shares the counters")
    variables = {_VARIABLE: _command_line(box.sources)} if box.sources else {}
    # One worker must be able to open state that another one sealed.
    if settings.request_state_key is None:
        variables["DOGUBAKO_REQUEST_STATE_KEY"] = token_urlsafe(48)
    with ExitStack() as stack:
        if settings.metrics and FOLDER_VARIABLE not in os.environ:
            # The workers count together, in files.
            variables[FOLDER_VARIABLE] = stack.enter_context(TemporaryDirectory(prefix="dogubako-metrics-"))
        stack.enter_context(_in_environment(variables))
        _supervise(settings, workers, {**_options(settings), "workers": workers})


@contextmanager
def _in_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables that none has set, for the workers; what this process starts later does not inherit them."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)


def _supervise(settings: Settings, workers: int, options: dict[str, Any]) -> None:
    # A forked process would inherit locks of threads that it does not have.
    spawn = multiprocessing.get_context("spawn")
    grace = settings.drain + settings.shutdown_grace
    with listening_socket(settings) as listening:

        def start(control: socket.socket) -> BaseProcess:
            process = spawn.Process(target=run, args=(control, [listening], options, grace))
            process.start()
            return process

        # Connections that nobody would accept are refused instead of waiting.
        supervisor = Supervisor(start, workers, grace=grace, on_stop=listening.close)
        if code := supervisor.run():
            sys.exit(code)


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "http": LimitedHttpProtocol,
        "interface": "asgi3",
        # uvloop if it is installed.
        "loop": "auto",
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_grace)),
    }
