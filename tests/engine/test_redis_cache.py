"""Servers share answers in Redis and work without it; run against a stand-in and, where installed, a real one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import structlog.testing

from dogubako import Effect, tool
from dogubako.key_ring import KeyRing
from dogubako.outbound import redis_cache
from dogubako.outbound.redis_cache import MOST_BYTES, RedisCache
from dogubako.output import Json
from dogubako.settings import SettingsError
from dogubako.tools import FunctionTool
from tests.redis_server import INSTALLED, free_port, redis_server

from .boxes import box_of

# Patient: this machine may do many other things at once.
PATIENT: Final = "?socket_timeout=30&socket_connect_timeout=30"


class StandIn:
    """As much of Redis as a cache uses: GETRANGE, SET with a time, DEL, and the words of a greeting."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.seconds: dict[bytes, int] = {}
        self.lines: list[asyncio.StreamWriter] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines.append(writer)
        try:
            while line := await reader.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int((await reader.readline())[1:])
                    words.append((await reader.readexactly(size + 2))[:-2])
                writer.write(self.answer([words[0].upper(), *words[1:]]))
                await writer.drain()
        finally:
            writer.close()

    def answer(self, words: list[bytes]) -> bytes:
        match words:
            case [b"HELLO", *_]:
                return b"%1\r\n$5\r\nproto\r\n:3\r\n"
            case [b"GETRANGE", key, b"0", end]:
                value = self.values.get(key, b"")[: int(end) + 1]
                return b"$%d\r\n%s\r\n" % (len(value), value)
            case [b"DEL", key]:
                return b":%d\r\n" % (self.values.pop(key, None) is not None)
            case [b"SET", key, value, b"EX", seconds]:
                self.values[key], self.seconds[key] = value, int(seconds)
                return b"+OK\r\n"
            case [b"TTL", key]:
                return b":%d\r\n" % self.seconds[key]
            case _:
                return b"+OK\r\n"


@asynccontextmanager
async def stand_in() -> AsyncIterator[str]:
    redis = StandIn()
    server = await asyncio.start_server(redis.talk, "127.0.0.1", 0)
    async with server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        for line in redis.lines:
            line.close()
            await line.wait_closed()


KEY: Final = "k" * 32


@asynccontextmanager
async def cache_at(url: str, key: bytes = b"one") -> AsyncIterator[RedisCache]:
    cache = RedisCache(url, lambda: KeyRing([key]))
    try:
        yield cache
    finally:
        await cache.aclose()


SERVERS = ["stand-in", *(["redis-server"] if INSTALLED else [])]


@pytest.fixture(params=SERVERS)
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    async with stand_in() if request.param == "stand-in" else redis_server(tmp_path) as address:
        yield address + PATIENT


class Counted:
    runs = 0

    def tool(self) -> FunctionTool[..., Any]:
        @tool(effect=Effect.READ, caches=True)
        async def get_run(run: str) -> Json:
            """Get one run."""
            self.runs += 1
            return Json(data={"run": run, "note": "完了 \x00"}, cacheable=True)

        return get_run


async def test_two_servers_share_what_one_of_them_found_out(url: str) -> None:
    counted = Counted()
    async with (
        box_of(counted.tool(), cache=url, request_state_key=KEY).running() as first,
        box_of(counted.tool(), cache=url, request_state_key=KEY).running() as second,
    ):
        answer = await first.call("get_run", {"run": "17"})
        again = await second.call("get_run", {"run": "17"})
        await second.call("get_run", {"run": "18"})

    assert counted.runs == 2
    assert (
        again.value == answer.value == {"success": True, "message": "Done", "data": {"run": "17", "note": "完了 \x00"}}
    )


async def test_an_answer_is_kept_for_five_minutes(url: str) -> None:
    async with cache_at(url) as cache:
        assert await cache.get("test") is None

        await cache.put("test", b"\x00answer\r\n")

        assert await cache.get("test") == b"\x00answer\r\n"
        assert 295 <= await cache._client.ttl(cache._name("test")) <= 300


async def test_when_redis_is_away_every_call_still_works() -> None:
    counted = Counted()
    with structlog.testing.capture_logs() as events:
        away = f"redis://:pa55word@127.0.0.1:{free_port()}/0"
        async with box_of(counted.tool(), cache=away, request_state_key=KEY).running() as box:
            results = [await box.call("get_run", {"run": "17"}) for _ in range(2)]

    assert [result.code for result in results] == ["OK", "OK"]
    assert counted.runs == 2
    [opened] = [event for event in events if event["event"] == "Circuit breaker opened"]
    assert (opened["service"], opened["error"]) == ("cache", "ConnectionError")
    assert "pa55word" not in str(events)


