"""A service that one process runs for all, with a real Redis."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from dogubako.outbound import owned_transport, shared_owners
from dogubako.outbound.owned_transport import OwnedTransport
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import Processes

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@pytest.fixture
async def processes(redis: RedisProcess) -> AsyncIterator[Processes]:
    started = Processes(redis.url)
    yield started
    await started.end()


def _service() -> httpx2.AsyncBaseTransport:
    """A service that remembers how often it was asked."""
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        asked.append(scope["path"])
        headers = [(b"x-method", scope["method"].encode()), (b"x-count", str(len(asked)).encode())]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": body.upper()})

    return httpx2.ASGITransport(app=app)


def _client(transport: OwnedTransport) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=transport, base_url="https://service.sandbox")


async def test_all_processes_ask_the_same_service(processes: Processes) -> None:
    transports = [OwnedTransport("n8n", _service, await processes.start()) for _ in range(2)]
    answers = []
    for transport in (*transports, *transports):
        answers.append(await _client(transport).post("/a?b=c", content=b"text"))

    assert [int(one.headers["x-count"]) for one in answers] == [1, 2, 3, 4]
    assert {(one.status_code, one.headers["x-method"], one.content) for one in answers} == {(201, "POST", b"TEXT")}


async def test_the_next_owner_begins_anew(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_owners, "_LOOK_SECONDS", 0.05)
    first, second = [OwnedTransport("n8n", _service, await processes.start()) for _ in range(2)]
    for transport in (first, second):
        await _client(transport).get("/")
    await first.aclose()
    after = await _client(second).get("/")

    assert after.headers["x-count"] == "1"


async def test_while_redis_is_away_the_owner_goes_on_and_others_cannot_reach_it(
    processes: Processes, redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [OwnedTransport("n8n", _service, await processes.start()) for _ in range(2)]
    for transport in (first, second):
        await _client(transport).get("/")
    redis.kill()
    monkeypatch.setattr(owned_transport, "_MOVE_SECONDS", 0.0)
    here = await _client(first).get("/")
    with pytest.raises(httpx2.ConnectError):
        await _client(second).get("/")
    redis.start()

    assert here.headers["x-count"] == "3"


async def test_a_request_of_an_owner_that_ends_is_not_repeated(processes: Processes) -> None:
    owners = await processes.start()
    begun: list[Any] = []

    def broken() -> httpx2.AsyncBaseTransport:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            begun.append(scope)
            raise RuntimeError("the service is broken")

        return httpx2.ASGITransport(app=app)

    first = OwnedTransport("n8n", broken, owners)
    second = OwnedTransport("n8n", broken, await processes.start())
    with pytest.raises(RuntimeError):
        await _client(first).get("/")
    with pytest.raises(httpx2.ReadError):
        await _client(second).get("/")

    await until(lambda: len(begun) == 2, "each request ran once")


async def test_an_owner_whose_lease_ended_is_only_read(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(OwnedTransport("n8n", _service, await processes.start()))
    await client.post("/a", content=b"text")
    monkeypatch.setattr(shared_owners, "LEASE_SECONDS", 0.0)
    monkeypatch.setattr(owned_transport, "_MOVE_SECONDS", 0.3)
    read = await client.get("/a")
    with pytest.raises(httpx2.ConnectError):
        await client.post("/a", content=b"text")
    monkeypatch.undo()
    changed = await client.post("/a", content=b"text")

    assert [int(one.headers["x-count"]) for one in (read, changed)] == [2, 3]
