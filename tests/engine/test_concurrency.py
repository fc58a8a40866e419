"""A bulkhead protects a service: so many calls of one pack run at once, and the next ones wait for a bounded time."""

import asyncio
import re
from typing import Any

import pytest

from dogubako import Pack, tool
from dogubako.app import Toolbox
from dogubako.contract.call import NO_OPTIONS
from dogubako.tools import ExecutionOptions, FunctionTool, ToolResult

from .boxes import box_of


class Gate:
    """A tool that stays inside until it is let out."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.ran = 0
        self.release = asyncio.Event()
        self.changed = asyncio.Condition()

    def tool(self, name: str) -> FunctionTool[..., Any]:
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

    def __init__(self, name: str, made: FunctionTool[..., Any], *, max_wait_seconds: float = 60.0) -> None:
        self.name = name
        self.tools = (made,)
        self.max_wait_seconds = max_wait_seconds


async def settle() -> None:
    """Let every task run until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


def start(
    box: Toolbox, name: str, times: int, options: ExecutionOptions = NO_OPTIONS
) -> list["asyncio.Task[ToolResult]"]:
    return [asyncio.create_task(box.call(name, options=options)) for _ in range(times)]


async def test_however_many_wait_they_all_run_when_it_is_their_turn() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"))])
    tasks = start(box, "stay", 300)
    await settle()
    assert gate.inside == 2

    gate.release.set()

    assert [(await task).value for task in tasks] == ["out"] * 300
    assert (gate.most, gate.ran) == (2, 300)


async def test_tools_without_a_service_have_no_bound() -> None:
    gate = Gate()
    box = box_of(gate.tool("stay"))
    tasks = start(box, "stay", 300)
    await settle()
    inside = gate.inside

    gate.release.set()

    assert inside == 300
    assert {(await task).code for task in tasks} == {"OK"}


async def test_a_call_that_waited_as_long_as_its_pack_allows_hears_busy() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"), max_wait_seconds=0.05)])
    tasks = start(box, "stay", 2)
    await settle()

    refused = await asyncio.wait_for(box.call("stay"), 60)

    assert (refused.code, refused.content[0]["text"]) == ("BUSY", "Too many calls are waiting for narrow.")
    assert (refused.meta or {})["retryable"] is True and (refused.meta or {})["retryAfter"] == 5
    gate.release.set()
    assert [(await task).value for task in tasks] == ["out"] * 2
    assert gate.ran == 2


async def test_nobody_waits_longer_than_the_deadline_of_the_call() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"), max_wait_seconds=3600)])
    tasks = start(box, "stay", 2)
    await settle()

    refused = await asyncio.wait_for(box.call("stay", options=ExecutionOptions(deadline=50)), 60)

    assert refused.code == "BUSY"
    gate.release.set()
    await asyncio.gather(*tasks)


async def test_waiting_takes_its_time_from_the_call() -> None:
    gate = Gate()
    box = box_of(packs=[Narrow("narrow", gate.tool("stay"), max_wait_seconds=3600)])
    running = start(box, "stay", 2, ExecutionOptions(timeout=500))
    await settle()

    third = await asyncio.wait_for(box.call("stay", options=ExecutionOptions(deadline=4_000, timeout=60_000)), 60)

    assert third.code == "TIMEOUT"
    left = int(re.sub(r"\D", "", third.content[0]["text"]))
    assert left < 4_000, "it waited for the two before it, and had the rest of its time"
    assert {(await task).code for task in running} == {"TIMEOUT"}


async def test_waiting_calls_run_in_the_order_in_which_they_came() -> None:
    order: list[int] = []
    turn = asyncio.Event()

    @tool(name="line_up")
    async def line_up(number: int) -> str:
        """Say who is there."""
        await turn.wait()
        order.append(number)
        return "done"

    class OneAtATime(Narrow):
        max_running = 1

    box = box_of(packs=[OneAtATime("narrow", line_up)])
    tasks = []
    for number in range(20):
        tasks.append(asyncio.create_task(box.call("line_up", {"number": number})))
        await settle()
    turn.set()
    await asyncio.gather(*tasks)

    assert order == list(range(20))


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
