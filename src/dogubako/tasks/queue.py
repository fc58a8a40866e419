"""Delivery of tasks by Docket. Only ids travel through it, as the keys of its messages.

Docket pickles arguments, and unpickling runs code. Our messages have none, and what stands in their place in the
queue is never read (`_PlainExecution`); its list of strikes, which has pickles too, is not connected. So whoever can
write into the queue can have a known task looked at once more, and nothing else.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any, Final, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import cloudpickle
import structlog
from docket import CurrentExecution, Docket, Execution, Worker, worker
from docket.strikelist import StrikeList
from redis.exceptions import RedisError

from dogubako.contract.errors import BusyError
from dogubako.contract.redis_address import parse_redis_address
from dogubako.outbound.redis_cache import failures, refusals

log = structlog.get_logger("dogubako.tasks")

Run = Callable[[str], Coroutine[Any, Any, None]]

# A task whose worker was killed is delivered again after this time and a quarter of it.
_REDELIVERY: Final = timedelta(seconds=15)
# Work is not waited for by asking: a worker's read returns when there is some.
_LOOK: Final = timedelta(seconds=1)
_HEARTBEAT: Final = timedelta(seconds=10)
_PAUSE_SECONDS: Final = 1.0
_PUT_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 10
_SILENT_SECONDS: Final = 60.0
_RUN: Final = "run"
_DELIVERED: Final = CurrentExecution()
_NOTHING: Final = {b"args": cloudpickle.dumps(()), b"kwargs": cloudpickle.dumps({})}


class _Outages(logging.Filter):
    """Lets an error of Redis that Docket logs each second pass once a minute, in one line: our log has the outage."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until: dict[tuple[str, type], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, OSError | RedisError):
            return True
        key, now = (str(record.msg), type(error)), time.monotonic()
        if now < self._silent_until.get(key, 0.0):
            return False
        self._silent_until[key] = now + _SILENT_SECONDS
        record.msg = f"{record.getMessage()} ({type(error).__name__})"
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


logging.getLogger(worker.__name__).addFilter(_Outages())


class _PlainExecution(Execution):
    """Takes nothing from a message of our queue but the key, and how often it was scheduled."""

    @classmethod
    async def from_message(cls, docket: Docket, message: dict[bytes, bytes], *args: Any, **more: Any) -> Self:
        if isinstance(docket, _TaskDocket):
            generation = message.get(b"generation", b"0")
            message = {
                b"function": _RUN.encode(),
                b"key": message.get(b"key", b""),
                b"when": datetime.now(UTC).isoformat().encode(),
                b"attempt": b"1",
                b"generation": generation if generation.isdigit() else b"0",
                **_NOTHING,
            }
        return await super().from_message(docket, message, *args, **more)


# The worker has no other place to say how messages are read.
vars(worker)["Execution"] = _PlainExecution


class _TaskDocket(Docket):
    """A docket that does not read the list of strikes in Redis, and whose name has the hash tag of our other keys."""

    @property
    def prefix(self) -> str:
        return self.name

    @property
    def strike_list(self) -> StrikeList:
        return self._no_strikes

    @strike_list.setter
    def strike_list(self, connected: StrikeList) -> None:
        self._no_strikes = StrikeList()


class _TaskWorker(Worker):
    """A worker that listens on no channel: tasks are cancelled by their records, which every run looks at."""

    async def _cancellation_listener(self) -> None:
        if (session := self._processing_session) is not None:
            session.cancellation_ready.set()


