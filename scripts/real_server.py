"""A real server as a child process on loopback: started apart from us, waited for, and stopped in good order.

Only the standard library is used, so that real_searx.py runs under any Python.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from types import FrameType
from typing import Final

PAUSE_SECONDS: Final = 0.1


class StartError(Exception):
    """A server is installed but does not start; the message holds the end of its log."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How many seconds a server gets to start, and to stop."""

    start: float
    stop: float


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all are held until the last is found, so that none comes twice."""
    probes = [socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def start(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path
) -> "subprocess.Popen[bytes]":
    with log.open("ab") as output:
        # A session of its own: Ctrl-C in the terminal is for us, and we stop the server in good order.
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@contextmanager
def ready(
    name: str, process: "subprocess.Popen[bytes]", log: Path, is_ready: Callable[[], bool], patience: Patience
) -> Iterator[None]:
    """Wait until a started server is ready, and stop it afterwards, whatever happened meanwhile."""
    try:
        _wait_until_ready(name, process, log, is_ready, patience.start)
        yield
    finally:
        _stop(process, patience.stop)


def _wait_until_ready(
    name: str, process: "subprocess.Popen[bytes]", log: Path, is_ready: Callable[[], bool], seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if is_ready():
            return
        time.sleep(PAUSE_SECONDS)
    end = log.read_text(errors="replace")[-4000:]
    raise StartError(f"{name} did not start (exit code {process.poll()}). The end of its log:\n{end}")


def _stop(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def leave_on_signals() -> None:
    """Make SIGTERM and Ctrl-C leave the program by the way on which the server is stopped."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(0)


def tell_and_wait(name: str, pid: int, told: Mapping[str, object]) -> None:
    """Print how to reach the server, as one line of JSON, and come back only if it ends by itself."""
    print(json.dumps(told), flush=True)
    # Wait for its end without taking note of it: that is done where it is stopped.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    say(f"{name} ended by itself.")


def say(text: str) -> None:
    """Tell the person; the standard output belongs to the program that reads it."""
    print(text, file=sys.stderr, flush=True)
