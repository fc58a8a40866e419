"""How often a caller may call: counted in a moving window, in all and per tool, here or together in a Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
import structlog
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.gate.rate_limits import RateLimits
from dogubako.outbound import redis_cache
from dogubako.settings import SettingsError
from dogubako.tools import ToolResult
from tests.redis_server import INSTALLED, free_port, redis_server

from .clock import Clock
from .sheds import shed_in

ALL = frozenset({"admin"})
ANN, BOB = Caller(name="ann", scopes=ALL), Caller(name="bob", scopes=ALL)


# A busy machine may need longer than the second that our server waits for a Redis.
PATIENT = "?socket_timeout=30&socket_connect_timeout=30"

STORAGES = ["memory", *(["redis-server"] if INSTALLED else [])]


@pytest.fixture(params=STORAGES)
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "memory":
        yield "memory"
        return
    async with redis_server(tmp_path) as where:
        yield where + PATIENT


async def ask(box: Toolbox, tool: str = "look", /, caller: Caller = ANN, **parameters: Any) -> ToolResult:
    return await box.pipeline.handle(ToolCall(name=tool, parameters=parameters, caller=caller))


async def codes(box: Toolbox, count: int, tool: str = "look", /, caller: Caller = ANN, **parameters: Any) -> list[str]:
    return [(await ask(box, tool, caller, **parameters)).code for _ in range(count)]


def limited(folder: Path, storage: str, **settings: Any) -> Toolbox:
    return shed_in(folder, audit=False, rate_limit_storage=storage, **settings)


async def test_a_caller_may_call_so_often_and_no_more(tmp_path: Path, storage: str) -> None:
    async with limited(tmp_path, storage, rate_limit_max=3).running() as box:
        mine = await codes(box, 4)
        of_others = await codes(box, 1, caller=BOB)
        refused = await ask(box, "put", text="a")

    assert mine == ["OK", "OK", "OK", "RATE_LIMIT_EXCEEDED"] and of_others == ["OK"]
    assert refused.content[0]["text"] == "Rate limit exceeded"
    assert refused.meta is not None and refused.meta["retryable"] is True
    assert 1 <= refused.meta["retryAfter"] <= 60 and refused.meta["retryAfter"] == int(refused.meta["retryAfter"])
    assert "RATE_LIMIT_MAX" in refused.meta["hint"]


async def test_a_tool_may_be_called_so_often_and_the_others_all_the_same(tmp_path: Path, storage: str) -> None:
    async with limited(tmp_path, storage, rate_limit_tool_max=2).running() as box:
        looked = await codes(box, 3)
        passed_on = await ask(box, "call_tool", name="look", arguments={})
        put = await codes(box, 2, "put", text="a")
        of_others = await codes(box, 1, caller=BOB)

    assert looked == ["OK", "OK", "RATE_LIMIT_EXCEEDED"]
    assert (passed_on.code, put, of_others) == ("RATE_LIMIT_EXCEEDED", ["OK", "OK"], ["OK"])


async def test_what_is_refused_for_one_tool_is_taken_from_all_the_others(tmp_path: Path, storage: str) -> None:
    async with limited(tmp_path, storage, rate_limit_max=4, rate_limit_tool_max=1).running() as box:
        looked = await codes(box, 3)
        others = [*await codes(box, 1, "put", text="a"), *await codes(box, 1, "stumble", foreseen=True)]

    assert looked == ["OK", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"]
    assert others == ["OK", "RATE_LIMIT_EXCEEDED"]


async def test_the_window_moves(tmp_path: Path, storage: str, clock: Clock) -> None:
    async with limited(tmp_path, storage, rate_limit_max=2, rate_limit_window=60).running() as box:
        first = await codes(box, 1)
        clock.now += 40
        second = await codes(box, 2)
        refused = await ask(box)
        clock.now += 20.5
        # The first is a minute old; the second, of forty seconds later, still counts.
        third = await codes(box, 2)

    assert (first, second) == (["OK"], ["OK", "RATE_LIMIT_EXCEEDED"])
    assert refused.meta is not None and refused.meta["retryAfter"] == 20
    assert third == ["OK", "RATE_LIMIT_EXCEEDED"]


async def test_who_waits_as_long_as_was_said_may_call_again(tmp_path: Path, storage: str, clock: Clock) -> None:
    async with limited(tmp_path, storage, rate_limit_max=1, rate_limit_window=7).running() as box:
        for _ in range(3):
            await ask(box)
            refused = await ask(box)
            assert refused.meta is not None
            clock.now += refused.meta["retryAfter"] + 0.001
            assert (await ask(box)).code == "OK"
            clock.now += 8


async def test_refused_calls_do_not_count(tmp_path: Path, storage: str, clock: Clock) -> None:
    async with limited(tmp_path, storage, rate_limit_max=1, rate_limit_window=10).running() as box:
        await codes(box, 1)
        clock.now += 9
        await codes(box, 5)
        clock.now += 1.5

        assert await codes(box, 1) == ["OK"]


async def test_names_do_not_run_into_each_other(tmp_path: Path, storage: str) -> None:
    async with limited(tmp_path, storage, rate_limit_max=1, rate_limit_tool_max=1).running() as box:
        for name in ("ann", "ann/look", "all/ann", "tool/ann", "ann/look/1", ""):
            assert await codes(box, 2, caller=Caller(name=name, scopes=ALL)) == ["OK", "RATE_LIMIT_EXCEEDED"]


async def test_servers_count_together_in_a_redis_and_alone_in_memory(tmp_path: Path, storage: str) -> None:
    async with (
        limited(tmp_path, storage, rate_limit_max=10).running() as one,
        limited(tmp_path, storage, rate_limit_max=10).running() as other,
    ):
        heard = [await codes(box, 1) for _ in range(10) for box in (one, other)]

    assert sum(code == ["OK"] for code in heard) == (20 if storage == "memory" else 10)


async def test_a_redis_that_is_away_leaves_each_server_to_itself(tmp_path: Path) -> None:
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as log:
        away = f"redis://:s3cr3t-of-redis@127.0.0.1:{free_port()}/0"
        async with limited(tmp_path, away, rate_limit_max=2).running() as box:
            heard = await codes(box, 4)

    assert heard == ["OK", "OK", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"]
    [said] = [line for line in log if line["event"] == "Circuit breaker opened"]
    assert (said["service"], said["error"]) == ("rate limits", "ConnectionError") and "s3cr3t" not in str(log)


@pytest.mark.parametrize("comes_back", [False, *([True] if INSTALLED else [])])
async def test_a_redis_that_comes_back_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    port = free_port()
    monkeypatch.setattr(redis_cache, "LONGEST_PAUSE_SECONDS", 1e-9)
    monkeypatch.setattr(redis_cache, "FIRST_PAUSE_SECONDS", 1e-9)
    async with limited(tmp_path, f"redis://127.0.0.1:{port}/0{PATIENT}", rate_limit_max=3).running() as box:
        alone = await codes(box, 3)
        async with redis_server(tmp_path, port) if comes_back else nullcontext():
            later = await codes(box, 4)

    assert alone == ["OK"] * 3
    assert later == ([*["OK"] * 3, "RATE_LIMIT_EXCEEDED"] if comes_back else ["RATE_LIMIT_EXCEEDED"] * 4)


@pytest.mark.parametrize("url", ["redis://:s3cr3t-of-redis@host:port/0", "redis://[s3cr3t-of-redis"])
def test_an_address_that_is_none_stops_the_start_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="RATE_LIMIT_STORAGE") as refused:
        RateLimits(most=1, window=1, storage=url)

    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize("setting", ["rate_limit_max", "rate_limit_tool_max"])
async def test_a_refusal_names_the_setting_that_would_allow_more(tmp_path: Path, setting: str) -> None:
    async with shed_in(tmp_path, **{setting: 1}).running() as box:
        await box.call("look")
        refused = await box.call("look")

    assert refused.error is not None and str(refused.error.hint).endswith(f"a higher {setting.upper()}.")


async def test_a_redis_that_hangs_is_asked_once_and_each_server_counts_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_cache, "FIRST_PAUSE_SECONDS", 3600.0)
    visits: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda _, writer: visits.append(writer), "127.0.0.1", 0)
    async with silent:
        url = f"redis://127.0.0.1:{silent.sockets[0].getsockname()[1]}/0"
        async with limited(tmp_path, url, rate_limit_max=20, rate_limit_tool_max=20).running() as box:
            heard = await codes(box, 30)
        for one in visits:
            one.close()

    assert heard == ["OK"] * 20 + ["RATE_LIMIT_EXCEEDED"] * 10
    # One connection, and another one for the only retry.
    assert 1 <= len(visits) <= 2


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_counter_of_another_type_is_counted_here(tmp_path: Path) -> None:
    structlog.reset_defaults()
    async with (
        redis_server(tmp_path) as where,
        redis.asyncio.from_url(where) as client,
        limited(tmp_path, where + PATIENT, rate_limit_max=3).running() as box,
    ):
        await codes(box, 1)
        [counter] = [name async for name in client.scan_iter("dogubako:calls*")]
        await client.delete(counter)
        await client.hset(counter, "field", "x")
        with structlog.testing.capture_logs() as log:
            planted = await codes(box, 5)
            of_others = await codes(box, 1, caller=BOB)

    assert planted == ["OK"] * 3 + ["RATE_LIMIT_EXCEEDED"] * 2 and of_others == ["OK"]
    events = [line["event"] for line in log]
    assert events.count("The shared counter refused a command; calls are counted here") == 1
    assert "Circuit breaker opened" not in events
