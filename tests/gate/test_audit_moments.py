"""When a line of the audit log reaches its file: what changes something is there before anybody hears of it."""

from pathlib import Path

from dogubako.contract.call import ToolCall
from dogubako.gate.audit import AuditLog

from .sheds import log_in, recorded_in, shed_in


def looks(count: int) -> list[ToolCall]:
    return [ToolCall(name=f"look_{number}") for number in range(count)]


def tools_in(folder: Path) -> list[str]:
    return [one["tool"] for one in recorded_in(folder)]


async def test_a_call_that_changes_something_is_in_the_file_before_it_is_answered(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("put", {"text": "a"})
        at_once = tools_in(tmp_path)

    assert at_once == ["put"]


async def test_calls_that_wait_are_written_before_one_that_changes_something(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("look")
        await box.call("put", {"text": "a"})
        at_once = tools_in(tmp_path)

    assert at_once == ["look", "put"]


async def test_so_many_lines_wait_and_no_more(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for call in looks(199):
        log.record(call, "OK", 1.0)
    before = log_in(tmp_path).exists()
    log.record(ToolCall(name="the_last_one"), "OK", 1.0)
    after = tools_in(tmp_path)
    log.close()

    assert not before
    assert len(after) == 200 and after[-1] == "the_last_one"


def test_where_no_loop_runs_no_line_waits(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.record(ToolCall(name="look"), "OK", 1.0)
    at_once = tools_in(tmp_path)
    log.close()

    assert at_once == ["look"]
