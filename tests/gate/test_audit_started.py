"""A call that changes something has a line before its tool runs: what was killed meanwhile is named afterwards."""

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako import Effect, Pack, tool
from dogubako.app import Toolbox
from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import ElicitResult, InputAnswer, InputRequests
from dogubako.gate.audit import AuditLog
from dogubako.tools import ExecutionOptions
from tests.doors.processes import PATIENCE
from tests.doors.shell import Said, dogubako
from tests.doors.waiting import says, until

from . import sheds
from .sheds import all_lines_in, log_in, shed_in
from .slow_changes import TOOLS
from .test_audit_file import hardly_any_room, no_room_at_all


def events_in(folder: Path) -> list[tuple[str, str]]:
    return [(line["tool"], line["code"]) for line in all_lines_in(folder)]


def report(folder: Path, *words: str) -> Said:
    return dogubako("audit", "report", *words, folder=folder, tools=(), settings={"DOGUBAKO_DATA_DIR": str(folder)})


def unfinished(folder: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report(folder, "--json", *words).json["unfinished"]
    return found


async def test_the_line_is_in_the_file_before_the_tool_runs(tmp_path: Path) -> None:
    @tool(effect=Effect.WRITE)
    async def read_the_log(secret: str) -> str:
        """Tell what is in the log meanwhile."""
        return log_in(tmp_path).read_text()

    async with shed_in(tmp_path, read_the_log).running() as box:
        [meanwhile] = (await box.call("read_the_log", {"secret": "c4nary"})).value.splitlines()

    first, second = all_lines_in(tmp_path)
    assert json.loads(meanwhile) == first and "c4nary" not in meanwhile
    assert (first["code"], first["ms"], second["code"]) == ("STARTED", 0, "OK")
    same = ("callId", "caller", "door", "tool", "arguments", "hash")
    assert [first[key] for key in same] == [second[key] for key in same]


async def test_calls_that_read_have_one_line(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("look")
        await box.read("shed://stock")

    assert events_in(tmp_path) == [("look", "OK"), ("resources/read", "OK")]


@pytest.mark.parametrize(
    ("name", "parameters", "settings", "code"),
    [
        pytest.param("put", {}, {}, "VALIDATION_ERROR", id="wrong arguments"),
        pytest.param("put", {"text": "a"}, {"read_only": True}, "READ_ONLY", id="read-only"),
        pytest.param("wipe", {"marker": "m"}, {}, "CONFIRMATION_REQUIRED", id="not confirmed"),
    ],
)
async def test_calls_that_are_refused_have_not_started(
    tmp_path: Path, name: str, parameters: dict[str, Any], settings: dict[str, Any], code: str
) -> None:
    async with shed_in(tmp_path, **settings).running() as box:
        await box.call(name, parameters)

    assert events_in(tmp_path) == [(name, code)]


class OneAtATime(Pack[Any, None]):
    name = "narrow"
    tools = TOOLS
    max_running = 1
    max_wait_seconds = 0.05


async def test_a_call_that_found_no_place_has_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheds, "PACK", OneAtATime())
    async with shed_in(tmp_path).running() as box, anyio.create_task_group() as tasks:
        tasks.start_soon(box.call, "paint", {"marker": str(tmp_path / "first")})
        await says(tmp_path / "first", "started")
        await box.call("paint", {"marker": str(tmp_path / "second")})
        tasks.cancel_scope.cancel()

    assert events_in(tmp_path) == [("paint", "STARTED"), ("paint", "BUSY"), ("paint", "CANCELLED")]
    assert not (tmp_path / "second").exists()


async def test_a_confirmed_deletion_starts_after_the_confirmation(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("wipe", {"marker": str(tmp_path / "m"), "confirm": True})

    assert events_in(tmp_path) == [("wipe", "STARTED"), ("wipe", "OK")]


async def test_a_call_that_is_tried_again_has_started_once(tmp_path: Path) -> None:
    async with shed_in(tmp_path, *TOOLS).running() as box:
        options = ExecutionOptions(retry_delay=1)
        result = await box.call("paint_again", {"marker": str(tmp_path / "m")}, options)

    assert (result.code, (tmp_path / "m").read_text()) == ("OK", "3")
    assert events_in(tmp_path) == [("paint_again", "STARTED"), ("paint_again", "OK")]


async def test_calls_inside_a_call_have_lines_of_their_own(tmp_path: Path) -> None:
    async with shed_in(tmp_path, *TOOLS).running() as box:
        await box.call("have_it_painted", {"marker": str(tmp_path / "m")})

    lines = all_lines_in(tmp_path)
    assert [(line["tool"], line["code"], line.get("via")) for line in lines] == [
        ("have_it_painted", "STARTED", None),
        ("paint", "STARTED", "have_it_painted"),
        ("paint", "OK", "have_it_painted"),
        ("have_it_painted", "OK", None),
    ]
    assert lines[0]["callId"] == lines[3]["callId"] != lines[1]["callId"] == lines[2]["callId"]


async def test_what_call_tool_passes_on_starts_as_the_other_tool(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("call_tool", {"name": "put", "arguments": {"text": "a"}})

    assert [(one["tool"], one["code"], one["via"]) for one in all_lines_in(tmp_path)] == [
        ("put", "STARTED", "call_tool"),
        ("put", "OK", "call_tool"),
    ]


async def test_a_tool_that_ignores_its_timeout_has_a_start_and_an_end(tmp_path: Path) -> None:
    marker = tmp_path / "m"
    async with shed_in(tmp_path, *TOOLS).running() as box:
        result = await box.call("paint_on", {"marker": str(marker)}, ExecutionOptions(timeout=50))
        marker.write_text("enough")

    assert result.code == "TIMEOUT"
    assert events_in(tmp_path) == [("paint_on", "STARTED"), ("paint_on", "TIMEOUT")]


async def painting(box: Toolbox, marker: Path, tasks: Any) -> None:
    tasks.start_soon(box.call, "paint", {"marker": str(marker)})
    await says(marker, "started")


async def test_a_log_that_is_moved_away_meanwhile_names_the_running_call_again(tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE):
        async with shed_in(tmp_path, *TOOLS).running() as box, anyio.create_task_group() as tasks:
            await painting(box, tmp_path / "m", tasks)
            log_in(tmp_path).rename(tmp_path / "old.jsonl")
            await box.call("put", {"text": "a"})
            meanwhile = events_in(tmp_path)
            named = unfinished(tmp_path)
            tasks.cancel_scope.cancel()

    assert meanwhile == [("paint", "STARTED"), ("put", "STARTED"), ("put", "OK")]
    assert [one["tool"] for one in named] == ["paint"]
    assert events_in(tmp_path)[-1] == ("paint", "CANCELLED") and unfinished(tmp_path) == []


async def test_what_cannot_be_recorded_as_started_is_not_run(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path)
    box = shed_in(tmp_path)
    entry = box.registry.get("put")
    with hardly_any_room(tmp_path), pytest.raises(Exception, match=r"nothing may be changed: put was not run\."):
        audit.started(ToolCall(name="put", parameters={"text": "a"}), entry.metadata)
    audit.close()

    assert all_lines_in(tmp_path) == []


async def test_a_disk_that_fills_before_a_place_is_free_keeps_the_tool_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Narrow(OneAtATime):
        max_wait_seconds = PATIENCE

    monkeypatch.setattr(sheds, "PACK", Narrow())
    async with shed_in(tmp_path).running() as box, anyio.create_task_group() as tasks:
        first, second = tmp_path / "first", tmp_path / "second"
        tasks.start_soon(box.call, "paint_on", {"marker": str(first)})
        await says(first, "started")
        tasks.start_soon(box.call, "paint", {"marker": str(second)})
        await until(lambda: _waits_for_a_place(box), "the second call waits for a place")
        with hardly_any_room(tmp_path):
            first.write_text("enough")
            await until(lambda: ("paint", "READ_ONLY") in events_in(tmp_path), "the second call is refused")

    assert not second.exists()
    assert ("paint", "STARTED") not in events_in(tmp_path)


def _waits_for_a_place(box: Toolbox) -> bool:
    bulkhead: Any = box.pipeline.executor._bulkheads["narrow"]
    return bool(bulkhead._slots.statistics().tasks_waiting)


async def test_an_end_that_the_disk_does_not_take_leaves_the_call_unfinished(tmp_path: Path) -> None:
    with ExitStack() as disk:

        @tool(effect=Effect.WRITE)
        async def fill_the_disk() -> str:
            """Leave room for half a line."""
            disk.enter_context(no_room_at_all(tmp_path))
            return "full"

        async with shed_in(tmp_path, fill_the_disk).running() as box:
            result = await box.call("fill_the_disk")

    assert result.code == "OK"
    assert [one["tool"] for one in unfinished(tmp_path)] == ["fill_the_disk"]


LINE = {"caller": "ann", "door": "http", "tool": "paint", "arguments": ["marker"], "hash": "0" * 16, "callId": "a1"}


def write(folder: Path, *lines: dict[str, Any]) -> None:
    log_in(folder).write_text("".join(json.dumps({**LINE, **line}) + os.linesep for line in lines))


def test_report_names_what_started_and_never_ended(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"time": "2026-11-16T09:00:00.000Z", "code": "STARTED", "ms": 0},
        {"time": "2026-11-16T09:00:01.000Z", "code": "STARTED", "ms": 0, "callId": "b2", "tool": "put"},
        {"time": "2026-11-16T09:00:02.000Z", "code": "OK", "ms": 9, "callId": "b2", "tool": "put"},
    )
    table, [one] = report(tmp_path), unfinished(tmp_path)

    assert (one["time"], one["caller"], one["tool"]) == ("2026-11-16T09:00:00.000Z", "ann", "paint")
    assert (one["callId"], one["door"], one["arguments"]) == ("a1", "http", ["marker"]) and one["ageSeconds"] >= 0
    lines = table.out.splitlines()
    assert lines[1].split()[:4] == ["ann", "put", "1", "0"], "a start is no call of its own, and no failure"
    assert lines[3] == "Started, no end recorded (killed meanwhile, or still running):"
    assert lines[5].split()[:4] == ["2026-11-16T09:00:00.000Z", "ann", "paint", "a1"]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        pytest.param(["--tool", "paint"], 1, id="its tool"),
        pytest.param(["--tool", "put"], 0, id="another tool"),
        pytest.param(["--caller", "bob"], 0, id="another caller"),
        pytest.param(["--since", "2026-11-16T10:00"], 0, id="later"),
        pytest.param(["--since", "2026-11-16T08:00"], 1, id="earlier"),
    ],
)
def test_report_names_what_was_asked_for(tmp_path: Path, words: list[str], count: int) -> None:
    write(tmp_path, {"time": "2026-11-16T09:00:00.000Z", "code": "STARTED", "ms": 0})

    assert len(unfinished(tmp_path, *words)) == count


