"""Processes as Linux describes them: who started whom, and how much processor time each has used."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_ENDED: Final = frozenset("ZX")


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the command's name; nothing once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and fields[0] not in _ENDED


def children_of(pid: int) -> set[int]:
    """The running processes that this one has started."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {child for child in pids if (fields := _fields(child)) and int(fields[1]) == pid and fields[0] not in _ENDED}


def processor_seconds(pid: int) -> float:
    """The processor time of a process and of all children that it has waited for."""
    return sum(map(int, _fields(pid)[11:15])) / _TICKS


def resident_megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
