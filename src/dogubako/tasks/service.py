"""`Tasks`: start tasks, find them, answer and cancel them, for callers of every transport."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, Final, Protocol, runtime_checkable

from msgspec.structs import replace

from dogubako._lazy import load
from dogubako.contract.call import Caller, Door, Task, ToolCall, ToolResult
from dogubako.contract.conversation import TASKS, InputAnswer
from dogubako.contract.errors import BusyError, CapabilityRequiredError, NotFoundError, PayloadTooLargeError
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.pack import HealthCheck
from dogubako.engine.events import observed
from dogubako.engine.input_requests import written_answer
from dogubako.engine.pipeline import Pipeline
from dogubako.outbound.redis_cache import Unavailable
from dogubako.settings import Settings
from dogubako.tasks.records import TaskRecord, new_record
from dogubako.tasks.runs import Restore, TaskRuns
from dogubako.tasks.store import MemoryTaskStore, TaskChanges, TaskStore
from dogubako.tasks.transitions import answered, cancelled

_OFF: Final = "Tasks are switched off on this server (DOGUBAKO_TASKS)."
_NO_EXTRA: Final = "Tasks need the extra tasks: pip install 'dogubako[tasks]'."
_ONE_PROCESS: Final = "Several processes serve this address: tasks need DOGUBAKO_SHARED=redis://…"
# A task that waits for a process for so long is queued once more, when somebody asks for it.
_QUEUED_SECONDS: Final = 30.0
# How long the queue has to end after it was cancelled.
_ENDING_SECONDS: Final = 3.0
_ID_BYTES: Final = 16
# They are kept until the task ends.
_LONGEST_ARGUMENTS: Final = 1_000_000
# What is recorded like a call.
_CHANGES: Final = frozenset({"tasks/update", "tasks/cancel"})
# Clients are told to look every second, and whoever has used up its calls must be able to stop a task.
_UNCOUNTED: Final = frozenset({"tasks/get", "tasks/cancel"})
# How often a task is looked at that another process may run.
_LOOK_SECONDS: Final = 1.0


@runtime_checkable
class _HasAnswers(Protocol):
    """A conversation in which questions were answered before the call became a task."""

    @property
    def answers_given(self) -> Mapping[str, Any]:
        """Raw answers, by the digests of their questions."""


class Tasks:
    """The tasks of one server."""

    def __init__(
        self,
        pipeline: Pipeline,
        settings: Settings,
        restore: Restore,
        store: TaskStore | None = None,
        *,
        sole_process: bool = True,
    ) -> None:
        self._pipeline = pipeline
        self._settings = settings
        self.changes = TaskChanges(store or MemoryTaskStore())
        self._runs = TaskRuns(pipeline, self.changes, restore, self._deliver, lambda: self.concurrency)
        self._in_memory = store is None
        self._sole_process = sole_process
        # Whether this process runs tasks of the shared queue.
        self.works = False
        # How many it runs at once.
        self.concurrency = settings.task_concurrency
        self._queue: Any = None
        self._wanted, self._loaded = asyncio.Event(), asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._drained_by = 0.0

    @cached_property
    def unavailable(self) -> str | None:
        """Why there are no tasks; None if there are."""
        if self._settings.tasks == "off":
            return _OFF
        if self._in_memory and not self._sole_process:
            return _ONE_PROCESS
        return None if find_spec("docket") is not None else _NO_EXTRA

    async def check(self) -> list[HealthCheck]:
        """Whether somebody runs the tasks that this server only queues."""
        if self._settings.tasks != "queue" or self._in_memory or self.unavailable is not None:
            return []
        try:
            workers = await self.changes.store.workers()
        except Unavailable:
            # The line "shared state" says so.
            return []
        if workers:
            return [HealthCheck(ok=True, subject="tasks", message=f"processes that run them: {workers}")]
        message = "No process runs tasks, so those that are started wait."
        advice = "Start `dogubako worker`, or set DOGUBAKO_TASKS=on."
        return [HealthCheck(ok=False, subject="tasks", message=message, advice=advice, severity="warning")]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Deliver and run tasks meanwhile. At the end, tasks get their grace time, and are given back after it."""
        if self._worker is not None:
            # Two transports may serve one toolbox. The first one ends the tasks.
            yield
            return
        # Events belong to the loop that first waited for them.
        self._wanted, self._loaded, self._drained_by = asyncio.Event(), asyncio.Event(), 0.0
        self._worker = asyncio.create_task(self._work())
        if self.works and not self._in_memory:
            self._wanted.set()
        try:
            yield
        finally:
            self.drain()
            await self._runs.drain(self._drained_by - time.monotonic())
            while not (await asyncio.wait({self._worker}, timeout=_ENDING_SECONDS))[0]:
                # The client of Redis swallows a cancellation while it connects.
                self._worker.cancel()
            self._worker = self._queue = None

    def drain(self) -> None:
        """Take no more tasks. Called as soon as the server is told to stop."""
        if self._worker is not None and not self._drained_by:
            self._drained_by = time.monotonic() + self._settings.shutdown_grace
            self._worker.cancel()

    async def _work(self) -> None:
        """Load Docket with the first task: most servers never have one."""
        await self._wanted.wait()
        settings = self._settings
        concurrency = self.concurrency if self._in_memory or self.works else 0
        # It takes longer than the event loop may stand still.
        module = await asyncio.to_thread(load, "dogubako.tasks.queue")
        self._queue = module.TaskQueue(settings.shared_prefix, settings.shared, self._runs.run, concurrency=concurrency)
        self._loaded.set()
        await self._queue.work()

    async def _deliver(self, task_id: str, delay: float = 0) -> None:
        if self._worker is None:
            raise BusyError("This process runs no tasks any more.", hint="Try again in a moment.")
        self._wanted.set()
        await self._loaded.wait()
        await self._queue.put(task_id, delay=delay)

    async def start(self, call: ToolCall, *, repeatable: bool) -> ToolResult:
        if self.unavailable is not None:
            raise CapabilityRequiredError(TASKS, hint=self.unavailable)
        if self._worker is None or self._drained_by:
            raise BusyError("This server is stopping, and starts no more tasks.", hint="Try again in a moment.")
        answers = call.conversation.answers_given if isinstance(call.conversation, _HasAnswers) else {}
        ttl = self._settings.task_timeout + self._settings.task_retention
        record = new_record(
            call,
            secrets.token_urlsafe(_ID_BYTES),
            repeatable=repeatable,
            answers=answers,
            now=time.time(),
            ttl_ms=ttl * 1000,
        )
        if len(record.parameters) > _LONGEST_ARGUMENTS:
            raise PayloadTooLargeError(f"The arguments of a task have at most {_LONGEST_ARGUMENTS:,} characters.")
        with _in_words():
            await self.changes.store.create(record, most=self._settings.tasks_per_caller)
        try:
            await self._deliver(record.id)
        except BusyError:
            with suppress(Unavailable):
                await self.changes.change(record.id, cancelled)
            raise
        return self._created(call, record.view())

    def _created(self, call: ToolCall, task: Task) -> ToolResult:
        answer = Json(
            data=task.fields(),
            message=Message(en="Task started", ja="タスクを開始しました"),
            guidance=Guidance(message="Ask for it later.", example=example_call("task_result", id=task.id)),
        )
        built = self._pipeline.responses.for_call(call.options.max_tokens).success(answer)
        return replace(built, task=task)

    def of(self, caller: Caller) -> "TasksOf":
        if (reason := self.unavailable) is not None:
            raise CapabilityRequiredError(TASKS, hint=reason)
        return TasksOf(self, caller)

    def through(self, door: Door, caller: Caller) -> "TasksOf":
        """The tasks of a caller of this transport. Lists and answers are counted, and changes are recorded."""
        tasks = self.of(caller)

        @asynccontextmanager
        async def admit(method: str) -> AsyncIterator[None]:
            call = ToolCall(name=method, caller=caller, door=door)
            recorded = method in _CHANGES
            with observed(self._pipeline.observers, call, None, changing=True) if recorded else nullcontext():
                if method not in _UNCOUNTED:
                    await self._pipeline.policy.check_rate(call)
                yield

        tasks.admit = admit
        return tasks

    async def get(self, task_id: str, caller: Caller) -> Task:
        record = await self._visible(task_id, caller)
        # A Redis that was emptied, or a process that ended between two steps, may have lost its delivery.
        if record.status == "working" and record.run is None and time.time() - record.updated > _QUEUED_SECONDS:
            with suppress(Unavailable, BusyError):
                await self.changes.change(task_id, lambda now: _touched(now, record))
                await self._deliver(task_id)
        return record.view()

    async def changed(self, task_ids: Collection[str], seconds: float) -> None:
        """Wait until one of these tasks changes in this process, or for so long: it may have changed in another."""
        change = asyncio.Event()
        remove = self.changes.listeners.add(lambda record: change.set() if record.id in task_ids else None)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await change.wait()
        finally:
            remove()

    async def update(self, task_id: str, answers: Mapping[str, Any], caller: Caller) -> None:
        await self._visible(task_id, caller)
        with _in_words():
            record = await self.changes.change(task_id, partial(answered, answers=answers))
        if record is not None and record.status == "working" and record.run is None:
            await self._deliver(task_id)

    async def cancel(self, task_id: str, caller: Caller) -> None:
        await self._visible(task_id, caller)
        with _in_words():
            await self.changes.change(task_id, cancelled)
        self._runs.cancel(task_id)

    async def all_of(self, caller: Caller) -> Sequence[Task]:
        store = self.changes.store
        with _in_words():
            records = [await store.load(one) for one in await store.ids_of(caller.identity)]
        return [record.view() for record in records if record is not None and _owns(caller, record)]

    async def newest(self, caller: Caller, most: int) -> Sequence[tuple[Task, str]]:
        """The newest tasks that a caller may see, with the names of those who created them. Administrators see all."""
        store, sees_all = self.changes.store, self._pipeline.policy.administers(caller)
        with _in_words():
            ids = await store.newest_ids(most) if sees_all else (await store.ids_of(caller.identity))[:most]
            records = [await store.load(one) for one in ids]
        return [(one.view(), one.caller().name) for one in records if one and (sees_all or _owns(caller, one))]

    async def _visible(self, task_id: str, caller: Caller) -> TaskRecord:
        """The record, if this caller may see it. Others do not learn that it exists."""
        with _in_words():
            record = await self.changes.store.load(task_id)
        if record is None or not (_owns(caller, record) or self._pipeline.policy.administers(caller)):
            raise NotFoundError("There is no such task.", hint="It may have expired. start_task starts a new one.")
        return record


