"""Sessions that all processes know, with a real Redis."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import redis.asyncio as redis_client

from dogubako.contract.errors import BusyError
from dogubako.contract.sessions import SessionRecord
from dogubako.outbound import shared_sessions
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.outbound.shared_sessions import RedisSessions
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import PATIENT, shared_settings

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ANN = SessionRecord(opening=b'{"method":"initialize"}', owner="ann", holder="caller ann")
NOBODY = SessionRecord(opening=b"{}", owner="", holder="address 192.0.2.1")
MOST = 2


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


Pair = tuple[RedisSessions, RedisSessions]


@pytest.fixture
async def pair(redis: RedisProcess) -> AsyncIterator[Pair]:
    """The sessions as two processes see them."""
    async with AsyncExitStack() as stack:
        both = []
        for name in ("here", "there"):
            shared = SharedRedis(shared_settings(redis.url + PATIENT))
            await stack.enter_async_context(shared.running())
            both.append(RedisSessions(shared, name))
        yield both[0], both[1]


async def test_a_process_that_joins_knows_what_was_said_before_and_is_told_of_the_rest(pair: Pair) -> None:
    here, there = pair
    await here.open("s", ANN, most=MOST)
    await here.set_log_level("s", "error")
    await here.subscribe("s", "a://b")
    alone = await here.subscribe("s", "a://\ud800")
    joined = await there.join("s")
    told = await here.unsubscribe("s", "a://b")
    again = await there.join("s")

    assert joined is not None and (joined.opening, joined.owner, joined.log_level) == (ANN.opening, "ann", "error")
    assert joined.subscriptions == {"a://b", "a://\ud800"}
    assert again is not None and again.subscriptions == {"a://\ud800"}
    assert (alone, sorted(told)) == (["here"], ["here", "there"])


async def test_a_session_that_ended_is_over_and_is_not_restored(pair: Pair) -> None:
    here, there = pair
    await here.open("s", ANN, most=MOST)
    await there.join("s")
    told = await there.end("s")
    await here.restore("s", ANN)

    assert sorted(told) == ["here", "there"]
    assert await here.join("s") is None and await there.subscribe("s", "a://b") == []
    assert await here.renew(["s", "unknown"]) == ["ended", "lost"]


async def test_a_caller_has_so_many_sessions_in_all_processes(pair: Pair) -> None:
    here, there = pair
    await here.open("1", ANN, most=MOST)
    await there.open("2", ANN, most=MOST)
    with pytest.raises(BusyError, match="as many as one caller may have"):
        await there.open("3", ANN, most=MOST)
    await here.end("1")
    await there.open("3", ANN, most=MOST)

    assert await here.join("3") is not None


async def test_who_has_no_name_loses_the_session_that_was_not_used_for_the_longest_time(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = pair
    await here.open("1", NOBODY, most=MOST)
    await here.open("2", NOBODY, most=MOST)
    with pytest.raises(BusyError):
        await here.open("3", NOBODY, most=MOST)
    # As if some time had passed.
    monkeypatch.setattr(shared_sessions, "_IN_USE_SECONDS", -1)
    await here.open("3", NOBODY, most=MOST)

    assert [await here.join(one) is not None for one in ("1", "2", "3")] == [False, True, True]


async def test_a_redis_that_was_emptied_gets_its_sessions_back(redis: RedisProcess, pair: Pair) -> None:
    here, there = pair
    first = [await here.was_emptied(), await there.was_emptied(), await here.was_emptied()]
    await here.open("s", ANN, most=MOST)
    async with redis_client.from_url(redis.url) as client:
        await client.flushall()
    emptied = [await here.was_emptied(), await there.was_emptied(), await here.was_emptied()]
    fate = await here.renew(["s"])
    await here.restore("s", ANN)

    assert (first, emptied, fate) == ([False, False, False], [True, True, False], ["lost"])
    assert await there.join("s") == ANN


async def test_the_redis_shows_neither_ids_nor_what_clients_said(redis: RedisProcess, pair: Pair) -> None:
    here, _ = pair
    await here.open("the-id", ANN, most=MOST)
    await here.subscribe("the-id", "secret://place")
    async with redis_client.from_url(redis.url) as client:
        keys = await client.keys("*")
        seen = repr(keys) + repr([await client.hgetall(key) for key in keys if b":session:" in key])

    assert ":session:" in seen
    assert not any(word in seen for word in ("the-id", "initialize", "ann", "secret"))


async def test_nobody_can_tell_while_redis_is_away(redis: RedisProcess, pair: Pair) -> None:
    here, _ = pair
    redis.kill()
    with pytest.raises(BusyError, match="does not answer"):
        await here.join("s")
    with pytest.raises(BusyError, match="does not answer"):
        await here.open("s", ANN, most=MOST)
