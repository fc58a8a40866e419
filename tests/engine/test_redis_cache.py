"""`DOGUBAKO_CACHE=redis://…`: servers share answers, and every call still works when Redis is away.

The conversation runs against a small stand-in of our own everywhere, and against a real `redis-server` wherever one is
installed, so that the stand-in cannot drift from it unseen.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import structlog.testing

from dogubako import Effect, FunctionTool, Output, tool
from dogubako.outbound.redis_cache import RedisCache
from dogubako.settings import SettingsError
from tests.redis_server import INSTALLED, free_port, redis_server

from .boxes import box_of

# Our own second is enough for a cache, and too little for a machine that does many other things at once.
PATIENT: Final = "?socket_timeout=30&socket_connect_timeout=30"


class StandIn:
    """As much of Redis as a cache uses: GET, SET with a time, and the words of a greeting."""

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
            case [b"GET", key]:
                value = self.values.get(key)
                return b"_\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
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


SERVERS = ["stand-in", *(["redis-server"] if INSTALLED else [])]


@pytest.fixture(params=SERVERS)
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    async with stand_in() if request.param == "stand-in" else redis_server(tmp_path) as address:
        yield address + PATIENT


class Counted:
    runs = 0

    def tool(self) -> FunctionTool:
        @tool(effect=Effect.READ)
        async def get_run(run: str) -> Output:
            """Get one run."""
            self.runs += 1
            return Output(data={"run": run, "note": "完了 \x00"}, cacheable=True)

        return get_run


async def test_two_servers_share_what_one_of_them_found_out(url: str) -> None:
    counted = Counted()
    async with (
        box_of(counted.tool(), cache=url).running() as first,
        box_of(counted.tool(), cache=url).running() as second,
    ):
        answer = await first.call("get_run", {"run": "17"})
        again = await second.call("get_run", {"run": "17"})
        await second.call("get_run", {"run": "18"})

    assert counted.runs == 2
    assert (
        again.value == answer.value == {"success": True, "message": "Done", "data": {"run": "17", "note": "完了 \x00"}}
    )


async def test_an_answer_is_kept_for_five_minutes(url: str) -> None:
    cache = RedisCache(url)
    assert await cache.get("dogubako:test") is None

    await cache.put("dogubako:test", b"\x00answer\r\n")

    assert await cache.get("dogubako:test") == b"\x00answer\r\n"
    client: Any = cache._client
    assert 295 <= await client.ttl("dogubako:test") <= 300
    await cache.aclose()


async def test_when_redis_is_away_every_call_still_works() -> None:
    counted = Counted()
    with structlog.testing.capture_logs() as events:
        async with box_of(counted.tool(), cache=f"redis://:pa55word@127.0.0.1:{free_port()}/0").running() as box:
            results = [await box.call("get_run", {"run": "17"}) for _ in range(2)]

    assert [result.code for result in results] == ["OK", "OK"]
    assert counted.runs == 2
    assert "Cache is away" in {event["event"] for event in events}
    assert "pa55word" not in str(events)


async def test_redis_that_goes_away_in_the_middle_is_only_forgetfulness() -> None:
    counted = Counted()
    async with AsyncExitStack() as redis:
        url = await redis.enter_async_context(stand_in())
        async with box_of(counted.tool(), cache=url + PATIENT).running() as box:
            for _ in range(2):
                await box.call("get_run", {"run": "17"})
            assert counted.runs == 1
            await redis.aclose()
            result = await box.call("get_run", {"run": "17"})

    assert (result.code, counted.runs) == ("OK", 2)


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
