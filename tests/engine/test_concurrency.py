"""So much of one pack at once, so much waiting, and the next one hears at once that there is no room."""

import asyncio
from typing import Any

import pytest

from dogubako import FunctionTool, Pack, ToolResult, tool
from dogubako.app import Toolbox

from .boxes import box_of


class Gate:
    """A tool that stays inside until it is let out."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.ran = 0
        self.release = asyncio.Event()
        self.changed = asyncio.Condition()

    def tool(self, name: str) -> FunctionTool:
        @tool(name=name)
        async def stay() -> str:
            """Stay."""
            self.inside += 1
            self.ran += 1
            self.most = max(self.most, self.inside)
            try:
                await self.release.wait()
            finally:
                self.inside -= 1
            return "out"

        return stay


class Narrow(Pack[Any, None]):
    max_running = 2
    max_waiting = 1

    def __init__(self, name: str, made: FunctionTool) -> None:
        self.name = name
        self.tools = (made,)


async def settle() -> None:
    """Let every task run until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


def start(box: Toolbox, name: str, times: int) -> list["asyncio.Task[ToolResult]"]:
    return [asyncio.create_task(box.call(name)) for _ in range(times)]


async def test_some_run_one_waits_and_the_next_hears_busy_at_once() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"))])
    tasks = start(box, "stay", 3)
    await settle()
    assert gate.inside == 2

    refused = await asyncio.wait_for(box.call("stay"), 5)

    assert (refused.code, refused.content[0]["text"]) == ("BUSY", "Too many calls are waiting for narrow.")
    assert (refused.meta or {})["retryable"] is True
    gate.release.set()
    assert [(await task).value for task in tasks] == ["out"] * 3
    assert (gate.most, gate.ran) == (2, 3)


async def test_a_full_pack_does_not_hold_up_another() -> None:
    gate, other = Gate(), Gate()
    other.release.set()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay")), Narrow("free", other.tool("pass_by"))])
    tasks = start(box, "stay", 3)
    await settle()

    assert (await asyncio.wait_for(box.call("pass_by"), 5)).value == "out"

    gate.release.set()
    await asyncio.gather(*tasks)


async def test_whoever_stops_waiting_gives_the_place_back() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"))])
    running = start(box, "stay", 2)
    await settle()
    (waiting,) = start(box, "stay", 1)
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    (second,) = start(box, "stay", 1)
    await settle()
    gate.release.set()

    assert [(await task).value for task in [*running, second]] == ["out"] * 3


async def test_a_failed_or_cancelled_call_leaves_its_slot() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"))])
    for _ in range(5):
        (running,) = start(box, "stay", 1)
        await settle()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    gate.release.set()

    assert (await asyncio.wait_for(box.call("stay"), 5)).value == "out"


async def test_a_call_that_is_not_allowed_takes_no_place() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"))])
    tasks = start(box, "stay", 3)
    await settle()

    assert (await box.call("stay", {"wrong": 1})).code == "VALIDATION_ERROR"

    gate.release.set()
    await asyncio.gather(*tasks)
