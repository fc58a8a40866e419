"""Run a tool once, for so long and no longer, even when it does not listen."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio
import structlog

log = structlog.get_logger("dogubako.engine")

# How long a cancelled tool may take to tidy up before we stop waiting for it.
GRACE_SECONDS = 1.0

ResultT = TypeVar("ResultT")

# Tools that swallowed their cancellation. They are kept here so that their end is seen and logged.
_stuck: set["asyncio.Task[Any]"] = set()


class TimedOut(Exception):  # noqa: N818 - a signal to the executor, which has the words for callers
    """The time was up."""


async def run_once(coroutine: Coroutine[Any, Any, ResultT], seconds: float, name: str) -> ResultT:
    """Await the tool in a task of its own, so that neither a timeout nor a cancellation has to wait for it.

    A scope around `await tool` cannot be left while the tool swallows its cancellation; a task can.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(coroutine, name=f"tool {name}")
    finished: asyncio.Future[None] = loop.create_future()

    def finish(_: object = None) -> None:
        if not finished.done():
            finished.set_result(None)

    def expire() -> None:
        task.cancel()
        timers.append(loop.call_later(GRACE_SECONDS, finish))

    task.add_done_callback(finish)
    timers = [loop.call_later(seconds, expire)]
    try:
        await finished
    except asyncio.CancelledError:
        task.cancel()
        await _let_tidy_up(task, name)
        raise
    finally:
        for timer in timers:
            timer.cancel()
    if not task.done():
        _leave_behind(task, name)
        raise TimedOut
    if task.cancelled():
        raise TimedOut
    return task.result()


async def _let_tidy_up(task: "asyncio.Task[Any]", name: str) -> None:
    with anyio.CancelScope(shield=True):
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
    if not task.done():
        _leave_behind(task, name)


def _leave_behind(task: "asyncio.Task[Any]", name: str) -> None:
    log.error("Tool ignores its cancellation", tool=name)
    _stuck.add(task)
    task.add_done_callback(_stuck.discard)
