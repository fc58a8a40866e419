"""What the audit log keeps has bounds, whatever callers send and however long the disk takes nothing."""

import os
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.call import ToolCall
from dogubako.contract.redaction import Redactor
from dogubako.gate import audit
from dogubako.gate.audit import AuditFile, AuditLog

from .sheds import log_in, recorded_in

SECRET = "correct-horse-battery-staple"


def recorded(folder: Path, *calls: ToolCall, redactor: Redactor | None = None) -> list[dict[str, Any]]:
    log = AuditLog(folder, redactor)
    for call in calls:
        log.record(call, "OK", 1.0)
    log.close()
    return recorded_in(folder)


def test_of_lines_that_the_disk_does_not_take_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_MOST_OWED", 3)
    file = AuditFile(tmp_path)
    log_in(tmp_path).mkdir()
    for number in range(5):
        file.append(b"%d\n" % number)
    log_in(tmp_path).rmdir()
    file.append(b"5\n")
    file.close()

    assert log_in(tmp_path).read_bytes() == b"3\n4\n5\n"


def test_a_log_that_is_moved_away_again_and_again_is_let_go_each_time(tmp_path: Path) -> None:
    file = AuditFile(tmp_path)
    for number in range(3):
        assert file.ready()
        log_in(tmp_path).rename(tmp_path / f"old{number}")
    assert file.ready()
    still_open = names_of_open_files(tmp_path)
    file.close()

    assert still_open == ["audit.jsonl"]
    assert names_of_open_files(tmp_path) == []


def names_of_open_files(folder: Path) -> list[str]:
    """Those of this process that lie in the folder."""
    found = (os.path.realpath(f"/proc/self/fd/{handle}") for handle in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return [Path(path).name for path in found if Path(path).parent == folder]


@pytest.mark.parametrize("before", [0, 40, 50, 63])
def test_a_secret_that_stands_where_a_long_name_is_cut_leaves_nothing(tmp_path: Path, before: int) -> None:
    name = "x" * (before - 1) + "-" * bool(before) + SECRET
    (line,) = recorded(tmp_path, ToolCall(name=name, parameters={name: 1}), redactor=Redactor([SECRET]))

    assert SECRET[:1] not in line["tool"] and [line["tool"]] == line["arguments"]
    assert len(line["tool"]) <= 64


class _Watching(Redactor):
    """Remembers how much it was given to read."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0

    def mask_all(self, text: str) -> str:
        self.longest = max(self.longest, len(text))
        return super().mask_all(text)


@pytest.mark.parametrize("call", [ToolCall(name="x" * 100_000), ToolCall(name="look", parameters={"x" * 100_000: 1})])
def test_of_a_name_without_end_only_the_beginning_is_looked_at_and_remembered(tmp_path: Path, call: ToolCall) -> None:
    redactor = _Watching()
    recorded(tmp_path, call, redactor=redactor)

    assert redactor.longest == 1_000


@pytest.mark.parametrize("odd", ["\ud800", 10**400, float("nan")], ids=["half a character", "a huge number", "NaN"])
def test_odd_arguments_have_equal_hashes_in_whatever_order_they_come(tmp_path: Path, odd: Any) -> None:
    there, back = {"a": odd, "b": 1}, {"b": 1, "a": odd}
    one, same, other = recorded(
        tmp_path, *(ToolCall(name="look", parameters=these) for these in (there, back, {**there, "b": 2}))
    )

    assert one["hash"] == same["hash"] != other["hash"]


def test_bottomless_arguments_are_recorded_too(tmp_path: Path) -> None:
    bottomless: dict[str, Any] = {}
    for _ in range(100_000):
        bottomless = {"a": bottomless}
    lines = recorded(tmp_path, ToolCall(name="look", parameters=bottomless), ToolCall(name="look"))

    assert [(line["tool"], line["arguments"]) for line in lines] == [("look", ["a"]), ("look", [])]
