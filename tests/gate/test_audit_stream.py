"""The audit logs of several machines in one Redis: nothing missing, nothing twice, whatever happens to it."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis.asyncio as redis_client

from dogubako.app import Toolbox
from dogubako.gate import audit_shipping
from dogubako.gate.audit_files import Position, SentLine, in_order
from dogubako.gate.audit_stream import StreamSink, stream_reader
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis
from tests.doors.processes import PATIENCE, run
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT, shared_settings

from .sheds import all_lines_in, shed_in

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_shipping, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(audit_shipping, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(audit_shipping, "_LONGEST_PAUSE", 0.1)


def machine(redis: RedisProcess, folder: Path) -> Toolbox:
    folder.mkdir(exist_ok=True)
    box = shed_in(folder, shared=redis.url + PATIENT, request_state_key=KEY)
    box.gate.ship_audit(stdout=False)
    return box


async def streamed(redis: RedisProcess) -> list[SentLine]:
    async with stream_reader(shared_settings(redis.url + PATIENT)) as reader:
        return await reader.read_on()


async def delivered(redis: RedisProcess, count: int) -> list[dict[str, Any]]:
    """All lines in the stream, once there are so many."""
    deadline = time.monotonic() + PATIENCE
    while len(lines := in_order(await streamed(redis))) < count:
        assert time.monotonic() < deadline, f"there are not {count} lines in time"
        await anyio.sleep(0.02)
    return [json.loads(line) for line in lines]


async def test_lines_of_all_machines_are_in_one_stream_with_one_salt(redis: RedisProcess, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        async with machine(redis, folder).running() as box:
            await box.call("put", {"text": "the same"})
    lines = await delivered(redis, 4)

    assert [line["code"] for line in lines] == ["STARTED", "OK"] * 2
    assert len({line["hash"] for line in lines}) == 1
    assert lines == [line for folder in folders for line in all_lines_in(folder)]
    assert not (folders[0] / "audit.salt").exists()


async def test_whoever_reads_or_writes_the_redis_can_neither_read_nor_forge_lines(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with machine(redis, tmp_path / "one").running() as box:
        await box.call("put", {"text": "a"})
    async with redis_client.from_url(redis.url) as client:
        stored: Any = await client.xrange("dogubako:audit")
        await client.xadd("dogubako:audit", {"count": 1, "lines": stored[0][1][b"lines"]})
        await client.xadd("dogubako:audit", {"count": 1, "lines": b'{"time":"2026"}'})
        await client.xadd("dogubako:audit", {"something": "else"})

    assert stored and not any(b"put" in value for _, fields in stored for value in fields.values())
    # A copy has the id of its line, so that it counts once.
    assert len(in_order(await streamed(redis))) == 2


async def test_a_redis_that_is_away_delays_lines_and_one_that_was_emptied_gets_all_of_them_again(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        boxes = [
            await stack.enter_async_context(machine(redis, tmp_path / name).running()) for name in ("one", "other")
        ]
        for box in boxes:
            await box.call("look", {"text": "before"})
        await delivered(redis, 2)
        redis.kill()
        for box in boxes:
            await box.call("look", {"text": "meanwhile"})
        # It has no persistence, so it comes back empty.
        redis.start()
        after = await delivered(redis, 4)
        async with redis_client.from_url(redis.url) as client:
            await client.flushall()
        again = await delivered(redis, 4)
        raw = await streamed(redis)

    calls = {line["callId"] for line in again}
    assert len(calls) == 4 and {line["callId"] for line in after} == calls
    assert len(raw) == 4


async def test_a_lost_answer_of_redis_does_not_add_lines_twice(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = SharedRedis.run_script, 0

    async def forgetful(self: SharedRedis, script: Any, keys: Any, *args: Any) -> int:
        nonlocal lost
        done = await real(self, script, keys, *args)
        if keys[0].endswith(":audit") and lost < 2:
            lost += 1
            raise Unavailable
        return done

    monkeypatch.setattr(SharedRedis, "run_script", forgetful)
    async with machine(redis, tmp_path / "one").running() as box:
        for number in range(10):
            await box.call("put", {"text": str(number)})
            await asyncio.sleep(0.02)
        await delivered(redis, 20)

    assert lost == 2 and len(await streamed(redis)) == 20


async def test_lines_of_a_process_that_was_killed_are_delivered_by_the_next_start(
    redis: RedisProcess, tmp_path: Path
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    # It records, and ends before anything is delivered.
    async with shed_in(folder, shared=redis.url + PATIENT, request_state_key=KEY).running() as box:
        await box.call("put", {"text": "a"})
    assert await streamed(redis) == []
    async with machine(redis, folder).running():
        lines = await delivered(redis, 2)

    assert [line["code"] for line in lines] == ["STARTED", "OK"]


def _audit_line(minute: int, number: int) -> bytes:
    names = {"caller": "a", "door": "http", "tool": "look", "arguments": [], "hash": "0", "code": "OK", "ms": 0.1}
    return json.dumps(
        {"time": f"2026-11-18T{minute // 60:02}:{minute % 60:02}:00.000Z", **names, "callId": f"{number}"}
    ).encode()


async def _filled(redis: RedisProcess, folder: Path, sizes: list[int]) -> list[bytes]:
    """What a stream of a hundred lines keeps of batches of these sizes. A negative size spoils the count before."""
    async with AsyncExitStack() as stack:
        shared = SharedRedis(shared_settings(redis.url + PATIENT))
        await stack.enter_async_context(shared.running())
        sink = StreamSink(shared, folder, most=100)
        before = None
        for number, size in enumerate(sizes):
            if size < 0:
                await shared.client.set(shared.name("audit", "lines"), 1_000_000)
            after = Position("1-a", number + 1)
            lines = [SentLine(_audit_line(number, one)) for one in range(abs(size))]
            await sink.deliver(lines, before, after)
            assert await sink.position() == after
            before = after
    return [line.raw for line in await streamed(redis)]


@pytest.mark.parametrize(
    ("sizes", "first", "count"),
    [
        pytest.param([1] * 130, (30, 0), 100, id="single lines"),
        pytest.param([60] * 5, (3, 0), 120, id="large batches"),
        pytest.param([1, 1, 400], (2, 300), 100, id="a batch of more than the stream keeps"),
        pytest.param([90, 1, 0, 40, 1], (0, 0), 132, id="batches of all sizes, also without lines"),
        pytest.param([90, 5, -7], (2, 0), 7, id="a count that is too high keeps the newest batch"),
    ],
)
async def test_the_stream_keeps_as_many_lines_as_the_setting_says(
    redis: RedisProcess, tmp_path: Path, sizes: list[int], first: tuple[int, int], count: int
) -> None:
    lines = await _filled(redis, tmp_path, sizes)

    assert (lines[0], len(lines)) == (_audit_line(*first), count)


async def test_an_emptied_redis_gets_the_newest_lines_of_all_machines(redis: RedisProcess, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        shared = SharedRedis(shared_settings(redis.url + PATIENT))
        await stack.enter_async_context(shared.running())
        # Each machine delivers all its lines again, one after the other.
        for machine_number in range(3):
            (folder := tmp_path / str(machine_number)).mkdir()
            sink, before = StreamSink(shared, folder, most=90), None
            for batch in range(10):
                lines = [SentLine(_audit_line(batch * 30 + one, machine_number)) for one in range(30)]
                after = Position("1-a", batch + 1)
                await sink.deliver(lines, before, after)
                before = after
    kept = [json.loads(line.raw) for line in await streamed(redis)]

    assert {line["time"] for line in kept} == {json.loads(_audit_line(270 + one, 0))["time"] for one in range(30)}
    assert sorted({line["callId"] for line in kept}) == ["0", "1", "2"] and len(kept) == 90


@pytest.mark.slow
async def test_the_command_reads_all_machines_and_with_local_its_own_file(redis: RedisProcess, tmp_path: Path) -> None:
    for name in ("one", "other"):
        async with machine(redis, tmp_path / name).running() as box:
            await box.call("put", {"text": name})
    settings = {
        "DOGUBAKO_AUDIT": "true",
        "DOGUBAKO_DATA_DIR": str(tmp_path / "one"),
        "DOGUBAKO_SHARED": redis.url + PATIENT,
        "DOGUBAKO_REQUEST_STATE_KEY": KEY,
    }

    def lines(*words: str) -> int:
        return len(run("audit", "tail", "--json", *words, folder=tmp_path, settings=settings).stdout.splitlines())

    def calls() -> Any:
        answer = run("audit", "report", "--json", folder=tmp_path, settings=settings)
        return json.loads(answer.stdout)["calls"][0]["calls"]

    assert (lines(), lines("--local"), calls()) == (4, 2, 2)
    redis.kill()
    refused = run("audit", "tail", folder=tmp_path, settings={**settings, "DOGUBAKO_SHARED": redis.url})
    assert refused.returncode == 2 and "--local" in str(refused.stderr)
