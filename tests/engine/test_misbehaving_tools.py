"""Whatever a tool does, the caller gets a clear answer and the server serves the next call."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import anyio
import pytest
import structlog.testing

from dogubako import Context, tool
from dogubako.app import Toolbox
from dogubako.contract.errors import NotFoundError
from dogubako.output import Json, NextPage, Text
from dogubako.testing import assert_mcp_tool_response
from dogubako.tools import FunctionTool

from .boxes import box_of


@tool
async def echo(text: str) -> str:
    """Say it back."""
    return text


def raising(error: BaseException) -> FunctionTool[..., Any]:
    @tool
    async def bad() -> str:
        """Misbehave."""
        raise error

    return bad


def returning(make: Callable[[], Any]) -> FunctionTool[..., Any]:
    @tool
    async def bad() -> Any:
        """Misbehave."""
        return make()

    return bad


async def serves_on(box: Toolbox) -> bool:
    return bool((await box.call("echo", {"text": "still here"})).value == "still here")


class Odd(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RuntimeError("private"), id="exception"),
        pytest.param(Odd("private"), id="BaseException"),
        pytest.param(SystemExit("private"), id="SystemExit"),
        pytest.param(KeyboardInterrupt("private"), id="KeyboardInterrupt"),
        pytest.param(GeneratorExit("private"), id="GeneratorExit"),
        pytest.param(asyncio.CancelledError("private"), id="CancelledError"),
        pytest.param(ExceptionGroup("private", [ValueError("a"), KeyError("b")]), id="ExceptionGroup"),
        pytest.param(BaseExceptionGroup("private", [SystemExit(1)]), id="a group of one SystemExit"),
        pytest.param(MemoryError("private"), id="MemoryError"),
        pytest.param(RecursionError("private"), id="RecursionError"),
        pytest.param(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "private"), id="bytes that are no text"),
        pytest.param(ValueError("private \ud800"), id="half a character in its text"),
    ],
)
@pytest.mark.parametrize("door", [pytest.param("async", id="async"), pytest.param("thread", id="in a thread")])
async def test_whatever_is_raised_reads_the_same(error: BaseException, door: str) -> None:
    @tool(name="bad")
    def blocking() -> str:
        """Misbehave in a thread."""
        raise error

    box = box_of(raising(error) if door == "async" else blocking, echo)

    result = await asyncio.wait_for(box.call("bad"), 10)

    assert (result.code, result.content[0]["text"]) == ("TOOL_EXECUTION_ERROR", "Tool execution failed: bad")
    assert "private" not in str(result.to_mcp())
    assert (result.meta or {})["errorId"]
    assert await serves_on(box)


def circle() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    return loop


def numbers() -> Iterator[int]:
    yield 1


async def letters() -> AsyncIterator[str]:
    yield "a"


def failing_page() -> Json:
    def next_call(shown: int) -> str:
        raise RuntimeError("no next")

    return Json(data=["word"] * 90_000, page=NextPage("", next_call))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(object, id="an object"),
        pytest.param(circle, id="a circle"),
        pytest.param(numbers, id="a generator"),
        pytest.param(letters, id="an asynchronous generator"),
        pytest.param(lambda: echo, id="a tool"),
        pytest.param(lambda: {"error": ValueError("private")}, id="an exception in data"),
        pytest.param(lambda: Text(text=5), id="a text that is none"),  # type: ignore[arg-type]
        pytest.param(failing_page, id="a page that cannot go on"),
    ],
)
async def test_rubbish_is_a_failure_of_the_tool(make: Callable[[], Any]) -> None:
    box = box_of(returning(make), echo)

    result = await box.call("bad")

    assert result.code == "TOOL_EXECUTION_ERROR"
    assert_mcp_tool_response(result.to_mcp())
    assert await serves_on(box)


@pytest.mark.parametrize(
    ("make", "data"),
    [
        pytest.param(lambda: None, None, id="nothing"),
        pytest.param(lambda: {"n": float("nan")}, {"n": None}, id="NaN"),
        pytest.param(lambda: b"\x00\xff", "AP8=", id="bytes"),
        pytest.param(lambda: {"t": "\ud800"}, {"t": "\ufffd"}, id="half a character"),
        pytest.param(lambda: {1}, [1], id="a set"),
        pytest.param(lambda: [], [], id="an empty list"),
    ],
)
async def test_what_can_be_said_in_json_is_said(make: Callable[[], Any], data: Any) -> None:
    assert (await box_of(returning(make)).call("bad")).value["data"] == data


async def test_one_failure_in_a_task_group_is_that_failure() -> None:
    @tool
    async def gather() -> str:
        """Look in two places."""

        async def miss() -> None:
            raise NotFoundError("Issue 8 not found", hint="list_issues has the numbers.")

        async with anyio.create_task_group() as group:
            group.start_soon(miss)
            group.start_soon(anyio.sleep_forever)
        return "found"

    result = await box_of(gather).call("gather")

    assert (result.code, result.content[0]["text"]) == ("NOT_FOUND", "Issue 8 not found")


async def test_a_tool_that_cancels_itself_is_a_timeout_and_not_the_end() -> None:
    @tool
    async def suicidal() -> str:
        """Cancel oneself."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()
        return "never"

    box = box_of(suicidal, echo)

    assert (await asyncio.wait_for(box.call("suicidal"), 5)).is_error
    assert await serves_on(box)


