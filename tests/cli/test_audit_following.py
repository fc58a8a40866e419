"""`dogubako audit tail -f` where the log is moved away, cut, or not there yet: no line is missed, none comes twice."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogubako.cli.audit import Following
from dogubako.settings import SettingsError
from tests.doors.processes import running

from .audit_lines import audit_line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def following(log: Path) -> Iterator[Following]:
    with Following(log) as opened:
        yield opened


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.writelines(lines)


def test_a_log_that_was_moved_away_is_read_to_its_end_and_the_new_one_from_its_start(
    log: Path, following: Following
) -> None:
    add(log, b"a\n")
    first = list(following.lines())
    add(log, b"b\n")
    log.rename(log.with_name("old"))
    # As long as what was read of the old one, and longer.
    add(log, b"c\n", b"d\n", b"e\n")

    assert (first, list(following.lines())) == ([b"a\n"], [b"b\n", b"c\n", b"d\n", b"e\n"])
    assert list(following.lines()) == []


def test_what_a_server_still_writes_into_the_old_log_is_not_missed(log: Path, following: Following) -> None:
    add(log, b"a\n")
    list(following.lines())
    old = log.rename(log.with_name("old"))
    add(log, b"b\n")
    moved = list(following.lines())
    add(old, b"late\n")
    add(log, b"c\n")

    assert (moved, list(following.lines())) == ([b"b\n"], [b"late\n", b"c\n"])


def test_a_log_that_is_moved_again_and_again_is_followed(log: Path, following: Following) -> None:
    heard: list[bytes] = []
    for number in range(5):
        add(log, b"%d\n" % number)
        heard += following.lines()
        log.rename(log.with_name(f"old {number}"))
        heard += following.lines()

    assert heard == [b"0\n", b"1\n", b"2\n", b"3\n", b"4\n"]


def test_a_log_that_was_removed_is_read_to_its_end(log: Path, following: Following) -> None:
    add(log, b"a\n")
    list(following.lines())
    add(log, b"b\n")
    log.unlink()

    assert list(following.lines()) == [b"b\n"]


def test_a_log_that_was_cut_is_read_from_its_start(log: Path, following: Following) -> None:
    add(log, b"first\n", b"second\n")
    list(following.lines())
    log.write_bytes(b"anew!\n")

    assert list(following.lines()) == [b"anew!\n"]


def test_a_line_comes_when_it_is_whole(log: Path, following: Following) -> None:
    add(log, b"a\nhalf")
    first = list(following.lines())
    add(log, b" and half\n")

    assert (first, list(following.lines())) == ([b"a\n"], [b"half and half\n"])


def test_a_log_that_is_not_there_yet_is_waited_for(log: Path, following: Following) -> None:
    assert list(following.lines()) == []
    add(log, b"a\n")

    assert list(following.lines()) == [b"a\n"]


def test_what_cannot_be_read_is_one_sentence(log: Path, following: Following) -> None:
    log.mkdir()

    with pytest.raises(SettingsError, match=r"audit\.jsonl cannot be read: Is a directory\.$"):
        list(following.lines())


def test_a_log_that_is_moved_right_after_the_start_loses_nothing(tmp_path: Path, log: Path) -> None:
    add(log, audit_line("first"))
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path)}
    with running("audit", "tail", "-f", folder=tmp_path, settings=settings) as command:
        command.stdout.first(lambda line: b" first()" in line)
        add(log, audit_line("rest"))
        log.rename(tmp_path / "old.jsonl")
        # Where the old one ended, the new one is in the middle of a line.
        add(log, audit_line("new_and_longer"), audit_line("last"))
        command.stdout.first(lambda line: b" last()" in line)
        command.signal(signal.SIGINT)
        command.wait()

    printed = [line.split()[3] for line in command.stdout.text().splitlines()]
    assert printed == ["first()", "rest()", "new_and_longer()", "last()"]
    assert "damaged" not in command.stderr.text()
