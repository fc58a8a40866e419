"""A tool gets so long and no longer, even when it does not listen; a cancellation reaches what it waits for."""

import asyncio
import threading
from collections.abc import Mapping
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import structlog.testing

from dogubako import Context, Effect, tool
from dogubako.contract.conversation import InputAnswer, InputRequests, NullConversation
from dogubako.engine import attempt
from dogubako.tools import BaseTool, ElicitResult, ExecutionOptions, NoArgs, ToolCall

from .boxes import box_of

SOON = ExecutionOptions(timeout=30)


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "GRACE_SECONDS", 0.02)


@tool(effect=Effect.READ)
async def forever() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


async def test_a_tool_that_never_ends_is_stopped_and_the_text_says_after_how_long() -> None:
    result = await box_of(forever).call("forever", options=SOON)

    assert (result.code, result.content[0]["text"]) == ("TIMEOUT", "Execution timeout after 30ms")
    assert (result.meta or {})["retryable"] is True
    assert result.content[1]["text"] == "Try again, or ask for less at once."


async def test_a_tool_may_declare_its_own_time() -> None:
    @tool(timeout=25)
    async def impatient() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    assert (await box_of(impatient).call("impatient")).content[0]["text"] == "Execution timeout after 25ms"


async def test_the_deadline_cuts_a_longer_timeout_short(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where no time passes before the tool begins, all of the deadline is left for it.
    monkeypatch.setattr("dogubako.engine.executor.time", SimpleNamespace(monotonic=lambda: 1000.0))

    result = await box_of(forever).call("forever", options=ExecutionOptions(timeout=10_000, deadline=40))

    assert (result.code, result.content[0]["text"]) == ("TIMEOUT", "Execution timeout after 40ms")


async def test_a_deadline_that_is_over_before_the_tool_begins_is_no_negative_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A second passes with every look at the clock.
    monkeypatch.setattr("dogubako.engine.executor.time", SimpleNamespace(monotonic=map(float, count()).__next__))

    result = await box_of(forever).call("forever", options=ExecutionOptions(timeout=10_000, deadline=40))

    assert (result.code, result.content[0]["text"]) == ("TIMEOUT", "Execution timeout after 0ms")


async def test_a_timeout_is_logged_as_the_tools_own_trouble() -> None:
    with structlog.testing.capture_logs() as events:
        await box_of(forever).call("forever", options=SOON)

    assert [(event["event"], event["log_level"]) for event in events if "Error" in event["event"]] == [
        ("[forever] Error", "warning")
    ]


async def test_a_blocking_function_is_left_behind_in_its_thread() -> None:
    release = threading.Event()

    @tool
    def block() -> str:
        """Block a thread."""
        release.wait(20)
        return "late"

    box = box_of(block, forever)
    try:
        assert (await box.call("block", options=SOON)).code == "TIMEOUT"
        assert (await box.call("forever", options=SOON)).code == "TIMEOUT", "the next call is served"
    finally:
        release.set()


async def test_a_tool_that_swallows_its_cancellation_is_left_behind_and_logged(short_grace: None) -> None:
    ended = asyncio.Event()
    release = asyncio.Event()

    @tool
    async def deaf() -> str:
        """Do not listen."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "late"

    box = box_of(deaf)
    with structlog.testing.capture_logs() as events:
        result = await box.call("deaf", options=SOON)

    assert result.content[0]["text"] == "Execution timeout after 30ms"
    assert {"event": "Tool ignores its cancellation", "tool": "deaf", "log_level": "error"} in events
    release.set()
    await asyncio.wait_for(ended.wait(), 5)


async def test_a_cancelled_call_stops_what_the_tool_waits_for() -> None:
    waiting, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait until stopped."""
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    task = asyncio.create_task(box_of(wait).call("wait"))
    await asyncio.wait_for(waiting.wait(), 5)
    with structlog.testing.capture_logs() as events:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert stopped.is_set()
    assert [(event["event"], event["code"]) for event in events] == [("Tool completed", "CANCELLED")]


async def test_a_cancelled_call_does_not_wait_for_a_tool_that_does_not_listen(short_grace: None) -> None:
    waiting, release = asyncio.Event(), asyncio.Event()

    @tool
    async def deaf() -> str:
        """Do not listen."""
        waiting.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    task = asyncio.create_task(box_of(deaf).call("deaf"))
    await asyncio.wait_for(waiting.wait(), 5)
    with structlog.testing.capture_logs() as events:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
    release.set()

    assert "Tool ignores its cancellation" in [event["event"] for event in events]


async def test_a_cancelled_call_does_not_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pausing = asyncio.Event()

    async def pause(seconds: float) -> None:
        pausing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("dogubako.engine.executor.anyio.sleep", pause)
    options = ExecutionOptions(timeout=20, retry=2)
    task = asyncio.create_task(box_of(forever).call("forever", options=options))
    await asyncio.wait_for(pausing.wait(), 5)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


class Thinker(NullConversation):
    """A person who takes longer to answer than the tool may take to run."""

    def supports(self, capability: str) -> bool:
        return capability == "elicitation"

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        # That time passes is what is being tested.
        await asyncio.sleep(0.3)
        return {key: ElicitResult(action="accept", content={"answer": "yes"}) for key in requests}


@tool(timeout=200)
async def ask(context: Context[None]) -> str:
    """Ask, and go on."""
    await context.progress(1, 2)
    await context.log("info", "asking")
    answer = await context.ask("Sure?")
    return f"{answer.content['answer']} {context.supports('elicitation')}"


async def test_while_a_person_thinks_the_tools_time_stands_still() -> None:
    result = await box_of(ask).pipeline.handle(ToolCall(name="ask", conversation=Thinker()))

    assert result.value == "yes True"


async def test_a_person_does_not_think_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt, "PERSON_SECONDS", 0.02)

    result = await box_of(ask).pipeline.handle(ToolCall(name="ask", conversation=Thinker()))

    assert result.code == "TIMEOUT"


