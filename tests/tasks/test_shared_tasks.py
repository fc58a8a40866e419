"""Two processes of one server with a real Redis: one runs tasks itself, the other only starts and reads them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.pack import HealthCheck
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, redis_server
from tests.shared_redis import KEY, PATIENT

from .boxes import AS_TASK, ended, result_of, started, toolbox

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
async def boxes(tmp_path: Path) -> AsyncIterator[tuple[Toolbox, Toolbox]]:
    async with redis_server(tmp_path) as url:
        settings = {"shared": url + PATIENT, "request_state_key": KEY, "tasks_per_caller": 2}
        one, other = toolbox(tmp_path, **settings), toolbox(tmp_path, **settings)
        one.tasks.works = True
        async with one.running(), other.running():
            yield one, other


async def test_a_server_runs_what_another_process_has_started(boxes: tuple[Toolbox, Toolbox], tmp_path: Path) -> None:
    one, other = boxes
    task_id = await started(other, "read_slowly", marks=str(tmp_path / "marks"))
    await until((tmp_path / "marks" / "run-1").exists, "the tool runs")
    (tmp_path / "marks" / "go").touch()

    for box in boxes:
        assert result_of(await ended(box, task_id)).text == "run 1 went to the end"
    assert [task.id for task in await one.tasks.of(TRUSTED).all()] == [task_id]


async def test_unfinished_tasks_are_counted_in_all_processes(boxes: tuple[Toolbox, Toolbox], tmp_path: Path) -> None:
    one, other = boxes
    ids = [await started(box, "read_slowly", marks=str(tmp_path / "marks")) for box in boxes]
    assert (await one.call("whoami", {}, AS_TASK)).code == "BUSY"

    await other.tasks.of(TRUSTED).cancel(ids[0])
    assert (await one.call("whoami", {}, AS_TASK)).code == "TASK"
    assert await one.tasks.of(Caller(name="bob", id="bob", scopes=frozenset({"read"}))).all() == []
    await one.tasks.of(TRUSTED).cancel(ids[1])


async def test_a_process_without_the_key_leaves_tasks_to_those_that_have_it(tmp_path: Path) -> None:
    async with redis_server(tmp_path) as url:
        shared = {"shared": url + PATIENT}
        one = toolbox(tmp_path / "one", **shared, request_state_key=KEY)
        stranger = toolbox(tmp_path / "stranger", **shared, request_state_key="x" * 32)
        stranger.tasks.works = True
        with structlog.testing.capture_logs() as logged:
            async with one.running(), stranger.running():
                # Only the stranger runs tasks at first, so it gets this one.
                task_id = await started(one, "whoami")
                await until(lambda: any("a key that this process" in line["event"] for line in logged), "it is seen")
                able = toolbox(tmp_path / "able", **shared, request_state_key=KEY)
                able.tasks.works = True
                async with able.running():
                    assert (await ended(one, task_id)).status == "completed"


async def test_doctor_says_when_nobody_runs_the_tasks_that_are_queued(tmp_path: Path) -> None:
    async with redis_server(tmp_path) as url:
        settings = {"shared": url + PATIENT, "request_state_key": KEY}
        box, worker = toolbox(tmp_path, tasks="queue", **settings), toolbox(tmp_path / "worker", **settings)
        worker.tasks.works = True
        async with box.running():
            [alone] = [one for one in await box.check() if one.subject == "tasks"]
            async with worker.running():
                helped = await _helped(box)

    assert not alone.ok and "No process runs tasks" in alone.message and "dogubako worker" in str(alone.advice)
    assert helped.message == "processes that run them: 1"


async def _helped(box: Toolbox) -> HealthCheck:
    for _ in range(600):
        [found] = [one for one in await box.check() if one.subject == "tasks"]
        if found.ok:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("the worker is not noticed")
