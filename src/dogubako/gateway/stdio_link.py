"""Frame the messages of a stdio server by lines: limited in size, in linear time, and without what is not JSON."""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import structlog

from dogubako.contract.offload import offload
from dogubako.gateway.link import AnswerTooLong, Message, Receiver, RequestId, UpstreamError, UpstreamLost
from dogubako.gateway.messages import decoded, encoded
from dogubako.gateway.stdio_process import ChildCommand, ChildProcess

log = structlog.get_logger("dogubako.gateway")

LONGEST_LINE: Final = 32 * 1024 * 1024
# Longer lines are decoded in a worker thread.
_SHORT_LINE: Final = 256 * 1024
# A server may send messages without an end. It gets so much of the loop at once, and half of it at most.
_SLICE_SECONDS: Final = 0.005
_BRACKETS: Final = (b"{", b"[")
# How much of a discarded line is kept to find out which request it answers.
_KEPT_BYTES: Final = 1024
_LONGEST_NOISE: Final = 300
_INTERNAL_ERROR: Final = -32603
# The id of an answer, before its result or behind it.
_ID_BEFORE: Final = re.compile(rb'^(?:(?!"(?:result|error)")[^[])*?"id"\s*:\s*(\d{1,15})\s*[,}]')
_ID_BEHIND: Final = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class LineReader:
    """Splits chunks of bytes into lines. A line that is too long is discarded while it arrives."""

    def __init__(self, on_line: Callable[[bytes], None], on_too_long: Callable[[bytes, bytes], None]) -> None:
        self._on_line = on_line
        # Gets the first and the last bytes of a discarded line.
        self._on_too_long = on_too_long
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._tail = b""

    def feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            # Empty lines cost nothing: a server may write millions of them.
            if line or self._size:
                self._take(line)
                self._finish()
        if rest:
            self._take(rest)

    def _take(self, part: bytes) -> None:
        self._size += len(part)
        if self._head is not None:
            self._tail = (self._tail + part)[-_KEPT_BYTES:]
            return
        self._parts.append(part)
        if self._size > LONGEST_LINE:
            whole = b"".join(self._parts)
            self._parts.clear()
            self._head, self._tail = whole[:_KEPT_BYTES], whole[-_KEPT_BYTES:]

    def _finish(self) -> None:
        head, tail = self._head, self._tail
        line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size, self._head, self._tail = 0, None, b""
        if head is not None:
            self._on_too_long(head, tail)
        else:
            self._on_line(line)


