"""Start worker processes that parse strangers' files, and reuse healthy ones."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

import anyio
import msgspec
import structlog
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from dogubako.contract.errors import BusyError
from dogubako.contract.offload import never_repeated
from dogubako.outbound.parsing.protocol import (
    IDLE_SECONDS,
    MAX_REPLY_BYTES,
    MAX_WORKERS,
    READY,
    REPLY_HEAD,
    REQUEST_HEAD,
    START_SECONDS,
    Limits,
    ParseFailure,
    encode,
)

log = structlog.get_logger("dogubako.parsing")

ReplyT = TypeVar("ReplyT")

# Before the name of the module that a worker runs.
PYTHON: Final = (sys.executable, "-P", "-W", "ignore", "-m")
# A worker gets no other environment variables: they hold secrets. These locate shared libraries.
_PASSED_ON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
# An idle worker is not used in the last part of its time: it might end at the same moment.
_USED_UNTIL: Final = 0.8
_PIECE_BYTES: Final = 64 * 1024
# The kernel ends a process that exceeds its limit of processor time with this signal. Windows has none.
_OUT_OF_PROCESSOR_TIME: Final = None if sys.platform == "win32" else -signal.SIGXCPU
# The pipes to a dead process raise these.
_BROKEN_PIPE: Final = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead)


class Worker(Generic[ReplyT]):
    """One worker process and the pipes to it."""

    def __init__(
        self,
        process: Process,
        replies: "msgspec.msgpack.Decoder[ReplyT]",
        idle_seconds: float,
        most_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)
        self._decoder = replies
        self._most_bytes = most_bytes
        self._idle_seconds = idle_seconds
        self._idle_since = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether it can take a request: it lives, and is not about to end from idleness."""
        idle = time.monotonic() - self._idle_since
        return self._process.returncode is None and idle < self._idle_seconds * _USED_UNTIL

    async def ready(self) -> bool:
        """Wait until it has loaded the parsers."""
        try:
            return await self._replies.receive_exactly(len(READY)) == READY
        except _BROKEN_PIPE:
            return False

    async def ask(
        self, request: msgspec.Struct, body: bytes | bytearray, seconds: float
    ) -> tuple[ReplyT | ParseFailure, bool]:
        """Its reply, and whether it can be used again."""
        message = encode(request)
        try:
            await self._requests.send(REQUEST_HEAD.pack(len(message), len(body), math.ceil(seconds)) + message)
            for start in range(0, len(body), _PIECE_BYTES):
                await self._requests.send(bytes(body[start : start + _PIECE_BYTES]))
            size, retire = REPLY_HEAD.unpack(await self._replies.receive_exactly(REPLY_HEAD.size))
            if size > self._most_bytes:
                return ParseFailure(reason="crash", cause="the reply is too large"), False
            reply = self._decoder.decode(await self._replies.receive_exactly(size))
        except _BROKEN_PIPE:
            return await self._death(), False
        except (msgspec.DecodeError, UnicodeError) as error:
            return ParseFailure(reason="crash", cause=f"the reply is malformed: {error}"), False
        self._idle_since = time.monotonic()
        return reply, not retire

    async def _death(self) -> ParseFailure:
        """Why the process ended in the middle of a request. The caller has a timeout."""
        if await self._process.wait() == _OUT_OF_PROCESSOR_TIME:
            return ParseFailure(reason="time", cause="its processor time was used up")
        return ParseFailure(reason="crash", cause="the worker process died")

    async def kill(self) -> None:
        """Kill it, and wait until the system has freed its resources."""
        with anyio.CancelScope(shield=True):
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()


class WorkerPool(Generic[ReplyT]):
    """Starts workers on demand, and reuses healthy ones."""

    def __init__(
        self,
        *,
        command: Sequence[str],
        replies: "msgspec.msgpack.Decoder[ReplyT]",
        size: int = MAX_WORKERS,
        idle_seconds: float = IDLE_SECONDS,
        limits: Limits | None = None,
    ) -> None:
        self._replies = replies
        self._limits = limits or Limits()
        self._idle_seconds = idle_seconds
        self._command = command
        self._places = anyio.CapacityLimiter(size)
        self._idle: list[Worker[ReplyT]] = []
        self._alive: set[Worker[ReplyT]] = set()
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

    async def run(self, request: msgspec.Struct, body: bytes | bytearray, seconds: float) -> ReplyT | ParseFailure:
        """Have a worker perform the request within this time. Waiting for a free worker does not count."""
        async with self._places:
            worker = await self._usable_worker()
            reusable = False
            reply: ReplyT | ParseFailure
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

    async def _usable_worker(self) -> Worker[ReplyT]:
        while self._idle:
            worker = self._idle.pop()
            if worker.usable:
                return worker
            await self._end(worker)
        return await self._started()

    async def _started(self) -> Worker[ReplyT]:
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
        worker = Worker(process, self._replies, self._idle_seconds, self._limits.reply_bytes)
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

    async def _end(self, worker: Worker[ReplyT]) -> None:
        await worker.kill()
        self._alive.discard(worker)


def _environment() -> dict[str, str]:
    """The variables that a worker needs to find our code and its libraries."""
    own = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {**own, **{name: os.environ[name] for name in _PASSED_ON if name in os.environ}}


def _cannot_start(cause: str) -> BusyError:
    log.error("Parsing worker could not be started", cause=cause)
    return BusyError("No worker process could be started to read the file.", hint="Try again in a moment.")
