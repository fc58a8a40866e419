"""Run tasks: begin one, call its tool through the pipeline, watch whether it was cancelled, and store how it ended."""

import asyncio
import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

import structlog
from msgspec.structs import replace

from dogubako.contract.call import Caller, ToolCall, ToolResult
from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    ClientLogLevel,
    InputAnswer,
    InputRequests,
    InputRequired,
    capability_of,
)
from dogubako.contract.errors import AuthenticationError, BusyError, CapabilityRequiredError, DogubakoError
from dogubako.contract.fair_queue import work_owner
from dogubako.engine.input_requests import question_digest, read_answer
from dogubako.engine.pipeline import Pipeline
from dogubako.outbound.redis_cache import ThrottledLog, Unavailable
from dogubako.tasks.records import TaskRecord
from dogubako.tasks.store import TaskChanges
from dogubako.tasks.transitions import begun, finished, given_back, progressed

log = structlog.get_logger("dogubako.tasks")

ResultT = TypeVar("ResultT")

# How often a run renews its lease, and looks whether its task was cancelled in another process.
_WATCH_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 1.0
_PROGRESS_SECONDS: Final = 1.0
# When another run holds the task, it is looked at again after the lease of that run.
_LATER_SECONDS: Final = 20.0
# When a caller holds as many places as it may, its next task is looked at again after this time.
_TURN_SECONDS: Final = (1.0, 3.0)

Restore = Callable[[TaskRecord], Caller]
# Has a task delivered after so many seconds.
Deliver = Callable[[str, float], Awaitable[None]]


