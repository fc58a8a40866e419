"""Signals and killed processes: calls finish, files are whole, and no process is left behind."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .family import descendants, has_pending_signals, is_alive
from .pipe import speaking
from .processes import HERE, PATIENCE, Command, running, serving
from .waiting import says, until

_TOOLS = (HERE / "odd_tools.py", HERE / "signal_tools.py", HERE / "worker_pack.py")
# Longer than a test waits: what ends in time did not wait for the grace time.
_LONG_GRACE = {"DOGUBAKO_SHUTDOWN_GRACE": "600"}
_REOPENED = b"Log files are reopened"
# A second signal ends a server within about a second; a busy machine needs longer, and the grace time is far more.
_HURRIED_SECONDS = 30.0

WAYS = [pytest.param([], id="serve"), pytest.param(["--workers", "2"], id="workers")]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


@contextmanager
def server(folder: Path, words: list[str], settings: dict[str, str] | None = None) -> Iterator[Command]:
    """A server of which all workers take requests."""
    with serving(*_TOOLS, folder=folder, words=words, settings=settings) as command:
        command.stderr.first(lambda line: b"Application startup complete" in line, nth=len(words) or 1)
        yield command


def call(url: str, tool: str, **parameters: Any) -> httpx2.Response:
    """One call on a connection of its own, so that any worker may take it."""
    return httpx2.post(
        f"{url}/v1/tools/call", json={"name": tool, "parameters": parameters}, timeout=PATIENCE, trust_env=False
    )


def logged(command: Command, event: str) -> list[dict[str, Any]]:
    return [line for line in command.log_lines if line["event"] == event]


@pytest.mark.slow
@pytest.mark.parametrize("words", WAYS)
async def test_a_hundred_hangups_lose_no_call_and_cut_no_write(
    tmp_path: Path, threads: ThreadPoolExecutor, words: list[str]
) -> None:
    with server(tmp_path, words) as command:
        url, files = command.url(), [tmp_path / f"file{number}" for number in range(4)]
        before = descendants(command.process.pid)
        writes = [threads.submit(call, url, "write_slowly", path=str(path), pieces=50) for path in files]
        await until(lambda: all(path.exists() for path in files), "all writes have begun")
        for _ in range(100):
            command.signal(signal.SIGHUP)
        answers = [write.result().json()["result"] for write in writes]
        command.stderr.first(lambda line: _REOPENED in line, nth=len(words) + 1 if words else 1)
        same_processes = descendants(command.process.pid) == before
        command.signal(signal.SIGTERM)
        code = command.wait()

    assert answers == ["written"] * 4 and code == 0 and same_processes
    assert {path.read_text() for path in files} == {"".join(f"{number}\n" for number in range(50))}
    assert len([line for line in logged(command, "Tool completed") if line["tool"] == "write_slowly"]) == 4


async def test_stdio_goes_on_after_hangups(tmp_path: Path) -> None:
    with speaking(*_TOOLS, folder=tmp_path) as pipe:
        pipe.open()
        path = tmp_path / "file"
        write = pipe.start_call("write_slowly", {"path": str(path), "pieces": 50})
        await until(path.exists, "the write has begun")
        for _ in range(100):
            pipe.command.signal(signal.SIGHUP)
        assert pipe.response(write)["result"]["content"][0]["text"] == "written"
        (tmp_path / "logs" / "dogubako.log").rename(tmp_path / "old")
        size = (tmp_path / "old").stat().st_size
        start = pipe.command.stderr.count()
        pipe.command.signal(signal.SIGHUP)
        pipe.command.stderr.first(lambda line: _REOPENED in line, start=start)

    assert path.read_text().splitlines() == [str(number) for number in range(50)]
    assert (tmp_path / "old").stat().st_size == size
    assert logged(pipe.command, "Log files are reopened")


@pytest.mark.slow
async def test_a_command_that_follows_the_audit_log_goes_on_after_a_hangup(tmp_path: Path) -> None:
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data"), "DOGUBAKO_AUDIT": "true"}
    with (
        server(tmp_path, [], settings) as command,
        running("audit", "tail", "--follow", folder=tmp_path, settings=settings) as tail,
    ):
        call(command.url(), "which_worker")
        tail.stdout.first(lambda line: b"which_worker" in line)
        tail.signal(signal.SIGHUP)
        call(command.url(), "block", seconds=0)
        tail.stdout.first(lambda line: b"block" in line)
        tail.process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("words", WAYS)
async def test_log_and_audit_files_that_were_moved_are_begun_anew_after_a_hangup(
    tmp_path: Path, words: list[str]
) -> None:
    data = tmp_path / "data"
    settings = {"DOGUBAKO_DATA_DIR": str(data), "DOGUBAKO_AUDIT": "true"}
    files = [tmp_path / "logs" / "dogubako.log", data / "audit.jsonl"]
    with server(tmp_path, words, settings) as command:
        for _ in range(10):
            call(command.url(), "which_worker")
        await until(lambda: files[1].exists() and files[1].read_bytes().count(b"\n") == 10, "all calls are recorded")
        for file in files:
            file.rename(file.with_suffix(".1"))
        command.signal(signal.SIGHUP)
        command.stderr.first(lambda line: _REOPENED in line, nth=len(words) + 1 if words else 1)
        sizes = [file.with_suffix(".1").stat().st_size for file in files]
        for _ in range(10):
            call(command.url(), "which_worker")
        await until(lambda: files[1].exists() and files[1].read_bytes().count(b"\n") == 10, "the new file is written")

    assert [file.with_suffix(".1").stat().st_size for file in files] == sizes
    assert len(logged(command, "Tool completed")) == 10


@pytest.mark.slow
@pytest.mark.parametrize("words", WAYS)
async def test_a_log_file_that_was_moved_is_begun_anew_without_a_signal(tmp_path: Path, words: list[str]) -> None:
    file, old = tmp_path / "logs" / "dogubako.log", tmp_path / "logs" / "old.log"
    with server(tmp_path, words) as command:
        file.rename(old)
        answers: list[int] = []

        def begun() -> bool:
            answers.append(call(command.url(), "which_worker").status_code)
            return file.exists()

        await until(begun, "a new file is begun", seconds=20)
        for _ in range(20):
            begun()
        command.signal(signal.SIGTERM)
        assert command.wait() == 0
    lines = [line for one in (old, file) for line in one.read_text().splitlines() if '"Tool completed"' in line]

    assert set(answers) == {200} and len(lines) == len(answers)
    assert all(line.startswith("{") and line.endswith("}") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("words", WAYS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_cancels_running_calls_at_once(
    tmp_path: Path, threads: ThreadPoolExecutor, words: list[str], number: int
) -> None:
    markers = [tmp_path / str(index) for index in range(4)]
    with server(tmp_path, words, _LONG_GRACE) as command:
        url = command.url()
        family = descendants(command.process.pid)
        calls = [threads.submit(call, url, "linger", marker=str(marker)) for marker in markers]
        for marker in markers:
            await says(marker, "started")
        command.signal(number)
        command.stderr.first(lambda line: b"Waiting for connections to close" in line)
        began = time.monotonic()
        command.signal(number)
        code = command.wait()
        took = time.monotonic() - began
        answers = [one.result() for one in calls]
        await until(lambda: not any(map(is_alive, family)), "no process is left")

    assert code == 0 and took < _HURRIED_SECONDS
    assert [(one.status_code, one.json()["code"]) for one in answers] == [(503, "BUSY")] * 4
    assert [marker.read_text() for marker in markers] == ["cancelled"] * 4
    assert len(logged(command, "Tool completed")) == 4
    assert "Traceback" not in command.stderr.text()


@pytest.mark.slow
async def test_a_second_signal_ends_what_cannot_be_cancelled(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    with server(tmp_path, [], _LONG_GRACE) as command:
        call(command.url(), "which_worker")
        threads.submit(call, command.url(), "block_loop", marker=str(tmp_path / "marker"), seconds=250)
        await says(tmp_path / "marker", "started")
        command.signal(signal.SIGTERM)
        # A second one that comes too early may go to a thread that does not wake the one that is blocked.
        await until(lambda: not has_pending_signals(command.process.pid), "the first signal is received")
        command.signal(signal.SIGINT)
        assert command.wait(_HURRIED_SECONDS) == 0


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["linger", "never_end"])
async def test_a_second_signal_ends_stdio_at_once(tmp_path: Path, tool: str) -> None:
    talkative = {**_LONG_GRACE, "LOG_LEVEL": "debug"}
    with speaking(*_TOOLS, folder=tmp_path, settings=talkative) as pipe:
        pipe.open()
        pipe.start_call(tool, {"marker": str(tmp_path / "marker")} if tool == "linger" else {})
        pipe.command.stderr.first(lambda line: b"Tool invoked" in line)
        # Two of the same kind may arrive as one.
        pipe.command.signal(signal.SIGTERM)
        pipe.command.signal(signal.SIGINT)
        assert pipe.command.wait(_HURRIED_SECONDS) == 0

    assert "Traceback" not in pipe.command.stderr.text()


@pytest.mark.slow
async def test_workers_and_their_children_end_with_a_killed_supervisor(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    with server(tmp_path, ["--workers", "2"]) as command:
        url, started, marker = command.url(), tmp_path / "started", tmp_path / "marker"
        call(url, "start_process", marker=str(started))
        running_call = threads.submit(call, url, "pause", marker=str(marker), seconds=1)
        await says(marker, "started")
        family = descendants(command.process.pid) | set(map(int, started.read_text().split()))
        command.process.kill()
        answer = running_call.result()
        await until(lambda: not any(map(is_alive, family)), "no process is left")

    assert len(family) >= 3
    assert answer.json()["result"] == "done"
    assert logged(command, "The supervisor process is gone, so this worker process stops")


@pytest.mark.slow
async def test_a_killed_worker_is_replaced_and_its_children_end(tmp_path: Path) -> None:
    with server(tmp_path, ["--workers", "2"]) as command:
        url, marker = command.url(), tmp_path / "marker"
        call(url, "start_process", marker=str(marker))
        worker, child = map(int, marker.read_text().split())
        os.kill(worker, signal.SIGKILL)
        command.stderr.first(lambda line: b"Application startup complete" in line, nth=3)
        await until(lambda: not is_alive(child), "the child of the worker ends")
        answers = {call(url, "which_worker").json()["result"] for _ in range(20)}
        command.signal(signal.SIGTERM)
        assert command.wait() == 0

    assert str(worker) not in answers
    [line] = logged(command, "A worker process ended")
    assert (line["pid"], line["exit_code"], line["restart_seconds"]) == (worker, -signal.SIGKILL, 0)


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_server(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import multiprocessing\n"
        "from dogubako import tool\n"
        "if multiprocessing.parent_process():\n"
        "    raise RuntimeError('only in a worker')\n"
        "@tool\n"
        "async def fine() -> str:\n"
        '    """Do nothing."""\n'
        "    return ''\n"
    )
    with serving(broken, folder=tmp_path, words=["--workers", "2"]) as command:
        code = command.wait()

    assert code == 3
    assert "Worker processes cannot start, so the server stops" in command.stderr.text()


@pytest.mark.slow
@pytest.mark.parametrize("twice", [False, True])
async def test_a_service_manager_that_signals_all_processes_does_not_hurry_them(tmp_path: Path, twice: bool) -> None:
    with server(tmp_path, ["--workers", "2"]) as command, ThreadPoolExecutor(1) as threads:
        marker = tmp_path / "marker"
        running_call = threads.submit(call, command.url(), "pause", marker=str(marker), seconds=2)
        await says(marker, "started")
        for pid in descendants(command.process.pid) if twice else ():
            os.kill(pid, signal.SIGTERM)
        for pid in (command.process.pid, *descendants(command.process.pid)):
            os.kill(pid, signal.SIGTERM)
        code = command.wait()

    assert (running_call.result().json()["result"], code) == ("done", 0)


@pytest.mark.slow
def test_a_closed_terminal_ends_the_server(tmp_path: Path) -> None:
    """As before there were handlers: nobody wants a server that goes on behind a closed window."""
    terminal, other_end = os.openpty()
    with running_in(other_end, tmp_path) as command:
        os.close(other_end)
        command.url()
        os.close(terminal)
        assert command.wait() == 0


@contextmanager
def running_in(terminal: int, folder: Path) -> Iterator[Command]:
    """`dogubako serve` whose controlling terminal is this one."""
    script = (
        "import fcntl, os, runpy, sys, termios\n"
        "os.setsid()\n"
        f"fcntl.ioctl(os.open({os.ttyname(terminal)!r}, os.O_RDWR), termios.TIOCSCTTY, 0)\n"
        "sys.argv = ['dogubako', 'serve', '--port', '0']\n"
        "runpy.run_module('dogubako', run_name='__main__')\n"
    )
    command = Command((), folder=folder, start=("-c", script))
    try:
        yield command
    finally:
        command.close()
