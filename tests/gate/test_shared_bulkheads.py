"""Servers that share a Redis call a service no more often at once than one of them may."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_client

from dogubako import Effect, tool
from dogubako.app import Toolbox, build
from dogubako.gate import place_leases, shared_bulkheads
from dogubako.gate.shared_bulkheads import SharedBulkhead, SharedBulkheads
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.settings import Sources
from dogubako.tools import ToolPack, ToolResult
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT, shared_settings

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

MOST = 2


class Desk:
    """A service: calls stay until the desk is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.running = 0
        self.most = 0

    def pack(self, *, waits: float) -> ToolPack:
        @tool(effect=Effect.READ, open_world=False)
        async def visit(seconds: float = 0.0) -> str:
            """Stay at the desk."""
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await (asyncio.sleep(seconds) if seconds else self.closed.wait())
            finally:
                self.running -= 1
            return "served"

        made = ToolPack("desk", [visit])
        vars(made).update(max_running=MOST, max_wait_seconds=waits)
        return made


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


@asynccontextmanager
async def two(
    redis: RedisProcess, folder: Path, desk: Desk, *, waits: float = 0.2, address: str = PATIENT, **settings: Any
) -> AsyncIterator[tuple[Toolbox, Toolbox]]:
    """Two servers with the same service, as on two machines."""
    async with AsyncExitStack() as stack:
        boxes = []
        for name in ("one", "other"):
            shared = {"shared": redis.url + address, "request_state_key": KEY, "audit": False, **settings}
            sources = Sources(overrides={"data_dir": folder / name, **shared}, environ={}, env_file=None)
            box = build(sources, packs=[desk.pack(waits=waits)])
            boxes.append(await stack.enter_async_context(box.running()))
        yield boxes[0], boxes[1]


@asynccontextmanager
async def visitors(desk: Desk, *boxes: Toolbox) -> AsyncIterator[list["asyncio.Task[ToolResult]"]]:
    """Calls that stay, one at each of these servers."""
    tasks = [asyncio.create_task(box.call("visit")) for box in boxes]
    await until(lambda: desk.running == len(boxes), "the calls run")
    try:
        yield tasks
    finally:
        desk.closed.set()
        await asyncio.gather(*tasks)


async def test_a_service_gets_no_more_calls_at_once_from_two_servers_than_from_one(
    redis: RedisProcess, tmp_path: Path
) -> None:
    desk = Desk()
    async with two(redis, tmp_path, desk) as (one, other), visitors(desk, one, other):
        refused = [await box.call("visit") for box in (one, other)]

    assert [result.code for result in refused] == ["BUSY", "BUSY"]
    assert refused[0].content[0]["text"] == "Too many calls are waiting for desk."
    assert desk.most == MOST


