"""A disk that is full and has room again: calls are answered, log and audit log go on and say what was lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.doors.processes import HERE
from tests.doors.waiting import until

from .conftest import Tally
from .server import Target, target
from .small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.attack

_TOOLS = (HERE / "signal_tools.py", HERE / "worker_pack.py")
_CALLS = 50
_AT_ONCE = 16
_LOST = "Log lines could not be written"


@pytest.mark.parametrize("words", [[], ["--workers", "2"]], ids=["serve", "workers"])
async def test_full_disk(tmp_path: Path, tally: Tally, words: list[str]) -> None:
    with small_disk(tmp_path / "disk") as disk:
        tally.name = f"full disk ({disk.kind}), {'workers' if words else 'serve'}"
        settings = {
            "LOG_DIR": str(disk.folder / "logs"),
            "DOGUBAKO_DATA_DIR": str(disk.folder / "data"),
            "DOGUBAKO_AUDIT": "true",
        }
        with target(*_TOOLS, folder=tmp_path, words=words, settings=settings) as aim:
            aim.command.stderr.first(lambda line: b"Application startup complete" in line, nth=len(words) or 1)
            _read(aim, tally, "before")
            await until(lambda: len(_audited(disk)) == _CALLS, "the first calls are recorded")
            disk.fill(aim.command.process.pid)
            _read(aim, tally, "while the disk is full")
            file = tmp_path / "written"
            refused = aim.call("write_slowly", path=str(file), pieces=1)
            tally.check(refused.status_code == 403 and not file.exists(), f"a write on a full disk: {refused.text}")
            disk.free(aim.command.process.pid)
            await until(lambda: _recovered(aim, disk), "log and audit log go on")
            written = aim.call("write_slowly", path=str(file), pieces=1)
            tally.check(written.status_code == 200, f"a write when there is room again: {written.text}")
            aim.command.process.terminate()
            tally.check(aim.command.wait() == 0, "the server ends with code 0")
        _check_files(disk, tally, aim.command.stderr.text())


def _read(aim: Target, tally: Tally, when: str) -> None:
    for _ in range(_CALLS):
        answer = _which_worker(aim)
        tally.check(answer.status_code == 200, f"a call {when}: {answer.status_code}")


def _which_worker(aim: Target) -> httpx2.Response:
    return aim.http.post("/v1/tools/call", json={"name": "which_worker"}, headers={"connection": "close"})


def _recovered(aim: Target, disk: SmallDisk) -> bool:
    """A worker that lost lines says so with its next line. One that writes a moment later has lost none."""
    # Many at once: one after the other may all reach the same worker.
    with ThreadPoolExecutor(_AT_ONCE) as callers:
        list(callers.map(lambda _: _which_worker(aim), range(_AT_ONCE)))
    return any(line["event"] == _LOST for line in _logged(disk))


def _check_files(disk: SmallDisk, tally: Tally, shown: str) -> None:
    """Every line is in the log or counted as lost; every call is in the audit log, in spite of the disk."""
    lines = _logged(disk)
    lost = sum(line["lines"] for line in lines if line["event"] == _LOST)
    completed = shown.count("Tool completed")
    in_file = sum(line["event"] == "Tool completed" for line in lines)
    tally.check(lost > 0, "no line was counted as lost")
    tally.check(in_file + lost >= completed, f"{in_file} lines and {lost} lost, of {completed}")
    audited = sum(
        line["code"] != "STARTED" and line["tool"] in ("which_worker", "write_slowly") for line in _audited(disk)
    )
    tally.check(audited == completed, f"{audited} calls in the audit log, of {completed}")


def _logged(disk: SmallDisk) -> list[dict[str, Any]]:
    return _lines(disk.folder / "logs" / "dogubako.log")


def _audited(disk: SmallDisk) -> list[dict[str, Any]]:
    return _lines(disk.folder / "data" / "audit.jsonl")


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines that are whole. A half one must stand alone: a line that continues it would be missing here."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found
