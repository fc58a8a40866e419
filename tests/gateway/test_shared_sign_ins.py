"""Processes that share a Redis share sign-ins at other servers, and refresh a token once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import redis.asyncio as redis_client

from dogubako.contract.errors import ApiError
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_in_flows import SignInFlows
from dogubako.gateway.sign_in_stores import SharedSignIns
from dogubako.gateway.sign_ins import SignInFailed, SignIns
from dogubako.outbound.shared_parts import SharedParts
from tests.doors.connections import Place, listening
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import PATIENT, shared_settings

from .fake_oauth import FakeOAuth
from .upstreams import Running, running, until

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

BACK = "http://127.0.0.1:3000/console/signed-in"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


@asynccontextmanager
async def process(redis: RedisProcess, folder: Path, options: str = PATIENT, **more: Any) -> AsyncIterator[SignInFlows]:
    """What one process has of sign-ins, with a data folder of its own."""
    parts = SharedParts(shared_settings(redis.url + options, data_dir=folder, **more))
    async with parts.running():
        flows = SignInFlows(SignIns(SharedSignIns(parts.redis, parts.sign_ins, parts.store)))
        flows.share(parts.messages, parts.store)
        yield flows


@asynccontextmanager
async def two(
    redis: RedisProcess, folder: Path, options: str = PATIENT, **more: Any
) -> AsyncIterator[tuple[SignInFlows, SignInFlows]]:
    async with process(redis, folder / "one", options, **more) as one, process(redis, folder / "two", options) as other:
        yield one, other


def at(place: Place) -> ServerSettings:
    return ServerSettings(url=f"http://127.0.0.1:{place.port}/mcp")


async def consented(address: str) -> dict[str, str]:
    """What the browser of a user who consents at once brings back."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        answer = await browser.get(address)
    pairs = (pair.partition("=") for pair in urlsplit(answer.headers["location"]).query.split("&"))
    return {name: value for name, _, value in pairs}


async def sign_in(flows: SignInFlows, settings: ServerSettings, account: str = "", *, at_other: SignInFlows) -> None:
    address = await flows.begin("fake", settings, account, owner="ann", redirect_uri=BACK)
    assert await at_other.finish("ann", await consented(address)) == "fake"


@asynccontextmanager
async def both_ready(
    flows: tuple[SignInFlows, SignInFlows], place: Place, folder: Path
) -> AsyncIterator[tuple[Running, Running]]:
    """The server, connected by both processes after somebody signed in at it."""
    await sign_in(flows[0], at(place), at_other=flows[0])
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(running(at(place), folder / str(number), sign_ins=one.sign_ins))
            for number, one in enumerate(flows)
        ]
        for server in servers:
            await server.is_in("ready")
        yield servers[0], servers[1]


async def test_a_sign_in_at_one_process_counts_for_all_until_somebody_signs_out(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with (
        listening(FakeOAuth()) as place,
        two(redis, tmp_path) as (one, other),
        running(at(place), tmp_path / "server", sign_ins=other.sign_ins) as server,
    ):
        await server.is_in("sign_in_needed")
        await sign_in(one, at(place), at_other=one)
        await server.is_in("ready")
        assert await server.call("echo", text="a") == "a"
        await other.sign_ins.sign_out("fake")
        await until(lambda: not one.sign_ins.is_signed_in("fake"))


async def test_a_browser_may_come_back_to_any_process(redis: RedisProcess, tmp_path: Path) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path) as (one, other):
        await sign_in(one, at(place), "ann", at_other=other)
        await until(lambda: other.sign_ins.of("ann").is_signed_in("fake"))

        assert not other.sign_ins.of("ben").is_signed_in("fake") and not other.sign_ins.is_signed_in("fake")


async def test_nobody_completes_the_sign_in_of_somebody_else_at_another_process(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path) as (one, other):
        address = await one.begin("fake", at(place), "ann", owner="ann", redirect_uri=BACK)
        with pytest.raises(SignInFailed, match="unknown or has expired"):
            await other.finish("eve", await consented(address))
        one.end("fake")


async def test_two_processes_refresh_a_token_once(redis: RedisProcess, tmp_path: Path) -> None:
    app = FakeOAuth()
    async with listening(app) as place, two(redis, tmp_path) as flows, both_ready(flows, place, tmp_path) as servers:
        for number in range(1, 4):
            # Revoked early: the token looks valid to both processes and is not.
            app.server.token = "another"
            calls = [server.call("echo", text=str(one)) for one in range(5) for server in servers]
            answers = await asyncio.gather(*calls)

            assert sorted(answers) == sorted(str(one) for one in range(5) for _ in servers)
            assert app.refreshes == number
    assert app.refresh_tokens == ["refresh-1", "refresh-2", "refresh-3"]


async def test_tokens_are_encrypted_in_the_redis(redis: RedisProcess, tmp_path: Path) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path) as (one, other):
        await sign_in(one, at(place), "ann", at_other=other)
        async with redis_client.from_url(redis.url) as client:
            stored: Any = await client.hgetall("dogubako:sign-ins")

    [sealed] = [value for name, value in stored.items() if name != b"#"]
    assert b"access-1" not in sealed and b"ann" not in b"".join(stored)


async def test_a_process_without_the_key_of_credentials_cannot_use_a_sign_in(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path, credentials_key="c" * 32) as (one, other):
        await sign_in(one, at(place), at_other=one)
        async with process(redis, tmp_path / "three", credentials_key="c" * 32) as third:
            assert third.sign_ins.is_signed_in("fake")

        assert one.sign_ins.is_signed_in("fake") and not other.sign_ins.is_signed_in("fake")


async def test_a_token_that_is_valid_is_used_while_redis_is_away_and_none_is_refreshed(
    redis: RedisProcess, tmp_path: Path
) -> None:
    app = FakeOAuth()
    async with (
        listening(app) as place,
        two(redis, tmp_path, "") as flows,
        both_ready(flows, place, tmp_path) as (server, _),
    ):
        redis.kill()
        assert await server.call("echo", text="a") == "a"
        app.server.token = "another"
        with pytest.raises(ApiError, match="Its token cannot be refreshed now"):
            await server.call("echo", text="b")
        assert app.refreshes == 0
        redis.start()
        await until_served(server)

    assert app.refreshes == 1


async def until_served(server: Running) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                assert await server.call("echo", text="c") == "c"
            except ApiError:
                await asyncio.sleep(0.1)
                continue
            return


async def test_a_token_that_could_not_be_stored_is_stored_when_redis_is_back(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path, "") as (one, other):
        await sign_in(one, at(place), at_other=one)
        redis.kill()
        await one.sign_ins.write("fake", {"tokens": {"access_token": "refreshed"}})
        here = one.sign_ins.read("fake")
        redis.start()
        await until(lambda: other.sign_ins.read("fake") == here)

    assert here == {"tokens": {"access_token": "refreshed"}}


async def test_a_server_that_was_removed_leaves_no_sign_in_to_another_of_its_name(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with listening(FakeOAuth()) as place, two(redis, tmp_path) as (one, other):
        await sign_in(one, at(place), at_other=one)
        await sign_in(one, at(place), "ann", at_other=one)
        elsewhere = ServerSettings(url="http://127.0.0.1:1/mcp")
        assert one.sign_ins.auth("fake", at(place)) is not None and one.sign_ins.auth("fake", elsewhere) is None
        await one.sign_ins.forget("fake")
        await until(lambda: not other.sign_ins.is_signed_in("fake"))

        assert not one.sign_ins.of("ann").is_signed_in("fake")
