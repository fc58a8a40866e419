"""Signals and killed processes in the middle of calls: no call is lost, no write is cut, no process is left."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import anyio
import httpx2
import pytest

from tests.doors.family import descendants, is_alive
from tests.doors.processes import HERE, PATIENCE
from tests.doors.waiting import until

from .conftest import Tally
from .server import Target, target

pytestmark = pytest.mark.attack

_TOOLS = (HERE / "signal_tools.py", HERE / "odd_tools.py", HERE / "worker_pack.py")
_WORKERS = ["--workers", "2"]
_PIECES: Final = 30
_WHOLE: Final = "".join(f"{number}\n" for number in range(_PIECES))
_HURRIED_SECONDS: Final = 30.0


def _post(aim: Target, tool: str, **parameters: object) -> httpx2.Response:
    """A call on a connection of its own, so that any worker may take it."""
    return httpx2.post(
        f"{aim.url}/v1/tools/call", json={"name": tool, "parameters": parameters}, timeout=PATIENCE, trust_env=False
    )


def _ready(aim: Target, workers: int) -> None:
    aim.command.stderr.first(lambda line: b"Application startup complete" in line, nth=workers)


@pytest.mark.parametrize("words", [[], _WORKERS], ids=["serve", "workers"])
async def test_hangups_in_the_middle_of_writes(tmp_path: Path, tally: Tally, words: list[str]) -> None:
    with target(*_TOOLS, folder=tmp_path, words=words) as aim, ThreadPoolExecutor(16) as threads:
        _ready(aim, len(words) or 1)
        files = [tmp_path / f"file{number}" for number in range(16)]
        writes = [threads.submit(_post, aim, "write_slowly", path=str(file), pieces=_PIECES) for file in files]
        await until(lambda: any(file.exists() for file in files), "a write has begun")
        sent = 0
        while not all(write.done() for write in writes):
            aim.command.signal(signal.SIGHUP)
            sent += 1
            await anyio.sleep(0.001)
        for file, write in zip(files, writes, strict=True):
            tally.check(write.result().status_code == 200, f"a call among {sent} hangups: {write.result().text}")
            tally.check(file.read_text() == _WHOLE, f"{file.name} is cut")
        tally.check(sent >= 100, f"only {sent} hangups")
        aim.command.signal(signal.SIGTERM)
        tally.check(aim.command.wait() == 0, "the server ends with code 0")


async def test_killed_workers(tmp_path: Path, tally: Tally) -> None:
    with target(*_TOOLS, folder=tmp_path, words=_WORKERS) as aim:
        _ready(aim, 2)
        for number in range(2):
            marker = tmp_path / f"marker{number}"
            _post(aim, "start_process", marker=str(marker))
            worker, child = map(int, marker.read_text().split())
            os.kill(worker, signal.SIGKILL)
            _ready(aim, 3 + number)
            await _gone(tally, {worker, child}, "a killed worker and its child")
            answer = _post(aim, "which_worker")
            tally.check(answer.status_code == 200, f"a call after a worker was killed: {answer.text}")
        aim.command.signal(signal.SIGTERM)
        tally.check(aim.command.wait() == 0, "the server ends with code 0")


def _kill(aim: Target) -> None:
    aim.command.process.kill()


def _tell_twice(aim: Target) -> None:
    # Two signals of the same kind may arrive as one.
    aim.command.signal(signal.SIGTERM)
    aim.command.signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("act", "grace"), [pytest.param(_kill, "3", id="killed"), pytest.param(_tell_twice, "600", id="told twice")]
)
async def test_no_process_is_left(tmp_path: Path, tally: Tally, act: Callable[[Target], None], grace: str) -> None:
    settings = {"DOGUBAKO_SHUTDOWN_GRACE": grace}
    with target(*_TOOLS, folder=tmp_path, words=_WORKERS, settings=settings) as aim, ThreadPoolExecutor(4) as threads:
        _ready(aim, 2)
        markers = [tmp_path / f"marker{number}" for number in range(4)]
        calls = [threads.submit(_post, aim, "linger", marker=str(marker)) for marker in markers]
        await until(lambda: all(marker.exists() for marker in markers), "the calls have begun")
        started = tmp_path / "started"
        _post(aim, "start_process", marker=str(started))
        family = descendants(aim.command.process.pid) | set(map(int, started.read_text().split()))
        began = time.monotonic()
        act(aim)
        await _gone(tally, family, "workers and their children")
        took = time.monotonic() - began
        tally.check(took < _HURRIED_SECONDS, f"the last process ended after {took:.0f} s")
        for call, marker in zip(calls, markers, strict=True):
            tally.check(call.result().status_code == 503, f"a call that was cancelled: {call.result().text}")
            tally.check(marker.read_text() == "cancelled", f"{marker.name}: {marker.read_text()}")


async def _gone(tally: Tally, processes: set[int], what: str) -> None:
    try:
        await until(lambda: not any(map(is_alive, processes)), what, seconds=60)
    except AssertionError:
        tally.check(False, f"{what}: {sorted(filter(is_alive, processes))} are left")
    else:
        tally.check(True, what)
