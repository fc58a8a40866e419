"""Start a task whose first step runs at once: most tools end in it, and never wait for the event loop."""

import asyncio
import sys
import threading
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Final, Generic, TypeVar
from weakref import getweakrefcount

import msgspec

ResultT = TypeVar("ResultT")


class Ended(msgspec.Struct, Generic[ResultT], frozen=True):
    """The coroutine returned in its first step."""

    value: ResultT


def begin(
    coroutine: Coroutine[Any, Any, ResultT], *, loop: asyncio.AbstractEventLoop, name: str | None = None
) -> "Ended[ResultT] | asyncio.Task[ResultT]":
    """Run the first step of a task now. Return what it returned, or the task, if it waits for something.

    From its first step on, the coroutine sees a task of its own and a context of its own, as in `create_task`. What it
    raises in the first step is raised here; also CancelledError, if it cancelled its own task.
    """
    if sys.version_info >= (3, 12):
        task = asyncio.Task(coroutine, loop=loop, name=name, eager_start=True)
        return Ended(task.result()) if task.done() else task
    return _begin_by_hand(coroutine, loop, name)


def _begin_by_hand(
    coroutine: Coroutine[Any, Any, ResultT], loop: asyncio.AbstractEventLoop, name: str | None
) -> "Ended[ResultT] | asyncio.Task[ResultT]":
    """The same for Python 3.11, which has no `eager_start`.

    The functions that enter and leave a task are those that asyncio documents for other implementations of tasks. A
    task that nobody else knows is used again: to make one and to end it takes longer than most tools.
    """
    spares = _last_used.spares if _last_used.loop is loop else _spares_of(loop)
    task, rest = spares.pop() if spares else _new_task(loop)
    if task.cancelling():
        # Somebody cancelled all tasks of the loop.
        task, rest = _new_task(loop)
    task.set_name(name or rest.name)
    context, outer, ended, has_failed = copy_context(), asyncio.current_task(loop), None, True
    if outer is not None:
        asyncio.tasks._leave_task(loop, outer)
    asyncio.tasks._enter_task(loop, task)
    try:
        waits_for = context.run(coroutine.send, None)
        has_failed = False
    except StopIteration as end:
        ended, has_failed = Ended(end.value), False
    finally:
        if has_failed:
            rest.end()
        asyncio.tasks._leave_task(loop, task)
        if outer is not None:
            asyncio.tasks._enter_task(loop, outer)
    if ended is None:
        task._log_destroy_pending = True  # type: ignore[attr-defined]
        rest.go_on(coroutine, context, waits_for)
        return task
    if task.cancelling():
        rest.end()
        raise asyncio.CancelledError
    if (
        sys.getrefcount(task) == _REFERENCES
        and getweakrefcount(task) == _WEAK_REFERENCES
        and task._callbacks is None
        and len(spares) < _MOST_SPARES
    ):
        spares.append((task, rest))
    else:
        rest.end()
    return ended


# Of a task that nobody else knows: ours, that of the call which counts them, and that of the event loop, or of the
# future which the task waits for. asyncio itself has a weak one.
_REFERENCES: Final = 3
_WEAK_REFERENCES: Final = 1
_MOST_SPARES: Final = 16


class _LastUsed(threading.local):
    """The tasks of this thread's loop that wait for something to do."""

    loop: asyncio.AbstractEventLoop | None = None
    spares: "list[tuple[asyncio.Task[Any], _Rest[Any]]]"


_last_used = _LastUsed()


def _spares_of(loop: asyncio.AbstractEventLoop) -> "list[tuple[asyncio.Task[Any], _Rest[Any]]]":
    # Those of another loop end with it.
    _last_used.loop, _last_used.spares = loop, []
    return _last_used.spares


def _new_task(loop: asyncio.AbstractEventLoop) -> "tuple[asyncio.Task[Any], _Rest[Any]]":
    rest: _Rest[Any] = _Rest(loop)
    task = asyncio.Task(rest, loop=loop, context=Context())
    # It may wait for the next coroutine when the loop is closed.
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    rest.name = task.get_name()
    return task, rest


class _Rest(Coroutine[Any, Any, ResultT]):
    """What a task runs whose first steps are made outside of it: nothing, until one of them has to wait."""

    name = ""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # The coroutine that has to wait, in its own context, and what it waits for: None if it only lets others go
        # first.
        self._coroutine: Coroutine[Any, Any, ResultT] | None = None
        self._context: Context | None = None
        self._waits_for: Any = None
        self._has_begun = False
        self._has_ended = False
        # What the task waits for until then.
        self._idle: asyncio.Future[None] | None = None

    def go_on(self, coroutine: Coroutine[Any, Any, ResultT], context: Context, waits_for: Any) -> None:
        self._coroutine, self._context, self._waits_for = coroutine, context, waits_for
        self._wake()

    def end(self) -> None:
        """End the task, and tell those who wait for that."""
        self._has_ended = True
        self._wake()

    def _wake(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None and not idle.done():
            idle.set_result(None)

    def send(self, value: Any) -> Any:
        if self._has_begun:
            return self._run("send", value)
        if self._has_ended:
            raise StopIteration
        if self._coroutine is None:
            self._idle = self._loop.create_future()
            # As `await` marks a future.
            self._idle._asyncio_future_blocking = True
            return self._idle
        self._has_begun = True
        return self._waits_for

    def throw(self, *error: Any) -> Any:
        if not self._has_begun:
            if self._has_ended:
                raise StopIteration
            if self._coroutine is None:
                raise error[0]
            self._has_begun = True
            # The task was cancelled before it began to wait. So is what it waits for, as a task does it.
            if self._waits_for is not None and self._waits_for.cancel():
                return self._waits_for
        return self._run("throw", *error)

    def _run(self, method: str, *arguments: Any) -> Any:
        assert self._context is not None
        return self._context.run(getattr(self._coroutine, method), *arguments)

    def close(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, ResultT]:
        raise RuntimeError("only a task goes on with it")
