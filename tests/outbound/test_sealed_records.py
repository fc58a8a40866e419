"""Sealed records that processes share: only what changed is read, and old keys can be dropped."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis.asyncio as redis_client

from dogubako.contract.errors import BusyError, ConflictError
from dogubako.key_ring import KeyRing, key_id_of
from dogubako.outbound.sealed_records import SealedRecords
from dogubako.outbound.shared_redis import SharedRedis
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT, MemoryClient, MemoryRedis, shared_settings

NEW = "another key, also of 32 characters"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@asynccontextmanager
async def records_at(redis: RedisProcess) -> AsyncIterator[SealedRecords]:
    shared = SharedRedis(shared_settings(redis.url + PATIENT))
    try:
        records = SealedRecords(shared, "things")
        await records.refresh()
        yield records
    finally:
        await shared.aclose()


def in_memory(client: MemoryClient, *secrets: str) -> tuple[SealedRecords, MemoryRedis]:
    shared = MemoryRedis(client, *secrets)
    return SealedRecords(shared, "things"), shared  # type: ignore[arg-type]


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_process_reads_only_the_records_that_changed(redis: RedisProcess) -> None:
    async with records_at(redis) as one, records_at(redis) as other, redis_client.from_url(redis.url) as client:
        for number in range(20):
            await one.put(f"thing {number}", b"first")
        await other.refresh()
        await one.put("thing 7", b"second")
        before = (await client.info("commandstats"))["cmdstat_hgetall"]["calls"]
        await other.refresh()
        after = (await client.info("commandstats"))["cmdstat_hgetall"]["calls"]

        assert after == before
        assert other.all() == {**{f"thing {number}": b"first" for number in range(20)}, "thing 7": b"second"}
        assert other.version == one.version == 21


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_redis_that_does_not_know_what_changed_is_read_as_a_whole(redis: RedisProcess) -> None:
    async with records_at(redis) as one, records_at(redis) as other, redis_client.from_url(redis.url) as client:
        await one.put("a", b"1")
        await other.refresh()
        await one.put("b", b"2")
        await client.delete("dogubako:things:changes")
        await other.refresh()

        assert other.all() == {"a": b"1", "b": b"2"}


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_an_emptied_redis_gets_records_back_which_others_read(redis: RedisProcess) -> None:
    async with records_at(redis) as one, redis_client.from_url(redis.url) as client:
        await one.put("a", b"1")
        await one.put("b", b"2")
        await client.flushall()
        await one.refresh()
        async with records_at(redis) as late:
            await one.put("b", b"3")
            await late.refresh()

            assert late.all() == one.all() == {"a": b"1", "b": b"3"}


async def test_a_change_of_what_was_changed_meanwhile_is_refused() -> None:
    client = MemoryClient()
    (one, _), (other, _) = in_memory(client), in_memory(client)
    await one.put("a", b"1", seen=0)
    with pytest.raises(ConflictError):
        await other.put("a", b"2", seen=0)
    await other.put("a", b"2")

    assert other.get("a") == b"2" and one.get("a") == b"1"


async def test_nothing_is_changed_while_redis_is_away() -> None:
    records, shared = in_memory(MemoryClient())
    shared.away = True
    with pytest.raises(BusyError):
        await records.put("a", b"1")

    assert records.get("a") is None


async def test_records_are_sealed_again_when_no_process_seals_with_the_old_key() -> None:
    client = MemoryClient()
    before, _ = in_memory(client, KEY, NEW)
    await before.put("a", b"1")
    after, shared = in_memory(client, NEW, KEY)
    old, new = (KeyRing([key.encode()]).sealing.id for key in (KEY, NEW))
    shared.sealing_ids = frozenset({old, new})
    await after.refresh()
    kept = client.hashes["test:things"][b"a"]
    shared.sealing_ids = frozenset({new})
    await after.refresh()
    alone, _ = in_memory(client, NEW)
    await alone.refresh()

    assert key_id_of(kept) == old
    assert alone.get("a") == after.get("a") == b"1"
