"""`dogubako audit report`: which calls are counted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dogubako.contract.timestamps import utc_text
from tests.doors.shell import Said, dogubako

from .audit_lines import audit_line

_NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def write_log(folder: Path, *calls: tuple[datetime, str, str]) -> None:
    lines = [audit_line(tool, time=utc_text(at.timestamp()), caller=caller) for at, caller, tool in calls]
    (folder / "audit.jsonl").write_bytes(b"".join(lines))


def report(folder: Path, *words: str) -> Said:
    return dogubako("audit", "report", *words, folder=folder, tools=(), settings={"DOGUBAKO_DATA_DIR": str(folder)})


def counted(folder: Path, *words: str) -> list[tuple[str, str]]:
    return [(row["caller"], row["tool"]) for row in report(folder, "--json", *words).json["calls"]]


WHO_AND_WHAT = [
    pytest.param([], ["ann look", "ann list_a", "bob list_b", "b* a[1]"], id="everything"),
    pytest.param(["--caller", "ann"], ["ann look", "ann list_a"], id="a caller"),
    pytest.param(["--caller", "b*"], ["b* a[1]"], id="a caller is no pattern"),
    pytest.param(["--tool", "look"], ["ann look"], id="a tool"),
    pytest.param(["--tool", "list_*"], ["ann list_a", "bob list_b"], id="tools that fit"),
    pytest.param(["--tool", "a[1]"], ["b* a[1]"], id="a name that looks like a pattern"),
    pytest.param(["--tool", "list_*", "--caller", "bob"], ["bob list_b"], id="both"),
    pytest.param(["--caller", "carl"], [], id="nobody"),
]


@pytest.mark.parametrize(("words", "expected"), WHO_AND_WHAT)
def test_a_report_counts_only_the_callers_and_tools_that_are_asked_for(
    tmp_path: Path, words: list[str], expected: list[str]
) -> None:
    write_log(
        tmp_path, (_NOON, "ann", "look"), (_NOON, "ann", "list_a"), (_NOON, "bob", "list_b"), (_NOON, "b*", "a[1]")
    )

    assert [" ".join(row) for row in counted(tmp_path, *words)] == expected


MOMENTS = [
    pytest.param("2026-11-16T12:00:00Z", ["at noon", "later"], id="the very moment"),
    pytest.param("2026-11-16T12:00", ["at noon", "later"], id="a moment of UTC without its zone"),
    pytest.param("2026-11-16T12:00:00.001Z", ["later"], id="a moment later"),
    pytest.param("2026-11-16T13:00:00+01:00", ["at noon", "later"], id="another zone"),
    pytest.param("2026-11-16", ["before", "at noon", "later"], id="a day"),
    pytest.param("0999-01-01", ["before", "at noon", "later"], id="long ago"),
    pytest.param("9999-01-01", [], id="far away"),
]


@pytest.mark.parametrize(("since", "expected"), MOMENTS)
def test_a_report_begins_at_a_moment(tmp_path: Path, since: str, expected: list[str]) -> None:
    hour = timedelta(hours=1)
    write_log(tmp_path, (_NOON - hour, "ann", "before"), (_NOON, "ann", "at noon"), (_NOON + hour, "ann", "later"))

    assert [tool for _, tool in counted(tmp_path, "--since", since)] == expected


@pytest.mark.parametrize(
    ("since", "expected"), [("30m", []), ("2h", ["an hour ago"]), ("3d", ["an hour ago", "two days ago"])]
)
def test_a_report_goes_back_so_long(tmp_path: Path, since: str, expected: list[str]) -> None:
    now = datetime.now(UTC)
    write_log(
        tmp_path,
        (now - timedelta(hours=1), "ann", "an hour ago"),
        (now - timedelta(days=2), "ann", "two days ago"),
        (now - timedelta(days=9), "ann", "long ago"),
    )

    assert [tool for _, tool in counted(tmp_path, "--since", since)] == expected


@pytest.mark.parametrize("since", ["", "soon", "0d", "24", "2026-13-01", "0001-01-01T00:00+14:00"])
def test_what_is_no_moment_is_one_sentence(tmp_path: Path, since: str) -> None:
    write_log(tmp_path, (_NOON, "ann", "look"))
    said = report(tmp_path, "--since", since)

    assert (said.code, said.out) == (1, "")
    assert said.err == ("dogubako: --since takes a span like 30m, 24h or 7d, or a moment like 2026-11-16T09:00.\n")


def test_calls_that_do_not_fit_are_not_said_to_be_no_calls(tmp_path: Path) -> None:
    write_log(tmp_path, (_NOON, "ann", "look"))

    assert report(tmp_path, "--caller", "bob").out == "No recorded calls fit.\n"


def test_damaged_lines_are_counted_whatever_is_asked_for(tmp_path: Path) -> None:
    write_log(tmp_path, (_NOON, "ann", "look"))
    with (tmp_path / "audit.jsonl").open("ab") as log:
        log.write(b"{}\n")
    said = report(tmp_path, "--json", "--caller", "bob").json

    assert said == {"calls": [], "unfinished": [], "damagedLines": 1}
