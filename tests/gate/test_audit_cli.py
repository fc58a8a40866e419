"""`dogubako audit tail|report`: what an operator sees, also of a log that was damaged."""

import json
import re
import signal
from pathlib import Path

import pytest

from tests.doors.processes import running
from tests.doors.shell import Said, dogubako

from .sheds import log_in, shed_in


async def some_calls(folder: Path) -> None:
    async with shed_in(folder).running() as box:
        for text in ("a", "b", "c"):
            await box.call("look", {"text": text})
        await box.call("stumble", {"foreseen": True})


def audit(folder: Path, *words: str) -> Said:
    return dogubako("audit", *words, folder=folder, tools=(), settings={"DOGUBAKO_DATA_DIR": str(folder)})


async def test_tail_prints_the_last_calls_one_per_line(tmp_path: Path) -> None:
    await some_calls(tmp_path)
    said = audit(tmp_path, "tail", "-n", "2")

    first, second = said.out.splitlines()
    assert said.code == 0
    assert re.fullmatch(r"\S+Z anonymous python look\(text\) OK [\d.]+ ms", first)
    assert re.fullmatch(r"\S+Z anonymous python stumble\(foreseen\) NOT_FOUND [\d.]+ ms", second)


@pytest.mark.parametrize(("words", "count"), [([], 4), (["-n", "0"], 0), (["-n", "3"], 3), (["--lines", "100000"], 4)])
async def test_tail_prints_as_many_as_were_asked_for(tmp_path: Path, words: list[str], count: int) -> None:
    await some_calls(tmp_path)

    assert len(audit(tmp_path, "tail", *words).out.splitlines()) == count


async def test_tail_as_json_prints_the_lines_as_they_are(tmp_path: Path) -> None:
    await some_calls(tmp_path)

    assert audit(tmp_path, "tail", "--json").out == log_in(tmp_path).read_text()


