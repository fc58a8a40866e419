"""Messages between the processes of one server, with a real Redis."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis.asyncio as redis_client
import structlog.testing

from dogubako.contract.storage import NoReply, NotDelivered
from dogubako.outbound import process_messages
from dogubako.outbound.process_messages import MOST_BYTES, RedisMessages
from dogubako.outbound.shared_redis import SharedRedis
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import PATIENT, shared_settings

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

PATIENCE = 60


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


Pair = tuple[RedisMessages, RedisMessages]


@pytest.fixture
async def pair(redis: RedisProcess) -> AsyncIterator[Pair]:
    """The messages of two processes."""
    async with AsyncExitStack() as stack:
        both = []
        for _ in range(2):
            shared = SharedRedis(shared_settings(redis.url + PATIENT))
            await stack.enter_async_context(shared.running())
            messages = RedisMessages(shared)
            await stack.enter_async_context(messages.running())
            both.append(messages)
        yield both[0], both[1]


async def _upper(payload: bytes, _: str) -> bytes:
    return payload.upper()


def _stuck(begun: asyncio.Event, cancelled: asyncio.Event) -> Callable[[bytes, str], Awaitable[bytes]]:
    async def wait(_: bytes, __: str) -> bytes:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        raise AssertionError("unreachable")

    return wait


async def test_requests_are_replied_to_each_with_its_own_answer(pair: Pair) -> None:
    one, other = pair
    other.handle("upper", _upper)

    replies = await asyncio.gather(*(one.request(other.process, "upper", f"text {n}".encode()) for n in range(50)))

    assert replies == [f"TEXT {n}".encode() for n in range(50)]


async def test_a_process_may_ask_itself(pair: Pair) -> None:
    one, _ = pair
    one.handle("upper", _upper)

    assert await one.request(one.process, "upper", b"self") == b"SELF"


async def test_a_message_for_all_reaches_everybody_once_and_in_order(pair: Pair) -> None:
    heard: dict[str, list[bytes]] = {}
    complete = asyncio.Event()
    for messages in pair:
        own = heard[messages.process] = []

        async def note(payload: bytes, _: str, own: list[bytes] = own) -> None:
            own.append(payload)
            if all(one[-1:] == [b"9"] for one in heard.values()):
                complete.set()

        messages.handle("news", note)
    # A reader learns at its start where the stream ends, which may be after the first message.
    with anyio.fail_after(PATIENCE):
        while not all(b"hello" in own for own in heard.values()):
            await pair[0].broadcast("news", b"hello")
            await anyio.sleep(0.05)
    for number in range(10):
        await pair[0].broadcast("news", str(number).encode())
    with anyio.fail_after(PATIENCE):
        await complete.wait()

    for own in heard.values():
        assert own[-10:] == [str(number).encode() for number in range(10)]


async def test_a_message_to_a_process_that_is_gone_was_not_delivered(pair: Pair) -> None:
    one, _ = pair

    with pytest.raises(NotDelivered):
        await one.send("0" * 16, "upper", b"")
    with pytest.raises(NotDelivered):
        await one.request("0" * 16, "upper", b"")
    assert not await one.is_alive("0" * 16)


async def test_a_process_that_dies_with_a_request_gives_no_reply(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    begun, cancelled = asyncio.Event(), asyncio.Event()
    other.handle("stuck", _stuck(begun, cancelled))
    monkeypatch.setattr(process_messages, "_RENEW_SECONDS", 0.05)
    waiting = asyncio.create_task(one.request(other.process, "stuck", b""))
    await begun.wait()
    # What the key of a killed process does by itself after ten seconds.
    other._alive = "another key"
    await other._shared.client.delete(other._shared.name("process", other.process))

    with anyio.fail_after(PATIENCE), pytest.raises(NoReply):
        await waiting


async def test_a_request_that_a_killed_process_never_read_was_not_delivered(
    redis: RedisProcess, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as alive for ten seconds, and requests come in meanwhile. If it only hung, it reads them later."""
    one, shared = pair[0], SharedRedis(shared_settings(redis.url + PATIENT))
    hanging, heard = RedisMessages(shared), asyncio.Event()
    hanging.handle("change", _note(heard))
    hanging.handle("look", _upper)
    monkeypatch.setattr(process_messages, "_RENEW_SECONDS", 0.05)
    await shared.client.set(hanging._alive, b"1")
    waiting = asyncio.create_task(one.request(hanging.process, "change", b""))
    async with asyncio.timeout(PATIENCE), shared.running():
        while not await shared.client.xlen(hanging._inbox):
            pass
        await shared.client.delete(hanging._alive)
        with pytest.raises(NotDelivered):
            await waiting
        async with hanging.running():
            assert await one.request(hanging.process, "look", b"later") == b"LATER"

    assert not heard.is_set()


