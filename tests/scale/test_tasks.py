"""Tasks of two servers and their workers: begun here, read, answered and cancelled there, and never run twice."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.redis_server import INSTALLED

from .replicas import allow_user
from .task_fleet import Fleet, fleet, wait_for

pytestmark = [pytest.mark.scale, pytest.mark.skipif(not INSTALLED, reason="needs redis-server")]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("tasks")) as box:
        yield box


def _text(task: dict[str, Any]) -> str:
    return str(task["result"]["content"][0]["text"])


def test_a_task_is_begun_here_run_there_and_read_anywhere(box: Fleet, tmp_path: Path) -> None:
    task_id = box.start(0, "write_slowly", marks=str(tmp_path / "marks"))
    wait_for(tmp_path / "marks" / "run-1")
    assert int((tmp_path / "marks" / "run-1").read_text()) == box.workers[-1].process.pid
    assert box.until(1, task_id, "working")["statusMessage"] == "half of it"
    (tmp_path / "marks" / "go").touch()

    assert [_text(box.until(server, task_id, "completed")) for server in (0, 1)] == ["run 1 went to the end"] * 2


def test_a_question_is_answered_at_another_server(box: Fleet) -> None:
    task_id = box.start(0, "ask_twice")
    for server, name in ((1, "Ann"), (0, "Lee")):
        [key] = box.until(server, task_id, "input_required")["inputRequests"]
        answer = {"action": "accept", "content": {"name": name}}
        assert "result" in box.task(server, "update", task_id, inputResponses={key: answer})
        _wait_for_other_question(box, task_id, key)

    assert _text(box.until(1, task_id, "completed")) == "Ann Lee"


def _wait_for_other_question(box: Fleet, task_id: str, key: str) -> None:
    while key in box.until(0, task_id, "working", "input_required", "completed").get("inputRequests", {}):
        pass


def test_a_task_is_cancelled_at_another_server(box: Fleet, tmp_path: Path) -> None:
    task_id = box.start(0, "write_slowly", marks=str(tmp_path / "marks"))
    wait_for(tmp_path / "marks" / "run-1")
    worker = box.workers[-1]
    before = worker.stderr.count()

    assert box.task(1, "cancel", task_id)["result"]["resultType"] == "complete"
    assert box.until(0, task_id, "cancelled")
    worker.stderr.first(lambda line: b"code=CANCELLED" in line, start=before)


def test_another_caller_sees_nothing_of_it(box: Fleet) -> None:
    task_id = box.start(0, "ask_twice")
    for server in (0, 1):
        for method in ("get", "update", "cancel"):
            answer = box.task(server, method, task_id, key=box.bob, inputResponses={})
            assert answer["error"]["code"] == -32602

    assert box.until(1, task_id, "input_required")
    box.task(1, "cancel", task_id)


def test_nothing_of_a_task_can_be_read_in_redis(box: Fleet, tmp_path: Path) -> None:
    marks = tmp_path / "a-secret-folder"
    task_id = box.start(0, "read_slowly", marks=str(marks))
    wait_for(marks / "run-1")
    with redis.Redis.from_url(box.redis.url) as client:
        names = list(client.scan_iter("*"))
        held = b"".join([*names, *(client.dump(name) or b"" for name in names)])
    box.task(1, "cancel", task_id)

    assert task_id.encode() in held
    assert [word for word in (b"a-secret-folder", b"read_slowly", b"ann") if word in held] == []


def test_the_task_of_a_killed_worker_runs_again_if_it_may(box: Fleet, tmp_path: Path) -> None:
    reading, writing = tmp_path / "reading", tmp_path / "writing"
    may = box.start(0, "read_slowly", marks=str(reading))
    must_not = box.start(1, "write_slowly", marks=str(writing))
    for marks in (reading, writing):
        wait_for(marks / "run-1")
    killed = box.workers[-1]
    killed.signal(signal.SIGKILL)
    killed.wait()
    box.add_worker()

    wait_for(reading / "run-2")
    (reading / "go").touch()
    assert _text(box.until(0, may, "completed")) == "run 2 went to the end"
    failed = box.until(0, must_not, "failed")
    assert "must not run twice" in failed["error"]["message"]
    assert sorted(one.name for one in writing.iterdir()) == ["run-1"]


def test_a_worker_that_stops_gives_its_tasks_back(box: Fleet, tmp_path: Path) -> None:
    reading, writing = tmp_path / "reading", tmp_path / "writing"
    may = box.start(0, "read_slowly", marks=str(reading))
    must_not = box.start(1, "write_slowly", marks=str(writing))
    for marks in (reading, writing):
        wait_for(marks / "run-1")
    stopped = box.workers[-1]
    box.add_worker()
    stopped.signal(signal.SIGTERM)
    assert stopped.wait() == 0

    wait_for(reading / "run-2")
    (reading / "go").touch()
    assert _text(box.until(1, may, "completed")) == "run 2 went to the end"
    assert "The server stopped" in box.until(1, must_not, "failed")["error"]["message"]


def test_a_task_survives_a_redis_that_hangs_for_a_while(box: Fleet, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    task_id = box.start(0, "write_slowly", marks=str(marks))
    wait_for(marks / "run-1")
    box.redis.signal(signal.SIGSTOP)
    try:
        refused = box.ask(0, "tools/call", {"name": "write_slowly", "arguments": {"marks": "x"}}, "write_slowly")
        assert refused["result"]["_meta"]["code"] == "BUSY"
        assert box.task(1, "get", task_id)["error"]["data"]["code"] == "BUSY"
        # It ends while its end cannot be stored.
        (marks / "go").touch()
        box.workers[-1].stderr.first(lambda line: b"tool=write_slowly" in line and b"code=OK" in line)
    finally:
        box.redis.signal(signal.SIGCONT)

    assert _text(box.until(1, task_id, "completed")) == "run 1 went to the end"
    (tmp_path / "next").mkdir()
    (tmp_path / "next" / "go").touch()
    assert box.until(0, box.start(0, "write_slowly", marks=str(tmp_path / "next")), "completed")


def test_a_running_task_survives_a_redis_that_was_emptied(box: Fleet, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    task_id = box.start(0, "write_slowly", marks=str(marks))
    wait_for(marks / "run-1")
    box.redis.kill()
    box.redis.start()
    allow_user(box.redis)
    # The same process takes others, although this one still runs.
    (tmp_path / "next").mkdir()
    (tmp_path / "next" / "go").touch()
    assert box.until(1, _started_when_it_is_back(box, tmp_path / "next"), "completed")
    assert box.until(0, task_id, "working")
    (marks / "go").touch()

    assert _text(box.until(1, task_id, "completed")) == "run 1 went to the end"


def _started_when_it_is_back(box: Fleet, marks: Path) -> str:
    while (
        "taskId"
        not in (
            answer := box.ask(
                0, "tools/call", {"name": "write_slowly", "arguments": {"marks": str(marks)}}, "write_slowly"
            )
        )["result"]
    ):
        assert answer["result"]["_meta"]["code"] == "BUSY"
    return str(answer["result"]["taskId"])
