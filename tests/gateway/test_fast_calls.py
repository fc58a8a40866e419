"""Calls of servers' tools take the fast path when their client hears nothing: no progress, no log, no questions."""

import asyncio
from pathlib import Path
from typing import Any

# Loaded here: it sets variables for a moment, and the search index would load it beside the next test.
import numpy  # noqa: F401
import pytest

from dogubako.contract.call import ToolResult
from dogubako.contract.conversation import INPUT_REQUIRED, URL_ELICITATION, NullConversation
from dogubako.testing import client
from dogubako.transports.http.app import HttpApp
from dogubako.transports.mcp.fast_path import FastPath
from dogubako.transports.mcp.handover import Handover
from tests.doors import messages
from tests.doors.asgi import opened
from tests.doors.processes import WORKBENCH

from .boxes import Fleet, eventually, offering, tool

_PREFIX = "io.modelcontextprotocol/"


def call(capabilities: dict[str, Any], **meta: Any) -> dict[str, Any]:
    envelope = {
        f"{_PREFIX}protocolVersion": "2026-07-28",
        f"{_PREFIX}clientInfo": {"name": "test", "version": "1"},
        f"{_PREFIX}clientCapabilities": capabilities,
        **meta,
    }
    params = {"name": "ask", "arguments": {}, "_meta": envelope}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("message", "is_simple"),
    [
        pytest.param(call({}), True, id="hears nothing"),
        pytest.param(call({"elicitation": {}}), False, id="answers questions"),
        pytest.param(call({"sampling": {}}), False, id="has a model"),
        pytest.param(call({"roots": {}}), False, id="has folders"),
        pytest.param(call({}, progressToken=7), False, id="takes progress"),
        pytest.param(call({}, **{f"{_PREFIX}logLevel": "info"}), False, id="takes log lines"),
    ],
)
async def test_a_tool_of_another_server_is_simple_for_a_client_that_hears_nothing(
    message: dict[str, Any], is_simple: bool
) -> None:
    async with client(Path(WORKBENCH)) as tools:
        tools.box.registry.get("ask").implementation.foreign = True
        assert (FastPath(tools.box).match(message, modern=True) is not None) == is_simple


@pytest.mark.parametrize(
    ("message", "capabilities"),
    [
        pytest.param(call({}), None, id="hears nothing"),
        pytest.param(call({"elicitation": {}}), {"elicitation": {}}, id="answers questions"),
        pytest.param(call({}, progressToken=7), {}, id="takes progress"),
        pytest.param(call({}, **{f"{_PREFIX}logLevel": "info"}), {}, id="takes log lines"),
    ],
)
async def test_where_calls_can_be_handed_over_those_of_all_clients_are_simple(
    message: dict[str, Any], capabilities: dict[str, Any] | None
) -> None:
    async with client(Path(WORKBENCH)) as tools:
        tools.box.registry.get("ask").implementation.foreign = True
        found = FastPath(tools.box).match(message, modern=True, hands_over=True)

    assert found is not None
    assert found.capabilities == capabilities


@pytest.mark.parametrize("declared", [None, {}, {"elicitation": {}}], ids=str)
async def test_an_older_client_is_simple_if_it_is_known_what_it_declared(declared: dict[str, Any] | None) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}
    async with client(Path(WORKBENCH)) as tools:
        tools.box.registry.get("ask").implementation.foreign = True
        found = FastPath(tools.box).match(message, modern=False, hands_over=True, declared=declared)

    assert (found is None) is (declared is None)


class Heard(NullConversation):
    """A client that hears progress."""

    def __init__(self) -> None:
        self.progressed: list[float] = []

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progressed.append(done)


