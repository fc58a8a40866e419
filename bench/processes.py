"""Start a contender, and stop it whatever happens."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bench.contenders import Contender
from bench.machine import ContenderError, Machine, free_port

Process = subprocess.Popen[bytes]

# Ten thousand tools, bytecode that is not there yet, a machine that is busy: starting may take its time.
_START_SECONDS = 90.0
_STOP_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 0.02


@contextlib.contextmanager
def serving(machine: Machine, contender: Contender, seconds: float = _START_SECONDS) -> Iterator[tuple[Process, int]]:
    """A server that accepts connections, and its port."""
    port = free_port()
    stderr = machine.new_folder("stderr") / "stderr.txt"
    with stderr.open("wb") as errors:
        process = _start(machine, contender, errors, port=port)
        try:
            _wait_until_open(process, port, contender.name, stderr, seconds)
            yield process, port
        finally:
            stop(process)


@contextlib.contextmanager
def piped(machine: Machine, contender: Contender) -> Iterator[Process]:
    """A server that speaks through pipes."""
    with (machine.new_folder("stderr") / "stderr.txt").open("wb") as errors:
        process = _start(machine, contender, errors, pipe=True)
        try:
            yield process
        finally:
            stop(process)


def cpu_seconds(process: Process, *, with_children: bool = False) -> float | None:
    """The processor time that the server, or also its workers, have used so far, where the system tells."""
    if sys.platform != "linux":
        return None
    try:
        return sum(map(_cpu_seconds_of, _with_children(process.pid) if with_children else [process.pid]))
    except OSError:
        return None


def _cpu_seconds_of(pid: int) -> float:
    # The clock that clock_getcpuclockid(3) gives for a process. `/proc/PID/stat` has hundredths of a second only.
    return time.clock_gettime((~pid << 3) | 2)


def _with_children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *(one for child in told.split() for one in _with_children(int(child)))]


def cpu_per_call(process: Process, before: float | None, calls: int, *, with_children: bool = False) -> float | None:
    """Microseconds of processor time for each of the calls since `before`."""
    after = cpu_seconds(process, with_children=with_children)
    return (after - before) / calls * 1e6 if after is not None and before is not None else None


def resting_bytes(process: Process) -> int | None:
    """The memory that the server has now, where the system tells."""
    return _memory(process, "VmRSS")


def peak_bytes(process: Process) -> int | None:
    """The most memory that the server ever had, where the system tells."""
    return _memory(process, "VmHWM")


def stop(process: Process) -> None:
    """Ask first. Closed pipes are how a client over stdio says goodbye."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_STOP_SECONDS)
    if process.stdout is not None:
        process.stdout.close()


def _memory(process: Process, name: str) -> int | None:
    try:
        told = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    found = next((line for line in told.splitlines() if line.startswith(f"{name}:")), None)
    return int(found.split()[1]) * 1024 if found else None


def _start(
    machine: Machine, contender: Contender, errors: IO[bytes], *, port: int | None = None, pipe: bool = False
) -> Process:
    words = [word.replace("{port}", str(port)) for word in contender.command]
    return subprocess.Popen(
        # Over pipes client and server take turns, and nothing is gained by keeping them apart.
        words if pipe else machine.on_server_core(words),
        cwd=contender.folder,
        env=machine.environment(contender.environment),
        stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
        stdout=subprocess.PIPE if pipe else errors,
        stderr=errors,
    )


def _wait_until_open(process: Process, port: int, name: str, stderr: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said = stderr.read_text(errors="replace").strip().splitlines()
            raise ContenderError(f"{name} ended while starting: {said[-1] if said else 'it said nothing'}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            return
    raise ContenderError(f"{name} did not listen within {seconds:g} seconds")
