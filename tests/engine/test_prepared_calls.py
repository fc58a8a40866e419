"""Plain calls that begin outside of a task: observed, waited for, taken when they have ended, and timed out."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from dogubako import Effect, tool
from dogubako.contract.call import CallObserver, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.call_steps import CallStep, call_steps
from dogubako.engine.events import CallBatches, EndedCall
from dogubako.engine.executor import ExecutionLimits, ToolExecutor
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.prepared import BegunCall
from dogubako.engine.registry import ToolRegistry
from dogubako.output import Json


@tool(effect=Effect.READ)
async def look() -> str:
    """Look."""
    return "seen"


@tool(effect=Effect.READ)
async def wait() -> str:
    """Wait."""
    await asyncio.sleep(0)
    return "waited"


@tool(effect=Effect.READ)
async def stay() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


def _asked() -> None:
    steps = call_steps.get()
    if steps is not None:
        steps.append(CallStep("request", "service", "GET", 0.0, 1.0, 200))


@tool(effect=Effect.READ)
async def ask_service() -> Json:
    """Ask a service that answers at once, with what never changes."""
    _asked()
    return Json(data={"a": 1}, cacheable=True)


@tool(effect=Effect.READ)
async def ask_slow_service() -> Json:
    """Ask a service that takes its time, with what never changes."""
    _asked()
    await asyncio.sleep(0)
    return Json(data={"a": 1}, cacheable=True)


@tool(effect=Effect.READ)
async def give_up() -> str:
    """Cancel the own task."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "never"


class Started(CallObserver):
    """Remembers which calls started and ended."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def started(self, call: ToolCall, tool: Any) -> None:
        self.heard.append(f"{call.name} started")

    def ended(self, call: ToolCall, end: Any) -> None:
        self.heard.append(f"{call.name} {end.code}")


def _pipeline(*observers: CallObserver, **limits: int) -> Pipeline:
    registry = ToolRegistry()
    for one in (look, wait, stay, ask_service, ask_slow_service, give_up):
        registry.register(one)
    executor = ToolExecutor(limits=ExecutionLimits(**limits))
    return Pipeline(registry, executor=executor, observers=observers)


async def test_a_plain_call_is_observed_from_its_start_to_its_end() -> None:
    observer = Started()
    pipeline = _pipeline(observer)

    assert isinstance(pipeline.begin(ToolCall(name="look")), ToolResult)
    assert (await pipeline.handle(ToolCall(name="wait"))).text == "waited"
    assert observer.heard == ["look started", "look OK", "wait started", "wait OK"]


async def test_a_call_that_waits_is_taken_when_it_has_ended() -> None:
    pipeline, ended = _pipeline(), asyncio.Event()
    batches = CallBatches()
    pipeline.observers.add(batches)
    begun = pipeline.begin(ToolCall(name="wait"))
    assert isinstance(begun, BegunCall) and begun.when_ended(ended.set)
    await asyncio.wait_for(ended.wait(), 60)
    result = begun.take()

    assert result is not None and result.text == "waited"


async def test_a_call_with_bad_arguments_has_its_answer_in_the_outcome() -> None:
    begun = _pipeline().begin(ToolCall(name="look", parameters={"where": "there"}))

    assert isinstance(begun, BegunCall) and not begun.when_ended(lambda: None) and begun.take() is None
    assert (await begun.outcome()).code == "VALIDATION_ERROR"


async def test_a_plain_call_that_takes_too_long_is_timed_out() -> None:
    assert (await _pipeline(timeout=1).handle(ToolCall(name="stay"))).code == "TIMEOUT"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(ToolCall(name="look", options=ExecutionOptions(retry=1)), id="options"),
        pytest.param(ToolCall(name="look", version="1.0.0"), id="a version"),
        pytest.param(ToolCall(name="look", task="a task"), id="a task"),
        pytest.param(ToolCall(name="look", via="call_tool"), id="passed on"),
        pytest.param(ToolCall(name="nobody"), id="no such tool"),
    ],
)
async def test_calls_that_are_not_plain_are_not_begun(call: ToolCall) -> None:
    pipeline = _pipeline()

    assert pipeline.begin(call) is None


@pytest.mark.parametrize("name", ["ask_service", "ask_slow_service"])
@pytest.mark.parametrize("taken", [True, False])
async def test_requests_of_a_plain_call_are_left_for_who_watches(name: str, taken: bool) -> None:
    pipeline, batches = _pipeline(), CallBatches()
    seen, arrived = list[list[str]](), asyncio.Event()

    def listen(batch: Sequence[EndedCall]) -> None:
        seen.extend([step.kind for step in one.steps] for one in batch)
        arrived.set()

    batches.subscribe(listen)
    pipeline.observers.add(batches)
    begun = pipeline.begin(ToolCall(name=name))
    if isinstance(begun, BegunCall) and taken:
        ended = asyncio.Event()
        assert begun.when_ended(ended.set)
        await asyncio.wait_for(ended.wait(), 60)
        result = begun.take()
    else:
        result = await begun.outcome() if isinstance(begun, BegunCall) else begun
    await asyncio.wait_for(arrived.wait(), 60)

    assert result is not None and result.code == "OK" and result.cacheable
    assert seen == [["request"]]


async def test_a_tool_that_cancels_itself_is_an_error_like_any_other() -> None:
    pipeline = _pipeline()
    codes = [(await pipeline.handle(ToolCall(name="give_up"))).code for _ in range(2)]

    assert codes == ["TOOL_EXECUTION_ERROR"] * 2
