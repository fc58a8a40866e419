"""No request keeps the event loop for longer than a tenth of a second, whatever it holds and however it comes in."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.mcp.protocol import MAX_BODY_BYTES
from dogubako.transports.mcp.stdio import StdioServer
from tests.heartbeat import MOST_SECONDS, TRIES, Heartbeat

from . import hostile, messages
from .asgi import Client, opened
from .hostile import MESSAGES, RESTS, Kind, Message, Rest, kind_of
from .processes import HERE, PATIENCE, WORKBENCH

# Measured alone: two busy processes on one core take twice as long, and so does a measured coverage.
pytestmark = pytest.mark.stall

# A message that is ready to be sent: writing it takes longer than anything that a server may do with it.
Sending = Callable[[], Awaitable[dict[str, Any]]]
Prepare = Callable[[Message], Sending]

# `tests/attack/test_hostile_requests.py` sends the same messages to a real server: of 2026-07-28 over HTTP, and of
# 2025-11-25 over stdio. Here they come the other way round.
OLDER = pytest.mark.parametrize("modern", [False], ids=["2025"])
NEWER = pytest.mark.parametrize("modern", [True], ids=["2026"])


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    tools = (WORKBENCH, HERE / "measuring_pack.py")
    return build(Sources(overrides={"tools": tools, "sandbox": True, "data_dir": tmp_path}, environ={}, env_file=None))


@pytest.fixture(autouse=True)
def _as_a_server_collects() -> Iterator[None]:
    """A server sets aside what it has at its start; to look through all objects of pytest takes long as well."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@OLDER
async def test_no_message_over_http_stops_the_loop(toolbox: Toolbox, modern: bool) -> None:
    async with opened(HttpApp(toolbox)) as web:
        session = None if modern else await web.open_session()

        def prepare(message: Message) -> Sending:
            body = message.body(modern=modern)
            headers = message.headers(body, session)

            async def send() -> dict[str, Any]:
                return (await web.request("POST", "/mcp", body=body, headers=headers)).response

            return send

        await _warm_up(prepare)
        assert await _failures(prepare, modern=modern) == []


@NEWER
async def test_no_message_over_stdio_stops_the_loop(toolbox: Toolbox, modern: bool) -> None:
    async with _spoken_to(toolbox) as ask:

        def prepare(message: Message) -> Sending:
            return partial(ask, message.body(modern=modern))

        if not modern:
            await ask(json.dumps(messages.request("initialize", messages.initialize())).encode())
        await _warm_up(prepare)
        assert await _failures(prepare, modern=modern) == []


async def test_no_request_to_the_rest_api_stops_the_loop(toolbox: Toolbox) -> None:
    async with opened(HttpApp(toolbox)) as web:
        await web.post("/v1/tools/search", {"query": "the index is made when it is first needed"})
        failures = [await _failure(one.name, one.kind, _request(web, one)) for one in RESTS]

        assert [failure for failure in failures if failure] == []


async def test_another_encoding_does_not_hide_values(toolbox: Toolbox) -> None:
    # A quotation mark and a comma are the two halves of each of these characters in UTF-16.
    fooling = f'["{chr(0x2C22) * 3}",{hostile.times("0,", hostile.FULL // 2)}0]'.encode("utf-16")
    async with opened(HttpApp(toolbox)) as web:
        rest = await web.post("/v1/tools/call", fooling)
        mcp = await web.post("/mcp", fooling, messages.modern_headers("tools/call", "echo"))

    assert (rest.status, rest.json["code"]) == (mcp.status, mcp.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


async def test_what_is_too_large_is_told_with_the_bound(toolbox: Toolbox) -> None:
    too_many = f'{{"name": "echo", "parameters": {{{hostile.names(10_001)}}}}}'.encode()
    beside = Message(name="", kind="too large", meta=lambda: hostile.names(2_001))
    async with opened(HttpApp(toolbox)) as web, _spoken_to(toolbox) as ask:
        body = (await web.post("/v1/tools/call", too_many)).json
        legacy = messages.legacy_headers(await web.open_session())
        protocol = await web.request("POST", "/mcp", body=beside.body(modern=False), headers=legacy)
        line = await ask(b'{"jsonrpc": "2.0", "id": "mine", "method": "x", "params": %b}' % too_many)

    assert body["error"] == "The request body has more than 10,000 values, or numbers of too many digits."
    assert protocol.status == 413
    assert protocol.json["error"] == "The message has more than 2,000 values beside the arguments of a tool."
    assert line["error"] == {
        "code": -32600,
        "message": "The message has more than 10,000 values, or numbers of too many digits.",
    }
    assert line["id"] == "mine"


def _request(web: Client, one: Rest) -> Sending:
    body = one.body().encode()

    async def send() -> dict[str, Any]:
        visit = await web.request(one.method, one.path, body=body, headers={"content-type": "application/json"})
        answer = visit.json
        assert isinstance(answer, dict)
        return answer

    return send


async def _warm_up(prepare: Prepare) -> None:
    """Whatever is built when it is first needed: the SDK, the index of the search, the models of some tools."""
    for tool in ("list_issues", "create_issue", "text_length", "picky", "picky_list", "echo", "ask", "call_tool"):
        members = partial(hostile.call, tool, '"unknown": 1')
        await prepare(Message(name=tool, kind="refused", members=members))()
    search = partial(hostile.call, "search_tools", '"query": "a"')
    await prepare(Message(name="search", kind="answered", members=search))()
    await prepare(Message(name="list", kind="answered", method="prompts/list", members=str))()


async def _failures(prepare: Prepare, *, modern: bool) -> list[str]:
    found = [await _failure(one.name, one.expected(modern=modern), prepare(one)) for one in MESSAGES]
    return [failure for failure in found if failure]


async def _failure(name: str, expected: Kind, send: Sending) -> str | None:
    """What is wrong with the answer, or with how long it kept the loop."""
    for _ in range(TRIES):
        answer, stall = await _measured(send)
        if stall <= MOST_SECONDS:
            break
    else:
        return f"{name}: the event loop stood still for {stall * 1000:.0f} ms"
    kind = kind_of(answer)
    return None if kind == expected else f"{name}: {kind}, not {expected}: {str(answer)[:300]}"


async def _measured(send: Sending) -> tuple[dict[str, Any], float]:
    with Heartbeat() as heart:
        # The first beat; from here on every stall is this request's.
        await asyncio.sleep(0.02)
        heart.take()
        answer = await send()
        # What is written down after the answer keeps the loop as well.
        await asyncio.sleep(0.08)
        return answer, heart.take()


class _Written:
    """What a stdio server wrote."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        self._lines.put_nowait(data)

    async def drain(self) -> None:
        return None

    def close(self) -> None:
        return None

    async def answer(self) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            while True:
                message = json.loads(await self._lines.get())
                if "method" not in message:
                    assert isinstance(message, dict)
                    return message


@asynccontextmanager
async def _spoken_to(toolbox: Toolbox) -> AsyncIterator[Callable[[bytes], Awaitable[dict[str, Any]]]]:
    """A stdio server in this process: send a line and get its answer."""
    written = _Written()
    reader = asyncio.StreamReader(limit=MAX_BODY_BYTES)

    async def ask(line: bytes) -> dict[str, Any]:
        reader.feed_data(line + b"\n")
        return await written.answer()

    async with toolbox.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(StdioServer(toolbox, written, tasks).run, reader)
        yield ask
        reader.feed_eof()
        tasks.cancel_scope.cancel()
