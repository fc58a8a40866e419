"""What is wrong with a shared Redis is said, not guessed: no memory, no rights, a replica, values of others."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_client
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.errors import BusyError
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, RedisProcess

from .test_shared_box import box_at, ends_as, redis, shared_state, switch, two

__all__ = ["redis"]

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        pytest.param(["CONFIG SET maxmemory 1mb"], "is out of memory", id="no memory"),
        pytest.param(["REPLICAOF 127.0.0.1 1"], "is a replica that takes no changes", id="a replica"),
        pytest.param(
            ["ACL SETUSER default -@scripting", "CLIENT KILL TYPE normal"],
            "does not allow its user what is needed",
            id="an ACL without scripts",
        ),
        pytest.param(
            ["CONFIG SET requirepass changed", "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"],
            "refuses the user or the password",
            id="another password",
        ),
    ],
)
async def test_who_runs_redis_is_told_what_is_wrong_with_it(
    redis: RedisProcess, tmp_path: Path, commands: list[str], reason: str
) -> None:
    async with box_at(redis, tmp_path).running() as box:
        connection: Any = redis_client.from_url(redis.url, single_connection_client=True)
        async with connection as operator:
            for command in commands:
                await operator.execute_command(*command.split())
        ok, message = True, ""
        async with asyncio.timeout(60):
            while ok or reason not in message:
                ok, message = await shared_state(box)
        with pytest.raises(BusyError, match=f"The Redis that all processes share {reason}: nothing was switched"):
            await switch(box, False)

    assert not ok


@pytest.mark.parametrize("settings", [{"rate_limit_max": 1000}, {"auth": "keys"}], ids=["rates", "places"])
async def test_closed_limits_say_why_calls_cannot_be_counted(
    redis: RedisProcess, tmp_path: Path, settings: dict[str, Any]
) -> None:
    async with box_at(redis, tmp_path, shared_limits="closed", **settings).running() as box:
        connection: Any = redis_client.from_url(redis.url, single_connection_client=True)
        async with connection as operator:
            await operator.execute_command("REPLICAOF", "127.0.0.1", "1")
        refused = await ends_as(box, "BUSY")
        redis.kill()
        away = refused
        async with asyncio.timeout(60):
            while away.content == refused.content:
                away = await ends_as(box, "BUSY")

    text = "Calls cannot be counted against the limits now: the Redis that counts them"
    assert refused.content[0]["text"] == f"{text} is a replica that takes no changes."
    assert away.content[0]["text"] == f"{text} does not answer."


@pytest.mark.parametrize("version", ["9223372036854775807", "abc", "1e400", "", "-3"])
async def test_a_version_that_is_no_number_is_written_back(redis: RedisProcess, tmp_path: Path, version: str) -> None:
    async with two(redis, tmp_path) as (one, other):
        await switch(one, False)
        async with redis_client.from_url(redis.url) as client:
            await client.hset("dogubako:switches", "#", version)
        await until(lambda: not other.registry.get("look").enabled, "the other server hears of it")
        await enabled_again(one)
        await until(lambda: other.registry.get("look").enabled, "the other server hears that it is on")


async def enabled_again(box: Toolbox) -> None:
    async with asyncio.timeout(60):
        while not box.registry.get("look").enabled:
            with suppress(BusyError):
                await switch(box, True)


async def test_a_key_of_another_kind_is_named(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path).running() as box:
        async with redis_client.from_url(redis.url) as client:
            await client.delete("dogubako:switches")
            await client.set("dogubako:switches", "planted")
        with (
            structlog.testing.capture_logs() as logged,
            pytest.raises(BusyError, match="refused a command for dogubako:switches: nothing was switched"),
        ):
            await switch(box, False)

    assert logged == [] or logged[0].get("key") == "dogubako:switches"


async def test_a_change_that_cannot_be_told_to_others_is_not_made(redis: RedisProcess, tmp_path: Path) -> None:
    async with two(redis, tmp_path) as (box, _), redis_client.from_url(redis.url) as operator:
        await switch(box, False)
        before: Any = await operator.hgetall("dogubako:switches")
        # Somebody planted another type where the versions of the fields are.
        assert await operator.type("dogubako:switches:changes") == b"zset"
        await operator.set("dogubako:switches:changes", "junk")
        with pytest.raises(BusyError, match="nothing was switched"):
            await switch(box, True)
        after: Any = await operator.hgetall("dogubako:switches")

    assert after == before
