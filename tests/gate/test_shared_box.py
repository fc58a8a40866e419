"""Two servers with one `DOGUBAKO_SHARED` are one: switches, limits and used answers, also after Redis was away."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.engine.registry import RegistryChange
from dogubako.tools import ToolResult
from tests.doors.waiting import says, until
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .sheds import shed_in

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ANN = Caller(name="ann", scopes=frozenset({"admin"}), id="ann")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


def box_at(redis: RedisProcess, folder: Path, **settings: Any) -> Toolbox:
    chosen = {"shared": redis.url + PATIENT, "request_state_key": KEY, "audit": False, **settings}
    return shed_in(folder, **chosen)


@asynccontextmanager
async def two(redis: RedisProcess, folder: Path, **settings: Any) -> AsyncIterator[tuple[Toolbox, Toolbox]]:
    """Two servers, as on two machines: each has a data folder of its own."""
    async with AsyncExitStack() as stack:
        boxes = [box_at(redis, folder / name, **settings) for name in ("one", "other")]
        one, other = [await stack.enter_async_context(box.running()) for box in boxes]
        yield one, other


async def call(box: Toolbox, name: str = "look", **parameters: Any) -> ToolResult:
    return await box.pipeline.handle(ToolCall(name=name, parameters=parameters, caller=ANN))


async def switch(box: Toolbox, enabled: bool, name: str = "look") -> None:
    await box.switchboard.switch(name, enabled, caller=ANN, door="rest")


async def shared_state(box: Toolbox) -> tuple[bool, str]:
    [finding] = [one for one in await box.check() if one.subject == "shared state"]
    return finding.ok, finding.message


async def test_a_tool_that_one_server_switches_off_runs_on_none(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, other):
        heard: list[RegistryChange] = []
        other.registry.subscribe(heard.append)
        await switch(one, False)
        at_once = await call(one)
        await until(lambda: not other.registry.get("look").enabled, "the other server hears of it")
        elsewhere = await call(other)
        await switch(other, True)
        await until(lambda: one.registry.get("look").enabled, "the first server hears of it")

    assert (at_once.code, elsewhere.code) == ("TOOL_DISABLED", "TOOL_DISABLED")
    # Clients are told by the registry of their own server.
    assert [(change.kind, change.name) for change in heard] == [("disabled", "look"), ("enabled", "look")]


async def test_a_server_that_starts_later_knows_what_is_switched_off(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path / "one").running() as one:
        await switch(one, False)
    async with box_at(redis, tmp_path / "late").running() as late:
        result = await call(late)

    assert result.code == "TOOL_DISABLED"


async def test_servers_with_another_prefix_are_another_server(redis: RedisProcess, tmp_path: Path) -> None:
    async with (
        box_at(redis, tmp_path / "one").running() as one,
        box_at(redis, tmp_path / "two", shared_prefix="second").running() as second,
    ):
        await switch(one, False)
        await second.registry._switches.refresh()  # type: ignore[attr-defined]

        assert (await call(second)).code == "OK"


async def test_calls_are_counted_together(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path, rate_limit_max=6) as boxes:
        heard = [(await call(box)).code for _ in range(6) for box in boxes]

    assert heard.count("OK") == 6 and heard.count("RATE_LIMIT_EXCEEDED") == 6


async def test_running_calls_of_a_caller_are_counted_together_and_give_way(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path, auth="keys", caller_concurrency=2) as (one, other):
        markers = [tmp_path / "a", tmp_path / "b"]
        lingering = [
            asyncio.create_task(call(box, "linger", marker=str(marker)))
            for box, marker in zip((one, other), markers, strict=True)
        ]
        for marker in markers:
            await says(marker, "started")
        refused = [await call(box) for box in (one, other)]
        lingering[0].cancel()
        await asyncio.gather(lingering[0], return_exceptions=True)
        later = await ends_as(other, "OK")
        lingering[1].cancel()
        await asyncio.gather(lingering[1], return_exceptions=True)

    assert [one.code for one in refused] == ["BUSY", "BUSY"]
    assert refused[0].content[0]["text"] == "Too many of your calls are running already."
    assert later.code == "OK"


async def test_an_answer_of_a_user_counts_on_one_server_only(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, other):
        used = [await box.once.use("a", owner="ann", ttl=600) for box in (one, other, one)]
        of_others = await other.once.use("a", owner="bob", ttl=600)

    assert used == [True, False, False] and of_others


async def test_doctor_and_readyz_know_where_it_is_shared_without_the_password(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with box_at(redis, tmp_path).running() as box:
        ok, message = await shared_state(box)

    assert ok and message.startswith("shared at 127.0.0.1:") and message.endswith("as dogubako")


async def test_a_process_with_another_key_is_reported(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, _), box_at(redis, tmp_path, request_state_key="x" * 32).running() as odd:
        mine, theirs = await shared_state(one), await shared_state(odd)

    assert mine[0] and not theirs[0] and "another DOGUBAKO_REQUEST_STATE_KEY" in theirs[1]


@pytest.mark.parametrize("limits", ["open", "closed"])
async def test_while_redis_is_away_reading_goes_on_and_it_recovers(
    redis: RedisProcess, tmp_path: Path, limits: str
) -> None:
    settings = {"rate_limit_max": 1000, "auth": "keys", "shared_limits": limits}
    async with two(redis, tmp_path, **settings) as (one, other):
        await switch(one, False, "put")
        await until(lambda: not other.registry.get("put").enabled, "the switch is heard")
        redis.kill()
        read = await call(one)
        switched_off = await call(other, "put", text="a")
        with pytest.raises(BusyError, match="nothing was switched"):
            await switch_uncounted(one, True)
        with pytest.raises(ReadOnlyError, match="does not count"):
            await one.once.use("a", owner="ann", ttl=600)
        away = await shared_state(one)

        # It comes back empty, and gets the switches from those who know them.
        redis.start()
        again = await ends_as(one, "OK")
        while not (await shared_state(one))[0]:
            again = await call(one)
        await one.registry._switches.refresh()  # type: ignore[attr-defined]
        async with box_at(redis, tmp_path / "late", **settings).running() as late:
            known = await call(late, "put", text="a")

    assert read.code == ("OK" if limits == "open" else "BUSY")
    assert switched_off.code == ("TOOL_DISABLED" if limits == "open" else "BUSY")
    assert not away[0] and "does not answer" in away[1]
    assert (again.code, known.code) == ("OK", "TOOL_DISABLED")


async def switch_uncounted(box: Toolbox, enabled: bool) -> None:
    """Switching counts as a call, which closed limits refuse before."""
    await box.registry.switch("put", enabled)


async def ends_as(box: Toolbox, code: str) -> ToolResult:
    """Call until the call ends like this."""
    for _ in range(6_000):
        if (result := await call(box)).code == code:
            return result
        await asyncio.sleep(0.01)
    raise AssertionError(f"no call ended with {code}")


async def test_a_server_that_starts_without_redis_runs_nothing_until_it_answers(
    redis: RedisProcess, tmp_path: Path
) -> None:
    redis.kill()
    with structlog.testing.capture_logs():
        async with box_at(redis, tmp_path).running() as box:
            blind = await call(box)
            redis.start()
            await until(lambda: box.registry.get("look").enabled, "the switches are read")
            seeing = await call(box)

    assert blind.code == "TOOL_DISABLED" and "shared Redis is away" in blind.content[1]["text"]
    assert seeing.code == "OK"
