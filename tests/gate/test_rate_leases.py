"""Processes that count calls together ask Redis seldom for busy callers, and never let more pass than the limit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import redis.asyncio

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import RateLimitError
from dogubako.gate import rate_limits
from dogubako.gate.rate_limits import RateLimits
from dogubako.outbound.shared_redis import SharedRedis
from tests.redis_server import INSTALLED, redis_server
from tests.shared_redis import PATIENT, shared_settings

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

WINDOW = 3_600
CALL = ToolCall(name="echo", caller=Caller(name="ann"))


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with redis_server(tmp_path) as where:
        yield where


async def _processes(stack: AsyncExitStack, address: str, most: int, count: int = 3) -> list[RateLimits]:
    found = []
    for _ in range(count):
        shared = SharedRedis(shared_settings(address + PATIENT))
        await stack.enter_async_context(shared.running())
        found.append(RateLimits(most=most, window=WINDOW, shared=shared))
    return found


async def _passed(process: RateLimits, calls: int) -> int:
    passed = 0
    for _ in range(calls):
        try:
            await process.count(CALL)
        except RateLimitError:
            continue
        passed += 1
    return passed


async def test_three_busy_processes_never_pass_more_than_the_limit_and_nearly_as_much(address: str) -> None:
    most = 1_280
    async with AsyncExitStack() as stack:
        processes = await _processes(stack, address, most)
        passed = sum(await asyncio.gather(*(_passed(one, 150) for one in processes for _ in range(4))))

    # What is counted and never used: at most one lease (a 64th of the limit) for each process.
    assert most - 3 * most // 64 <= passed <= most


async def test_a_small_limit_is_counted_exactly(address: str) -> None:
    async with AsyncExitStack() as stack:
        processes = await _processes(stack, address, 100)
        passed = sum(await asyncio.gather(*(_passed(one, 50) for one in processes)))

    assert passed == 100


async def test_a_busy_caller_costs_few_commands(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else a machine that stalls lets leases end, which have to grow again.
    monkeypatch.setattr(rate_limits, "_LEASE_SECONDS", 3_600.0)
    async with AsyncExitStack() as stack, redis.asyncio.from_url(address) as stranger:
        (process,) = await _processes(stack, address, 1_000_000, count=1)

        for _ in range(20):
            await asyncio.gather(*(process.count(CALL) for _ in range(50)))
        scripts = (await stranger.info("commandstats"))["cmdstat_evalsha"]["calls"]
        (counter,) = [key async for key in stranger.scan_iter("*calls*")]
        counted = await stranger.llen(counter)

    assert scripts < 100
    assert 1_000 <= counted <= 1_000 + 50


async def test_a_caller_that_calls_seldom_takes_nothing_in_advance(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every lease is over before the next call.
    monkeypatch.setattr(rate_limits, "_LEASE_SECONDS", 0.0)
    async with AsyncExitStack() as stack, redis.asyncio.from_url(address) as stranger:
        (process,) = await _processes(stack, address, 1_000_000, count=1)
        assert await _passed(process, 30) == 30
        (counter,) = [key async for key in stranger.scan_iter("*calls*")]
        counted = await stranger.llen(counter)

    assert counted == 30
