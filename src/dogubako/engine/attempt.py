"""Run one attempt of a tool with a hard timeout, even if the tool ignores cancellation."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextvars import copy_context
from typing import Any, Final

import anyio
import structlog

from dogubako._tasks import Ended, begin
from dogubako._timers import CoarseClock, set_timer
from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.call_steps import CallStep, call_steps
from dogubako.contract.conversation import ClientLogLevel, Conversation, InputAnswer, InputRequests
from dogubako.contract.offload import running_attempt
from dogubako.contract.tool import BaseTool, answered
from dogubako.engine.answer_memory import AnswerHold, AnswerMemory

log = structlog.get_logger("dogubako.engine")

# How long a cancelled tool may take to tidy up before we stop waiting for it.
GRACE_SECONDS: Final = 1.0
# How long a person may think about a question. The tool's own time stands still meanwhile.
PERSON_SECONDS: Final = 600.0

# Tools that swallowed their cancellation. They are kept here so that their end is seen and logged.
_stuck: set["asyncio.Task[Any]"] = set()


class TimedOut(Exception):  # noqa: N818 - a signal to the executor, which has the words for callers
    """The time was up."""


class Attempt:
    """One run of a tool in a task of its own, so that neither a timeout nor a cancellation has to wait for it.

    A cancel scope around `await tool` cannot be left while the tool swallows its cancellation; a task can.
    """

    repeatable = True
    # Whether the tool did not end in its first step.
    waited = False
    _has_ended = False
    _on_end: Callable[[], None] | None = None
    _finished: "asyncio.Future[None] | None" = None
    _task: "asyncio.Task[ToolResult] | None" = None
    # The clock that its time is set on, and when that was.
    _clock: CoarseClock | None = None
    _armed_at = 0.0
    _hold: AnswerHold | None = None
    _expired = False

    def __init__(
        self, call: ToolCall, seconds: float, memory: AnswerMemory | None = None, *, at_once: bool = False
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._call = call
        self._left = seconds
        # Whether the first step runs now. Tools that call each other would grow the stack.
        self._at_once = at_once and call.within is None
        self._outer = running_attempt.get()
        self._memory = memory
        self.large_tools: Collection[str] = () if memory is None else memory.large_tools

    async def run(self, tool: BaseTool[Any, Any], args: Any) -> ToolResult:
        """The tool's result, or TimedOut."""
        result = self.start(tool, args)
        return await self.end(tool, args) if result is None else result

    def start(self, tool: BaseTool[Any, Any], args: Any, steps: list[CallStep] | None = None) -> ToolResult | None:
        """Start the tool. Return its result if it ends in its first step; if not, `end` waits for it."""
        if tool.talks:
            tool.context.conversation = PausingConversation(tool.context.conversation, self)
            self._arm(self._left)
        started, handled, name = self._loop.time(), _handled(tool, args), f"tool {tool.name}"
        context = copy_context()
        context.run(self._enter, steps)
        if not self._at_once or tool.talks:
            # A question stops the clock of a running task.
            self._watch(self._loop.create_task(handled, name=name, context=context), started)
            return None
        try:
            begun = begin(handled, loop=self._loop, name=name, context=context)
        except asyncio.CancelledError:
            # It cancelled its own task, and `end` says so.
            return None
        if isinstance(begun, Ended):
            self._release()
            return begun.value
        self._watch(begun, started)
        return None

    def _enter(self, steps: list[CallStep] | None) -> None:
        """Let the tool, and all tasks that it starts, find this attempt in their context."""
        running_attempt.set(self)
        if steps is not None:
            call_steps.set(steps)

    async def end(self, tool: BaseTool[Any, Any], args: Any) -> ToolResult:
        """Wait for a tool that has not ended in its first step. Return its result, or raise TimedOut."""
        task, self._on_end = self._task, None
        try:
            if task is None:
                return await answered(tool, _cancelled_itself, args)
            try:
                # It has ended, or its time and the grace time are over.
                if not self._has_ended:
                    self._finished = self._loop.create_future()
                    await self._finished
            except asyncio.CancelledError:
                task.cancel()
                await self._let_tidy_up(task)
                raise
        finally:
            self._close()
        if not task.done():
            self._leave_behind(task)
            raise TimedOut
        if task.cancelled():
            if self._expired:
                raise TimedOut
            return await answered(tool, _cancelled_itself, args)
        return task.result()

    def when_ended(self, told: Callable[[], None]) -> None:
        """Call back when the tool has ended or its time is over, unless somebody awaits `end` before that."""
        self._on_end = told

    def take(self) -> ToolResult | None:
        """The result of a tool that has ended by itself. Without one, `end` says what became of it."""
        task = self._task
        if task is None or not task.done() or task.cancelled():
            return None
        self._close()
        return task.result()

    def _close(self) -> None:
        # The task's context leads back to this attempt: a reference cycle, if we kept the task.
        self._task = None
        self._release()
        if self._clock is not None:
            self._clock.cancel(self)

    def _release(self) -> None:
        self._memory = None
        if self._hold is not None:
            self._hold.release()

    def _watch(self, task: "asyncio.Task[ToolResult]", started: float) -> None:
        self._task, self.waited = task, True
        task.add_done_callback(self._finish)
        if self._clock is None:
            self._clock = set_timer(self, started + self._left, self._loop)

    def forbid_repetition(self) -> None:
        """Keep this attempt from being repeated, and the attempts of the tools that called this one."""
        self.repeatable = False
        if self._outer is not None:
            self._outer.forbid_repetition()

    async def wait_for_room(self) -> None:
        """Wait until there is room for the answer that is expected. Called in the tool's own task, in turn."""
        if self._memory is not None:
            self._hold = self._memory.hold(self._call)
            await self._hold.enter()

    def weigh(self, answer: Any) -> None:
        """Reserve the memory of a large answer, unless the tool ignored its cancellation and nothing waits for it."""
        if self._hold is None and self._memory is not None:
            self._hold = self._memory.hold(self._call)
        if self._hold is not None:
            self._hold.weigh(answer)

    def pause(self) -> None:
        self._left -= self._loop.time() - self._armed_at
        self._arm(PERSON_SECONDS)

    def go_on(self) -> None:
        self._arm(max(self._left, 0))

    def _arm(self, seconds: float) -> None:
        self._armed_at = self._loop.time()
        self._clock = set_timer(self, self._armed_at + seconds, self._loop)

    def ring(self) -> None:
        """The time is over, or the grace time after it."""
        if self._expired:
            self._finish()
            return
        self._expired = True
        if self._task is not None:
            self._task.cancel()
        self._arm(GRACE_SECONDS)

    def _finish(self, _: object = None) -> None:
        self._has_ended = True
        if self._on_end is not None:
            told, self._on_end = self._on_end, None
            told()
        elif self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    async def _let_tidy_up(self, task: "asyncio.Task[Any]") -> None:
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if not task.done():
            self._leave_behind(task)

    def _leave_behind(self, task: "asyncio.Task[Any]") -> None:
        log.error("Tool ignores its cancellation", tool=self._call.name)
        _stuck.add(task)
        task.add_done_callback(_stuck.discard)


async def _cancelled_itself(_args: Any) -> None:
    raise RuntimeError("the tool cancelled its own task")


def _handled(tool: BaseTool[Any, Any], args: Any) -> Coroutine[Any, Any, ToolResult]:
    """What the tool's handler returns; the result of a handler that is not ours is built and checked again."""
    handler = tool.handler
    # `BaseTool.handler` answers with `execute`; what overrides it is answered with that.
    is_ours = getattr(handler, "__func__", None) is BaseTool.handler
    return answered(tool, tool.execute if is_ours else handler, args)


class PausingConversation:
    """A conversation that stops the timeout of an attempt while a person is being asked."""

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
