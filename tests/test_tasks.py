"""A coroutine whose first step runs at once behaves as in a task that `create_task` made."""

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import pytest

from dogubako._tasks import Ended, begin
from dogubako.transports.http.disconnect import Waiting, first_step

pytestmark = pytest.mark.anyio

Make = Callable[[], Coroutine[Any, Any, Any]]
_variable = contextvars.ContextVar("_variable", default="outside")


async def _ends() -> str:
    return "done"


async def _fails() -> None:
    raise ValueError("no")


async def _lets_others_go_first() -> str:
    await asyncio.sleep(0)
    return "done"


async def _with_timeout() -> str:
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60)
    except TimeoutError:
        return "timeout"
    return "late"


async def _with_cancel_scope() -> str:
    with anyio.move_on_after(0.01):
        await anyio.sleep(60)
        return "late"
    return "moved on"


async def _with_task_group() -> list[str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_ends()) for _ in range(2)]
        await asyncio.sleep(0)
    return [task.result() for task in tasks]


async def _failing_task_group() -> str:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_fails())
            await asyncio.sleep(60)
    except ExceptionGroup as failed:
        return repr(failed.exceptions)
    return "ended"


async def _cancels_itself_and_waits() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(60)
    return "late"


async def _cancels_itself_and_ends() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "done"


async def _waits_for_another_task() -> str:
    return await asyncio.create_task(_lets_others_go_first())


async def _outcome(run: Awaitable[Any]) -> Any:
    try:
        return await run
    except asyncio.CancelledError:
        return "cancelled"
    except ValueError as error:
        return repr(error)


async def _begun(make: Make) -> Any:
    begun = begin(make(), loop=asyncio.get_running_loop())
    return begun.value if isinstance(begun, Ended) else await begun


ALL = [
    _ends,
    _fails,
    _lets_others_go_first,
    _with_timeout,
    _with_cancel_scope,
    _with_task_group,
    _failing_task_group,
    _cancels_itself_and_waits,
    _cancels_itself_and_ends,
    _waits_for_another_task,
]


@pytest.mark.parametrize("make", ALL)
async def test_a_begun_task_ends_like_one_of_create_task(make: Make) -> None:
    expected = await _outcome(asyncio.create_task(make()))

    assert await _outcome(_begun(make)) == expected


@pytest.mark.parametrize("make", [one for one in ALL if "itself" not in one.__name__])
async def test_the_first_step_in_the_same_task_changes_nothing(make: Make) -> None:
    async def stepped() -> Any:
        begun = first_step(make())
        return begun.value if isinstance(begun, Ended) else await begun

    assert await _outcome(asyncio.create_task(stepped())) == await _outcome(asyncio.create_task(make()))


async def test_it_sees_its_own_task_from_the_first_step_on_and_the_outer_one_comes_back() -> None:
    outer, seen = asyncio.current_task(), list[Any]()

    async def look() -> None:
        seen.append(asyncio.current_task())
        await asyncio.sleep(0)
        seen.append(asyncio.current_task())

    begun = begin(look(), loop=asyncio.get_running_loop(), name="looking")

    assert asyncio.current_task() is outer
    assert isinstance(begun, asyncio.Task)
    assert begun.get_name() == "looking"
    await begun
    assert seen == [begun, begun]


async def test_what_it_sets_in_its_context_stays_there() -> None:
    seen = list[str]()

    async def change() -> None:
        _variable.set("inside")
        await asyncio.sleep(0)
        seen.append(_variable.get())

    begun = begin(change(), loop=asyncio.get_running_loop())

    assert _variable.get() == "outside"
    assert isinstance(begun, asyncio.Task)
    await begun
    assert seen == ["inside"]


async def test_cancelling_it_before_it_is_scheduled_cancels_what_it_waits_for() -> None:
    inner: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tidied = list[str]()

    async def wait() -> None:
        try:
            await inner
        finally:
            tidied.append("up")

    begun = begin(wait(), loop=asyncio.get_running_loop())
    assert isinstance(begun, asyncio.Task)
    begun.cancel()

    with pytest.raises(asyncio.CancelledError):
        await begun
    assert inner.cancelled()
    assert tidied == ["up"]
    assert begun.cancelled()


