"""The processes of a server: its workers, and what they started."""

from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits for its exit code to be read does not."""
    try:
        return _state_and_parent(pid)[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid: int) -> set[int]:
    """The children of a process, and theirs."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = _state_and_parent(int(folder.name))[1]
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, new = set[int](), {pid}
    while new := {child for child, parent in parents.items() if parent in new}:
        found |= new
    return found


def has_pending_signals(pid: int) -> bool:
    """Whether a signal was sent to the process that none of its threads has received."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) for line in status if line.startswith(("SigPnd", "ShdPnd")))


def _state_and_parent(pid: int) -> tuple[str, int]:
    # The name in parentheses may contain anything.
    state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    return state, int(parent)
