"""Start a task whose first step runs at once: most tools end in it, and never wait for the event loop."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from functools import wraps
from typing import Any, Generic, TypeVar

import msgspec

ResultT = TypeVar("ResultT")


class Ended(msgspec.Struct, Generic[ResultT], frozen=True):
    """The coroutine returned in its first step."""

    value: ResultT


if sys.version_info >= (3, 12):

    def begin(
        coroutine: Coroutine[Any, Any, ResultT],
        *,
        loop: asyncio.AbstractEventLoop,
        name: str | None = None,
        context: Context | None = None,
    ) -> "Ended[ResultT] | asyncio.Task[ResultT]":
        """Run the first step of a task now. Return what it returned, or the task, if it waits for something.

        From its first step on, the coroutine sees a task of its own and a context of its own, as in `create_task`. What
        it raises in the first step is raised here; also CancelledError, if it cancelled its own task.
        """
        task = asyncio.Task(coroutine, loop=loop, name=name, context=context, eager_start=True)
        return Ended(task.result()) if task.done() else task

else:

    def begin(
        coroutine: Coroutine[Any, Any, ResultT],
        *,
        loop: asyncio.AbstractEventLoop,
        name: str | None = None,
        context: Context | None = None,
    ) -> "Ended[ResultT] | asyncio.Task[ResultT]":
        """The same for Python 3.11, which has no `eager_start`.

        The functions that enter and leave a task are those that asyncio documents for other implementations of tasks.
        """
        if context is None:
            context = copy_context()
        task: _LateTask[ResultT] = _LateTask.__new__(_LateTask)
        task.arguments = (coroutine, loop, name, context)
        task.rest = None
        outer = asyncio.current_task(loop)
        if outer is not None:
            asyncio.tasks._leave_task(loop, outer)
        asyncio.tasks._enter_task(loop, task)
        try:
            waits_for = context.run(coroutine.send, None)
        except StopIteration as end:
            if task.cancelling():
                raise asyncio.CancelledError from None
            return Ended(end.value)
        finally:
            asyncio.tasks._leave_task(loop, task)
            if outer is not None:
                asyncio.tasks._enter_task(loop, outer)
        rest = task.schedule()
        rest.waits_for, rest.has_ended = waits_for, False
        return task


class _Rest(Coroutine[Any, Any, ResultT]):
    """A coroutine without its first step, which was made outside of its task."""

    # Until it is known that it waits for something.
    has_ended = True
    # The future that it waits for; None if it only lets others have their turn.
    waits_for: Any = None
    _has_begun = False

    def __init__(self, coroutine: Coroutine[Any, Any, ResultT]) -> None:
        self._coroutine = coroutine

    def send(self, value: Any) -> Any:
        if self._has_begun:
            return self._coroutine.send(value)
        self._has_begun = True
        if self.has_ended:
            raise StopIteration
        return self.waits_for

    def throw(self, *error: Any) -> Any:
        if not self._has_begun:
            self._has_begun = True
            if self.has_ended:
                raise StopIteration
            # The task was cancelled before it began to wait. So is what it waits for, as a task does it.
            if self.waits_for is not None and self.waits_for.cancel():
                return self.waits_for
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, ResultT]:
        raise RuntimeError("only a task goes on with it")


class _LateTask(asyncio.Task[ResultT]):
    """A task that is initialised when it waits, or when somebody looks at it: most end in their first step.

    Until then it is the current task of its first step, an object that nothing but its identity is known of.
    """

    __slots__ = ("arguments", "rest")
    arguments: tuple[Coroutine[Any, Any, ResultT], asyncio.AbstractEventLoop, str | None, Context]
    rest: "_Rest[ResultT] | None"

    def schedule(self) -> "_Rest[ResultT]":
        """Initialise the task, once. The event loop goes on with it in its next turn."""
        if self.rest is None:
            coroutine, loop, name, context = self.arguments
            self.rest = _Rest(coroutine)
            super().__init__(self.rest, loop=loop, name=name, context=context)
        return self.rest


def _scheduled_first(name: str) -> Callable[..., Any]:
    method = getattr(asyncio.Task, name)

    @wraps(method)
    def scheduled(self: _LateTask[Any], *args: Any, **kwargs: Any) -> Any:
        self.schedule()
        return method(self, *args, **kwargs)

    return scheduled


# Everything that a task can be asked or told, except `cancelling`, which is right before, too.
for _name in (
    *("add_done_callback", "remove_done_callback", "done", "result", "exception", "set_result", "set_exception"),
    *("cancel", "cancelled", "uncancel", "get_coro", "get_loop", "get_name", "set_name", "get_stack", "print_stack"),
    *("__await__", "__iter__", "__repr__"),
):
    setattr(_LateTask, _name, _scheduled_first(_name))
