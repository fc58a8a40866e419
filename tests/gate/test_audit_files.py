"""Lines of the audit log are read on from a position, whatever happened to the file meanwhile."""

import gzip
from pathlib import Path

import pytest
import structlog.testing

from dogubako.contract.call import ToolCall
from dogubako.gate.audit import AuditLog
from dogubako.gate.audit_files import AuditFiles, Position, SentLine, in_order

from .sheds import log_in


def record(audit: AuditLog, *tools: str) -> None:
    for tool in tools:
        audit.record(ToolCall(name=tool), "OK", 1.0)
    audit.flush()


def rest(files: AuditFiles, position: Position | None) -> tuple[list[SentLine], Position | None]:
    """All lines from a position on, and the position after them."""
    found: list[SentLine] = []
    while True:
        lines, after = files.read(position)
        found += lines
        if after == position:
            return found, after
        position = after


def tools_of(lines: list[SentLine]) -> list[str]:
    return [name for line in lines for name in ("a", "b", "c", "d") if f'"tool":"{name}"'.encode() in line.raw]


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path)


def test_lines_are_read_once_from_the_position_on(tmp_path: Path, audit: AuditLog) -> None:
    files = AuditFiles(tmp_path)
    assert files.read(None) == ([], None)

    record(audit, "a", "b")
    first, position = rest(files, None)
    record(audit, "c")
    assert position is not None
    second, _ = rest(AuditFiles(tmp_path), Position.parse(str(position)))

    assert (tools_of(first), tools_of(second)) == (["a", "b"], ["c"])


def test_a_line_that_is_half_written_waits_for_its_rest_and_a_damaged_one_is_left_out(
    tmp_path: Path, audit: AuditLog
) -> None:
    record(audit, "a")
    _, position = rest(AuditFiles(tmp_path), None)
    with log_in(tmp_path).open("ab") as file:
        file.write(b'{"time":"')
    half, same = rest(AuditFiles(tmp_path), position)
    record(audit, "b")
    lines, _ = rest(AuditFiles(tmp_path), position)

    assert half == [] and same == position
    assert tools_of(lines) == ["b"]


def test_a_renamed_file_is_read_to_its_end_before_the_new_one(tmp_path: Path, audit: AuditLog) -> None:
    record(audit, "a")
    _, position = rest(AuditFiles(tmp_path), None)
    record(audit, "b")
    log_in(tmp_path).rename(tmp_path / "audit.jsonl.1")
    assert audit.ready()
    record(audit, "c")

    patient, waiting = rest(AuditFiles(tmp_path), position)
    with (tmp_path / "audit.jsonl.1").open("ab") as late:
        late.write(patient[0].raw.replace(b'"tool":"b"', b'"tool":"d"') + b"\n")
    lines, _ = rest(AuditFiles(tmp_path, still_written=-1.0), waiting)

    # Another process may still write to the old file.
    assert tools_of(patient) == ["b"]
    assert tools_of(lines) == ["d", "c"]


def test_starts_that_a_new_file_repeats_have_the_same_ids(tmp_path: Path, audit: AuditLog) -> None:
    record(audit, "a", "b")
    lines, _ = rest(AuditFiles(tmp_path), None)
    text = log_in(tmp_path).read_bytes()
    log_in(tmp_path).rename(tmp_path / "audit.jsonl-20261117")
    log_in(tmp_path).write_bytes(text)
    repeated, _ = rest(AuditFiles(tmp_path, still_written=-1.0), None)

    assert tools_of(repeated) == ["a", "b", "a", "b"]
    assert in_order(repeated) == [line.raw for line in lines]


def test_a_file_that_was_compressed_too_early_is_named_in_the_log_and_the_rest_is_read(
    tmp_path: Path, audit: AuditLog
) -> None:
    record(audit, "a")
    _, position = rest(AuditFiles(tmp_path), None)
    (tmp_path / "audit.jsonl.1.gz").write_bytes(gzip.compress(log_in(tmp_path).read_bytes()))
    log_in(tmp_path).unlink()
    assert audit.ready()
    record(audit, "c")
    # The file system may give the inode of the old file to the new one.
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as said:
        lines, _ = rest(AuditFiles(tmp_path), position)

    assert tools_of(lines) == ["c"]
    assert [one["log_level"] for one in said] == ["error"]


def test_many_lines_come_in_batches(tmp_path: Path, audit: AuditLog) -> None:
    record(audit, *(["a"] * 2_000))
    sizes, position = [], None
    files = AuditFiles(tmp_path)
    while (read := files.read(position))[0]:
        sizes.append(len(read[0]))
        position = read[1]

    assert sum(sizes) == 2_000 and len(sizes) > 2
    assert position is not None and position.offset == log_in(tmp_path).stat().st_size