class StdioLink:
    """The connection to a server that runs as our child."""

    may_be_silent = True

    def __init__(self, command: ChildCommand) -> None:
        self._command = command
        self._receiver: Receiver | None = None
        self._process: ChildProcess | None = None
        self._reader = LineReader(self._line, self._too_long)
        # What arrived and was not delivered yet: lines, and the messages of a batch.
        self._waiting: deque[bytes | Message] = deque()
        self._delivering: asyncio.Task[None] | None = None
        self._last_noise = b""
        self._ended = False
        self.noise_lines = 0

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._process = ChildProcess(self._feed, self._end_of_output)
        await self._process.start(self._command)

    async def send(self, message: Message) -> None:
        if self._process is None or self._ended:
            raise UpstreamLost("The process has ended.", may_have_run=False)
        await self._process.write(encoded(message) + b"\n")

    def cancel(self, request: RequestId) -> bool:
        return False

    def use(self, version: str) -> None:
        """Messages over stdio carry no version outside of themselves."""

    def learn(self, tools: Iterable[Message]) -> Mapping[str, str]:
        """Nothing outside of a message depends on the tool that it calls."""
        return {}

    async def close(self) -> None:
        self._receiver = None
        if self._process is not None:
            await self._process.end()

    def kill(self) -> None:
        """End the process without waiting for it."""
        if self._process is not None:
            self._process.kill()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def diagnostics(self) -> str:
        stderr = self._process.stderr if self._process is not None else ""
        return stderr or self._last_noise.decode("utf-8", "replace").strip()

    def _feed(self, data: bytes) -> None:
        self._reader.feed(data)
        if self._delivering is None and not self._deliver_some():
            self._delivering = asyncio.get_running_loop().create_task(self._deliver_rest(), name="deliver messages")

    def _line(self, line: bytes) -> None:
        self._waiting.append(line)

    def _deliver_some(self) -> bool:
        """Deliver what waits, for a short while and up to the next long line. Whether that was all."""
        until = time.perf_counter() + _SLICE_SECONDS
        while self._waiting:
            one = self._waiting[0]
            if isinstance(one, bytes) and len(one) > _SHORT_LINE:
                return False
            self._waiting.popleft()
            if isinstance(one, bytes):
                self._read(one, decoded(one) if one.lstrip()[:1] in _BRACKETS else None)
            else:
                self._deliver(one)
            if time.perf_counter() >= until:
                break
        return not self._waiting

    async def _deliver_rest(self) -> None:
        """Deliver what is too much for one turn of the loop: in slices, with as much time for others between them.

        Long lines are decoded in a thread, one after another, so that messages keep their order.
        """
        assert self._process is not None
        self._process.pause_output(True)
        while self._waiting:
            one = self._waiting[0]
            if isinstance(one, bytes) and len(one) > _SHORT_LINE:
                self._waiting.popleft()
                self._read(one, await offload(decoded, one))
            elif not self._deliver_some():
                await asyncio.sleep(_SLICE_SECONDS)
        self._delivering = None
        self._process.pause_output(False)
        if self._ended:
            self._report_end()

    def _read(self, line: bytes, message: Any) -> None:
        """Deliver a message. Those of a batch wait for their turn: there may be very many."""
        if isinstance(message, list):
            messages = [one for one in message if _is_message(one)]
            self._waiting.extendleft(reversed(messages))
        elif _is_message(message):
            messages = [message]
            self._deliver(message)
        else:
            messages = []
        if not messages and line.strip():
            self._note_noise(line)
            self._fail_unreadable(line)

    def _deliver(self, message: Message) -> None:
        try:
            if self._receiver is not None:
                self._receiver.received(message, None)
        except Exception as error:
            # Whatever a message makes us stumble over, it must not cost the messages behind it.
            log.error("A message of an MCP server could not be read", exc_info=error)
            self._note_noise(encoded(message)[:_LONGEST_NOISE])

    def _fail_unreadable(self, line: bytes) -> None:
        """Let no call wait for an answer that was here and cannot be read, because of its numbers for example."""
        head, tail = line[:_KEPT_BYTES], line[-_KEPT_BYTES:]
        if self._receiver is None or not _begins_an_answer(head):
            return
        found = _ID_BEFORE.search(head) or _ID_BEHIND.search(tail)
        if found is not None:
            reason = "Its answer cannot be read: it is no JSON, or holds a number that is too large."
            self._receiver.failed(int(found[1]), UpstreamError(_INTERNAL_ERROR, reason))

    def _note_noise(self, line: bytes) -> None:
        self.noise_lines += 1
        self._last_noise = line[:_LONGEST_NOISE]

    def _too_long(self, head: bytes, tail: bytes) -> None:
        log.warning("An MCP server sent a line that is too long; it was discarded", limit=LONGEST_LINE)
        if self._receiver is None:
            return
        found = _ID_BEFORE.search(head) or _ID_BEHIND.search(tail)
        if found is not None:
            reason = f"The answer is larger than {LONGEST_LINE // 1024**2} MB."
            self._receiver.failed(int(found[1]), AnswerTooLong(reason))

    def _end_of_output(self) -> None:
        self._ended = True
        if self._delivering is None:
            self._report_end()

    def _report_end(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            wrote = last_line(self.diagnostics)
            receiver.lost(f"The process ended. It wrote: {wrote}" if wrote else "The process ended.")


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0"


def last_line(text: str) -> str:
    """The last line, for a sentence about the end of a process."""
    return text.strip().rpartition("\n")[2][:_LONGEST_NOISE]


def _begins_an_answer(head: bytes) -> bool:
    _, names_protocol, rest = head.partition(b'"jsonrpc"')
    return head.lstrip().startswith(b"{") and bool(names_protocol) and (b'"result"' in rest or b'"error"' in rest)