async def test_redis_that_goes_away_in_the_middle_is_only_forgetfulness() -> None:
    counted = Counted()
    async with AsyncExitStack() as redis:
        url = await redis.enter_async_context(stand_in())
        async with box_of(counted.tool(), cache=url + PATIENT, request_state_key=KEY).running() as box:
            for _ in range(2):
                await box.call("get_run", {"run": "17"})
            assert counted.runs == 1
            await redis.aclose()
            result = await box.call("get_run", {"run": "17"})

    assert (result.code, counted.runs) == ("OK", 2)


async def test_nothing_at_all_can_be_kept(url: str) -> None:
    async with cache_at(url) as cache:
        await cache.put("test", b"")

        assert await cache.get("test") == b""
        await cache.delete("test")
        assert await cache.get("test") is None


async def test_servers_with_different_keys_leave_each_others_values_alone(url: str) -> None:
    async with cache_at(url, b"one") as one, cache_at(url, b"other") as other:
        await one.put("test", b"of one")
        unknown = await other.get("test")
        await other.put("test", b"of the other")

        assert unknown is None
        assert (await one.get("test"), await other.get("test")) == (b"of one", b"of the other")


async def test_servers_of_one_data_folder_share_a_key_that_only_their_owner_may_read(url: str, tmp_path: Path) -> None:
    counted, folder = Counted(), tmp_path / "data"
    for _ in range(2):
        box = box_of(counted.tool(), cache=url, data_dir=folder)
        async with box.running():
            await box.call("get_run", {"run": "17"})
    made = folder / "cache.key"

    assert (counted.runs, made.stat().st_mode & 0o777, len(made.read_bytes())) == (1, 0o600, 32)


def test_looking_at_a_server_makes_no_key(tmp_path: Path) -> None:
    box_of(cache="redis://127.0.0.1", data_dir=tmp_path / "data")

    assert not (tmp_path / "data").exists()


async def test_a_folder_that_cannot_keep_a_key_is_a_warning(url: str, tmp_path: Path) -> None:
    counted = Counted()
    (tmp_path / "data").touch()
    with structlog.testing.capture_logs() as events:
        async with box_of(counted.tool(), cache=url, data_dir=tmp_path / "data").running() as box:
            for _ in range(2):
                await box.call("get_run", {"run": "17"})

    assert counted.runs == 1
    assert [event["event"] for event in events if "cache key" in event["event"]] == [
        "The cache key cannot be stored, so this process cannot share cached values"
    ]


async def moved(cache: RedisCache) -> None:
    """A value that we signed, under the name of another."""
    await cache.put("other", b"of the other")
    await cache._client.set(cache._name("test"), await cache._client.getrange(cache._name("other"), 0, -1))


async def changed(cache: RedisCache) -> None:
    await cache.put("test", b"ours")
    name = cache._name("test")
    await cache._client.set(name, (await cache._client.getrange(name, 0, -1))[:-1] + b"z")


async def shortened(cache: RedisCache) -> None:
    await cache._client.set(cache._name("test"), b"x" * 31)


async def unsigned(cache: RedisCache) -> None:
    await cache._client.set(cache._name("test"), b'{"content":[{"type":"text","text":"planted"}],"kind":"text"}')


async def huge(cache: RedisCache) -> None:
    await cache._client.set(cache._name("test"), b"x" * 20_000_000)


async def a_list(cache: RedisCache) -> None:
    await cache._client.lpush(cache._name("test"), b"x")


async def a_hash(cache: RedisCache) -> None:
    await cache._client.hset(cache._name("test"), "field", b"x")


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
@pytest.mark.parametrize("plant", [moved, changed, shortened, unsigned, huge, a_list, a_hash])
async def test_a_planted_value_is_a_miss_and_is_deleted(tmp_path: Path, plant: Any) -> None:
    async with redis_server(tmp_path) as address, cache_at(address + PATIENT) as cache:
        await plant(cache)
        with structlog.testing.capture_logs() as events:
            found = [await cache.get("test") for _ in range(3)]
        left = await cache._client.exists(cache._name("test"))
        await cache.put("test", b"again")

        assert (found, left, await cache.get("test")) == ([None] * 3, 0, b"again")
    assert [event["event"] for event in events].count("Cache value discarded") == 1


async def test_what_is_too_large_is_not_kept(url: str) -> None:
    async with cache_at(url) as cache:
        await cache.put("largest", b"x" * MOST_BYTES)
        await cache.put("larger", b"x" * (MOST_BYTES + 1))

        assert (await cache.get("largest"), await cache.get("larger")) == (b"x" * MOST_BYTES, None)


class Sick:
    """Answers every command in the same way, and counts who comes."""

    def __init__(self, answer: bytes | None, *, greets: bool = False, hangs_up: bool = False) -> None:
        self.answer = answer
        self.greets = greets
        self.hangs_up = hangs_up
        self.visits = 0
        self.lines: list[asyncio.StreamWriter] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        self.lines.append(writer)
        try:
            while request := await reader.read(65_536):
                if self.greets and b"HELLO" in request:
                    writer.write(b"%1\r\n$5\r\nproto\r\n:3\r\n")
                elif self.greets and b"CLIENT" in request:
                    writer.write(b"+OK\r\n" * request.count(b"CLIENT"))
                elif self.answer is not None:
                    writer.write(self.answer)
                if self.hangs_up:
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0)
        async with server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
            for line in self.lines:
                line.close()