class TaskRuns:
    """The tasks that run in this process."""

    def __init__(
        self,
        pipeline: Pipeline,
        changes: TaskChanges,
        restore: Restore,
        deliver: Deliver,
        places: Callable[[], int] = lambda: 1,
    ) -> None:
        """`places` is how many tasks run at once."""
        self._pipeline = pipeline
        self._changes = changes
        self._restore = restore
        self._deliver = deliver
        self._running: dict[str, asyncio.Task[ToolResult]] = {}
        self._given_back: set[str] = set()
        self._takes = True
        self._places = places
        self._sealed_by_others = ThrottledLog("Tasks are sealed with a key that this process does not have")
        # How many tasks of each caller run here.
        self._held: Counter[str] = Counter()

    def cancel(self, task_id: str) -> None:
        """Stop a task that runs here. Other processes see that it was cancelled."""
        if (work := self._running.get(task_id)) is not None:
            work.cancel()

    async def drain(self, seconds: float) -> None:
        """Take no more tasks, and wait for those that run. After that time they are given back."""
        self._takes = False
        if self._running and seconds > 0:
            await asyncio.wait(self._running.values(), timeout=seconds)
        self._given_back.update(self._running)
        for work in list(self._running.values()):
            work.cancel()

    async def run(self, task_id: str) -> None:
        """Run a task that was delivered. Its record alone says whether there is something to do."""
        if not self._takes:
            # It stays in the queue, for another process.
            raise asyncio.CancelledError
        delivered = await self._when_available(lambda: self._changes.store.load(task_id))
        if delivered is None and await self._when_available(lambda: self._changes.store.is_sealed_by_others(task_id)):
            # Another process has the key, and is likely to get it next time.
            self._sealed_by_others.warn()
            await self._deliver(task_id, random.uniform(*_TURN_SECONDS))  # noqa: S311
            return
        if delivered is None or delivered.status != "working":
            return
        if self._leaves_no_place(delivered):
            await self._deliver(task_id, random.uniform(*_TURN_SECONDS))  # noqa: S311
            return
        self._held[delivered.owner] += 1
        try:
            await self._run(task_id)
        finally:
            self._held[delivered.owner] -= 1
            self._held += Counter()

    def _leaves_no_place(self, record: TaskRecord) -> bool:
        """Whether a caller would hold all places with this task. The last one is for others, if they can be known."""
        return bool(record.caller_id) and 1 < self._places() <= self._held[record.owner] + 1

    async def _run(self, task_id: str) -> None:
        run = secrets.token_hex(8)
        record = await self._when_available(lambda: self._begin(task_id, run))
        if record is None:
            return
        work_owner.set(record.owner)
        work = self._running[task_id] = asyncio.create_task(self._call(record, run), name=f"task of {record.tool}")
        try:
            await self._watch(record, run, work)
        except asyncio.CancelledError:
            self._given_back.add(task_id)
            raise
        finally:
            work.cancel()
            await asyncio.wait({work})
            del self._running[task_id]
            await self._end(record, run, work)

    async def _begin(self, task_id: str, run: str) -> TaskRecord | None:
        """Mark the task as begun, before anything is done for it. None if there is nothing to do."""
        store = self._changes.store
        record = await store.load(task_id)
        if record is None or record.status != "working":
            return None
        if not await store.claim(task_id, run):
            await self._deliver(task_id, _LATER_SECONDS)
            return None
        record = await self._changes.change(task_id, partial(begun, run=run))
        if record is not None and record.run == run:
            return record
        if record is not None and record.status == "failed":
            log.warning("A task was interrupted, and is not repeated", tool=record.tool, runs=record.runs)
        await store.release(task_id, run)
        return None

    async def _call(self, record: TaskRecord, run: str) -> ToolResult:
        call = self._call_of(record, run)
        try:
            call = replace(call, caller=self._restore(record))
        except DogubakoError as error:
            # Its key was revoked meanwhile, for example.
            return await self._pipeline.refuse(call, error)
        return await self._pipeline.handle(call)

    def _call_of(self, record: TaskRecord, run: str) -> ToolCall:
        return ToolCall(
            name=record.tool,
            parameters=json.loads(record.parameters),
            options=record.options,
            version=record.version,
            door=record.door,
            caller=record.caller(),
            conversation=TaskConversation(record, run, self._changes),
            traceparent=record.traceparent,
            task=record.id,
        )

    async def _watch(self, record: TaskRecord, run: str, work: "asyncio.Task[ToolResult]") -> None:
        """Wait for the end. Renew the lease, and stop a task that was cancelled, has expired or runs elsewhere."""
        store, task_id = self._changes.store, record.id
        while not (await asyncio.wait({work}, timeout=_WATCH_SECONDS))[0]:
            if (error := self._revoked(record)) is not None:
                await self._stop_revoked(record, run, work, error)
                return
            with suppress(Unavailable):
                held, current = await store.claim(task_id, run), await store.load(task_id)
                if current is None and time.time() < record.expires:
                    # The Redis was emptied.
                    await store.restore(record)
                elif not held or current is None or current.run != run:
                    work.cancel()

    def _revoked(self, record: TaskRecord) -> DogubakoError | None:
        """Why the caller that created a task may not run it any more; None if it may."""
        try:
            self._restore(record)
        except AuthenticationError as error:
            return error
        except DogubakoError:
            # Nobody can tell now.
            return None
        return None

    async def _stop_revoked(
        self, record: TaskRecord, run: str, work: "asyncio.Task[ToolResult]", error: DogubakoError
    ) -> None:
        work.cancel()
        await asyncio.wait({work})
        if work.cancelled():
            result = await self._pipeline.refuse(self._call_of(record, run), error)
            await self._when_available(lambda: self._finish(record, run, result))

    async def _end(self, record: TaskRecord, run: str, work: "asyncio.Task[ToolResult]") -> None:
        """Store how the run ended, as soon as that is possible. What was cancelled has ended already."""
        changes, task_id = self._changes, record.id
        if not work.cancelled():
            error = work.exception()
            result = work.result() if error is None else self._pipeline.broken(error, tool=record.tool)
            await self._when_available(lambda: self._finish(record, run, result))
        elif task_id in self._given_back:
            self._given_back.discard(task_id)
            try:
                await changes.change(task_id, partial(given_back, run=run))
                await changes.store.release(task_id, run)
                await self._deliver(task_id, 0)
            except (Unavailable, BusyError):
                # Docket delivers it again.
                raise asyncio.CancelledError from None
        with suppress(Unavailable):
            await changes.store.release(task_id, run)

    async def _finish(self, record: TaskRecord, run: str, result: ToolResult) -> None:
        end = partial(finished, run=run, result=result)
        if await self._changes.change(record.id, end) is None and time.time() < record.expires:
            await self._changes.store.restore(record)
            await self._changes.change(record.id, end)

    async def _when_available(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Try until the store answers: what a tool did must not be lost because a Redis is away."""
        while True:
            try:
                return await work()
            except (Unavailable, BusyError):
                await asyncio.sleep(_PAUSE_SECONDS)


class TaskConversation:
    """What a tool says while it runs as a task: progress is stored, questions end the run until they are answered."""

    def __init__(self, record: TaskRecord, run: str, changes: TaskChanges) -> None:
        self._record = record
        self._run = run
        self._changes = changes
        self._last_progress = 0.0

    def supports(self, capability: str) -> bool:
        return capability == INPUT_REQUIRED or capability in self._record.capabilities

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        if now - self._last_progress < _PROGRESS_SECONDS:
            return
        self._last_progress = now
        step = partial(progressed, run=self._run, done=done, total=total, message=message)
        with suppress(Unavailable):
            await self._changes.change(self._record.id, step)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        return None

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        for request in requests.values():
            if not self.supports(capability := capability_of(request)):
                raise CapabilityRequiredError(capability)
        known = self._record.answers
        digests = {key: question_digest(key, request) for key, request in requests.items()}
        found = {
            key: read_answer(requests[key], json.loads(known[digest]))
            for key, digest in digests.items()
            if digest in known
        }
        read = {key: answer for key, answer in found.items() if answer is not None}
        if missing := {key: request for key, request in requests.items() if key not in read}:
            raise InputRequired(missing)
        return read
