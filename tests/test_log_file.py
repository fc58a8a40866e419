"""The log file after trouble: it is written again, says what it lost, and no line continues another."""

import io
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dogubako import append_file, logs
from dogubako.contract.redaction import Redactor
from tests.doors.waiting import until


class Log:
    """The sinks of one process, and what they wrote."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "dogubako.log"
        self.stderr = io.StringIO()
        self.sinks = logs.Sinks(Redactor(), folder, stderr=self.stderr)

    def write(self, event: str) -> None:
        self.sinks.write({"event": event, "level": "INFO"})
        self.sinks.flush()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path)
    yield log
    log.sinks.close()


@contextmanager
def full_disk(path: Path, room: int = 0) -> Iterator[None]:
    """The system takes so many more bytes and then refuses, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def _written_again(log: Log) -> None:
    """The file is tried again at most once a second."""

    def tried() -> bool:
        log.write("after")
        return "after" in log.path.read_text()

    await until(tried, "the log file is written again")


async def test_after_a_full_disk_the_file_is_written_again_and_says_what_was_lost(log: Log) -> None:
    log.write("before")
    with full_disk(log.path):
        for number in range(5):
            log.write(f"lost {number}")
    await _written_again(log)

    first, told, *after = log.lines()
    lost = 5 + log.stderr.getvalue().count("after\n") - len(after)
    assert (first["event"], told["event"], told["level"]) == ("before", "Log lines could not be written", "WARN")
    assert told["lines"] == lost >= 5
    assert {line["event"] for line in after} == {"after"}
    assert log.stderr.getvalue().count("The log file cannot be written") == 1
    assert f"{lost} log lines could not be written" in log.stderr.getvalue()


async def test_a_line_that_was_cut_short_is_not_continued_by_the_next_one(log: Log) -> None:
    log.write("before")
    with full_disk(log.path, room=30):
        log.write("cut short")
    half = log.path.read_bytes().splitlines()[1]
    await _written_again(log)

    lines = log.path.read_bytes().splitlines()
    assert len(half) == 30 and lines[1] == half
    assert [json.loads(line)["event"] for line in lines[2:4]] == ["Log lines could not be written", "after"]


def test_a_line_that_another_process_cut_short_is_not_continued_either(log: Log) -> None:
    log.write("before")
    with log.path.open("a") as other:
        other.write('{"half')
    log.write("after")

    before, half, after = log.path.read_text().splitlines()
    assert (json.loads(before)["event"], half, json.loads(after)["event"]) == ("before", '{"half', "after")


def test_a_full_disk_is_tried_once_a_second_however_much_is_logged(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[bytes] = []

    def refuse(handle: int, data: bytes) -> int:
        tries.append(data)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dogubako.append_file.os.write", refuse)
    monkeypatch.setattr("dogubako.logs.time.monotonic", lambda: 1_000.0)
    for _ in range(1_000):
        log.write("lost")
    monkeypatch.undo()
    log.sinks.close()

    assert len(tries) == 1
    assert log.lines()[-1]["lines"] == 1_000


def test_lines_that_are_lost_at_the_end_are_counted_for_people(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.path.unlink()
    log.path.mkdir()
    append_file.reopen_files()
    for _ in range(3):
        log.write("lost")
    log.sinks.close()

    assert "3 log lines could not be written" in log.stderr.getvalue()


@pytest.mark.parametrize("gone", [Path.unlink, lambda path: path.rename(path.with_suffix(".old"))], ids=["rm", "mv"])
async def test_a_file_that_is_gone_is_begun_anew(log: Log, gone: Any) -> None:
    log.write("before")
    gone(log.path)

    def begun() -> bool:
        log.write("after")
        return log.path.exists()

    await until(begun, "a new file is begun")
    assert set(log.events()) == {"after"}


def test_a_file_is_reopened_at_once_when_asked_for(log: Log) -> None:
    log.write("before")
    log.path.rename(log.path.with_suffix(".old"))
    append_file.reopen_files()
    log.write("after")

    assert log.events() == ["after"]
    assert "after" not in log.path.with_suffix(".old").read_text()


async def test_a_folder_that_can_be_written_later_gets_its_file_later(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.write_text("not a folder")
    log = Log(folder)
    log.write("lost")
    folder.unlink()

    def begun() -> bool:
        log.write("after")
        return log.path.exists()

    await until(begun, "the file is begun")
    log.sinks.close()
    assert log.events()[0] == "Log lines could not be written" and log.events()[-1] == "after"


def test_a_device_in_place_of_the_file_is_written_without_looking_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "dogubako.log").symlink_to(os.devnull)
    log = Log(tmp_path)
    log.write("into nothing")
    log.sinks.close()

    assert "cannot" not in log.stderr.getvalue()
