"""Lines of the audit log as they are read again, whatever became of them."""

import io

import pytest

from dogubako.gate.audit import AuditLine, read_line, whole_lines

LINE = AuditLine(
    time="2026-11-16T12:00:00.000Z",
    caller="ann",
    door="rest",
    tool="look",
    arguments=["text"],
    hash="0" * 16,
    code="OK",
    ms=1.0,
    call_id="1",
)

DAMAGE = [
    pytest.param(LINE.encoded()[:-5], id="cut off"),
    pytest.param(b'{"more":' + b"[" * 100_000, id="bottomless in what we do not know"),
    pytest.param(b'{"more":' * 100_000, id="bottomless objects"),
    pytest.param(b'{"caller":"\xff"}', id="no text"),
    pytest.param(b"", id="nothing"),
]


def test_a_line_is_read_as_it_was_written() -> None:
    assert read_line(LINE.encoded()) == LINE


@pytest.mark.parametrize("raw", DAMAGE)
def test_a_damaged_line_is_none(raw: bytes) -> None:
    assert read_line(raw) is None


def test_a_line_that_is_still_being_written_is_read_when_it_is_whole() -> None:
    file = io.BytesIO(b"one\n\ntw")
    before, place = list(whole_lines(file)), file.tell()
    file.seek(0, io.SEEK_END)
    file.write(b"o\n")
    file.seek(place)

    assert (before, list(whole_lines(file))) == ([b"one\n"], [b"two\n"])


@pytest.mark.parametrize(
    ("code", "failed"),
    [("OK", False), ("NO_RESULTS", False), ("INPUT_REQUIRED", False), ("CANCELLED", True), ("TIMEOUT", True)],
)
def test_what_did_not_end_well_has_failed(code: str, failed: bool) -> None:
    line = read_line(LINE.encoded().replace(b'"OK"', f'"{code}"'.encode()))

    assert line is not None and line.failed is failed