def _note(heard: asyncio.Event) -> Callable[[bytes, str], Awaitable[bytes]]:
    async def note(_: bytes, __: str) -> bytes:
        heard.set()
        return b""

    return note


async def test_who_stops_waiting_cancels_the_work(pair: Pair) -> None:
    one, other = pair
    begun, cancelled = asyncio.Event(), asyncio.Event()
    other.handle("stuck", _stuck(begun, cancelled))
    waiting = asyncio.create_task(one.request(other.process, "stuck", b""))
    await begun.wait()

    waiting.cancel()

    with anyio.fail_after(PATIENCE):
        await cancelled.wait()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_handler_that_fails_or_is_missing_is_told_at_once(pair: Pair) -> None:
    one, other = pair

    async def fail(_: bytes, __: str) -> bytes:
        raise LookupError("inside")

    other.handle("fails", fail)
    with structlog.testing.capture_logs() as logs, anyio.fail_after(PATIENCE):
        for topic in ("fails", "nobody handles this"):
            with pytest.raises(NoReply):
                await one.request(other.process, topic, b"")

    assert [line["event"] for line in logs] == ["A message of another process could not be handled"]


async def test_what_is_too_large_is_not_sent_and_not_replied(pair: Pair) -> None:
    one, other = pair

    async def swell(_: bytes, __: str) -> bytes:
        return bytes(MOST_BYTES + 1)

    other.handle("swell", swell)
    with pytest.raises(NotDelivered):
        await one.send(other.process, "swell", bytes(MOST_BYTES + 1))
    with anyio.fail_after(PATIENCE), pytest.raises(NoReply):
        await one.request(other.process, "swell", b"")


async def test_a_redis_that_hangs_for_a_moment_loses_no_message(redis: RedisProcess, pair: Pair) -> None:
    one, other = pair
    other.handle("upper", _upper)
    redis.signal(signal.SIGSTOP)
    waiting = asyncio.create_task(one.request(other.process, "upper", b"later"))
    await anyio.sleep(0.2)
    redis.signal(signal.SIGCONT)

    with anyio.fail_after(PATIENCE):
        assert await waiting == b"LATER"


async def test_nobody_reads_messages_in_redis_nor_plants_one(redis: RedisProcess, pair: Pair) -> None:
    one, other = pair
    heard: list[bytes] = []

    async def note(payload: bytes, _: str) -> bytes:
        heard.append(payload)
        return b""

    other.handle("secret", note)
    await one.send(other.process, "secret", b"attack at dawn")
    async with redis_client.from_url(redis.url) as stranger:
        inbox = other._inbox
        entries: Any = await stranger.xrange(inbox)
        stored: bytes = entries[0][1][b"message"]
        with structlog.testing.capture_logs() as logs:
            # A copy from another stream, and one that was changed.
            await stranger.xadd(one._inbox, {"message": stored})
            await stranger.xadd(inbox, {"message": stored[:-1] + b"?"})
            await stranger.xadd(inbox, {"other": b"field"})
            await one.request(other.process, "secret", b"the next")

    assert b"dawn" not in stored
    assert heard == [b"attack at dawn", b"the next"]
    assert {line["event"] for line in logs} == {"A value in the shared Redis is not one of this server, and is ignored"}


async def test_a_request_that_somebody_copies_is_not_done_again(redis: RedisProcess, pair: Pair) -> None:
    one, other = pair
    heard: list[bytes] = []

    async def note(payload: bytes, _: str) -> bytes:
        heard.append(payload)
        return b""

    other.handle("change", note)
    copied = one._sealed(other._inbox, "change", next(one._numbers), b"once")
    async with redis_client.from_url(redis.url) as stranger:
        for _ in range(3):
            await stranger.xadd(other._inbox, {"message": copied})
    await one.request(other.process, "change", b"the next")

    assert heard == [b"once", b"the next"]


async def test_what_was_read_does_not_fill_the_redis(redis: RedisProcess, pair: Pair) -> None:
    here, there = pair
    there.handle("up", _upper)
    for _ in range(30):
        await here.request(there.process, "up", b"x" * 100_000)
    async with redis_client.from_url(redis.url) as client:
        kept = [await client.xlen(f"dogubako:inbox:{one.process}") for one in pair]

    # About a megabyte each.
    assert max(kept) <= 12
