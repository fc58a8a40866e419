"""Values and locks that two processes share, with a real Redis."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import redis.asyncio as redis_client
import structlog.testing

from dogubako.contract.errors import BusyError
from dogubako.contract.storage import KeptBounds
from dogubako.outbound import shared_store
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.outbound.shared_store import RedisStore
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import PATIENT, shared_settings

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

LONG = 30.0


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@pytest.fixture
async def stores(redis: RedisProcess) -> AsyncIterator[tuple[RedisStore, RedisStore]]:
    """The stores of two processes."""
    async with AsyncExitStack() as stack:
        one, other = [SharedRedis(shared_settings(redis.url + PATIENT)) for _ in range(2)]
        for shared in (one, other):
            await stack.enter_async_context(shared.running())
        yield RedisStore(one), RedisStore(other)


async def test_a_value_of_one_process_is_read_by_another(stores: tuple[RedisStore, RedisStore]) -> None:
    one, other = stores

    assert await one.put("report", b"value \x00\xff", ttl=LONG)
    assert await other.get("report") == b"value \x00\xff"
    assert await other.get("another") is None


async def test_a_value_is_taken_once(stores: tuple[RedisStore, RedisStore]) -> None:
    one, other = stores
    await one.put("preview", b"value", ttl=LONG)

    taken = await asyncio.gather(*(store.take("preview") for store in (one, other) * 5))

    assert sorted(map(bool, taken)) == [False] * 9 + [True]


async def test_a_value_ends(stores: tuple[RedisStore, RedisStore]) -> None:
    one, other = stores
    await one.put("short", b"value", ttl=0.001)
    await asyncio.sleep(0.05)

    assert await other.get("short") is None


async def test_redis_holds_neither_names_nor_values(redis: RedisProcess, stores: tuple[RedisStore, RedisStore]) -> None:
    await stores[0].put("caller ann", b"a private answer", ttl=LONG)
    async with redis_client.from_url(redis.url) as client:
        stored = [(str(key), str(await client.get(key))) for key in await client.keys("*:value:*")]

    [(key, value)] = stored
    assert "ann" not in key and "private" not in value


@pytest.mark.parametrize("planted", [b"", b"x" * 50, b'["planted", null]'])
async def test_a_planted_value_counts_as_none(
    redis: RedisProcess, stores: tuple[RedisStore, RedisStore], planted: bytes
) -> None:
    await stores[0].put("report", b"value", ttl=LONG)
    async with redis_client.from_url(redis.url) as client:
        for key in await client.keys("*:value:*"):
            await client.set(key, planted)

    assert await stores[1].get("report") is None


async def test_a_value_under_another_name_counts_as_none(
    redis: RedisProcess, stores: tuple[RedisStore, RedisStore]
) -> None:
    one, other = stores
    await one.put("of ann", b"value", ttl=LONG)
    async with redis_client.from_url(redis.url) as client:
        [of_ann] = await client.keys("*:value:*")
        await one.put("of bob", b"other", ttl=LONG)
        [of_bob] = set(await client.keys("*:value:*")) - {of_ann}
        await client.copy(of_ann, of_bob, replace=True)  # type: ignore[arg-type]

    assert await other.get("of bob") is None


async def test_one_process_at_a_time_holds_a_lock(stores: tuple[RedisStore, RedisStore]) -> None:
    inside = most = done = 0

    async def work(store: RedisStore) -> None:
        nonlocal inside, most, done
        async with store.lock("workflow", wait=LONG):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.002)
            inside -= 1
            done += 1

    await asyncio.gather(*(work(store) for store in stores * 8))

    assert (most, done) == (1, 16)


async def test_who_waits_too_long_is_told_to_come_again(stores: tuple[RedisStore, RedisStore]) -> None:
    one, other = stores
    async with one.lock("workflow", wait=LONG):
        with pytest.raises(BusyError, match="Others change"):
            async with other.lock("workflow", wait=0.2):
                raise AssertionError("the lock was held by two")
        async with other.lock("another workflow", wait=LONG):
            pass
    async with other.lock("workflow", wait=LONG):
        pass


async def test_a_failure_or_a_cancellation_gives_the_lock_back(stores: tuple[RedisStore, RedisStore]) -> None:
    one, other = stores

    async def hold() -> None:
        async with one.lock("workflow", wait=LONG):
            await asyncio.sleep(LONG)

    with pytest.raises(ValueError, match="broken"):
        async with one.lock("workflow", wait=LONG):
            raise ValueError("broken")
    held = asyncio.create_task(hold())
    await asyncio.sleep(0.1)
    held.cancel()
    await asyncio.gather(held, return_exceptions=True)
    async with other.lock("workflow", wait=LONG):
        pass


async def test_the_lock_of_a_dead_process_ends_and_that_of_a_living_one_does_not(
    stores: tuple[RedisStore, RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_store, "LEASE_SECONDS", 1.5)
    monkeypatch.setattr(shared_store, "_RENEW_SECONDS", 0.2)
    one, other = stores
    async with one.lock("living", wait=LONG):
        with pytest.raises(BusyError):
            async with other.lock("living", wait=3):
                raise AssertionError("the lock was held by two")
    # A process that is killed neither renews its lock nor gives it back.
    await one._acquire(one._key("lock", "dead"), "token", 0)
    async with other.lock("dead", wait=LONG):
        pass


async def test_a_lock_that_was_lost_is_reported_and_left_to_its_new_holder(
    redis: RedisProcess, stores: tuple[RedisStore, RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_store, "_RENEW_SECONDS", 0.05)
    one, other = stores
    with structlog.testing.capture_logs() as logged:
        async with one.lock("workflow", wait=LONG):
            async with redis_client.from_url(redis.url) as client:
                await client.flushall()
            async with other.lock("workflow", wait=LONG):
                await asyncio.sleep(0.3)
    async with one.lock("workflow", wait=LONG):
        pass

    assert "A lock in the shared Redis was lost before its work ended" in {one["event"] for one in logged}


async def test_while_redis_is_away_nothing_is_locked_stored_or_read(redis: RedisProcess) -> None:
    shared = SharedRedis(shared_settings(redis.url))
    store = RedisStore(shared)
    async with shared.running():
        await store.put("report", b"value", ttl=LONG)
        redis.signal(signal.SIGSTOP)
        try:
            with pytest.raises(BusyError, match="does not answer: nothing was changed"):
                async with store.lock("workflow", wait=LONG):
                    raise AssertionError("nobody gave the lock")
            assert not await store.put("report", b"other", ttl=LONG)
            assert await store.get("report") is None
        finally:
            redis.signal(signal.SIGCONT)


async def test_entries_of_a_name_are_bounded_in_number_size_and_time(
    stores: tuple[RedisStore, RedisStore], redis: RedisProcess
) -> None:
    here, there = stores
    bounds = KeptBounds(most=3, most_bytes=1_000, ttl=LONG)
    for number in range(5):
        assert await here.keep("backups", f"{number}", b"%d" % number, bounds=bounds)
    few = await there.kept("backups")
    # An entry has 28 bytes more than its value.
    assert await there.keep("backups", "5", b"x" * 920, bounds=bounds)
    small = await here.kept("backups")
    assert await there.keep("backups", "6", b"x" * 2_000, bounds=bounds)
    large = await here.kept("backups")
    await there.drop("backups", "6")
    async with redis_client.from_url(redis.url) as client:
        await here.keep("backups", "7", b"secret", bounds=bounds)
        (key,) = await client.keys("dogubako:kept:*")
        stored, expires = await client.hgetall(key), await client.pttl(key)

    assert few == {"2": b"2", "3": b"3", "4": b"4"}
    assert small is not None and sorted(small) == ["4", "5"]
    assert large is not None and sorted(large) == ["6"], "the newest is kept, however large"
    assert await there.kept("backups") == {"7": b"secret"}
    assert b"secret" not in stored[b"7"] and 0 < expires <= LONG * 1000


async def test_entries_are_unknown_while_redis_is_away(
    stores: tuple[RedisStore, RedisStore], redis: RedisProcess
) -> None:
    redis.kill()

    assert await stores[0].kept("backups") is None
    assert not await stores[0].keep("backups", "1", b"1", bounds=KeptBounds(most=1, most_bytes=10, ttl=LONG))
    await stores[0].drop("backups", "1")
