"""A stranger who follows a call opens few files: the numbers of `scripts/trace_call.py` do not grow."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# On a busy machine a call may take so long that the server looks whether its client is still there: a file more.
_MORE_TRIES = 4
# Files and file switches of one warm call, at most.
MOST = {
    "`get_execution` over `/mcp`": (40, 76),
    "`get_execution` over REST": (40, 76),
    "`echo` over `/mcp`": (26, 45),
    "`echo` over REST": (26, 45),
}


def _rows(table: str) -> dict[str, tuple[int, ...]]:
    """Files, functions, switches and switches back, by call."""
    rows = re.findall(r"^ *\| (`.*?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE)
    return {name: tuple(map(int, numbers)) for name, *numbers in rows}


def _traced() -> dict[str, tuple[int, ...]]:
    command = [sys.executable, "scripts/trace_call.py"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    return _rows(done.stdout)


def _too_many(traced: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    return {
        name: (files, switches)
        for name, (files, _, switches, _) in traced.items()
        if files > MOST[name][0] or switches > MOST[name][1]
    }


def test_one_call_passes_few_files() -> None:
    traced = _traced()
    for _ in range(_MORE_TRIES):
        if not _too_many(traced):
            break
        again = _traced()
        traced = {name: min(numbers, again[name], key=lambda row: row[2]) for name, numbers in traced.items()}

    assert traced.keys() == MOST.keys()
    assert _too_many(traced) == {}


def test_contributing_has_numbers_of_this_size() -> None:
    written = _rows((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))

    assert written.keys() == MOST.keys()
    assert [name for name, (files, _, switches, _) in written.items() if (files, switches) > MOST[name]] == []
