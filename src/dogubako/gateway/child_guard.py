"""Run a command and end all its processes when the server ends, also when the server is killed.

It is a program of its own, which imports nothing of ours: `python -I -S child_guard.py LIFELINE MEMORY COMMAND…`.
LIFELINE is the read end of a pipe. The server holds the write end, and the kernel closes it when the server ends in
any way. MEMORY is the limit of resident memory in bytes; 0 means no limit.

`npx` and `uvx` start the real server as a child, and some servers start processes in sessions of their own. On Linux
this process is the subreaper of them all, so it finds every one of them.
"""

import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_MOST_FILES: Final = 65_536
# How long processes may take to end after SIGTERM, and after SIGKILL.
_ENDINGS: Final = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))
_POLL_SECONDS: Final = 0.02
_MEMORY_SECONDS: Final = 1.0
_PS_SECONDS: Final = 10.0
_IS_LINUX: Final = sys.platform == "linux"
# Exit codes as shells use them.
_NOT_RUNNABLE: Final = 127
_KILLED: Final = 137


def main() -> NoReturn:
    lifeline, memory, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    # uvloop leaves inheritable files of the server open, a listening socket among them.
    os.closerange(3, lifeline)
    os.closerange(lifeline + 1, _MOST_FILES)
    os.set_inheritable(lifeline, False)
    wake, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = _start(command)
    _release_pipes()
    code = _watch(child, lifeline, wake, memory)
    _end_all()
    os._exit(code)


def _start(command: list[str]) -> int:
    """Start the command in the process group of this process."""
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if _IS_LINUX:
        # If this guard itself is killed, the command ends, and the server kills the rest of the group.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(_KILLED)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the operator configured this command
    except OSError as error:
        os.write(2, f"The command cannot be run: {error.strerror}\n".encode())
        os._exit(_NOT_RUNNABLE)


def _release_pipes() -> None:
    """Let go of stdin and stdout, so that the server sees the end of the command's output."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def _watch(child: int, lifeline: int, wake: int, memory: int) -> int:
    """Wait until the command or the server ends, and return the exit code."""
    while True:
        ready, _, _ = select.select([lifeline, wake], [], [], _MEMORY_SECONDS if memory else None)
        signals = os.read(wake, 512) if wake in ready else b""
        code = _reaped(child)
        if code is not None:
            return code
        if lifeline in ready or signal.SIGTERM in signals:
            return 0
        if memory and _resident_bytes() > memory:
            os.write(2, f"The server used more than {memory // 1024**2} MB of memory and was ended.\n".encode())
            return _KILLED


def _reaped(child: int) -> int | None:
    """Reap all processes that have ended. The exit code of the command, if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            ended = os.waitstatus_to_exitcode(status)
            code = ended if ended >= 0 else 128 - ended


def _end_all() -> None:
    """End all descendants: first they are asked to, then they are killed."""
    for number, seconds in _ENDINGS:
        asked: set[int] = set()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            _reaped(0)
            living = _descendants()
            if not living:
                return
            for pid in living - asked:
                _send(pid, number)
            asked |= living
            time.sleep(_POLL_SECONDS)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _descendants() -> set[int]:
    if not _IS_LINUX:
        return _group()
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found: set[int] = set()
    level = {os.getpid()}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level} - found
        found |= level
    return found


def _group() -> set[int]:
    """The process group stands for all of them where the system lists no descendants. Zombies count until reaped."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return set()
    return {-os.getpgrp()}


def _parent(process: Path) -> int:
    """The parent of a living process; 0 for none."""
    try:
        fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[1])


def _descendants_of(parent: int) -> set[int]:
    """The living descendants, by the kernel's own lists: a machine may have thousands of other processes."""
    found: set[int] = set()
    level = [parent]
    while level:
        children: list[int] = []
        for pid in level:
            for thread in Path(f"/proc/{pid}/task").iterdir() if Path(f"/proc/{pid}/task").exists() else ():
                try:
                    children += map(int, (thread / "children").read_bytes().split())
                except (FileNotFoundError, ProcessLookupError):
                    continue
        level = [pid for pid in children if pid not in found]
        found.update(level)
    return found


def _resident_bytes() -> int:
    if not _IS_LINUX:
        return _resident_bytes_by_ps()
    total = 0
    listed = Path(f"/proc/self/task/{os.getpid()}/children").exists()
    for pid in _descendants_of(os.getpid()) if listed else _descendants():
        try:
            total += int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total * os.sysconf("SC_PAGE_SIZE")


def _resident_bytes_by_ps() -> int:
    """The process group of this process, where the system has no /proc. `ps` itself is not in it."""
    import subprocess  # noqa: PLC0415 - heavy, and only this needs it

    asked = ["ps", "-A", "-o", "pid=,pgid=,rss="]
    try:
        ended = subprocess.run(asked, capture_output=True, timeout=_PS_SECONDS, check=True, start_new_session=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return 0
    rows = [line.split() for line in ended.stdout.splitlines()]
    own = str(os.getpgrp()).encode()
    return 1024 * sum(int(row[2]) for row in rows if len(row) == 3 and row[1] == own and int(row[0]) != os.getpid())


if __name__ == "__main__":
    main()
