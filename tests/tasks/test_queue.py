"""The queue of tasks: what somebody else put into it runs nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import redis.asyncio as redis

from dogubako.tasks import service
from dogubako.tasks.queue import TaskQueue
from dogubako.tasks.service import Tasks
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, redis_server

from .boxes import toolbox


class Runs:
    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self, task_id: str) -> None:
        self.ids.append(task_id)


@asynccontextmanager
async def working(url: str | None, runs: Runs, concurrency: int = 1) -> AsyncIterator[TaskQueue]:
    queue = TaskQueue("test", url, runs, concurrency=concurrency)
    worker = asyncio.create_task(queue.work())
    try:
        yield queue
    finally:
        worker.cancel()
        await asyncio.wait({worker}, timeout=PATIENCE)


async def test_ids_are_delivered_in_this_process() -> None:
    runs = Runs()
    async with working(None, runs) as queue:
        await queue.put("one")
        await queue.put("one")
        await queue.put("two", delay=0.1)
        await until(lambda: sorted(runs.ids) == ["one", "one", "two"], "each delivery comes")


class _Bomb:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self._mark,)


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_poisoned_message_runs_nothing(tmp_path: Path) -> None:
    runs, mark = Runs(), tmp_path / "exploded"
    bomb = cloudpickle.dumps(_Bomb(mark))
    assert cloudpickle.loads(bomb) is None and mark.exists(), "the bomb works"
    mark.unlink()
    async with redis_server(tmp_path) as url, redis.from_url(url) as client:
        poisons: list[dict[Any, Any]] = [
            {"key": "known.1", "when": datetime.now(UTC).isoformat(), "function": "run", "attempt": "1"},
            {"key": "other.1", "when": "never", "function": "os.system", "attempt": "x", "generation": "y"},
            {"nothing": "at all"},
        ]
        for poison in poisons:
            await client.xadd("test:tasks:stream", {**poison, "args": bomb, "kwargs": bomb})
        strike: dict[Any, Any] = {"direction": "strike", "operator": "==", "function": "run", "value": bomb}
        await client.xadd("test:tasks:strikes", strike)
        async with working(url, runs) as queue:
            await queue.put("ours")
            await until(lambda: "ours" in runs.ids, "what is ours is delivered, after what is not")

    assert not mark.exists()
    # A key is an id, and whether there is such a task is said by its record.
    assert set(runs.ids) <= {"known", "other", "ours", ""}


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_only_ids_stand_in_the_queue(tmp_path: Path) -> None:
    async with (
        redis_server(tmp_path) as url,
        redis.from_url(url) as client,
        working(url, Runs(), concurrency=0) as queue,
    ):
        await queue.put("ours")
        entries: Any = await client.xrange("test:tasks:stream")
    [(_, message)] = entries

    assert message[b"key"].startswith(b"ours.")
    assert (cloudpickle.loads(message[b"args"]), cloudpickle.loads(message[b"kwargs"])) == ((), {})


async def test_a_queue_that_swallows_its_cancellation_does_not_keep_a_server_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of Redis does that while it connects."""
    begun = asyncio.Event()

    async def stubborn(tasks: Tasks) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    monkeypatch.setattr(Tasks, "_work", stubborn)
    monkeypatch.setattr(service, "_ENDING_SECONDS", 0.05)
    async with asyncio.timeout(PATIENCE), toolbox(tmp_path).running():
        await begun.wait()
