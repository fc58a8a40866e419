"""Signals of a server process: SIGTERM and SIGINT stop it, a second one hurries it, SIGHUP reopens its files."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import structlog

from dogubako.append_file import reopen_files

log = structlog.get_logger("dogubako")

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
# Windows has none.
SIGHUP: Final[int | None] = getattr(signal, "SIGHUP", None)


def stop_on_signals(stop: Callable[[], None], hurry: Callable[[], None]) -> None:
    """Call `stop` at the first SIGTERM or SIGINT, and `hurry` at each one after it.

    The handlers stay until the process has ended: the default ones would lose its last log lines.
    """
    received = 0

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        (stop if received == 1 else hurry)()

    for number in STOP_SIGNALS:
        signal.signal(number, handle)


@contextmanager
def woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let a signal wake the loop, also when the system delivers it to another thread.

    uvloop does this by itself. `loop.add_signal_handler` does it too, but restores the default handlers when it ends.
    """
    woken, wake = socket.socketpair()
    with woken, wake:
        woken.setblocking(False)
        wake.setblocking(False)
        before = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        loop.add_reader(woken, woken.recv, 4096)
        try:
            yield
        finally:
            loop.remove_reader(woken)
            signal.set_wakeup_fd(before)


def soon_on(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Run `act` on a loop of this or another thread. A loop that has ended runs nothing."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(act)


class Hangup:
    """SIGHUP: files are reopened before their next line, and a running server logs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._act: Callable[[], None] = self.reopen
        self._ends_with_terminal = False

    def install(self) -> None:
        """Survive SIGHUP, unless the terminal of the command was closed."""
        if SIGHUP is None:
            return
        # nohup ignores the signal, so that the command survives its terminal.
        self._ends_with_terminal = signal.getsignal(SIGHUP) is not signal.SIG_IGN and _has_terminal()
        signal.signal(SIGHUP, self._handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGHUP})

    def divert(self, act: Callable[[], None]) -> None:
        """Let the signal call `act` instead, which calls `reopen` when it is ready."""
        self._act = act

    def tell_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Log on this loop that files were reopened, which also creates the new log file at once."""
        self._loop = loop

    def reopen(self) -> None:
        """Reopen the files. A signal handler and any thread may call this."""
        reopen_files()
        if self._loop is not None:
            soon_on(self._loop, tell_of_reopening)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._ends_with_terminal and not _has_terminal():
            signal.raise_signal(signal.SIGTERM)
        else:
            self._act()


def tell_of_reopening() -> None:
    log.info("Log files are reopened", signal="SIGHUP")


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


hangup: Final = Hangup()