async def test_the_stack_is_in_the_log_with_the_same_id_as_in_the_answer() -> None:
    with structlog.testing.capture_logs() as events:
        result = await box_of(raising(RuntimeError("private"))).call("bad")

    (event,) = [event for event in events if event["event"] == "[bad] Error"]
    assert event["error_id"] == (result.meta or {})["errorId"]
    assert str(event["exc_info"]) == "private"
    assert event["exc_info"].__traceback__ is not None


async def test_many_failures_at_once_leave_nothing_behind() -> None:
    box = box_of(raising(Odd("private")), echo)

    results = await asyncio.gather(*(box.call("bad") for _ in range(50)))

    assert {result.code for result in results} == {"TOOL_EXECUTION_ERROR"}
    assert len({(result.meta or {})["errorId"] for result in results}) == 50
    assert await serves_on(box)


@pytest.mark.parametrize("branches", [pytest.param(1, id="itself"), pytest.param(2, id="itself twice")])
async def test_tools_that_call_each_other_without_end_are_stopped(branches: int) -> None:
    runs = 0

    @tool(effect="read")
    async def ping(context: Context) -> Any:
        """Call the other one."""
        nonlocal runs
        runs += 1
        if runs > 2_000:
            raise RuntimeError("nobody stopped it")
        answers = [await context.tools.call("pong", {}) for _ in range(branches)]
        return answers[0]

    @tool(effect="read")
    async def pong(context: Context) -> Any:
        """Call the other one back."""
        return await context.tools.call("ping", {})

    box = box_of(ping, pong, echo)
    result = await box.call("ping", {})

    assert result.error is not None and result.error.message == "Tools call each other more than 8 levels deep."
    assert result.error.code == "TOOL_EXECUTION_ERROR" and not result.error.retryable
    assert runs < 100
    assert await serves_on(box)


async def test_tools_may_call_each_other_a_few_levels_deep() -> None:
    @tool(effect="read")
    async def stairs(context: Context, left: int) -> Any:
        """Go down."""
        return await context.tools.call("stairs", {"left": left - 1}) if left else "the cellar"

    assert (await box_of(stairs).call("stairs", {"left": 8})).value == "the cellar"


@pytest.mark.parametrize("at_once", [pytest.param(True, id="at once"), pytest.param(False, id="one after the other")])
async def test_tools_that_call_very_many_others_are_stopped(at_once: bool) -> None:
    runs = 0

    @tool(effect="read")
    async def spread(context: Context, level: int) -> str:
        """Call itself many times."""
        nonlocal runs
        runs += 1
        if runs > 2_000:
            raise RuntimeError("nobody stopped it")
        if level < 4:
            call = partial(context.tools.call, "spread", {"level": level + 1})
            many = range(12)
            answers = await asyncio.gather(*(call() for _ in many)) if at_once else [await call() for _ in many]
            failed = [answer.error for answer in answers if answer.error is not None]
            if failed:
                raise failed[0]
        return "done"

    box = box_of(spread, echo)
    result = await box.call("spread", {"level": 0})

    assert result.error is not None
    assert result.error.message == "Tools made more than 1,000 calls of other tools within one call."
    assert result.error.code == "TOOL_EXECUTION_ERROR" and not result.error.retryable
    assert runs == 1_001
    assert await serves_on(box)


async def test_every_call_of_a_caller_may_call_many_tools() -> None:
    @tool(effect="read")
    async def batch(context: Context, size: int) -> int:
        """Call another tool often."""
        answers = [await context.tools.call("echo", {"text": "one"}) for _ in range(size)]
        return sum(not answer.is_error for answer in answers)

    box = box_of(batch, tool(effect="read")(echo.function))
    assert [(await box.call("batch", {"size": 600})).data for _ in range(2)] == [600, 600]
    assert (await box.call("batch", {"size": 1_001})).is_error