async def test_a_call_is_handed_over_once_and_its_result_goes_to_whoever_adopts_it() -> None:
    handed: list[int] = []

    async def hand_over() -> None:
        handed.append(1)

    handover, heard = Handover({}, hand_over, modern=True), Heard()
    talking = [asyncio.create_task(handover.progress(done, None, None)) for done in (1.0, 2.0)]
    await asyncio.sleep(0)
    adopting = asyncio.create_task(handover.adopt(heard))
    await asyncio.gather(*talking)
    handover.finish(ToolResult(content=({"type": "text", "text": "done"},)))

    assert (await adopting).content[0]["text"] == "done"
    assert (handed, heard.progressed) == ([1], [1.0, 2.0])


async def test_who_stops_waiting_for_a_call_that_was_handed_over_cancels_it() -> None:
    async def hand_over() -> None:
        return None

    cancelled: list[int] = []
    handover = Handover({}, hand_over, modern=True)
    handover.cancel = lambda: cancelled.append(1)
    talking = asyncio.create_task(handover.progress(1.0, None, None))
    await asyncio.sleep(0)
    adopting = asyncio.create_task(handover.adopt(Heard()))
    await talking
    adopting.cancel()
    await asyncio.wait({adopting})

    assert cancelled == [1]


DECLARED: dict[str, Any] = {"elicitation": {"url": {}}, "sampling": {}}


@pytest.mark.parametrize(
    ("capabilities", "supported"),
    [
        ({}, {INPUT_REQUIRED}),
        (DECLARED, {INPUT_REQUIRED, URL_ELICITATION, "sampling"}),
        ({"elicitation": {}}, {INPUT_REQUIRED, "elicitation"}),
        ({"elicitation": {"form": {}, "url": {}}}, {INPUT_REQUIRED, "elicitation", URL_ELICITATION}),
    ],
    ids=["nothing", "pages", "forms", "both"],
)
def test_before_a_handover_the_tool_knows_what_its_client_can_do(
    capabilities: dict[str, Any], supported: set[str]
) -> None:
    async def hand_over() -> None:
        return None

    handover = Handover(capabilities, hand_over, modern=True)
    asked = ("elicitation", URL_ELICITATION, "sampling", "roots", INPUT_REQUIRED)

    assert {one for one in asked if handover.supports(one)} == supported


async def test_a_silent_call_over_http_never_reaches_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Fleet(lists={"one": offering(tool("echo"))}).box(tmp_path, {"one": {"pinning": "off"}})
    door = HttpApp(box)

    async def refused(*words: Any) -> None:
        raise AssertionError("it went the long way")

    async with opened(door) as web:
        await eventually(lambda: bool(box.servers.packs["one"].served))
        monkeypatch.setattr(door.mcp.manager, "handle_request", refused)
        asked = messages.request("tools/call", messages.call("echo", modern=True, capabilities={"elicitation": {}}))
        visit = await web.post("/mcp", asked, messages.modern_headers("tools/call", "echo"))

    assert visit.response["result"]["content"][0]["text"] == "one: echo"
    assert door.mcp.fast_path.taken == 1


async def test_a_silent_call_of_a_session_never_reaches_the_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Fleet(lists={"one": offering(tool("echo"))}).box(tmp_path, {"one": {"pinning": "off"}})
    door = HttpApp(box)

    async def refused(*words: Any) -> None:
        raise AssertionError("it went the long way")

    async with opened(door) as web:
        await eventually(lambda: bool(box.servers.packs["one"].served))
        session = await web.open_session({"elicitation": {}})
        monkeypatch.setattr(door.mcp.manager, "handle_request", refused)
        asked = messages.request("tools/call", messages.call("echo", modern=False))
        visit = await web.post("/mcp", asked, messages.legacy_headers(session))

    assert visit.response["result"]["content"][0]["text"] == "one: echo"
    assert visit.headers["mcp-session-id"] == session
    assert door.mcp.fast_path.taken == 1


async def test_a_tool_of_our_own_that_talks_is_never_simple() -> None:
    async with client(Path(WORKBENCH)) as tools:
        assert FastPath(tools.box).match(call({}), modern=True) is None
