"""A session that one of three servers opened is served by all of them."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp
import mcp_types
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.doors import messages
from tests.doors.processes import PATIENCE
from tests.doors.waiting import says, until
from tests.redis_server import INSTALLED

from .legacy_client import LegacyClient, legacy_client
from .replicas import COUNT, NGINX, Replicas, allow_user, replicas
from .session_pack import NOTICE

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

_PACK = Path(__file__).with_name("session_pack.py")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    settings = {"RATE_LIMIT_TOOL_MAX": "100000", "DOGUBAKO_CALLER_CONCURRENCY": "64"}
    with replicas(tmp_path_factory.mktemp("replicas"), _PACK, settings=settings) as box:
        yield box


@pytest.fixture
async def client(box: Replicas) -> AsyncIterator[LegacyClient]:
    """A client with a session that the first server opened."""
    async with legacy_client(box.key) as client:
        assert (await client.open(box.urls[0])).status_code == 200
        yield client


async def _eventually(happens: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(240):
        if await happens():
            return
        await anyio.sleep(0.5)
    raise AssertionError(f"this did not happen: {what}")


async def test_calls_and_lists_are_answered_by_every_server(box: Replicas, client: LegacyClient) -> None:
    processes = {await client.call(url, "which_worker") for url in (*box.urls, *box.urls)}
    listed = [await client.ask(url, "tools/list", {}) for url in box.urls]

    assert client.session and len(processes) == COUNT
    assert all(len(one["result"]["tools"]) > 5 for one in listed)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_an_official_client_is_asked_and_answers_through_nginx(box: Replicas, mode: Any) -> None:
    async def answer(context: Any, params: Any) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult(action="accept", content={"answer": "green"})

    async with (
        httpx2.AsyncClient(headers={"x-api-key": box.key}, timeout=PATIENCE) as http,
        mcp.Client(
            streamable_http_client(f"{box.url}/mcp", http_client=http),
            mode=mode,
            elicitation_callback=answer,
            read_timeout_seconds=PATIENCE,
        ) as client,
    ):
        answers = [await client.call_tool("ask_as_worker", {}) for _ in range(2 * COUNT)]

    texts = [one.content[0].text for one in answers if isinstance(one.content[0], mcp_types.TextContent)]
    assert [text.split()[1] for text in texts] == ["green"] * 2 * COUNT
    assert len({text.split()[0] for text in texts}) > 1


async def test_a_question_is_answered_through_another_server(box: Replicas, client: LegacyClient) -> None:
    here, there, _ = box.urls
    call = messages.request("tools/call", messages.call("ask_as_worker", {}, modern=False), request_id="q")
    async with client.stream(here, call) as events:
        asked = await events.next("elicitation/create")
        result = {"action": "accept", "content": {"answer": "blue"}}
        taken = await client.send(there, {"jsonrpc": "2.0", "id": asked["id"], "result": result})
        answer = await events.next()

    assert taken.status_code == 202
    assert answer["id"] == "q" and answer["result"]["content"][0]["text"].endswith(" blue")


@pytest.mark.parametrize("tool", ["linger", "linger_and_talk"])
async def test_a_call_is_cancelled_through_another_server(
    box: Replicas, client: LegacyClient, tool: str, tmp_path: Path
) -> None:
    here, there, _ = box.urls
    marker = tmp_path / "marker"
    call = messages.request("tools/call", messages.call(tool, {"marker": str(marker)}, modern=False), request_id=77)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.send, here, call)
        await says(marker, "started")
        taken = await client.send(there, messages.notification("notifications/cancelled", {"requestId": 77}))
        await says(marker, "cancelled")

    assert taken.status_code == 202


async def test_the_log_level_counts_at_every_server(box: Replicas, client: LegacyClient) -> None:
    here, there, third = box.urls
    call = messages.request("tools/call", messages.call("chat", {}, modern=False), request_id="c")
    # One of the others has the session already, the third one opens it afterwards.
    await client.call(there, "echo", text="a")
    await client.ask(here, "logging/setLevel", {"level": "error"})
    heard = []
    for url in (there, third):
        async with client.stream(url, call) as events:
            said = await events.rest()
            heard.append([one["params"]["data"] for one in said if one.get("method") == "notifications/message"])

    assert heard == [["loud"], ["loud"]]


async def test_a_subscription_is_told_on_the_stream_at_another_server(box: Replicas, client: LegacyClient) -> None:
    here, there, third = box.urls
    async with client.stream(there) as news:
        await client.ask(here, "resources/subscribe", {"uri": NOTICE})
        await client.call(third, "pin_note")
        told = await news.next("notifications/resources/updated")
        await client.ask(third, "resources/unsubscribe", {"uri": NOTICE})
        await client.call(here, "pin_note")
        # The next that is told is something else.
        assert box.switch(False, "picture", url=here) == 200
        after = await news.next()
    assert box.switch(True, "picture") == 200

    assert told["params"]["uri"] == NOTICE
    assert after["method"] == "notifications/tools/list_changed"


async def test_a_session_that_was_deleted_is_over_everywhere(box: Replicas, client: LegacyClient) -> None:
    here, there, third = box.urls
    await client.call(there, "echo", text="a")
    async with client.stream(here) as news:
        deleted = await client.delete(third)
        told = await news.rest()
    ping = messages.request("ping")
    after = [(await client.send(url, ping)).status_code for url in box.urls]

    assert (deleted.status_code, told, after) == (200, [], [404] * COUNT)


async def test_the_session_of_another_caller_does_not_exist(box: Replicas, client: LegacyClient) -> None:
    call = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
    async with legacy_client(box.other_key) as thief:
        thief.session = client.session
        refused = [(await thief.send(url, call)).status_code for url in box.urls]
        deleted = [(await thief.delete(url)).status_code for url in box.urls]
    still = [await client.call(url, "echo", text="mine") for url in box.urls]

    assert (refused, deleted, still) == ([404] * COUNT, [404] * COUNT, ["mine"] * COUNT)


async def test_a_session_survives_a_redis_that_goes_and_comes_back_empty(box: Replicas, client: LegacyClient) -> None:
    here, there, _ = box.urls
    echo = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False), request_id="e")
    await client.ask(here, "logging/setLevel", {"level": "error"})
    box.redis.kill()
    known = await client.call(here, "echo", text="goes on")
    unknown = await client.send(there, echo)
    async with legacy_client(box.key) as another:
        opened = await another.open(here)
    box.redis.start()
    allow_user(box.redis)

    async def served() -> bool:
        return (await client.send(there, echo)).status_code == 200

    await _eventually(served, "the other server has the session, too")
    call = messages.request("tools/call", messages.call("chat", {}, modern=False), request_id="c")
    async with client.stream(there, call) as events:
        said = [one["params"]["data"] for one in await events.rest() if "params" in one]

    assert (known, unknown.status_code, opened.status_code) == ("goes on", 503, 503)
    assert unknown.json()["retryable"] and said == ["loud"]


async def test_of_two_streams_at_two_servers_one_hears_a_change_whichever_ends(
    box: Replicas, client: LegacyClient
) -> None:
    here, there, third = box.urls
    async with client.stream(here) as first:
        async with client.stream(there) as second:
            assert box.switch(False, "picture", url=third) == 200
            told = await second.next()
        # Its server takes some seconds to notice that it has gone, and this one hears what was told meanwhile.
        assert box.switch(True, "picture", url=third) == 200
        again = await first.next()
        await client.ask(here, "resources/subscribe", {"uri": NOTICE})
        await client.call(third, "pin_note")
        after = await first.next()

    assert told["method"] == again["method"] == "notifications/tools/list_changed"
    assert after["method"] == "notifications/resources/updated"


async def test_a_session_outlives_the_server_that_opened_it(box: Replicas) -> None:
    """The last test: one of the servers is gone afterwards."""
    async with legacy_client(box.key) as client:
        await client.open(box.urls[-1])
        await client.ask(box.urls[-1], "logging/setLevel", {"level": "error"})
        async with client.stream(box.urls[0]) as stays:
            with suppress(httpx2.TransportError):
                async with client.stream(box.urls[-1]):
                    box.servers[-1].signal(signal.SIGKILL)
            await until(lambda: _is_gone(box.urls[-1]), "the server is gone")
            assert box.switch(False, "picture", url=box.urls[1]) == 200
            # It was kept back for the stream of the server that is gone.
            await stays.next("notifications/tools/list_changed")
        answers = [await client.call(url, "echo", text="a") for url in box.urls[:-1]]
        level = await client.ask(box.urls[0], "logging/setLevel", {"level": "debug"})

    assert answers == ["a"] * (COUNT - 1) and level["result"] == {}


def _is_gone(url: str) -> bool:
    try:
        httpx2.get(f"{url}/healthz", timeout=PATIENCE)
    except httpx2.TransportError:
        return True
    return False
