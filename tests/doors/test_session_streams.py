"""Two streams of one session at two servers: every notification is sent on one of them, whichever ends."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.mcp import session_streams, shared_sessions
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY

from . import messages
from .asgi import Client, Visit, opened
from .processes import WORKBENCH
from .waiting import until

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

_QUICK = "?socket_timeout=5&socket_connect_timeout=5"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


class Server:
    """One of the servers, and the streams on which clients hear it."""

    def __init__(self, client: Client, app: HttpApp, box: Toolbox) -> None:
        self.client = client
        self.app = app
        self.box = box

    @asynccontextmanager
    async def stream(self, session: str) -> AsyncIterator[Visit]:
        """A stream for news, until the client leaves."""
        visit = Visit()
        visit.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.client.run, visit, "GET", "/mcp", messages.legacy_headers(session))
            try:
                await until(lambda: visit.answered, "the stream begins", 20)
                assert visit.status == 200
                yield visit
            finally:
                visit.leave()

    async def switch(self, enabled: bool) -> None:
        answer = await self.client.request(
            "PATCH", "/v1/tools/echo", headers={"content-type": "application/json"}, body={"enabled": enabled}
        )
        assert answer.status == 200

    @property
    def streams(self) -> session_streams.SessionStreams:
        shared = self.app.mcp._shared
        assert shared is not None
        return shared.streams

    def knows(self, enabled: bool) -> bool:
        return self.box.registry.get("echo").enabled is enabled


@pytest.fixture
async def servers(redis: RedisProcess) -> AsyncIterator[list[Server]]:
    async with AsyncExitStack() as stack:
        both = []
        for _ in range(2):
            chosen = {"tools": (WORKBENCH,), "shared": redis.url + _QUICK, "request_state_key": KEY}
            box = build(Sources(overrides=chosen, environ={}, env_file=None))
            app = HttpApp(box)
            both.append(Server(await stack.enter_async_context(opened(app)), app, box))
        yield both


def _heard(*visits: Visit) -> list[Any]:
    """The methods of all messages on these streams."""
    lines = [line for visit in visits for line in visit.body.decode().splitlines()]
    return [json.loads(line[5:])["method"] for line in lines if line.startswith("data:") and line[5:].strip()]


async def _change(servers: list[Server], enabled: bool, *visits: Visit) -> None:
    """Switch a tool, and wait until every server knows and one stream has heard of it."""
    before = len(_heard(*visits))
    await servers[0].switch(enabled)
    await until(lambda: all(one.knows(enabled) for one in servers), "every server knows", 20)
    await until(lambda: len(_heard(*visits)) > before, "a stream has heard", 20)


async def test_every_notification_is_sent_on_one_of_two_streams(servers: list[Server]) -> None:
    here, there = servers
    session = await here.client.open_session()
    async with here.stream(session) as first, there.stream(session) as second:
        for enabled in (False, True, False, True):
            await _change(servers, enabled, first, second)

        assert _heard(first, second) == ["notifications/tools/list_changed"] * 4
        assert _heard(second) == _heard(first, second), "the newest stream hears"


async def test_a_second_stream_at_one_server_is_refused_and_the_first_one_goes_on(servers: list[Server]) -> None:
    here, there = servers
    session = await here.client.open_session()
    async with there.stream(session), here.stream(session) as heard:
        again = await here.client.request("GET", "/mcp", headers=messages.legacy_headers(session))
        await _change(servers, False, heard)

    assert again.status == 409


@pytest.mark.parametrize("which", [0, 1])
async def test_when_one_of_two_streams_ends_the_other_one_is_told(
    servers: list[Server], which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers
    # What was kept back stays kept until the other stream ends, however slow the machine is.
    monkeypatch.setattr(session_streams, "_LOOK_AFTER_SECONDS", 60)
    session = await here.client.open_session()
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(one.stream(session)) for one in (here, there)]
        await _change(servers, False, *streams)
        streams[which].leave()
        await until(lambda: session not in servers[which].streams._streams, "the stream has ended", 20)
        await until(lambda: not servers[1 - which].streams.is_quiet(session), "the other one is told", 20)
        stays = streams[1 - which]
        await _change(servers, True, stays)

        # The first change, which it had heard or kept back, and the second one.
        await until(lambda: len(_heard(stays)) == 2, "both changes are heard", 20)


async def test_what_was_kept_back_for_a_process_that_is_gone_is_told(
    servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers
    session = await here.client.open_session()
    monkeypatch.setattr(session_streams, "_LOOK_AFTER_SECONDS", 0.1)
    async with here.stream(session) as stays, there.stream(session):
        # As if it had been killed: nobody hears of its end.
        there.streams._streams.clear()
        there.app.mcp.stop_streams()
        await _change(servers, False, stays)
        await _change(servers, True, stays)

        assert len(_heard(stays)) == 2


async def test_a_stream_that_begins_while_redis_is_away_is_told_once_it_is_back(
    servers: list[Server], redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers
    session = await here.client.open_session()
    monkeypatch.setattr(shared_sessions, "_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(shared_sessions, "_RENEW_SECONDS", 0.0)
    async with here.stream(session) as first:
        # Served here, too, before it goes.
        ping = messages.request("ping")
        assert (await there.client.post("/mcp", ping, messages.legacy_headers(session))).status == 200
        redis.kill()
        async with there.stream(session) as second:
            redis.start()
            for one in servers:
                entered = one.streams._streams[session]
                await until(lambda entered=entered: entered.version > 0, "it is entered", 20)  # type: ignore[misc]
            await until(lambda: sum(one.streams.is_quiet(session) for one in servers) == 1, "one is told", 20)
            await _changed_when_possible(servers)
            await until(lambda: len(_heard(first, second)) > 0, "it is heard")
            assert len(_heard(first, second)) == 1


async def _changed_when_possible(servers: list[Server]) -> None:
    with anyio.fail_after(60):
        while True:
            body, headers = {"enabled": False}, {"content-type": "application/json"}
            answer = await servers[0].client.request("PATCH", "/v1/tools/echo", headers=headers, body=body)
            if answer.status == 200:
                break
            await anyio.sleep(0.2)
    await until(lambda: all(one.knows(False) for one in servers), "every server knows", 20)