class TaskQueue:
    """Passes ids of tasks to whichever process runs them. `url` is None for this process only."""

    def __init__(self, prefix: str, url: str | None, run: Run, *, concurrency: int) -> None:
        self._name = _name(prefix, url)
        self._urls = cycle(_waiting(url) if url is not None else [f"memory://{secrets.token_hex(8)}"])
        self._run = run
        # How many tasks this process runs at once; 0 if others run them.
        self._concurrency = concurrency
        self._docket: Docket | None = None
        self._worker: Worker | None = None
        self._runs: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        self._broken: tuple[type[Exception], ...] = (TimeoutError, OSError, *failures(), *refusals())

    async def put(self, task_id: str, *, delay: float = 0) -> None:
        """Have a task run, or raise BusyError. One that is delivered twice runs once."""
        when = datetime.now(UTC) + timedelta(seconds=delay)
        try:
            async with asyncio.timeout(_PUT_SECONDS):
                await self._ready.wait()
                assert self._docket is not None
                # Another key each time: Docket leaves out what it knows already.
                await self._docket.add(_RUN, when=when, key=f"{task_id}.{secrets.token_hex(4)}")()
        except self._broken:
            message = "The queue of tasks does not answer: nothing was started."
            raise BusyError(message, hint="Try again in a moment; `dogubako doctor` says more.") from None

    async def work(self) -> None:
        """Be connected, and run tasks, until cancelled."""
        while True:
            try:
                async with self._connected() as queue:
                    if self._concurrency:
                        await self._work(queue)
                        return
                    await asyncio.Event().wait()
            except self._broken as error:
                log.warning("The queue of tasks cannot be reached", error=type(error).__name__)
            except Exception as error:
                # Tasks of others must not wait for ever because of one that Docket stumbled over.
                log.error("Running tasks failed, and begins anew", exc_info=error)
            await asyncio.sleep(_PAUSE_SECONDS)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Docket]:
        url = next(self._urls)
        queue = _TaskDocket(name=self._name, url=url, heartbeat_interval=_HEARTBEAT, execution_ttl=timedelta(0))
        queue.tasks.clear()
        queue.register(self._taking(), [_RUN])
        async with queue:
            self._docket = queue
            self._ready.set()
            try:
                yield queue
            finally:
                self._ready.clear()
                self._docket = None

    def _taking(self) -> Callable[..., Awaitable[None]]:
        async def run(execution: Execution = _DELIVERED) -> None:
            work = asyncio.create_task(self._run(execution.key.partition(".")[0]))
            self._runs.add(work)
            work.add_done_callback(self._runs.discard)
            await self._until_stopped(work)

        return run

    async def _until_stopped(self, work: "asyncio.Task[None]") -> None:
        """Wait for a run. Docket must not: it would wait for all of them before it connects again after a failure.

        The message of a run that goes on alone stays in the queue. It is delivered again, and finds the task leased.
        """
        session = self._worker._processing_session if self._worker is not None else None
        stopping = asyncio.create_task((session.stopping if session is not None else asyncio.Event()).wait())
        try:
            await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not work.done():
            raise asyncio.CancelledError
        await work

    async def _work(self, queue: Docket) -> None:
        async with _TaskWorker(
            queue,
            name=secrets.token_hex(8),
            concurrency=self._concurrency,
            redelivery_timeout=_REDELIVERY,
            reconnection_delay=timedelta(seconds=_PAUSE_SECONDS),
            minimum_check_interval=_LOOK,
            scheduling_resolution=_LOOK,
            schedule_automatic_tasks=False,
        ) as self._worker:
            # It returns when it is cancelled.
            await self._worker.run_forever()
        if self._runs:
            await asyncio.wait(self._runs)


def _name(prefix: str, url: str | None) -> str:
    """What the keys of the queue begin with. In a cluster, all keys of one server are in one slot."""
    is_cluster = url is not None and parse_redis_address(url).kind == "cluster"
    return f"{{{prefix}}}:tasks" if is_cluster else f"{prefix}:tasks"


def _waiting(url: str) -> list[str]:
    """The address with another timeout than that of short operations: a worker waits for messages.

    Docket takes one node of a cluster, and finds the others. Which one is tried next, after one was down.
    """
    parts = urlsplit(url)
    options = {**dict(parse_qsl(parts.query)), "socket_timeout": str(_ANSWER_SECONDS)}
    user, at, hosts = parts.netloc.rpartition("@")
    nodes = hosts.split(",") if parse_redis_address(url).kind == "cluster" else [hosts]
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{node}", query=urlencode(options))) for node in nodes]