class TasksOf:
    """The tasks that one caller may see."""

    def __init__(self, tasks: Tasks, caller: Caller) -> None:
        self._tasks = tasks
        self._caller = caller
        # Counts and records what a transport asks for. What a tool asks for is part of its own call.
        self.admit: Callable[[str], AbstractAsyncContextManager[Any]] = nullcontext

    async def get(self, task_id: str) -> Task:
        async with self.admit("tasks/get"):
            return await self._tasks.get(task_id, self._caller)

    async def update(self, task_id: str, answers: Mapping[str, Any]) -> None:
        async with self.admit("tasks/update"):
            await self._tasks.update(task_id, answers, self._caller)

    async def answer(self, task: Task, answers: Mapping[str, InputAnswer]) -> None:
        await self.update(task.id, {key: written_answer(one, task.requests[key]) for key, one in answers.items()})

    async def wait(self, task_id: str, seconds: float) -> Task:
        until = time.monotonic() + seconds
        while (task := await self.get(task_id)).status == "working" and (left := until - time.monotonic()) > 0:
            await self._tasks.changed({task_id}, min(left, _LOOK_SECONDS))
        return task

    async def cancel(self, task_id: str) -> None:
        async with self.admit("tasks/cancel"):
            await self._tasks.cancel(task_id, self._caller)

    async def newest(self, most: int) -> Sequence[tuple[Task, str]]:
        async with self.admit("tasks/list"):
            return await self._tasks.newest(self._caller, most)

    async def all(self) -> Sequence[Task]:
        async with self.admit("tasks/list"):
            return await self._tasks.all_of(self._caller)


def _owns(caller: Caller, record: TaskRecord) -> bool:
    return (record.owner, record.caller_id) == (caller.identity, caller.id)


def _touched(now: TaskRecord, before: TaskRecord) -> TaskRecord | None:
    """Note that it is queued again, unless something happened meanwhile."""
    return replace(now, updated=time.time()) if now.revision == before.revision else None


@contextmanager
def _in_words() -> Iterator[None]:
    """Say that nobody can tell now, instead of that there is no such task."""
    try:
        yield
    except Unavailable as error:
        message = f"The Redis with the tasks {error.reason}."
        raise BusyError(message, hint="Try again in a moment; `dogubako doctor` says more.") from None
