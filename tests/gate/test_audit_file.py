"""The audit log is a file of its own that only grows; while it cannot be written, nothing may be changed."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
import structlog.testing

from dogubako.app import Toolbox
from dogubako.gate.audit import AuditFile, AuditLog
from dogubako.tools import ToolResult

from .sheds import log_in, recorded_in, shed_in

REFUSAL = "The audit log cannot be written, so nothing may be changed: put was not run."


def permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_only_its_owner_may_read_the_log_and_its_salt(tmp_path: Path) -> None:
    folder = tmp_path / "not there yet"
    async with shed_in(folder).running() as box:
        await box.call("look")

    assert (permissions(folder), permissions(log_in(folder)), permissions(folder / "audit.salt")) == (
        0o700,
        0o600,
        0o600,
    )
    assert sorted(path.name for path in folder.iterdir()) == ["audit.jsonl", "audit.salt"]


async def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    log_in(tmp_path).touch(mode=0o644)
    async with shed_in(tmp_path).running() as box:
        await box.call("look")

    assert permissions(log_in(tmp_path)) == 0o600


async def test_what_was_written_stays(tmp_path: Path) -> None:
    kept = b'{"somebody": "else wrote this"}\n'
    log_in(tmp_path).write_bytes(kept)
    for _ in range(2):
        async with shed_in(tmp_path).running() as box:
            await box.call("look")

    assert log_in(tmp_path).read_bytes().startswith(kept)
    assert len(recorded_in(tmp_path)) == 3


@pytest.mark.parametrize("half", [b'{"time":"2026-', b"\xff\x00", b"{"])
async def test_half_a_line_of_a_killed_process_ends_before_the_next_one(tmp_path: Path, half: bytes) -> None:
    log_in(tmp_path).write_bytes(half)
    async with shed_in(tmp_path).running() as box:
        await box.call("look")

    first, second, rest = log_in(tmp_path).read_bytes().split(b"\n")
    assert first == half and b'"tool":"look"' in second and rest == b""


async def test_a_log_that_is_moved_away_is_begun_anew(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("look")
        recorded(box).flush()
        log_in(tmp_path).rename(tmp_path / "old.jsonl")
        await box.call("put", {"text": "a"})

    assert [one["tool"] for one in recorded_in(tmp_path)] == ["put"]
    assert b'"look"' in (tmp_path / "old.jsonl").read_bytes()


@contextmanager
def folder_in_its_place(folder: Path) -> Iterator[None]:
    log_in(folder).mkdir()
    try:
        yield
    finally:
        log_in(folder).rmdir()


@contextmanager
def device_in_its_place(folder: Path) -> Iterator[None]:
    log_in(folder).symlink_to("/dev/full")
    try:
        yield
    finally:
        log_in(folder).unlink()


@contextmanager
def file_in_place_of_the_folder(folder: Path) -> Iterator[None]:
    folder.rmdir()
    folder.touch()
    try:
        yield
    finally:
        folder.unlink()


@contextmanager
def half_a_salt(folder: Path) -> Iterator[None]:
    (folder / "audit.salt").write_bytes(b"half")
    try:
        yield
    finally:
        (folder / "audit.salt").unlink()


@contextmanager
def hardly_any_room(folder: Path) -> Iterator[None]:
    """As on a disk that is nearly full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstatvfs", _with_little_room)
        yield


class _LittleRoom:
    f_bavail = 10
    f_frsize = 4096


def _with_little_room(handle: int) -> Any:
    return _LittleRoom


@contextmanager
def no_room_at_all(folder: Path) -> Iterator[None]:
    """The system itself cuts the next line short, in the middle."""
    size = log_in(folder).stat().st_size if log_in(folder).exists() else 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


TROUBLES = [
    pytest.param(folder_in_its_place, id="a folder in its place"),
    pytest.param(device_in_its_place, id="a full device in its place"),
    pytest.param(file_in_place_of_the_folder, id="a file in place of the folder"),
    pytest.param(half_a_salt, id="half a salt"),
    pytest.param(hardly_any_room, id="hardly any room"),
]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_unwritable_log_stops_writes_lets_reads_go_on_and_recovers(tmp_path: Path, trouble: Any) -> None:
    folder, marker = tmp_path / "data", tmp_path / "marker"
    folder.mkdir()
    async with shed_in(folder).running() as box:
        with trouble(folder):
            refused = await put(box, marker)
            seen = await box.call("look", {"text": "a"})
        assert not marker.exists()
        written = await put(box, marker)

    assert refused.code == "READ_ONLY" and refused.content[0]["text"] == REFUSAL
    assert refused.error is not None and "DOGUBAKO_DATA_DIR" in str(refused.error.hint)
    assert (seen.code, written.code, marker.read_text()) == ("OK", "OK", "a")
    # What could not be written when it happened is written later, and in the same order.
    assert [(one["tool"], one["code"]) for one in recorded_in(folder)] == [
        ("put", "READ_ONLY"),
        ("look", "OK"),
        ("put", "OK"),
    ]


