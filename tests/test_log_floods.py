"""Log lines that repeat are summed up: the first at once, then at most one line a second of each kind."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogubako import logs
from dogubako.contract.redaction import Redactor
from tests.doors.waiting import until


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dogubako.log_lines.time.monotonic", clock.monotonic)
    return clock


@pytest.fixture
def sinks(tmp_path: Path) -> Iterator[logs.Sinks]:
    sinks = logs.Sinks(Redactor(), tmp_path, stderr=io.StringIO())
    yield sinks
    sinks.close()


def refusal(status: int = 401, reason: str = "An API key is required.", client: str = "10.0.0.1") -> dict[str, Any]:
    return {"event": "HTTP error", "level": "WARN", "status": status, "code": "X", "reason": reason, "client": client}


def written(sinks: logs.Sinks, folder: Path) -> list[dict[str, Any]]:
    sinks.flush()
    return [json.loads(line) for line in (folder / "dogubako.log").read_text().splitlines()]


async def test_a_flood_is_one_line_a_second_with_its_count(sinks: logs.Sinks, tmp_path: Path, clock: Clock) -> None:
    for _ in range(3):
        for number in range(1_000):
            sinks.write(refusal(client=f"10.0.0.{number % 3}"))
        clock.now += 1
        sinks._sum_up()
    clock.now += 1
    sinks._sum_up()

    lines = written(sinks, tmp_path)
    assert [line["event"] for line in lines] == [
        "HTTP error",
        "HTTP error: 999 more like this",
        "HTTP error: 1,000 more like this",
        "HTTP error: 1,000 more like this",
    ]
    assert [line.get("count") for line in lines] == [None, 999, 1_000, 1_000]
    assert all((line["status"], line["reason"]) == (401, "An API key is required.") for line in lines)
    assert lines[0]["client"] == "10.0.0.0" and sorted(lines[1]["clients"]) == ["10.0.0.0", "10.0.0.1", "10.0.0.2"]


async def test_another_kind_is_not_hidden_by_a_flood(sinks: logs.Sinks, tmp_path: Path, clock: Clock) -> None:
    for _ in range(1_000):
        sinks.write(refusal())
    sinks.write(refusal(reason="The API key is not valid."))
    sinks.write(refusal(status=403, reason="This host name is not allowed."))

    assert [line["reason"] for line in written(sinks, tmp_path)] == [
        "An API key is required.",
        "The API key is not valid.",
        "This host name is not allowed.",
    ]


async def test_the_second_of_a_kind_is_written_as_it_is_when_it_stays_the_only_one(
    sinks: logs.Sinks, tmp_path: Path, clock: Clock
) -> None:
    sinks.write(refusal(client="10.0.0.1"))
    sinks.write(refusal(client="10.0.0.2"))
    clock.now += 1
    sinks._sum_up()

    first, second = written(sinks, tmp_path)
    assert (first["client"], second["client"]) == ("10.0.0.1", "10.0.0.2")
    assert second["event"] == "HTTP error"


async def test_after_a_quiet_second_the_next_one_is_written_at_once_again(
    sinks: logs.Sinks, tmp_path: Path, clock: Clock
) -> None:
    for _ in range(3):
        sinks.write(refusal())
        clock.now += 1
        sinks._sum_up()

    assert [line["event"] for line in written(sinks, tmp_path)] == ["HTTP error"] * 3


async def test_a_stranger_who_invents_kinds_gets_no_more_than_a_hundred(
    sinks: logs.Sinks, tmp_path: Path, clock: Clock
) -> None:
    for number in range(10_000):
        sinks.write(refusal(reason=f"reason {number}"))
    clock.now += 1
    sinks._sum_up()

    lines = written(sinks, tmp_path)
    assert len(lines) <= 102
    assert sum(line.get("count", 1) for line in lines) == 10_000


async def test_the_last_count_is_written_when_the_process_ends(sinks: logs.Sinks, tmp_path: Path, clock: Clock) -> None:
    for _ in range(10):
        sinks.write(refusal())
    sinks.close()

    assert written(sinks, tmp_path)[-1]["count"] == 9


async def test_what_has_an_error_id_and_calls_that_ended_have_a_line_each(
    sinks: logs.Sinks, tmp_path: Path, clock: Clock
) -> None:
    for number in range(10):
        sinks.write({"event": "HTTP error", "level": "ERROR", "status": 500, "code": "X", "error_id": str(number)})
        sinks.write({"event": "Tool completed", "level": "INFO", "code": "OK"})
        sinks.write({"event": "Tool completed", "level": "INFO", "code": "RATE_LIMIT_EXCEEDED"})

    assert len(written(sinks, tmp_path)) == 10 + 10 + 1


async def test_what_libraries_repeat_is_summed_up_by_itself_after_a_second(sinks: logs.Sinks, tmp_path: Path) -> None:
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(logs._Records(sinks))
    for number in range(1_000):
        logger.warning("Invalid HTTP request received from %s.", number)
    logger.warning("Something else")

    await until(lambda: len(written(sinks, tmp_path)) == 3, "the summary is written")
    first, other, summary = written(sinks, tmp_path)
    assert first["event"] == "Invalid HTTP request received from 0." and other["event"] == "Something else"
    assert (summary["logger"], summary["count"]) == ("uvicorn.error", 999)


def test_where_no_loop_runs_everything_is_written(sinks: logs.Sinks, tmp_path: Path) -> None:
    for _ in range(10):
        sinks.write(refusal())

    assert len(written(sinks, tmp_path)) == 10
