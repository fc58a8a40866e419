"""Calls that take long: the line stays open, with a sign of life now and then, and the answer is the same."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako import Effect, tool
from dogubako.app import build
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolPack
from dogubako.transports.http.app import HttpApp

from . import messages
from .asgi import Client, Visit, opened
from .odd_tools import pause
from .processes import PATIENCE
from .waiting import until

_PING = b": ping\r\n\r\n"


class Held:
    """Tools that do not end before they are told to: one waits, and one blocks its thread."""

    def __init__(self) -> None:
        self._go_on, self._free = asyncio.Event(), threading.Event()

        @tool(effect=Effect.READ)
        async def wait() -> str:
            """Wait."""
            await self._go_on.wait()
            return "done"

        @tool(effect=Effect.READ)
        def hold() -> str:
            """Block a thread."""
            self._free.wait(PATIENCE)
            return "the thread is free again"

        self.tools: list[BaseTool[Any, Any]] = [wait, hold]

    def let_go(self) -> None:
        self._go_on.set()
        self._free.set()


@pytest.fixture
async def held() -> AsyncIterator[Held]:
    held = Held()
    yield held
    held.let_go()


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch, held: Held) -> AsyncIterator[Client]:
    monkeypatch.setattr("dogubako.transports.http.disconnect.STILL_HERE_SECONDS", 0.1)
    box = build(Sources(environ={}, env_file=None), packs=[ToolPack("held", [*held.tools, pause])])
    async with opened(HttpApp(box)) as client:
        yield client


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
async def test_a_silent_call_becomes_a_stream_with_signs_of_life(client: Client, held: Held, modern: bool) -> None:
    visit = Visit()
    body = messages.line(messages.request("tools/call", messages.call("wait", modern=modern))).encode()
    if modern:
        headers = messages.modern_headers("tools/call", "wait")
    else:
        headers = messages.legacy_headers(await client.open_session())
    visit.incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, visit, "POST", "/mcp", headers)
        await until(lambda: visit.body.count(_PING) >= 2, "there are two signs of life")
        held.let_go()

    assert (visit.status, visit.headers["content-type"]) == (200, "text/event-stream")
    assert [one["id"] for one in messages.events(visit.body)] == [1]
    assert visit.response["result"]["content"] == [{"type": "text", "text": "done"}]


async def test_a_call_that_fails_late_says_so_in_the_stream(client: Client) -> None:
    params = messages.call("hold", modern=True, options={"timeout": 300})
    body = messages.request("tools/call", params)
    visit = await client.post("/mcp", body, messages.modern_headers("tools/call", "hold"))

    assert visit.status == 200
    assert visit.response["result"]["_meta"]["code"] == "TIMEOUT"


async def test_a_slow_rest_call_is_answered_in_one_piece(client: Client, tmp_path: Path) -> None:
    call = {"name": "pause", "parameters": {"marker": str(tmp_path / "marker"), "seconds": 0.3}}
    visit = await client.post("/v1/tools/call", call)

    assert (visit.status, visit.json["result"]) == (200, "done")
    assert visit.json["executionTime"] >= 300
