"""Run a tool once, for so long and no longer, even when it does not listen."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

import anyio
import structlog

from dogubako.contract.conversation import ClientLogLevel, Conversation, InputAnswer, InputRequests
from dogubako.engine.alarm import Alarm, set_alarm

log = structlog.get_logger("dogubako.engine")

# How long a cancelled tool may take to tidy up before we stop waiting for it.
GRACE_SECONDS: Final = 1.0
# How long a person may think about a question. The tool's own time stands still meanwhile.
PERSON_SECONDS: Final = 600.0

ResultT = TypeVar("ResultT")

# Tools that swallowed their cancellation. They are kept here so that their end is seen and logged.
_stuck: set["asyncio.Task[Any]"] = set()


class TimedOut(Exception):  # noqa: N818 - a signal to the executor, which has the words for callers
    """The time was up."""


class Attempt:
    """One run of a tool, in a task of its own, so that neither a timeout nor a cancellation has to wait for it.

    A scope around `await tool` cannot be left while the tool swallows its cancellation; a task can.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._left = seconds
        self._name = name
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._alarm: Alarm | None = None

    async def run(self, coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
        """The tool's result, or TimedOut."""
        task = self._loop.create_task(coroutine, name=f"tool {self._name}")
        self._task = task
        task.add_done_callback(self._finish)
        self._arm(self._left)
        try:
            await self._finished
        except asyncio.CancelledError:
            task.cancel()
            await self._let_tidy_up(task)
            raise
        finally:
            self._disarm()
        if not task.done():
            self._leave_behind(task)
            raise TimedOut
        if task.cancelled():
            raise TimedOut
        return task.result()

    def patient(self, conversation: Conversation) -> Conversation:
        """The same conversation; while a person is being asked, the tool's time stands still."""
        return _Patient(conversation, self)

    def pause(self) -> None:
        self._left -= self._loop.time() - self._armed_at
        self._arm(PERSON_SECONDS)

    def go_on(self) -> None:
        self._arm(max(self._left, 0))

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._armed_at = self._loop.time()
        self._alarm = set_alarm(seconds, self._expire)

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _expire(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._alarm = set_alarm(GRACE_SECONDS, self._finish)

    def _finish(self, _: object = None) -> None:
        if not self._finished.done():
            self._finished.set_result(None)

    async def _let_tidy_up(self, task: "asyncio.Task[Any]") -> None:
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if not task.done():
            self._leave_behind(task)

    def _leave_behind(self, task: "asyncio.Task[Any]") -> None:
        log.error("Tool ignores its cancellation", tool=self._name)
        _stuck.add(task)
        task.add_done_callback(_stuck.discard)


class _Patient:
    """Stops the clock while somebody thinks."""

    def __init__(self, conversation: Conversation, attempt: Attempt) -> None:
        self._conversation = conversation
        self._attempt = attempt

    def supports(self, capability: str) -> bool:
        return self._conversation.supports(capability)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._conversation.progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await self._conversation.log(level, message)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self._attempt.pause()
        try:
            return await self._conversation.request(requests)
        finally:
            self._attempt.go_on()