async def test_tail_says_by_whom_a_call_was_passed_on_and_whose_resource_was_read(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("send_handyman")
        await box.read("shed://stock")
    said = audit(tmp_path, "tail").out

    assert re.search(r" look\(text\) via send_handyman OK [\d.]+ ms$", said, re.MULTILINE)
    assert re.search(r" send_handyman\(\) OK [\d.]+ ms$", said, re.MULTILINE)
    assert re.search(r" resources/read\(uri\) of shed OK [\d.]+ ms$", said, re.MULTILINE)


async def test_report_counts_calls_and_failures(tmp_path: Path) -> None:
    await some_calls(tmp_path)
    table, document = audit(tmp_path, "report"), audit(tmp_path, "report", "--json").json

    assert [(row["caller"], row["tool"], row["calls"], row["failed"]) for row in document["calls"]] == [
        ("anonymous", "look", 3, 0),
        ("anonymous", "stumble", 1, 1),
    ]
    assert document["damagedLines"] == 0
    header, look, stumble = (line.split() for line in table.out.splitlines())
    assert header[:4] == ["Caller", "Tool", "Calls", "Failed"]
    assert look[:4] == ["anonymous", "look", "3", "0"] and stumble[:4] == ["anonymous", "stumble", "1", "1"]


@pytest.mark.parametrize("code", ["NO_RESULTS", "INPUT_REQUIRED"])
async def test_an_empty_answer_and_a_question_are_no_failures(tmp_path: Path, code: str) -> None:
    await some_calls(tmp_path)
    log_in(tmp_path).write_text(log_in(tmp_path).read_text().replace("NOT_FOUND", code))

    assert [row["failed"] for row in audit(tmp_path, "report", "--json").json["calls"]] == [0, 0]


DAMAGE = [
    pytest.param(b'{"time":"2026-11-16T', id="half a line at the end"),
    pytest.param(b'{"time":"2026-11-16T\n', id="half a line"),
    pytest.param(b'"words"\n', id="a string"),
    pytest.param(b"[1, 2]\n", id="a list"),
    pytest.param(b"{}\n", id="an empty object"),
    pytest.param(b"\xff\xfe\x00\n", id="binary"),
    pytest.param(b"[" * 100_000 + b"\n", id="bottomless"),
    pytest.param(b'{"caller": {}, "tool": [], "ms": "much", "code": 1}\n', id="other types"),
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_line_is_counted_and_stops_nothing(tmp_path: Path, damage: bytes) -> None:
    await some_calls(tmp_path)
    log_in(tmp_path).write_bytes(log_in(tmp_path).read_bytes() + b"\n" + damage)
    table, document = audit(tmp_path, "report"), audit(tmp_path, "report", "--json").json

    assert document["damagedLines"] == 1 and sum(row["calls"] for row in document["calls"]) == 4
    assert (table.code, table.err) == (0, "1 damaged line was left out.\n")
    assert len(audit(tmp_path, "tail").out.splitlines()) == 4


@pytest.mark.parametrize(
    ("damaged", "sentence"),
    [(0, ""), (1, "1 damaged line was left out.\n"), (2, "2 damaged lines were left out.\n")],
)
@pytest.mark.parametrize("words", [["tail"], ["tail", "--json"], ["report"]], ids=" ".join)
async def test_how_many_lines_are_damaged_is_said_in_plain_words(
    tmp_path: Path, words: list[str], damaged: int, sentence: str
) -> None:
    await some_calls(tmp_path)
    log_in(tmp_path).write_bytes(b"{}\n" * damaged + log_in(tmp_path).read_bytes())

    assert audit(tmp_path, *words).err == sentence


def test_tail_counts_only_what_it_was_asked_for(tmp_path: Path) -> None:
    log_in(tmp_path).write_bytes(b"{}\n" * 5)

    assert audit(tmp_path, "tail", "-n", "3").err == "3 damaged lines were left out.\n"


@pytest.mark.parametrize(
    ("words", "where"),
    [pytest.param(["tail"], "err", id="tail"), pytest.param(["report"], "out", id="report")],
)
def test_no_log_at_all_is_no_mistake(tmp_path: Path, words: list[str], where: str) -> None:
    said = audit(tmp_path, *words)

    assert said.code == 0 and getattr(said, where) == (
        "No calls have been recorded. Recording begins with DOGUBAKO_AUTH, or with DOGUBAKO_AUDIT=true.\n"
    )


@pytest.mark.parametrize("words", [["tail"], ["report"], ["report", "--json"]])
def test_a_log_that_cannot_be_read_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    log_in(tmp_path).mkdir()
    said = audit(tmp_path, *words)

    assert (said.code, said.out) == (2, "")
    assert said.err == f"dogubako: The audit log {log_in(tmp_path)} cannot be read: Is a directory.\n"


async def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("\x1b[2Jno\x9b31mtool", {"new\nline\x1b]0;title\x07": 1})
    shown = audit(tmp_path, "tail").out + audit(tmp_path, "report").out

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    assert r"\x1b[2Jno\x9b31mtool(new\nline" in shown


async def test_tail_follows_as_lines_are_added_and_when_the_log_is_moved_away(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with running("audit", "tail", "-f", "--json", folder=tmp_path, settings=settings) as command:
        await some_calls(tmp_path / "data")
        command.stdout.first(lambda line: b'"stumble"' in line)
        log_in(tmp_path / "data").rename(tmp_path / "old.jsonl")
        async with shed_in(tmp_path / "data").running() as box:
            await box.call("put", {"text": "a"})
        command.stdout.first(lambda line: b'"put"' in line and b'"OK"' in line)
        command.signal(signal.SIGINT)
        command.wait()
        printed = [json.loads(line) for line in command.stdout.text().splitlines()]

    assert [line["tool"] for line in printed] == ["look", "look", "look", "stumble", "put", "put"]
    assert [line["code"] for line in printed[-2:]] == ["STARTED", "OK"]
    assert "Traceback" not in command.stderr.text()