def recorded(box: Toolbox) -> AuditLog:
    assert box.gate.audit is not None
    return box.gate.audit


async def put(box: Toolbox, marker: Path) -> ToolResult:
    return await box.call("put", {"text": "a", "marker": str(marker)})


async def test_a_line_that_was_cut_short_is_written_again(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("look")
        recorded(box).flush()
        with no_room_at_all(tmp_path):
            await box.call("look", {"text": "a"})
            refused = await put(box, tmp_path / "marker")
        written = await put(box, tmp_path / "marker")

    whole, half, *others = log_in(tmp_path).read_bytes().splitlines()
    assert (refused.code, written.code) == ("READ_ONLY", "OK")
    assert len(half) == 20 and not half.endswith(b"}") and others[0].startswith(half)
    # The second look, the refusal, and the start and the end of the change.
    assert len(others) == 4 and all(line.endswith(b"}") for line in (whole, *others))


@pytest.fixture
def log() -> Iterator[list[Any]]:
    """What is logged, of whatever weight."""
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as lines:
        yield lines


async def test_the_trouble_is_logged_once_and_again_when_it_comes_back(tmp_path: Path, log: list[Any]) -> None:
    async with shed_in(tmp_path).running() as box:
        for _ in range(2):
            with folder_in_its_place(tmp_path):
                for _ in range(3):
                    await box.call("put", {"text": "a"})
            await box.call("look")
            recorded(box).flush()
            log_in(tmp_path).unlink()

    said = [line for line in log if line["event"] == "The audit log cannot be written"]
    assert len(said) == 2
    assert all(line["reason"] == "Is a directory" and line["log_level"] == "error" for line in said)


async def test_that_there_is_hardly_any_room_is_logged_once_whoever_calls(tmp_path: Path, log: list[Any]) -> None:
    async with shed_in(tmp_path).running() as box:
        with hardly_any_room(tmp_path):
            for tool in ("put", "look", "put", "look", "put"):
                await box.call(tool, {"text": "a"})
                recorded(box).flush()

    assert [line["event"] for line in log].count("The audit log cannot be written") == 1
    assert len(recorded_in(tmp_path)) == 5


def test_a_salt_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    file = AuditFile(tmp_path)
    with no_room_at_all(tmp_path):
        ready = [file.ready() for _ in range(3)]

    assert ready == [False, False, False]
    assert list(tmp_path.iterdir()) == []


def test_lines_that_gave_way_to_newer_ones_are_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: list[Any]
) -> None:
    monkeypatch.setattr("dogubako.gate.audit._MOST_OWED", 2)
    file = AuditFile(tmp_path)
    with folder_in_its_place(tmp_path):
        file.append(b"".join(b"%d\n" % number for number in range(5)))
    assert file.ready()
    file.close()

    assert log_in(tmp_path).read_text() == "3\n4\n"
    assert [line["lines"] for line in log if line["event"] == "Calls are missing from the audit log"] == [3]


async def test_lines_that_are_lost_at_the_end_are_counted_in_the_log(tmp_path: Path, log: list[Any]) -> None:
    with folder_in_its_place(tmp_path):
        async with shed_in(tmp_path).running() as box:
            for _ in range(3):
                await box.call("look")

    assert [line["lines"] for line in log if line["event"] == "Calls are missing from the audit log"] == [3]


async def test_a_call_that_ends_after_the_server_is_recorded_all_the_same(tmp_path: Path) -> None:
    box = shed_in(tmp_path)
    async with box.running():
        await box.call("look")
    await box.call("put", {"text": "late"})
    recorded(box).close()

    assert [one["tool"] for one in recorded_in(tmp_path)] == ["look", "put"]


def test_two_that_begin_at_once_agree_on_one_salt(tmp_path: Path) -> None:
    """As two workers do: whoever comes second takes the salt of the first."""
    files = [AuditFile(tmp_path) for _ in range(2)]
    assert all(one.ready() for one in files)
    salts = {one.salt for one in files}
    for one in files:
        one.close()

    assert salts == {(tmp_path / "audit.salt").read_bytes()}
