"""Workers that write one log together, and processes that are stopped or killed while they write it."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.gate.audit import read_line
from tests.doors.processes import PATIENCE, ROOT, Command, run, serving
from tests.doors.waiting import says, until

from .sheds import SHED, SLOW_CHANGES, log_in, recorded_in, shed_in


def settings_in(folder: Path, **more: str) -> dict[str, str]:
    return {"DOGUBAKO_AUDIT": "true", "DOGUBAKO_DATA_DIR": str(folder), **more}


@pytest.fixture
def crowd() -> Iterator["Crowd"]:
    with ThreadPoolExecutor(8) as threads, httpx2.Client(timeout=PATIENCE) as client:
        yield Crowd(threads, client)


class Crowd:
    """Several callers at once."""

    def __init__(self, threads: ThreadPoolExecutor, client: httpx2.Client) -> None:
        self._threads = threads
        self._client = client

    def call(self, url: str, name: str, **arguments: Any) -> "Future[str]":
        return self._threads.submit(self._call, url, {"name": name, "parameters": arguments})

    def call_until_nobody_answers(self, url: str, name: str, **arguments: Any) -> "Future[Counter[str]]":
        """One caller who calls again and again; how its calls ended, the last one without an answer."""
        return self._threads.submit(self._call_on, url, {"name": name, "parameters": arguments})

    def _call_on(self, url: str, body: Any) -> Counter[str]:
        codes: Counter[str] = Counter()
        while not codes["no answer"]:
            codes[self._call(url, body)] += 1
        return codes

    def _call(self, url: str, body: Any) -> str:
        """The outcome of one call, on a connection of its own."""
        try:
            answer = self._client.post(f"{url}/v1/tools/call", json=body, headers={"connection": "close"})
        except httpx2.TransportError:
            return "no answer"
        return "OK" if answer.status_code == 200 else str(answer.json()["code"])


def all_started(server: Command, workers: int) -> None:
    started: set[bytes] = set()
    for _ in range(workers):
        started.add(server.stderr.first(lambda line: b"Started server process" in line and line not in started))


@pytest.mark.slow
def test_lines_of_several_workers_do_not_mix(tmp_path: Path, crowd: Crowd) -> None:
    with serving(SHED, folder=tmp_path, words=["--workers", "2"], settings=settings_in(tmp_path)) as server:
        all_started(server, 2)
        url = server.url()
        answers = [crowd.call(url, "look", text="x" * number) for number in range(240)]
        codes = Counter(answer.result() for answer in answers)

    lines = recorded_in(tmp_path)
    assert codes == {"OK": 240}
    assert len(lines) == 240 and len({one["callId"] for one in lines}) == 240
    # One salt for all: every text was said once, whoever heard it.
    assert len({one["hash"] for one in lines}) == 240


_WRITER = """
import sys
from pathlib import Path
from dogubako.contract.call import ToolCall
from dogubako.gate.audit import AuditLog

audit = AuditLog(Path(sys.argv[1]))
names = {f"argument {number}": 1 for number in range(40)}
print("ready", flush=True)
while True:
    audit.record(ToolCall(name="look", parameters=names), "OK", 1.0)
