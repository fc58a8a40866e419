"""A tool runs its first step at once. What is remembered for the next call is dropped when it is no longer true."""

import asyncio
from typing import Any

from dogubako import Effect, tool
from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import AuthorizationError
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.policy import Policy
from dogubako.engine.registry import ToolRegistry
from dogubako.gate.scopes import CallerScopes
from dogubako.tools import BaseTool, ToolArgs
from dogubako.transports.http.disconnect import first_step

from .boxes import box_of

READER = Caller(name="ann", id="ann", scopes=frozenset({"read"}))


@tool(effect=Effect.READ)
async def look() -> str:
    """Look."""
    return "seen"


@tool(effect=Effect.READ)
async def wait() -> str:
    """Wait."""
    await asyncio.sleep(0)
    return "waited"


class DiveArgs(ToolArgs):
    depth: int


class Dive(BaseTool[DiveArgs]):
    """Call itself."""

    name = "dive"
    effect = Effect.READ

    async def execute(self, args: DiveArgs) -> str:
        if args.depth:
            return (await self.context.tools.call("dive", {"depth": args.depth - 1})).text
        return "the ground"


def _pipeline(*tools: Any, **policy: Any) -> Pipeline:
    registry = ToolRegistry()
    for one in tools:
        registry.register(one)
    return Pipeline(registry, policy=Policy(**policy))


async def test_a_tool_that_waits_for_nothing_is_answered_without_waiting() -> None:
    begun = first_step(_pipeline(look).handle(ToolCall(name="look")))

    assert begun.value.text == "seen"  # type: ignore[union-attr]


async def test_a_tool_that_waited_starts_in_its_task_from_then_on() -> None:
    pipeline = _pipeline(wait, look)

    assert (await pipeline.handle(ToolCall(name="wait"))).text == "waited"
    assert (await pipeline.handle(ToolCall(name="wait"))).text == "waited"
    assert (await pipeline.handle(ToolCall(name="look"))).text == "seen"
    assert pipeline.executor.waiting == {"wait"}


async def test_tools_that_call_each_other_as_deep_as_they_may_reach_the_ground() -> None:
    box = box_of(Dive)

    assert (await box.call("dive", {"depth": 8})).text == "the ground"
    assert "more than 8 levels deep" in (await box.call("dive", {"depth": 150})).text


async def test_a_tool_that_is_switched_off_is_refused_at_once() -> None:
    pipeline = _pipeline(look)
    call = ToolCall(name="look", caller=READER)
    assert (await pipeline.handle(call)).code == "OK"

    pipeline.registry.disable("look")
    assert (await pipeline.handle(call)).code == "TOOL_DISABLED"
    pipeline.registry.enable("look")
    assert (await pipeline.handle(call)).code == "OK"


async def test_the_same_name_with_fewer_scopes_is_another_caller() -> None:
    pipeline = _pipeline(look, scopes=CallerScopes())
    assert (await pipeline.handle(ToolCall(name="look", caller=READER))).code == "OK"

    stranger = Caller(name="ann", id="ann", scopes=frozenset())
    assert (await pipeline.handle(ToolCall(name="look", caller=stranger))).code == AuthorizationError.code


async def test_a_tool_that_is_registered_again_is_judged_again() -> None:
    pipeline = _pipeline(look, read_only=True)
    assert (await pipeline.handle(ToolCall(name="look"))).code == "OK"

    @tool(effect=Effect.WRITE, name="look")
    async def change() -> str:
        """Change."""
        return "changed"

    pipeline.registry.unregister("look")
    pipeline.registry.register(change)
    assert (await pipeline.handle(ToolCall(name="look"))).code == "READ_ONLY"


async def test_callers_that_bring_credentials_are_not_remembered() -> None:
    pipeline = _pipeline(look)
    brought = Caller(name="ann", credentials=(("n8n", Credential(key="a-secret-key")),))

    assert (await pipeline.handle(ToolCall(name="look", caller=brought))).code == "OK"
    assert pipeline.policy._shown == {}


async def test_what_is_remembered_has_a_bound() -> None:
    pipeline = _pipeline(look)

    for number in range(2_500):
        await pipeline.handle(ToolCall(name="look", caller=Caller(name=f"caller {number}")))

    assert len(pipeline.policy._shown) <= 1_000
