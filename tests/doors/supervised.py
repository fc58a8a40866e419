"""A process with a supervisor and one worker that misbehaves: `python -m tests.doors.supervised HOW FOLDER`."""

import errno
import multiprocessing
import os
import signal
import socket
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from dogubako import logs
from dogubako.contract.redaction import Redactor
from dogubako.supervisor import SERVING, Supervisor

_SPAWN = multiprocessing.get_context("spawn")


def obey(control: socket.socket) -> None:
    """Serve without a sign of life after the first one, until told to stop."""
    control.send(SERVING)
    control.recv(1)


def crash(control: socket.socket) -> None:
    """Serve, and die at once."""
    control.send(SERVING)
    os._exit(9)


def never_start(control: socket.socket) -> None:
    """Die before serving, of a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def disobey(control: socket.socket) -> None:
    """Serve, and do not stop when told to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    control.send(SERVING)
    while True:
        signal.pause()


_WAYS = {"obey": obey, "crash": crash, "never_start": never_start, "disobey": disobey}


def main(how: str, folder: Path) -> int:
    logs.configure("info", folder, Redactor())

    def start(control: socket.socket) -> BaseProcess:
        if how == "no_room":
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        process = _SPAWN.Process(target=_WAYS[how], args=(control,))
        process.start()
        return process

    return Supervisor(start, 1, grace=1, unresponsive_seconds=2).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
