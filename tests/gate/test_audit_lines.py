"""Lines of the audit log as they are read again, whatever became of them."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.call import CallEnd, Caller, ToolCall
from dogubako.contract.redaction import Redactor
from dogubako.gate.audit import AuditLine, AuditLog, read_line, whole_lines
from tests.hypothesis_profiles import examples

SECRET = "correct-horse-battery"

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


_NAMES = st.one_of(st.text(max_size=80), st.sampled_from(["echo", "text", f"a {SECRET} b", 'x","hash":"', "\x1b[31m"]))


@settings(max_examples=examples(200))
@given(
    st.tuples(_NAMES, _NAMES, st.dictionaries(_NAMES, st.integers(), max_size=4), st.floats(0, 1e15), _NAMES),
    st.sampled_from(["OK", "BUSY", 'odd"code']),
)
def test_the_line_of_a_plain_call_equals_the_line_of_any(fields: tuple[Any, ...], code: str) -> None:
    name, caller, parameters, ms, call_id = fields
    with TemporaryDirectory() as folder:
        audit = AuditLog(Path(folder), Redactor([SECRET]))
        for id_ in (call_id, "0123456789abcdef"):
            call = ToolCall(name=name, parameters=parameters, caller=Caller(name=caller), door="http", id=id_)
            end = CallEnd(code=code, milliseconds=ms, at=1_789_000_000.25)
            for _ in range(2):
                assert audit._lines([(call, end)]) == audit._any_line(call, end)


def test_a_secret_that_is_learned_later_is_masked_in_the_next_line(tmp_path: Path) -> None:
    redactor = Redactor()
    audit = AuditLog(tmp_path, redactor)
    call = ToolCall(name="abcdef0123456789", parameters={"abcdef0123456789": 1})
    audit.record(call, "OK", 0.1)
    audit.flush()
    before = audit.path.read_bytes()

    redactor.add("abcdef0123456789")
    audit.record(call, "OK", 0.1)
    audit.flush()

    assert b"abcdef0123456789" in before
    assert b"abcdef0123456789" not in audit.path.read_bytes().removeprefix(before)
