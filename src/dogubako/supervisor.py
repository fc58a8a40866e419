"""Run worker processes: start them, restart those that die, and stop all of them together.

A worker has a socket to its supervisor. The supervisor sends commands of one byte (`REOPEN`, `STOP`, `HURRY`); the
worker sends its state (`STARTING`, `SERVING`) once a second while its event loop runs. The end of that stream tells
a worker that the supervisor is gone, and it stops. Commands are not signals: a service manager signals all processes at
once, and a worker would take its signal and that of the supervisor for a first and a second one.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Final, Protocol

import structlog

from dogubako.signals import SIGHUP, STOP_SIGNALS, hangup, tell_of_reopening

log = structlog.get_logger("dogubako.http")

REOPEN: Final = b"r"
STOP: Final = b"s"
HURRY: Final = b"h"
STARTING: Final = b"."
SERVING: Final = b"!"

START_FAILED: Final = 3

_LOOK_SECONDS: Final = 1.0
# Workers need time for their last lines after the grace time, more so on a busy machine.
_AFTER_GRACE_SECONDS: Final = 10.0
_HURRY_SECONDS: Final = 5.0
# A worker whose event loop is blocked for this long is unresponsive.
_UNRESPONSIVE_SECONDS: Final = 60.0
# A supervisor that did not run for this long was suspended, like its workers: their silence means nothing.
_SUSPENDED_SECONDS: Final = 5.0
# A worker that lived this long did not die of its start.
_STABLE_SECONDS: Final = 60.0
_LONGEST_DELAY_SECONDS: Final = 30.0
_MOST_DOUBLED: Final = 10
_MOST_FAILED_STARTS: Final = 5


class Start(Protocol):
    """Start a worker process that reads commands from the socket."""

    def __call__(self, control: socket.socket) -> BaseProcess: ...


class Worker:
    """The slot of a worker process, with its count of deaths."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._process: BaseProcess | None = None
        self._control: socket.socket | None = None
        self._started_at = 0.0
        self.start_at = 0.0
        self.heard_at = 0.0
        self.serving = self.killed = False
        self._early_deaths = 0

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process. If the system cannot, raise OSError and schedule the next try."""
        self._started_at = self.heard_at = time.monotonic()
        self.serving = self.killed = False
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs, _hangups_wait():
                self._process = self._start(theirs)
        except OSError:
            ours.close()
            self._plan_next_start()
            raise
        self._control = ours

    def waits_for(self) -> list[socket.socket | int]:
        """The descriptors that become readable when the worker reports or ends."""
        process = [] if self._process is None else [self._process.sentinel]
        return [*process, *([] if self._control is None else [self._control])]

    def send(self, command: bytes) -> None:
        if self._control is not None:
            # A worker that has just died is noticed elsewhere.
            with suppress(OSError):
                self._control.send(command)

    def listen(self) -> None:
        """Read the last state that the worker reported."""
        try:
            states = self._control.recv(4096) if self._control is not None else b""
        except BlockingIOError:
            return
        except OSError:
            states = b""
        if states:
            self.heard_at = time.monotonic()
            self.serving = states.endswith(SERVING)
        else:
            # The worker is about to end. A closed stream would wake us repeatedly.
            self._hang_up()

    def reap(self) -> int | None:
        """The exit code of a process that has ended, or None. Frees the slot and kills the process's children."""
        if self._process is None or self._process.exitcode is None:
            return None
        code = self._process.exitcode
        kill_group(self._process.pid)
        self._process.join()
        self._process = None
        self._hang_up()
        self._plan_next_start()
        return code

    def kill(self) -> None:
        if self._process is not None:
            self.killed = True
            kill_group(self._process.pid)
            self._process.kill()

    def _plan_next_start(self) -> None:
        """Restart once at once, then after 1, 2, 4 … 30 seconds, until a worker lives for a minute."""
        now = time.monotonic()
        self._early_deaths = self._early_deaths + 1 if now - self._started_at < _STABLE_SECONDS else 1
        doubled = min(self._early_deaths, _MOST_DOUBLED) - 2
        self.start_at = now + (min(_LONGEST_DELAY_SECONDS, 2.0**doubled) if doubled >= 0 else 0.0)

    def _hang_up(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None


class Supervisor:
    """Keeps `count` workers running until it is stopped; `run` returns the exit code of the server."""

    def __init__(
        self,
        start: Start,
        count: int,
        *,
        grace: float,
        on_stop: Callable[[], None] = lambda: None,
        unresponsive_seconds: float = _UNRESPONSIVE_SECONDS,
    ) -> None:
        self._workers = [Worker(start) for _ in range(count)]
        self._grace = grace
        self._on_stop = on_stop
        self._unresponsive_seconds = unresponsive_seconds
        self._stops = self._hangups = 0
        self._handled_stops = self._handled_hangups = 0
        self._kill_at: float | None = None
        self._ever_served = False
        self._failed_starts = 0
        self._looked_at = time.monotonic()
        self._code = 0

    def run(self) -> int:
        try:
            with self._signals() as woken:
                while self._kill_at is None or self._running():
                    self._start_workers()
                    self._wait(woken)
                    self._obey_signals()
                    self._look_after_workers()
        finally:
            for worker in self._running():
                worker.kill()
        return self._code

    def _running(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.running]

    def _start_workers(self) -> None:
        for worker in self._workers:
            if self._kill_at is None and not worker.running and worker.start_at <= time.monotonic():
                try:
                    worker.start()
                except OSError as error:
                    log.error("A worker process cannot be started", reason=error.strerror)
                    self._start_failed(hopeless=False)

    def _wait(self, woken: socket.socket) -> None:
        """Wait until something happens, or for a second."""
        connection.wait([woken, *(one for worker in self._workers for one in worker.waits_for())], _LOOK_SECONDS)
        with suppress(BlockingIOError):
            woken.recv(4096)

    def _obey_signals(self) -> None:
        if self._hangups > self._handled_hangups:
            self._handled_hangups = self._hangups
            hangup.reopen()
            tell_of_reopening()
            self._send(REOPEN)
        if self._stops > self._handled_stops:
            if self._kill_at is None:
                log.info("Stopping", workers=len(self._running()), grace_seconds=self._grace)
                self._stop(STOP, self._grace + _AFTER_GRACE_SECONDS)
            if self._stops > 1:
                self._stop(HURRY, _HURRY_SECONDS)
            self._handled_stops = self._stops

    def _stop(self, command: bytes, seconds: float) -> None:
        """Send all workers the command, and kill those that still run after so many seconds."""
        self._on_stop()
        self._send(command)
        kill_at = time.monotonic() + seconds
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)

    def _send(self, command: bytes) -> None:
        for worker in self._running():
            worker.send(command)

    def _look_after_workers(self) -> None:
        now = time.monotonic()
        suspended = now - self._looked_at > _SUSPENDED_SECONDS
        self._looked_at = now
        for worker in self._running():
            worker.listen()
            if suspended:
                worker.heard_at = now
            if worker.serving:
                self._ever_served = True
                self._failed_starts = 0
            pid, served, code = worker.pid, worker.serving, worker.reap()
            if code is not None:
                self._ended(pid, served, code, worker.start_at - now)
            elif not worker.killed and self._is_lost(worker, now):
                worker.kill()

    def _is_lost(self, worker: Worker, now: float) -> bool:
        """Whether the worker must be killed: the grace time is over, or its event loop is blocked."""
        if self._kill_at is not None:
            if now >= self._kill_at:
                log.error("A worker process did not stop in time and is killed", pid=worker.pid)
            return now >= self._kill_at
        # A start may take long on a busy machine: a worker killed for it would never come up.
        silent = worker.serving and now - worker.heard_at > self._unresponsive_seconds
        if silent:
            log.error("A worker process does not respond and is killed", pid=worker.pid)
        return silent

    def _ended(self, pid: int | None, served: bool, code: int, delay: float) -> None:
        if self._kill_at is not None:
            return
        log.warning("A worker process ended", pid=pid, exit_code=code, restart_seconds=round(max(0.0, delay)))
        if not served:
            # A worker that exits by itself when none has ever served would always do so.
            self._start_failed(hopeless=code > 0 and not self._ever_served)

    def _start_failed(self, *, hopeless: bool) -> None:
        """End the server if no worker serves and none seems able to."""
        self._failed_starts += 1
        others = any(worker.serving for worker in self._running())
        if hopeless or (self._failed_starts >= _MOST_FAILED_STARTS and not others):
            log.error("Worker processes cannot start, so the server stops")
            self._code = START_FAILED
            self._stop(STOP, self._grace + _AFTER_GRACE_SECONDS)

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Count signals inside the block; the socket becomes readable with each of them."""
        woken, wake = socket.socketpair()
        with woken, wake:
            woken.setblocking(False)
            wake.setblocking(False)
            before = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
            for number in STOP_SIGNALS:
                signal.signal(number, self._count_stop)
            hangup.divert(self._count_hangup)
            try:
                yield woken
            finally:
                signal.set_wakeup_fd(before)

    def _count_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stops += 1

    def _count_hangup(self) -> None:
        self._hangups += 1


def kill_group(pid: int | None) -> None:
    """Kill a worker and its children: each worker leads a process group."""
    if pid is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


@contextmanager
def _hangups_wait() -> Iterator[None]:
    """Block SIGHUP: a new process inherits that, and cannot die of the signal before it has a handler."""
    if SIGHUP is None:
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGHUP})
