"""Tools without a service share a bounded memory for their large answers."""

import asyncio
from contextvars import copy_context

import pytest

from dogubako import tool
from dogubako.contract.call import ToolCall
from dogubako.contract.errors import BusyError
from dogubako.contract.fair_queue import work_owner
from dogubako.contract.offload import running_attempt
from dogubako.engine.answer_memory import AnswerHold, AnswerMemory
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry

MEGABYTE = 1024 * 1024
LARGE = ("large", 0)


def _memory(most: int = 4 * MEGABYTE, seconds: float = 10) -> AnswerMemory:
    return AnswerMemory(most_bytes=most, max_wait_seconds=seconds)


async def test_a_tool_with_small_answers_never_waits() -> None:
    memory = _memory()
    memory.budget.held = 100 * MEGABYTE

    await asyncio.wait_for(AnswerHold(memory, ("small", 0), waits=True).enter(), 1)


async def test_a_tool_with_large_answers_waits_for_room() -> None:
    memory = _memory()
    memory.learn(LARGE, 3 * MEGABYTE)
    first, second = (AnswerHold(memory, LARGE, waits=True) for _ in range(2))
    await first.enter()
    waiting = asyncio.create_task(second.enter())
    await asyncio.sleep(0)
    assert not waiting.done()

    first.release()

    await asyncio.wait_for(waiting, 1)
    second.release()
    assert memory.budget.held == 0


async def test_waiting_for_room_is_bounded_by_time() -> None:
    memory = _memory(seconds=0.01)
    memory.learn(LARGE, 3 * MEGABYTE)
    first = AnswerHold(memory, LARGE, waits=True)
    await first.enter()

    with pytest.raises(BusyError, match="large answers"):
        await AnswerHold(memory, LARGE, waits=True).enter()
    first.release()
    assert memory.budget.held == 0


async def test_a_cancelled_wait_holds_nothing() -> None:
    memory = _memory()
    memory.learn(LARGE, 3 * MEGABYTE)
    first = AnswerHold(memory, LARGE, waits=True)
    await first.enter()
    waiting = asyncio.create_task(AnswerHold(memory, LARGE, waits=True).enter())
    await asyncio.sleep(0)
    first.release()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert memory.budget.held == 0


async def test_a_newcomer_has_its_turn_before_the_second_call_of_another() -> None:
    memory = _memory()
    memory.learn(LARGE, 3 * MEGABYTE)
    first = AnswerHold(memory, LARGE, waits=True)
    await first.enter()
    order: list[str] = []

    async def call(owner: str) -> None:
        hold = AnswerHold(memory, LARGE, waits=True)
        await hold.enter()
        order.append(owner)
        hold.release()

    def start(owner: str) -> "asyncio.Task[None]":
        context = copy_context()
        context.run(work_owner.set, owner)
        return asyncio.get_running_loop().create_task(call(owner), context=context)

    tasks = [start("greedy"), start("greedy"), start("greedy"), start("newcomer")]
    await asyncio.sleep(0)
    first.release()
    await asyncio.wait_for(asyncio.gather(*tasks), 1)

    assert order.index("newcomer") == 1


async def test_what_a_tool_costs_is_forgotten_after_smaller_answers() -> None:
    memory = _memory()
    memory.learn(LARGE, MEGABYTE)
    for _ in range(50):
        AnswerHold(memory, LARGE, waits=True).release()

    assert memory.expected(LARGE) == 0


@pytest.mark.slow
async def test_calls_that_came_together_do_not_hold_all_their_answers_at_once() -> None:
    returned: list[int] = []

    @tool
    async def large() -> str:
        """Return much."""
        returned.append(pipeline.executor.memory.budget.held)
        return "lorem ipsum " * 40_000

    registry = ToolRegistry()
    registry.register(large)
    pipeline = Pipeline(registry)
    pipeline.executor.memory = _memory(most=MEGABYTE, seconds=600)

    results = await asyncio.gather(*(pipeline.handle(ToolCall(name="large")) for _ in range(12)))

    assert {result.code for result in results} == {"OK"}
    assert max(returned) <= 2 * MEGABYTE
    assert pipeline.executor.memory.budget.held == 0
    assert running_attempt.get() is None


async def test_small_arguments_do_not_wait_for_the_answers_to_large_ones() -> None:
    memory = _memory()
    memory.hold(ToolCall(name="echo", parameters={"text": "x" * MEGABYTE})).weigh("x" * MEGABYTE)
    memory.budget.held = 100 * MEGABYTE

    await asyncio.wait_for(memory.hold(ToolCall(name="echo", parameters={"text": "x"})).enter(), 1)
