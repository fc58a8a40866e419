"""Places among the running calls of all processes that a process keeps: plain calls need not ask for them."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dogubako import Effect, tool
from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.tools import ToolResult
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .sheds import shed_in

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ANN = Caller(name="ann", id="1", scopes=frozenset({"admin"}))


_morning = asyncio.Event()


@tool(effect=Effect.READ)
async def glance() -> str:
    """Wait for nothing."""
    return "seen"


@tool(effect=Effect.READ)
async def doze() -> str:
    """Wait for the morning."""
    await _morning.wait()
    return "awake"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


def box_at(redis: RedisProcess, folder: Path, **settings: Any) -> Toolbox:
    shared = {"shared": redis.url + PATIENT, "request_state_key": KEY, "audit": False, "auth": "keys"}
    return shed_in(folder, glance, doze, **shared, **settings)


@pytest.mark.parametrize(("most", "at_once"), [(8, True), (4, False)])
async def test_a_call_far_from_the_limit_begins_with_a_place_at_hand(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, at_once: bool
) -> None:
    monkeypatch.setattr("dogubako.gate.shared_state.SPARE_SECONDS", 3600.0)
    async with box_at(redis, tmp_path, caller_concurrency=most).running() as box:
        plain = ToolCall(name="glance", caller=ANN)
        first = box.pipeline.begin(plain)
        asked = await box.pipeline.handle(plain)
        begun = [box.pipeline.begin(plain) for _ in range(3)]

    # The first one has to ask Redis for its place.
    assert first is None
    assert asked.code == "OK"
    assert [isinstance(one, ToolResult) for one in begun] == [at_once] * 3


async def test_calls_side_by_side_stay_within_the_limit_of_all_processes(redis: RedisProcess, tmp_path: Path) -> None:
    """Also where the processes keep spare places from before."""
    async with AsyncExitStack() as stack:
        boxes = [box_at(redis, tmp_path / name, caller_concurrency=16) for name in ("one", "other")]
        for box in boxes:
            await stack.enter_async_context(box.running())
        for box in boxes:
            await box.pipeline.handle(ToolCall(name="glance", caller=ANN))
        call = ToolCall(name="doze", caller=ANN)
        calls = [asyncio.create_task(box.pipeline.handle(call)) for _ in range(12) for box in boxes]
        # Those that have no place are refused at once.
        refused = [await one for one in itertools.islice(asyncio.as_completed(calls), 8)]
        _morning.set()
        codes = Counter(result.code for result in await asyncio.gather(*calls))

        assert {result.code for result in refused} == {"BUSY"}
        # Each process may keep a spare place that the other one does not get.
        assert codes.keys() == {"OK", "BUSY"}
        assert 14 <= codes["OK"] <= 16