async def test_a_call_waits_until_a_call_of_another_server_ends(redis: RedisProcess, tmp_path: Path) -> None:
    desk = Desk()
    async with two(redis, tmp_path, desk, waits=PATIENCE) as (one, other), visitors(desk, one, one) as staying:
        waiting = asyncio.create_task(other.call("visit", seconds=0.01))
        # It looks several times, and finds both places taken.
        await asyncio.sleep(0.5)
        assert not waiting.done()
        first = staying.pop(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        result = await waiting

    assert result.code == "OK" and desk.most == MOST


async def test_limits_that_fail_open_are_counted_by_each_server_while_redis_is_away(
    redis: RedisProcess, tmp_path: Path
) -> None:
    desk = Desk()
    async with two(redis, tmp_path, desk, address="") as (one, other):
        redis.kill()
        async with visitors(desk, one, one, other, other):
            refused = [await box.call("visit") for box in (one, other)]

    assert [result.code for result in refused] == ["BUSY", "BUSY"]


async def test_limits_that_fail_closed_let_no_call_to_a_service_while_redis_is_away(
    redis: RedisProcess, tmp_path: Path
) -> None:
    desk = Desk()
    async with two(redis, tmp_path, desk, address="", shared_limits="closed") as (one, _):
        redis.kill()
        result = await one.call("visit", seconds=0.01)

    assert result.code == "BUSY" and "cannot be counted" in result.content[0]["text"]
    assert desk.most == 0


@asynccontextmanager
async def places_at(redis: RedisProcess) -> AsyncIterator[SharedBulkheads]:
    shared = SharedRedis(shared_settings(redis.url + PATIENT))
    try:
        yield SharedBulkheads(shared)
    finally:
        await shared.aclose()


async def until_taken(redis: RedisProcess, places: int) -> None:
    """Wait until Redis knows of this many places."""
    taken = -1
    async with asyncio.timeout(PATIENCE), redis_client.from_url(redis.url) as client:
        while taken != places:
            keys = [key async for key in client.scan_iter("dogubako:service:*")]
            taken = sum([await client.zcard(key) for key in keys])


def bulkhead_of(places: SharedBulkheads, most: int = 1) -> SharedBulkhead:
    return places.bulkhead("desk", max_running=most, max_wait_seconds=PATIENCE)


async def test_the_places_of_a_server_that_was_killed_end(redis: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_leases, "_LEASE", 200)
    async with AsyncExitStack() as stack:
        killed, other = [await stack.enter_async_context(places_at(redis)) for _ in range(2)]
        # Nobody renews it or gives it back.
        await bulkhead_of(killed).enter(PATIENCE)

        await bulkhead_of(other).enter(PATIENCE)


async def test_a_place_that_is_held_is_renewed_and_entered_into_an_emptied_redis_again(
    redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place_leases, "_RENEW_SECONDS", 0.05)
    async with places_at(redis) as places, redis_client.from_url(redis.url) as client, places.running():
        bulkhead = bulkhead_of(places)
        await bulkhead.enter(PATIENCE)
        await client.flushall()
        await until_taken(redis, 1)
        bulkhead.leave()
        await until_taken(redis, 0)


async def test_calls_one_after_the_other_ask_redis_once(redis: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_bulkheads, "KEEP_SECONDS", PATIENCE)
    async with places_at(redis) as places, redis_client.from_url(redis.url) as client:
        bulkhead = bulkhead_of(places, most=8)
        for _ in range(5):
            await bulkhead.enter(PATIENCE)
            bulkhead.leave()
        asked = (await client.info("commandstats")).get("cmdstat_evalsha", {"calls": 0})["calls"]

    # The script is unknown to a new Redis: it is asked twice.
    assert asked == 2


async def test_places_go_to_the_next_call_of_a_process_without_asking_redis(
    redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_bulkheads, "KEEP_SECONDS", PATIENCE)
    async with places_at(redis) as places, redis_client.from_url(redis.url) as client:
        bulkhead, done = bulkhead_of(places), [0]
        await asyncio.gather(*(hold(bulkhead, done) for _ in range(20)))
        asked = (await client.info("commandstats"))["cmdstat_evalsha"]["calls"]

    assert done == [20] and asked == 2


async def test_a_process_with_a_long_queue_leaves_places_to_others(
    redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_bulkheads, "KEEP_SECONDS", 0.02)
    async with AsyncExitStack() as stack:
        busy, other = [await stack.enter_async_context(places_at(redis)) for _ in range(2)]
        await stack.enter_async_context(busy.running())
        await stack.enter_async_context(other.running())
        bulkhead, done = bulkhead_of(busy), [0]
        queue = [asyncio.create_task(hold(bulkhead, done)) for _ in range(1000)]
        await until(lambda: done[0] > 0, "the service is busy")
        mine = [0]
        await hold(bulkhead_of(other), mine)
        for task in queue:
            task.cancel()
        await asyncio.gather(*queue, return_exceptions=True)

    assert mine == [1] and done[0] < 1000


async def hold(bulkhead: SharedBulkhead, done: list[int]) -> None:
    """A call of ten milliseconds."""
    await bulkhead.enter(PATIENCE)
    try:
        await asyncio.sleep(0.01)
        done[0] += 1
    finally:
        bulkhead.leave()


async def test_a_call_that_is_cancelled_while_it_waits_leaves_its_place_in_the_queue(redis: RedisProcess) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(places_at(redis)) for _ in range(2)]
        await stack.enter_async_context(one.running())
        holder, bulkhead = bulkhead_of(one), bulkhead_of(other, most=1)
        await holder.enter(PATIENCE)
        impatient = asyncio.create_task(bulkhead.enter(PATIENCE))
        await asyncio.sleep(0.3)
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
        holder.leave()

        await bulkhead.enter(PATIENCE)
