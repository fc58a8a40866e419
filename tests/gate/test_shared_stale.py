"""Without the shared Redis for longer than `DOGUBAKO_SHARED_STALE`, a process refuses calls until it is back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import BusyError
from dogubako.outbound.process_messages import RedisMessages
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.settings import Sources
from dogubako.tools import ToolResult
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened
from tests.doors.processes import WORKBENCH
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY

from .sheds import shed_in

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ANN = Caller(name="ann", scopes=frozenset({"admin"}), id="ann")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


def box_at(redis: RedisProcess, folder: Path, **settings: Any) -> Toolbox:
    address = redis.url + "?socket_timeout=5&socket_connect_timeout=5"
    return shed_in(folder, **{"shared": address, "request_state_key": KEY, "audit": False, **settings})


async def call(box: Toolbox, name: str = "look") -> ToolResult:
    return await box.pipeline.handle(ToolCall(name=name, caller=ANN))


def shared_of(box: Toolbox) -> SharedRedis:
    assert isinstance(box.messages, RedisMessages)
    return box.messages._shared


async def readiness(client: Client, status: int) -> int:
    """What `/readyz` says, which looks every two seconds."""
    for _ in range(300):
        if (found := (await client.get("/readyz")).status) == status:
            break
        await asyncio.sleep(0.05)
    return found


async def ends_as(box: Toolbox, code: str) -> ToolResult:
    for _ in range(3_000):
        if (result := await call(box)).code == code:
            return result
        await asyncio.sleep(0.01)
    raise AssertionError(f"no call ended with {code}")


@pytest.mark.parametrize("auth", ["off", "keys"])
async def test_calls_are_refused_after_the_bound_and_answered_when_it_is_back(
    redis: RedisProcess, tmp_path: Path, auth: str
) -> None:
    box = box_at(redis, tmp_path / "one", auth=auth, shared_stale=1)
    async with opened(HttpApp(box)) as client:
        before = [(await call(box)).code for _ in range(3)]
        ready = (await client.get("/readyz")).status
        redis.kill()
        at_once = (await call(box)).code
        refused = await ends_as(box, "BUSY")
        listed = [entry.name for entry in box.registry.list() if entry.enabled]
        unready = await readiness(client, 503)
        with pytest.raises(BusyError, match="which keys and tools"):
            await box.catalog.read("shed://anything", caller=ANN, door="http")
        redis.start()
        await ends_as(box, "OK")
        again = await readiness(client, 200)

    assert (before, ready, at_once) == (["OK"] * 3, 200, "OK")
    assert refused.error is not None and refused.error.retryable
    assert "for more than 1 s which keys and tools are in force" in refused.error.message
    assert "look" in listed
    assert (unready, again) == (503, 200)


async def test_a_plain_call_that_was_prepared_before_is_refused_too(redis: RedisProcess, tmp_path: Path) -> None:
    address = redis.url + "?socket_timeout=5&socket_connect_timeout=5"
    chosen = {"shared": address, "request_state_key": KEY, "tools": (WORKBENCH,), "shared_stale": 60}
    async with build(Sources(overrides=chosen, environ={}, env_file=None)).running() as box:
        echo = ToolCall(name="echo", parameters={"text": "a"}, caller=ANN)
        await box.pipeline.handle(echo)
        plain = box.pipeline.begin(echo)
        shared_of(box)._read_at["switches"] = float("-inf")

        assert isinstance(plain, ToolResult) and plain.code == "OK"
        assert box.pipeline.begin(echo) is None
        assert (await box.pipeline.handle(echo)).code == "BUSY"


async def test_without_a_bound_calls_go_on(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path / "one").running() as box:
        redis.kill()
        shared = shared_of(box)
        shared._read_at = dict.fromkeys(shared._read_at, float("-inf"))

        assert (await call(box)).code == "OK"


async def test_keys_that_cannot_be_read_count_although_switches_can(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path / "one", auth="keys", shared_stale=60).running() as box:
        shared = shared_of(box)
        fresh = (await call(box)).code
        shared._read_at["keys"] = float("-inf")

        assert (fresh, sorted(shared._read_at)) == ("OK", ["keys", "switches"])
        assert (await call(box)).code == "BUSY"


async def test_a_redis_that_answers_and_cannot_be_read_is_not_ready(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path / "one", auth="keys", shared_stale=60).running() as box:
        shared = shared_of(box)
        fresh = [one.ok for one in await shared.check()]
        shared._read_at["keys"] = float("-inf")
        (finding,) = await shared.check()

    assert fresh == [True]
    assert (finding.ok, finding.severity) == (False, "error")
    assert "says of keys cannot be read: no calls are answered" in finding.message