SICK = [
    pytest.param(lambda: Sick(None), id="never answers"),
    pytest.param(lambda: Sick(None, greets=True), id="hangs after the greeting"),
    pytest.param(lambda: Sick(b"", hangs_up=True), id="hangs up"),
    pytest.param(lambda: Sick(b"$100\r\nhalf", greets=True, hangs_up=True), id="hangs up in the middle"),
    pytest.param(lambda: Sick(b"$100\r\nhalf", greets=True), id="stops in the middle"),
    pytest.param(lambda: Sick(b"HTTP/1.1 400 Bad Request\r\n\r\n"), id="speaks HTTP"),
    pytest.param(lambda: Sick(b"HTTP/1.1 400 Bad Request\r\n\r\n", greets=True), id="speaks HTTP later"),
    pytest.param(lambda: Sick(b"\xff\x00\xfe\r\n" * 100), id="speaks no language"),
    pytest.param(lambda: Sick(b":nonsense\r\n", greets=True), id="a number that is none"),
    pytest.param(lambda: Sick(b"$nonsense\r\n", greets=True), id="a length that is none"),
    pytest.param(lambda: Sick(b"*1\r\n" * 5_000, greets=True), id="bottomless lists"),
    pytest.param(lambda: Sick(b"$-1\r\n"), id="a greeting that is nothing"),
    pytest.param(lambda: Sick(b"-NOAUTH Authentication required.\r\n"), id="wants a password"),
    pytest.param(lambda: Sick(b"-LOADING Redis is loading the dataset in memory\r\n", greets=True), id="is loading"),
    pytest.param(lambda: Sick(b"-ERR max number of clients reached\r\n", hangs_up=True), id="is full"),
]


@pytest.mark.parametrize("make", SICK)
async def test_a_sick_redis_is_a_miss_and_is_left_alone(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_cache, "FIRST_PAUSE_SECONDS", 3600.0)
    counted, sick = Counted(), make()
    with structlog.testing.capture_logs() as events:
        async with sick.listening() as url, box_of(counted.tool(), cache=url, request_state_key=KEY).running() as box:
            results = [await box.call("get_run", {"run": str(number)}) for number in range(30)]

    assert ({result.code for result in results}, counted.runs) == ({"OK"}, 30)
    # One connection, and another one for the only retry.
    assert sick.visits <= 2
    assert [event["event"] for event in events].count("Circuit breaker opened") == 1


REFUSING = [
    pytest.param(b":1\r\n", id="a number in place of a value"),
    pytest.param(b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", id="wrong type"),
    pytest.param(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n", id="no memory"),
    pytest.param(b"-READONLY You can't write against a read only replica.\r\n", id="a replica"),
    pytest.param(b"-NOPERM this user has no permissions\r\n", id="no permissions"),
    pytest.param(b"-MISCONF Redis is configured to save RDB snapshots\r\n", id="cannot save"),
]


@pytest.mark.parametrize("answer", REFUSING)
async def test_a_redis_that_refuses_is_a_miss_and_said_once(answer: bytes) -> None:
    counted, sick = Counted(), Sick(answer, greets=True)
    with structlog.testing.capture_logs() as events:
        async with (
            sick.listening() as url,
            box_of(counted.tool(), cache=url + PATIENT, request_state_key=KEY).running() as box,
        ):
            results = [await box.call("get_run", {"run": str(number)}) for number in range(5)]

    assert ({result.code for result in results}, counted.runs) == ({"OK"}, 5)
    names = [event["event"] for event in events]
    event = "Cache command refused" if answer.startswith(b"-") else "Cache value discarded"
    assert names.count(event) == 1 and "Circuit breaker opened" not in names


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_redis_that_was_restarted_is_used_again_at_once(tmp_path: Path) -> None:
    counted, port = Counted(), free_port()
    async with AsyncExitStack() as first:
        url = await first.enter_async_context(redis_server(tmp_path, port)) + PATIENT
        async with box_of(counted.tool(), cache=url, request_state_key=KEY).running() as box:
            await box.call("get_run", {"run": "17"})
            await first.aclose()
            async with redis_server(tmp_path, port):
                for _ in range(3):
                    await box.call("get_run", {"run": "17"})

    # The second server has forgotten what the first one kept.
    assert counted.runs == 2


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("redis://:pa55word@host:not-a-port/0", id="no port"),
        pytest.param("redis://:pa55word@host:70000", id="a port too large"),
    ],
)
def test_an_address_that_is_none_stops_the_start_without_repeating_it(address: str) -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_CACHE") as caught:
        box_of(cache=address)

    assert "pa55word" not in str(caught.value)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis", None)

    with pytest.raises(SettingsError, match=r"install dogubako\[redis\]"):
        box_of(cache="redis://127.0.0.1")