async def test_after_the_answer_the_rest_of_the_time_counts_again() -> None:
    @tool(timeout=200)
    async def ask_and_wait(context: Context[None]) -> str:
        """Ask, then hang."""
        await context.ask("Sure?")
        await asyncio.Event().wait()
        return "never"

    result = await box_of(ask_and_wait).pipeline.handle(ToolCall(name="ask_and_wait", conversation=Thinker()))

    assert result.content[0]["text"] == "Execution timeout after 200ms"


async def test_a_tool_that_does_not_say_that_it_talks_finds_nobody_to_talk_to() -> None:
    class Quiet(BaseTool[NoArgs]):
        """Ask although it did not say so."""

        name = "quiet"

        async def execute(self, args: NoArgs) -> Any:
            return await self.context.ask("Anybody?")

    result = await box_of(Quiet).pipeline.handle(ToolCall(name="quiet", conversation=Thinker()))

    assert result.code == "CAPABILITY_REQUIRED"


@pytest.mark.parametrize(
    ("effect", "idempotent", "retryable", "hint"),
    [
        pytest.param(Effect.READ, False, True, "Try again, or ask for less at once.", id="a read"),
        pytest.param(Effect.WRITE, True, True, "Try again, or ask for less at once.", id="a repeatable write"),
        pytest.param(
            Effect.WRITE, False, False, "It may have been done all the same: look first.", id="a write that may not"
        ),
    ],
)
async def test_only_what_may_be_repeated_is_advised_to_be(
    effect: Effect, idempotent: bool, retryable: bool, hint: str
) -> None:
    @tool(effect=effect, idempotent=idempotent)
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    result = await box_of(wait).call("wait", options=SOON)

    assert result.error is not None
    assert (result.code, result.error.retryable, result.error.hint) == ("TIMEOUT", retryable, hint)
