"""A pool of worker processes. Each parses one page at a time and is killed when its call ends before it has."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import anyio
import msgspec
import structlog
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from dogubako.contract.errors import BusyError
from dogubako.contract.repetition import never_repeated
from dogubako.packs.web.parsing.limits import IDLE_SECONDS, MAX_WORKERS, START_SECONDS
from dogubako.packs.web.parsing.messages import (
    MAX_REPLY_BYTES,
    READY,
    REPLIES,
    REPLY_HEAD,
    REQUEST_HEAD,
    ParseFailure,
    Reply,
    Request,
    encode,
)

log = structlog.get_logger("dogubako.web")

_COMMAND: Final = (sys.executable, "-P", "-W", "ignore", "-m", "dogubako.packs.web.parsing.worker")
# A worker gets no other variable of ours: settings are full of secrets. These find shared libraries.
_PASSED_ON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
# An idle worker is not used in the last part of its time: it might end at the same moment.
_USED_UNTIL: Final = 0.8
_PIECE_BYTES: Final = 64 * 1024
# What the pipes to a process that has died raise.
_BROKEN_PIPE: Final = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead)


class Worker:
    """One worker process and the pipes to it."""

    def __init__(self, process: Process, idle_seconds: float) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)
        self._idle_seconds = idle_seconds
        self._idle_since = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether it can take a request: it lives, and is not about to end for having nothing to do."""
        idle = time.monotonic() - self._idle_since
        return self._process.returncode is None and idle < self._idle_seconds * _USED_UNTIL

    async def ready(self) -> bool:
        """Wait until it has loaded the parsers."""
        try:
            return await self._replies.receive_exactly(len(READY)) == READY
        except _BROKEN_PIPE:
            return False

    async def ask(self, request: Request, body: bytes | bytearray, seconds: float) -> tuple[Reply, bool]:
        """Its reply, and whether it can be asked again."""
        message = encode(request)
        try:
            await self._requests.send(REQUEST_HEAD.pack(len(message), len(body), round(seconds)) + message)
            for start in range(0, len(body), _PIECE_BYTES):
                await self._requests.send(bytes(body[start : start + _PIECE_BYTES]))
            size, retire = REPLY_HEAD.unpack(await self._replies.receive_exactly(REPLY_HEAD.size))
            if size > MAX_REPLY_BYTES:
                return ParseFailure(reason="crash", cause="the reply is too large"), False
            reply = REPLIES.decode(await self._replies.receive_exactly(size))
        except _BROKEN_PIPE:
            return ParseFailure(reason="crash", cause="the worker process died"), False
        except (msgspec.DecodeError, UnicodeError) as error:
            return ParseFailure(reason="crash", cause=f"the reply is malformed: {error}"), False
        self._idle_since = time.monotonic()
        return reply, not retire

    async def kill(self) -> None:
        """End it at once, and wait until the system has taken everything back."""
        with anyio.CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()


class WorkerPool:
    """Starts workers when they are needed, and keeps those that are well for the next pages."""

    def __init__(
        self, *, size: int = MAX_WORKERS, idle_seconds: float = IDLE_SECONDS, command: Sequence[str] = _COMMAND
    ) -> None:
        self._idle_seconds = idle_seconds
        self._command = command
        self._places = anyio.CapacityLimiter(size)
        self._idle: list[Worker] = []
        self._alive: set[Worker] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._idle.clear()
        for worker in list(self._alive):
            await self._end(worker)

    async def run(self, request: Request, body: bytes | bytearray, seconds: float) -> Reply:
        """Have a worker perform the request within this time. Waiting for a free one is the caller's time."""
        async with self._places:
            worker = await self._usable_worker()
            reusable = False
            try:
                with never_repeated(), anyio.fail_after(seconds):
                    reply, reusable = await worker.ask(request, body, seconds)
            except TimeoutError:
                reply = ParseFailure(reason="time", cause=f"killed after {seconds:g} seconds")
            finally:
                if reusable:
                    self._idle.append(worker)
                else:
                    await self._end(worker)
            return reply

    async def _usable_worker(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.usable:
                return worker
            await self._end(worker)
        return await self._started()

    async def _started(self) -> Worker:
        try:
            process = await anyio.open_process(
                [*self._command, str(os.getpid()), str(self._idle_seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None,
                env=_environment(),
                # Ctrl-C at a terminal is for the server, which ends its workers itself.
                start_new_session=True,
            )
        except OSError as error:
            raise _cannot_start(f"{type(error).__name__}: {error}") from error
        worker = Worker(process, self._idle_seconds)
        self._alive.add(worker)
        is_ready = False
        try:
            with anyio.move_on_after(START_SECONDS):
                # A call may still be starting a worker while the server stops.
                is_ready = not self._closed and await worker.ready()
        finally:
            if not is_ready:
                await self._end(worker)
        if not is_ready:
            raise _cannot_start(f"exit code {process.returncode}")
        return worker

    async def _end(self, worker: Worker) -> None:
        await worker.kill()
        self._alive.discard(worker)


def _environment() -> dict[str, str]:
    """What a worker needs to find our code and its libraries, and nothing else."""
    own = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {**own, **{name: os.environ[name] for name in _PASSED_ON if name in os.environ}}


def _cannot_start(cause: str) -> BusyError:
    log.error("Parsing worker could not be started", cause=cause)
    return BusyError("No worker process could be started to read the page.", hint="Try again in a moment.")
