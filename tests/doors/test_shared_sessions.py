"""A session that one of two servers opened, at the other one: what it costs, and how it ends."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.outbound.shared_sessions import RedisSessions
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.mcp import sdk_internals, shared_sessions
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT, shared_settings

from . import messages
from .asgi import Client, Visit, opened
from .processes import WORKBENCH
from .waiting import until

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


Server = tuple[Client, HttpApp, Toolbox]


@pytest.fixture
async def servers(redis: RedisProcess) -> AsyncIterator[tuple[Server, Server]]:
    async with AsyncExitStack() as stack:
        both = []
        for _ in range(2):
            chosen = {"tools": (WORKBENCH,), "shared": redis.url + PATIENT, "request_state_key": KEY}
            box = build(Sources(overrides=chosen, environ={}, env_file=None))
            app = HttpApp(box)
            both.append((await stack.enter_async_context(opened(app)), app, box))
        yield both[0], both[1]


async def _echo(client: Client, session: str) -> Visit:
    call = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
    return await client.post("/mcp", call, messages.legacy_headers(session))


async def test_calls_in_a_session_that_was_met_before_ask_nobody_and_take_the_fast_path(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here, _, _), (there, app, box) = servers
    session = await here.open_session()
    assert box.sessions is not None
    looked: list[str] = []
    join = box.sessions.join

    async def noted(one: str) -> Any:
        looked.append(one)
        return await join(one)

    monkeypatch.setattr(box.sessions, "join", noted)
    answers = [(await _echo(there, session)).status for _ in range(3)]

    assert (answers, looked, app.mcp.fast_path.taken) == ([200] * 3, [session], 3)


async def test_two_requests_at_once_open_it_once(servers: tuple[Server, Server]) -> None:
    (here, _, _), (there, app, _) = servers
    session = await here.open_session()
    statuses: list[int] = []

    async def call() -> None:
        statuses.append((await _echo(there, session)).status)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(call)

    assert statuses == [200] * 8 and len(app.mcp.manager._server_instances) == 1


async def test_a_copy_that_gave_way_is_opened_again(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here, _, _), (there, app, _) = servers
    sessions = [await here.open_session() for _ in range(3)]
    monkeypatch.setattr(sdk_internals, "MOST_SESSIONS_EACH", 1)
    statuses = [(await _echo(there, session)).status for session in (*sessions, *sessions)]

    assert statuses == [200] * 6 and len(app.mcp.manager._server_instances) == 1


async def test_an_answer_for_a_process_that_ended_is_taken(servers: tuple[Server, Server]) -> None:
    client, _, _ = servers[0]
    session = await client.open_session()
    answer = {"jsonrpc": "2.0", "id": "0123456789abcdef.1", "result": {}}

    assert (await client.post("/mcp", answer, messages.legacy_headers(session))).status == 202


@pytest.mark.parametrize("result", ["5", '{"a": "\\ud800"}', "1e999", "{}"])
async def test_odd_answers_for_another_process_break_nothing(servers: tuple[Server, Server], result: str) -> None:
    (here, _, box), (there, _, _) = servers
    session = await here.open_session()
    assert box.messages is not None
    body = f'{{"jsonrpc": "2.0", "id": "{box.messages.process}.1", "result": {result}}}'.encode()
    answered = await there.post("/mcp", body, messages.legacy_headers(session))
    after = [(await _echo(one, session)).status for one in (here, there)]

    assert answered.status < 500 and after == [200, 200]


async def test_a_session_whose_end_was_missed_ends_when_it_is_renewed(
    servers: tuple[Server, Server], redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, app, _ = servers[0]
    monkeypatch.setattr(shared_sessions, "_RENEW_SECONDS", 0.0)
    session = await client.open_session()
    shared = SharedRedis(shared_settings(redis.url + PATIENT))
    async with shared.running():
        await RedisSessions(shared, "elsewhere").end(session)
    before = (await _echo(client, session)).status
    await app.mcp._shared._renew(app.mcp._sessions.last_uses())  # type: ignore[union-attr]

    assert (before, (await _echo(client, session)).status) == (200, 404)


async def test_a_session_that_is_opened_while_others_are_renewed_disturbs_nobody(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, app, _ = servers[0]
    monkeypatch.setattr(shared_sessions, "_RENEW_SECONDS", 0.0)
    uses = app.mcp._sessions.last_uses()
    session = await client.open_session()
    await app.mcp._shared._renew(uses)  # type: ignore[union-attr]

    assert (await _echo(client, session)).status == 200


async def test_a_session_that_the_store_lost_is_stored_again_with_its_state(
    servers: tuple[Server, Server], redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here, app, _), (there, _, box) = servers
    monkeypatch.setattr(shared_sessions, "_RENEW_SECONDS", 0.0)
    session = await here.open_session()
    headers = messages.legacy_headers(session)
    await here.post("/mcp", messages.request("logging/setLevel", {"level": "error"}), headers)
    shared = SharedRedis(shared_settings(redis.url + PATIENT))
    async with shared.running():
        await shared.run(shared.client.flushall)
    lost = (await _echo(there, session)).status
    await app.mcp._shared._renew(app.mcp._sessions.last_uses())  # type: ignore[union-attr]
    assert box.sessions is not None
    record = await box.sessions.join(session)

    assert (lost, (await _echo(there, session)).status) == (404, 200)
    assert record is not None and record.log_level == "error"


async def test_a_call_is_cancelled_where_it_runs_while_redis_is_away(
    servers: tuple[Server, Server], redis: RedisProcess
) -> None:
    client, _, _ = servers[0]
    session = await client.open_session()
    headers = messages.legacy_headers(session)
    meta = {"progressToken": "p"}
    call = messages.request("tools/call", messages.call("slow", {"seconds": 50}, modern=False, meta=meta), request_id=5)
    visit = Visit()
    visit.incoming.put_nowait({"type": "http.request", "body": json.dumps(call).encode(), "more_body": False})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, visit, "POST", "/mcp", headers)
        await until(lambda: b"progress" in visit.body, "the call runs")
        redis.kill()
        taken = await client.post("/mcp", messages.notification("notifications/cancelled", {"requestId": 5}), headers)
        await until(visit.complete.is_set, "the call has ended")
    redis.start()

    assert taken.status == 202 and "error" in visit.response


async def test_a_stream_ends_when_the_session_is_deleted_elsewhere(servers: tuple[Server, Server]) -> None:
    (here, _, _), (there, _, _) = servers
    session = await here.open_session()
    stream = Visit()
    stream.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.run, stream, "GET", "/mcp", messages.legacy_headers(session))
        await until(lambda: stream.answered, "the stream is open")
        deleted = await there.request("DELETE", "/mcp", headers=messages.legacy_headers(session))
        await until(stream.complete.is_set, "the stream has ended")

    assert deleted.status == 200 and (await _echo(here, session)).status == 404
