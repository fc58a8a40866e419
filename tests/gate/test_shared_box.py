"""Two servers with one `DOGUBAKO_SHARED` are one: switches, limits and used answers, also after Redis was away."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_client
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.engine.catalog import CatalogChange
from dogubako.engine.registry import RegistryChange
from dogubako.key_ring import KeyRing
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

    [sealing] = KeyRing([KEY.encode()]).ids
    assert ok and message.startswith("shared at 127.0.0.1:")
    assert message.endswith(f"as dogubako, sealed with the key {sealing}")


async def test_a_process_with_another_key_is_reported(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, _), box_at(redis, tmp_path, request_state_key="x" * 32).running() as odd:
        mine, theirs = await shared_state(one), await shared_state(odd)

    ids = [KeyRing([key.encode()]).sealing.id for key in (KEY, "x" * 32)]
    assert not mine[0] and f"seals with the key {ids[1]}, which this one does not have (it has {ids[0]})" in mine[1]
    assert not theirs[0] and f"seals with the key {ids[0]}" in theirs[1]


async def test_a_process_that_seals_with_the_next_key_is_no_stranger(redis: RedisProcess, tmp_path: Path) -> None:
    new = "x" * 32
    before = box_at(redis, tmp_path / "before", request_state_keys_old=[new])
    after = box_at(redis, tmp_path / "after", request_state_key=new, request_state_keys_old=[KEY])
    async with before.running() as one, after.running() as other:
        states = [await shared_state(box) for box in (one, other, one)]
        assert one.store is not None and other.store is not None
        for here, there in ((one.store, other.store), (other.store, one.store)):
            await here.put("a", b"value", ttl=60)
            assert await there.take("a") == b"value"
        assert one.messages is not None and other.messages is not None
        other.messages.handle("shout", _upper)
        reply = await one.messages.request(other.messages.process, "shout", b"hello")

    assert reply == b"HELLO"
    ids = [KeyRing([key.encode()]).sealing.id for key in (KEY, new)]
    assert [ok for ok, _ in states] == [True] * 3
    assert states[2][1].endswith(f"sealed with the key {ids[0]}; other processes with {ids[1]}")


async def _upper(payload: bytes, sender: str) -> bytes:
    return payload.upper()


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
        # Every half second each process compares what it knows with what Redis knows.
        await redis_has_switches(redis)
        async with box_at(redis, tmp_path / "late", **settings).running() as late:
            known = await call(late, "put", text="a")

    assert read.code == ("OK" if limits == "open" else "BUSY")
    assert switched_off.code == ("TOOL_DISABLED" if limits == "open" else "BUSY")
    assert not away[0] and "does not answer" in away[1]
    assert (again.code, known.code) == ("OK", "TOOL_DISABLED")


async def switch_uncounted(box: Toolbox, enabled: bool) -> None:
    """Switching counts as a call, which closed limits refuse before."""
    await box.registry.switch("put", enabled)


async def redis_has_switches(redis: RedisProcess) -> None:
    client = redis_client.from_url(redis.url)
    try:
        for _ in range(6_000):
            if await client.hget("dogubako:switches", "put 1.0.0") == b"0":
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the switches were not written back")
    finally:
        await client.aclose()


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


async def test_news_of_resources_reach_the_clients_of_every_server_once(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, other):
        heard: dict[str, list[CatalogChange]] = {"one": [], "other": []}
        one.catalog.subscribe(heard["one"].append)
        other.catalog.subscribe(heard["other"].append)
        changes = [CatalogChange(kind="updated", uri="shed://rake"), CatalogChange(kind="prompts")]
        for change in changes:
            one.catalog.changed(change)
        await until(lambda: len(heard["other"]) == 2, "the other server hears of it")
        other.catalog.changed(CatalogChange(kind="resources"))
        await until(lambda: len(heard["one"]) == 3, "and answers")

    assert heard["other"] == heard["one"] == [*changes, CatalogChange(kind="resources")]


async def test_news_wait_for_a_redis_that_is_away(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (one, other):
        heard: list[CatalogChange] = []
        other.catalog.subscribe(heard.append)
        one.catalog.changed(CatalogChange(kind="prompts"))
        await until(lambda: len(heard) == 1, "the first is heard")
        redis.kill()
        one.catalog.changed(CatalogChange(kind="updated", uri="shed://rake"))
        redis.start()
        await until(lambda: CatalogChange(kind="updated", uri="shed://rake") in heard, "the second is heard")

    # It came back empty: what else was lost is not known, so lists are read again.
    assert CatalogChange(kind="resources") in heard


async def test_a_redis_that_hangs_is_left_alone(redis: RedisProcess, tmp_path: Path) -> None:
    # With the usual timeout of 0.1 s; a busy machine may see more than one failure, and the outcome is the same.
    box = box_at(redis, tmp_path, shared=redis.url, auth="keys", rate_limit_max=10_000)
    async with box.running():
        await ends_as(box, "OK")
        redis.signal(signal.SIGSTOP)
        try:
            codes = [(await call(box)).code for _ in range(50)]
            with pytest.raises(BusyError, match="nothing was switched"):
                await box.registry.switch("put", False)
        finally:
            redis.signal(signal.SIGCONT)
        await until(lambda: box.registry.get("put").enabled, "nothing was switched")
        for _ in range(600):
            if (await shared_state(box))[0]:
                break
            await asyncio.sleep(0.1)
        await switch_when_possible(box)

    assert codes == ["OK"] * 50 and not box.registry.get("put").enabled


async def switch_when_possible(box: Toolbox) -> None:
    for _ in range(600):
        with suppress(BusyError):
            await box.registry.switch("put", False)
            return
        await asyncio.sleep(0.1)
    raise AssertionError("tools cannot be switched again")


@pytest.mark.parametrize("seconds", [3600.0, 0.05])
async def test_calls_one_after_the_other_use_one_place_and_give_it_back(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("dogubako.gate.shared_state.SPARE_SECONDS", seconds)
    client = redis_client.from_url(redis.url)
    async with box_at(redis, tmp_path, auth="keys", caller_concurrency=8).running() as box:
        for _ in range(20):
            assert (await call(box)).code == "OK"
        if seconds > 1:
            [key] = await client.keys("dogubako:running:*")
            assert await client.zcard(key) == 1
        else:
            await no_places(client)
    left = await client.keys("dogubako:running:*")
    await client.aclose()

    assert left == []


async def no_places(client: Any) -> None:
    for _ in range(6_000):
        if not await client.keys("dogubako:running:*"):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the place was not given back")
