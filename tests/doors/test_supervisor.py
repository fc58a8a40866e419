"""The supervisor of worker processes that hang, crash or do not start."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .family import descendants
from .processes import ROOT, Command
from .waiting import until


@contextmanager
def supervised(how: str, folder: Path) -> Iterator[Command]:
    start = ("-m", "tests.doors.supervised")
    settings = {"PYTHONPATH": str(ROOT)}
    command = Command((how, str(folder / "logs")), folder=folder, settings=settings, start=start)
    try:
        yield command
    finally:
        command.process.kill()
        command.close()


def _ended(command: Command) -> list[dict[str, Any]]:
    return [line for line in command.log_lines if line["event"] == "A worker process ended"]


async def test_a_worker_whose_event_loop_stands_still_is_replaced(tmp_path: Path) -> None:
    with supervised("obey", tmp_path) as command:
        command.stderr.first(lambda line: b"does not respond and is killed" in line, nth=2)
        command.signal(signal.SIGTERM)
        assert command.wait() == 0

    first, *_ = _ended(command)
    assert first["exit_code"] == -signal.SIGKILL


@pytest.mark.slow
async def test_workers_that_crash_again_and_again_are_restarted_ever_more_slowly(tmp_path: Path) -> None:
    with supervised("crash", tmp_path) as command:
        command.stderr.first(lambda line: b"A worker process ended" in line, nth=4)
        command.signal(signal.SIGTERM)
        assert command.wait() == 0

    assert [(line["exit_code"], line["restart_seconds"]) for line in _ended(command)[:4]] == [
        (9, 0),
        (9, 1),
        (9, 2),
        (9, 4),
    ]


@pytest.mark.slow
async def test_a_server_whose_workers_never_start_ends_after_five_tries(tmp_path: Path) -> None:
    with supervised("never_start", tmp_path) as command:
        assert command.wait() == 3

    assert len(_ended(command)) == 5
    assert "Worker processes cannot start, so the server stops" in command.stderr.text()


async def test_a_worker_that_does_not_stop_is_killed_after_the_grace_time(tmp_path: Path) -> None:
    with supervised("disobey", tmp_path) as command:
        await until(lambda: len(descendants(command.process.pid)) >= 2, "the worker runs")
        command.signal(signal.SIGTERM)
        command.stderr.first(lambda line: b"Stopping" in line)
        command.signal(signal.SIGTERM)
        assert command.wait() == 0

    assert "did not stop in time and is killed" in command.stderr.text()


def test_a_system_without_room_for_processes_is_asked_five_times(tmp_path: Path) -> None:
    with supervised("no_room", tmp_path) as command:
        assert command.wait() == 3

    refused = [line for line in command.log_lines if line["event"] == "A worker process cannot be started"]
    assert [line["reason"] for line in refused] == ["Resource temporarily unavailable"] * 5