"""


@pytest.mark.slow
async def test_processes_that_are_killed_while_they_write_leave_a_log_that_goes_on(tmp_path: Path) -> None:
    for _ in range(3):
        with _two_writers(tmp_path):
            await _grows(log_in(tmp_path), 300_000)

    raw = log_in(tmp_path).read_bytes().splitlines()
    damaged = [line for line in raw if line and read_line(line) is None]
    reported = json.loads(run("audit", "report", "--json", folder=tmp_path, settings=settings_in(tmp_path)).stdout)
    # Each of the six may have left one half line, and taken one line of its neighbour with it.
    assert len(damaged) <= 6 and len(raw) > 1_000
    assert reported["damagedLines"] == len(damaged)
    assert reported["calls"][0]["calls"] == len([line for line in raw if line]) - len(damaged)


@contextmanager
def _two_writers(folder: Path) -> Iterator[None]:
    """Two processes that write without end, and are killed in the middle of it."""
    command = [sys.executable, "-c", _WRITER, str(folder)]
    with ExitStack() as stack:
        writers = [stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)) for _ in range(2)]
        for writer in writers:
            stack.callback(writer.kill)
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        yield


async def _grows(log: Path, size: int) -> None:
    enough = _size(log) + size
    await until(lambda: _size(log) >= enough, f"{size} more bytes in the log")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.slow
async def test_a_killed_server_has_recorded_every_change_that_it_answered(tmp_path: Path, crowd: Crowd) -> None:
    with serving(SHED, folder=tmp_path, settings=settings_in(tmp_path)) as server:
        url = server.url()
        callers = [crowd.call_until_nobody_answers(url, "put", text=str(number)) for number in range(8)]
        await _grows(log_in(tmp_path), 10_000)
        server.signal(signal.SIGKILL)
        server.wait()
        codes = sum((caller.result() for caller in callers), Counter[str]())
    async with shed_in(tmp_path).running() as box:
        await box.call("look")

    lines = [read_line(raw) for raw in log_in(tmp_path).read_bytes().splitlines() if raw]
    whole = [line for line in lines if line is not None]
    assert codes["OK"] > 0 and codes["no answer"] == len(callers)
    assert len(whole) - 1 >= codes["OK"] and len(lines) - len(whole) <= 1
    assert whole[-1].tool == "look"


@pytest.mark.slow
async def test_a_killed_server_loses_no_more_of_what_was_read_than_the_last_moment(
    tmp_path: Path, crowd: Crowd
) -> None:
    with serving(SHED, folder=tmp_path, settings=settings_in(tmp_path)) as server:
        for _ in range(5):
            assert crowd.call(server.url(), "look", text="a").result() == "OK"
        recorded_in(tmp_path, lines=5)
        server.signal(signal.SIGKILL)
        server.wait()

    assert len(recorded_in(tmp_path)) == 5


@pytest.mark.slow
async def test_a_server_that_is_told_to_stop_records_what_was_running(tmp_path: Path, crowd: Crowd) -> None:
    grace = settings_in(tmp_path, DOGUBAKO_SHUTDOWN_GRACE="3")
    markers = {name: tmp_path / name for name in ("short", "long")}
    with serving(SHED, folder=tmp_path, settings=grace) as server:
        url = server.url()
        running = [
            crowd.call(url, "linger", marker=str(markers["short"]), seconds=0.5),
            crowd.call(url, "linger", marker=str(markers["long"])),
        ]
        for marker in markers.values():
            await says(marker, "started")
        quick = [crowd.call_until_nobody_answers(url, "look", text=str(number)) for number in range(6)]
        await _grows(log_in(tmp_path), 10_000)
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        answered = sum((caller.result() for caller in quick), Counter[str]())
        short = running[0].result()

    recorded = Counter((one["tool"], one["code"]) for one in recorded_in(tmp_path))
    assert short == "OK" and markers["long"].read_text() == "cancelled"
    assert recorded["linger", "OK"] == 1 and recorded["linger", "CANCELLED"] == 1
    assert answered.keys() == {"OK", "no answer"} and recorded["look", "OK"] == answered["OK"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_change_that_runs_when_the_server_is_killed_is_named_by_the_report(
    tmp_path: Path, crowd: Crowd, workers: int
) -> None:
    words = ["--workers", str(workers)] if workers > 1 else []
    with serving(SLOW_CHANGES, folder=tmp_path, words=words, settings=settings_in(tmp_path)) as server:
        first = crowd.call(server.url(), "paint", marker=str(tmp_path / "first"), seconds=0)
        assert first.result() == "OK"
        unanswered = crowd.call(server.url(), "paint", marker=str(tmp_path / "second"))
        await says(tmp_path / "second", "started")
        kill_all(server.process.pid)
        server.wait()
        unanswered.result()
    said = run("audit", "report", "--json", folder=tmp_path, settings=settings_in(tmp_path))
    table = run("audit", "report", folder=tmp_path, settings=settings_in(tmp_path))

    document = json.loads(said.stdout)
    [lost] = document["unfinished"]
    assert (lost["tool"], lost["caller"], lost["door"]) == ("paint", "anonymous", "rest")
    assert [(row["tool"], row["calls"], row["failed"]) for row in document["calls"]] == [("paint", 1, 0)]
    assert "Started, no end recorded" in table.stdout and lost["callId"] in table.stdout
    assert (tmp_path / "first").read_text() == "done" and (tmp_path / "second").read_text() == "started"


def kill_all(pid: int) -> None:
    """Kill a process and its children, which get no time to say anything."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for one in (pid, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


_CALLER = """
import asyncio, sys
from pathlib import Path
from tests.gate.sheds import shed_in

asyncio.run(shed_in(Path(sys.argv[1])).call("look"))
"""


def test_a_process_whose_loop_ends_at_once_has_recorded_what_it_read(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _CALLER, str(tmp_path)], timeout=PATIENCE, cwd=ROOT, check=True)

    assert [one["tool"] for one in recorded_in(tmp_path)] == ["look"]