async def test_it_also_begins_where_no_task_runs() -> None:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Any] = loop.create_future()

    async def look() -> Any:
        return asyncio.current_task()

    loop.call_soon(lambda: found.set_result((begin(look(), loop=loop), asyncio.current_task())))
    ended, outside = await found

    assert isinstance(ended.value, asyncio.Task)
    assert outside is None


async def test_a_cancellation_reaches_a_coroutine_that_waits_after_its_first_step() -> None:
    tidied = list[str]()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            tidied.append("up")

    async def stepped() -> None:
        begun = first_step(wait())
        assert isinstance(begun, Waiting)
        await begun

    task = asyncio.create_task(stepped())
    await asyncio.sleep(0)
    task.cancel()

    assert await _outcome(task) == "cancelled"
    assert tidied == ["up"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python has eager tasks of its own since 3.12")
def test_the_functions_for_other_implementations_of_tasks_are_there() -> None:
    """They are documented under "Extending" in the manual of asyncio. Without them Python 3.11 cannot be served."""
    assert callable(asyncio.tasks._enter_task)
    assert callable(asyncio.tasks._leave_task)


async def test_nothing_of_a_task_that_ended_at_once_is_left_for_the_next_one() -> None:
    """A task that had been cancelled and not cancelled after all once ran the next coroutine, which then hung."""
    loop = asyncio.get_running_loop()

    async def leaves_something() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.mark = "of the call before"  # type: ignore[attr-defined]
        task.cancel()
        task.uncancel()
        return "ended"

    async def waits() -> str:
        assert not hasattr(asyncio.current_task(), "mark")
        await asyncio.sleep(0)
        return "went on"

    for _ in range(3):
        assert await _outcome(_begun(leaves_something)) in ("ended", asyncio.CancelledError)
        begun = begin(waits(), loop=loop)
        assert isinstance(begun, asyncio.Task)
        assert await asyncio.wait_for(begun, 10) == "went on"


LOOKS: dict[str, Callable[["asyncio.Task[Any]"], Any]] = {
    "name": lambda task: task.get_name(),
    "loop": lambda task: task.get_loop() is asyncio.get_running_loop(),
    "coroutine": lambda task: task.get_coro() is not None,
    "stack": lambda task: isinstance(task.get_stack(), list),
    "states": lambda task: (task.done(), task.cancelled(), task.cancelling(), task.uncancel()),
    "result": lambda task: _raised(task.result),
    "exception": lambda task: _raised(task.exception),
    "setting a result": lambda task: _raised(lambda: task.set_result(1)),
    "text": lambda task: "pending" in repr(task),
    "all tasks": lambda task: (task.get_name(), task in asyncio.all_tasks())[1],
    "anyio": lambda task: anyio.get_current_task().name == task.get_name(),
}


def _raised(act: Callable[[], Any]) -> str:
    try:
        return f"returned {act()}"
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("waits", [False, True])
async def test_a_task_can_be_looked_at_in_its_first_step(look: str, waits: bool) -> None:
    async def looks() -> Any:
        task = asyncio.current_task()
        assert task is not None
        seen = LOOKS[look](task)
        if waits:
            await asyncio.sleep(0)
        return seen

    expected = await asyncio.create_task(looks(), name="looking")
    begun = begin(looks(), loop=asyncio.get_running_loop(), name="looking")

    assert (begun.value if isinstance(begun, Ended) else await begun) == expected


@pytest.mark.parametrize("waits", [False, True])
async def test_who_asked_for_its_end_in_the_first_step_is_told(waits: bool) -> None:
    told = asyncio.Event()

    async def asks() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: told.set())
        if waits:
            await asyncio.sleep(0)

    begin(asks(), loop=asyncio.get_running_loop())

    await asyncio.wait_for(told.wait(), 10)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python has eager tasks of its own since 3.12")
def test_no_method_of_a_task_is_asked_before_it_is_initialised() -> None:
    """Some would end the process with an object that was not initialised."""
    from dogubako._tasks import _LateTask  # noqa: PLC0415 - it exists for Python 3.11 alone

    public = {name for name in dir(asyncio.Task) if not name.startswith("_")} | {"__await__", "__iter__", "__repr__"}

    assert public - vars(_LateTask).keys() == {"cancelling"}
