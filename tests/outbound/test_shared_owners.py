"""Who owns what among processes, with a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_client

from dogubako.outbound import shared_owners
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import Processes

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_owners, "_LOOK_SECONDS", 0.05)


@pytest.fixture
async def processes(redis: RedisProcess) -> AsyncIterator[Processes]:
    started = Processes(redis.url)
    yield started
    await started.end()


async def test_the_first_one_owns_it_and_the_next_follows_when_it_leaves(processes: Processes) -> None:
    first, second = await processes.start(), await processes.start()
    moved, left = asyncio.Event(), asyncio.Event()
    await first.join("it", left.set)
    await second.join("it", moved.set)
    before = (first.owns("it"), second.owns("it"), second.owner_of("it") == first.messages.process)
    moved.clear()
    await first.leave("it", left.set)
    await asyncio.wait_for(moved.wait(), 60)

    assert before == (True, False, True)
    assert second.owns("it") and not first.owns("it")


async def test_a_killed_owner_is_followed(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_owners, "LEASE_SECONDS", 0.5)
    first, second = await processes.start(), await processes.start()
    await first.join("it", lambda: None)
    await second.join("it", lambda: None)
    await processes.kill(first)

    await until(lambda: second.owns("it"), "the second one owns it")


async def _holder(client: Any) -> Any:
    """Who owns it in this Redis, as soon as somebody does."""
    for _ in range(1_000):
        if held := await client.get("dogubako:owner:it"):
            return held
        await asyncio.sleep(0.01)
    raise AssertionError("nobody owns it")


async def test_nothing_moves_while_redis_is_away_and_the_owner_of_before_comes_first(
    processes: Processes, redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_owners, "_LOOK_SECONDS", 0.2)
    first, second = await processes.start(), await processes.start()
    await first.join("it", lambda: None)
    await second.join("it", lambda: None)
    for _ in range(3):
        async with redis_client.from_url(redis.url) as client:
            await client.flushall()
            assert await _holder(client) == first.messages.process.encode()
    redis.kill()
    await asyncio.sleep(0)
    away = (first.owns("it"), second.owns("it"))
    redis.start()

    assert away == (True, False)
    await until(lambda: first.owns("it") and second.owner_of("it") == first.messages.process, "all know the owner")