def test_a_call_that_ended_after_the_moment_asked_for_is_not_unfinished(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"time": "2026-11-16T09:00:00.000Z", "code": "STARTED", "ms": 0},
        {"time": "2026-11-16T11:00:00.000Z", "code": "OK", "ms": 9},
    )
    document = report(tmp_path, "--json", "--since", "2026-11-16T10:00").json

    assert (document["unfinished"], [row["calls"] for row in document["calls"]]) == ([], [1])


def test_an_odd_time_has_no_age(tmp_path: Path) -> None:
    write(tmp_path, {"time": "yesterday\x1b[2J", "code": "STARTED", "ms": 0})

    assert unfinished(tmp_path)[0]["ageSeconds"] is None
    shown = report(tmp_path).out
    assert shown.splitlines()[-1].split()[-1] == "?" and "\x1b" not in shown


def test_tail_shows_starts(tmp_path: Path) -> None:
    write(tmp_path, {"time": "2026-11-16T09:00:00.000Z", "code": "STARTED", "ms": 0})
    said = dogubako("audit", "tail", folder=tmp_path, tools=(), settings={"DOGUBAKO_DATA_DIR": str(tmp_path)})

    assert said.out == "2026-11-16T09:00:00.000Z ann http paint(marker) STARTED\n"


class Person:
    """Somebody who says yes, and looks into the log before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seen: list[tuple[str, str]] | None = None

    def supports(self, capability: str) -> bool:
        return capability == "elicitation"

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: str, message: str) -> None:
        return None

    async def request(self, requests: InputRequests) -> dict[str, InputAnswer]:
        self.seen = events_in(self._folder) if log_in(self._folder).exists() else []
        return {name: ElicitResult(action="accept", content={"confirm": True}) for name in requests}


async def test_while_a_person_thinks_nothing_has_started(tmp_path: Path) -> None:
    person = Person(tmp_path)
    async with shed_in(tmp_path).running() as box:
        call = ToolCall(name="wipe", parameters={"marker": str(tmp_path / "m")}, conversation=person)
        result = await box.pipeline.handle(call)

    assert (result.code, person.seen) == ("OK", [])
    assert events_in(tmp_path) == [("wipe", "STARTED"), ("wipe", "OK")]
