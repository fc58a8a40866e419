"""Calls that take long: the line stays open, with a sign of life now and then, and the answer is the same."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http import HttpDoor

from . import messages
from .asgi import Client, opened
from .processes import HERE, WORKBENCH


@pytest.fixture
async def client(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setattr("dogubako.transports.departure.STILL_HERE_SECONDS", 0.1)
    box = build(Sources(overrides={"tools": (WORKBENCH, HERE / "odd_tools.py")}, environ={}, env_file=None))
    async with opened(HttpDoor(box)) as client:
        yield client


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
async def test_a_silent_call_becomes_a_stream_with_signs_of_life(client: Client, modern: bool, tmp_path: Path) -> None:
    arguments = {"marker": str(tmp_path / "marker"), "seconds": 0.5}
    body = messages.request("tools/call", messages.call("pause", arguments, modern=modern))
    if modern:
        headers = messages.modern_headers("tools/call", "pause")
    else:
        headers = messages.legacy_headers(await client.open_session())
    visit = await client.post("/mcp", body, headers)

    assert (visit.status, visit.headers["content-type"]) == (200, "text/event-stream")
    assert visit.body.count(b": ping\r\n\r\n") >= 2
    assert [one["id"] for one in messages.events(visit.body)] == [1]
    assert visit.response["result"]["content"] == [{"type": "text", "text": "done"}]


async def test_a_call_that_fails_late_says_so_in_the_stream(client: Client) -> None:
    params = messages.call("block", {"seconds": 1}, modern=True, options={"timeout": 300})
    body = messages.request("tools/call", params)
    visit = await client.post("/mcp", body, messages.modern_headers("tools/call", "block"))

    assert visit.status == 200
    assert visit.response["result"]["_meta"]["code"] == "TIMEOUT"


async def test_a_slow_rest_call_is_answered_in_one_piece(client: Client, tmp_path: Path) -> None:
    call = {"name": "pause", "parameters": {"marker": str(tmp_path / "marker"), "seconds": 0.3}}
    visit = await client.post("/v1/tools/call", call)

    assert (visit.status, visit.json["result"]) == (200, "done")
    assert visit.json["executionTime"] >= 300
