"""MCP over stdin and stdout.

The first answers come from `fast_path.py`, so that an agent sees the tools at once; the SDK is loaded
when a message needs it, and is then told everything that it missed.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import msgspec
import structlog

from dogubako import _runner
from dogubako._tasks import Ended, begin
from dogubako.contract.call import TRUSTED, ToolResult
from dogubako.signals import hangup, soon_on, stop_on_signals, woken_by_signals
from dogubako.transports.http.disconnect import CancelHandle, first_step
from dogubako.transports.mcp.fast_path import FastPath, Handshake
from dogubako.transports.mcp.handover import Handover
from dogubako.transports.mcp.malformed import (
    BYTE_ORDER_MARK,
    find_request_id,
    half_characters_only_in_arguments,
    readable_id,
    refusal_of_content,
)
from dogubako.transports.mcp.pipes import ByteWriter, PendingRequests, open_reader, open_writer
from dogubako.transports.mcp.protocol import (
    INVALID_REQUEST,
    MAX_BODY_BYTES,
    MAX_PROTOCOL_VALUES,
    NOT_JSON,
    PARSE_ERROR,
    TOO_MANY_PROTOCOL_VALUES,
    TOO_MANY_VALUES,
    UNREADABLE,
    VERSION_KEY,
    Refusal,
    SimpleCall,
    encode_message,
    encoded_response,
    has_too_many_protocol_values,
    has_too_many_values,
    is_request_id,
)
from dogubako.transports.mcp.stdio_sdk import SdkPeer
from dogubako.transports.toolbox import ServedToolbox

log = structlog.get_logger("dogubako.stdio")

_decode = msgspec.json.Decoder().decode

# When stdin ends, loading the SDK on a busy machine does not count as grace time.
_LOADING_SECONDS: Final = 20.0
_END_BYTES: Final = 1024


async def serve_stdio(inside: ServedToolbox) -> None:
    """Serve one client until it closes stdin or the process gets a stop signal."""
    async with _pipes() as (reader, writer), inside.running(), anyio.create_task_group() as tasks:
        door = StdioServer(inside, writer, tasks)
        with _signals(door.stop):
            await door.run(reader)
        tasks.cancel_scope.cancel()


class StdioServer:
    """Routes incoming messages: answer on the fast path, hand to the SDK, or refuse."""

    def __init__(self, inside: ServedToolbox, writer: ByteWriter, tasks: anyio.abc.TaskGroup) -> None:
        self._writer = writer
        self._tasks = tasks
        self._fast_path = FastPath(inside)
        self._opening = Handshake(inside)
        self._outstanding = PendingRequests()
        self._sdk = SdkPeer(inside, tasks, self._write_encoded, self._outstanding)
        self._modern: bool | None = None
        self._listening = anyio.CancelScope()
        self._input_ended = False
        self._grace = inside.settings.shutdown_grace
        # Kinds of lists whose change is about to be announced.
        self._untold: set[str] = set()
        self._unsubscribe = [
            inside.registry.subscribe(lambda _: self._tell("tools")),
            inside.catalog.subscribe(lambda change: self._tell(change.kind)),
        ]

    async def run(self, reader: asyncio.StreamReader) -> None:
        try:
            with self._listening:
                while (read := await _read_line(reader))[0]:
                    line, end = read
                    if line.strip():
                        await self._take(line, end)
            await self._finish_calls()
        finally:
            for unsubscribe in self._unsubscribe:
                unsubscribe()
            self._sdk.close()

    async def _finish_calls(self) -> None:
        """Give running calls the grace time, whether stdin ended (`dogubako stdio < FILE`) or a signal came."""
        if not self._listening.cancel_called:
            self._input_ended = True
            if self._outstanding:
                log.info("Standard input was closed", running_calls=len(self._outstanding), grace_seconds=self._grace)
            with anyio.move_on_after(_LOADING_SECONDS):
                await self._sdk.loaded()
        with anyio.move_on_after(self._grace):
            await self._outstanding.all_answered()

    def stop(self) -> None:
        """Read no more messages and let running calls finish. A second call, or one after the input, stops at once."""
        if self._listening.cancel_called or self._input_ended:
            self._tasks.cancel_scope.cancel()
        self._listening.cancel()

    async def _take(self, line: bytes, end: bytes = b"") -> None:
        line = line.removeprefix(BYTE_ORDER_MARK)
        if len(line) > MAX_BODY_BYTES:
            request_id = find_request_id(line, end)
            await self._refuse(line, f"The message is larger than {MAX_BODY_BYTES:,} bytes.", request_id=request_id)
            return
        if (call := self._read(line)) is not None:
            self._start(call, line, {})
            return
        if has_too_many_values(line):
            await self._refuse(line, f"The message has {TOO_MANY_VALUES}.", request_id=_id_in(line))
            return
        try:
            message = _decode(line)
        except NOT_JSON:
            message = UNREADABLE
        if not isinstance(message, dict) or _has_odd_id(message):
            await self._take_oddity(line, message)
        elif len(line) > MAX_PROTOCOL_VALUES and has_too_many_protocol_values(message):
            # A value takes a byte at least: shorter lines need not be counted.
            await self._refuse(line, f"The message has {TOO_MANY_PROTOCOL_VALUES}.", request_id=_id_in(line))
        else:
            await self._take_message(line, message)

    def _read(self, line: bytes) -> SimpleCall | None:
        """The call in a short line that is nothing but a simple one; any other is looked at more closely."""
        if self._modern is None or len(line) > MAX_PROTOCOL_VALUES or not (self._modern or self._opening.opened):
            return None
        return self._fast_path.read(line, modern=self._modern)

    async def _take_message(self, line: bytes, message: dict[str, Any]) -> None:
        if self._modern is None and "method" in message and "id" in message:
            self._modern = message["method"] != "initialize" and _has_envelope(message)
        if self._modern is False and (answer := self._opening.answer(message)) is not None:
            self._sdk.catch_up(message, line)
            await self._write(answer)
        elif message.get("method") == "notifications/cancelled" and self._cancel(message):
            return
        elif (call := self._plain(message)) is not None:
            self._start(call, line, message)
        elif (refusal := refusal_of_content(message, is_strict=True)) is not None:
            await self._write(refusal.answer(readable_id(message)))
        else:
            await self._sdk.send(line, message)

    async def _take_oddity(self, line: bytes, message: Any) -> None:
        """Refuse a message that is no JSON object: without an answer the client would wait."""
        if isinstance(message, list):
            await self._refuse(line, "Batches are not supported; send one message per line.")
        elif isinstance(message, dict):
            await self._refuse(line, "The id of a request must be a string or an integer.")
        elif message is not UNREADABLE:
            await self._refuse(line, "A message must be a JSON object.")
        elif (lenient := _lenient_json(line)) is None:
            await self._refuse(line, "Parse error", PARSE_ERROR)
        elif has_too_many_protocol_values(lenient):
            await self._refuse(line, f"The message has {TOO_MANY_PROTOCOL_VALUES}.", request_id=_id_in(line))
        elif (call := self._call_with_half_characters(lenient)) is not None:
            self._start(call, line, lenient)
        elif (refusal := refusal_of_content(lenient, is_strict=False)) is not None:
            await self._write(refusal.answer(readable_id(lenient)))
        else:
            await self._sdk.send(line, lenient)

    def _call_with_half_characters(self, message: dict[str, Any]) -> SimpleCall | None:
        """A call whose arguments the tool's own check refuses, as it does at every transport."""
        return self._plain(message) if half_characters_only_in_arguments(message) else None

    def _start(self, call: SimpleCall, line: bytes, message: dict[str, Any]) -> None:
        if call.capabilities is not None:
            answering = self._talk(call, line, message)
        else:
            outcome = self._fast_path.answer(call, door="stdio", caller=TRUSTED)
            if isinstance(outcome, ToolResult):
                self._write_at_once(encoded_response(call, outcome))
                return
            answering = self._answer(call, outcome)
        self._outstanding.add(call.id)
        begun = begin(answering, loop=asyncio.get_running_loop())
        if not isinstance(begun, Ended):
            self._tasks.start_soon(_adopt, begun)

    def _write_at_once(self, encoded: bytes) -> None:
        """Write an answer. Whoever reads the next line does not wait for a client that does not read."""
        step = first_step(self._write_encoded(encoded))
        if not isinstance(step, Ended):
            self._tasks.start_soon(_adopt, step)

    async def _refuse(
        self, line: bytes, reason: str, code: int = INVALID_REQUEST, *, request_id: str | int | None = None
    ) -> None:
        log.warning("Malformed message", bytes=len(line))
        await self._write(Refusal(code, reason, None).answer(request_id))

    def _plain(self, message: dict[str, Any]) -> SimpleCall | None:
        if self._modern is None or (not self._modern and not self._opening.opened):
            return None
        return self._fast_path.match(message, modern=self._modern, hands_over=True, declared=self._opening.capabilities)

    def _cancel(self, message: dict[str, Any]) -> bool:
        params = message.get("params")
        return isinstance(params, dict) and self._fast_path.cancel("", params.get("requestId"))

    def _tell(self, kind: str) -> None:
        """Notify a client of list changes until the SDK is loaded and does it."""
        listens = self._modern is False and self._opening.opened and not self._sdk.here
        if listens and kind != "updated" and kind not in self._untold:
            self._untold.add(kind)
            self._tasks.start_soon(self._announce, kind)

    async def _announce(self, kind: str) -> None:
        """Changes that were made at the same time are announced once."""
        self._untold.discard(kind)
        await self._write({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})

    async def _answer(self, call: SimpleCall, outcome: Coroutine[Any, Any, ToolResult]) -> None:
        result: ToolResult | None = None
        try:
            with self._fast_path.cancellable(call):
                result = await outcome
            # Over stdio a cancelled request gets no answer at all.
            if result is not None:
                await self._write_encoded(encoded_response(call, result))
        finally:
            self._outstanding.discard(call.id)

    async def _talk(self, call: SimpleCall, line: bytes, message: dict[str, Any]) -> None:
        """Answer a call whose tool may talk: then the SDK answers it."""
        result, handover = None, None
        try:
            with self._fast_path.cancellable(call) as handle:
                handover = self._handover(call, handle, line, message)
                result = await self._fast_path.talk(call, handover, door="stdio", caller=TRUSTED)
            if result is not None:
                await self._write_encoded(encoded_response(call, result))
        finally:
            if handover is None or not handover.begun:
                self._outstanding.discard(call.id)

    def _handover(self, call: SimpleCall, handle: CancelHandle, line: bytes, message: dict[str, Any]) -> Handover:
        """What the call's tool talks to: the SDK, which then gets the request."""

        async def hand_over() -> None:
            self._fast_path.handed_over(call, handle)
            self._sdk.handovers[call.id] = handover
            await self._sdk.send(line, message)

        handover = Handover(call.capabilities or {}, hand_over, modern=call.modern)
        handover.cancel = handle.cancel
        return handover

    async def _write(self, message: dict[str, Any]) -> None:
        await self._write_encoded(encode_message(message))

    async def _write_encoded(self, encoded: bytes) -> None:
        try:
            self._writer.write(encoded + b"\n")
            await self._writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            # Nobody reads any more: stop, and stop what is running for them.
            self._tasks.cancel_scope.cancel()


async def _adopt(call: Awaitable[None]) -> None:
    """Let a call or a write that waits belong to a task group, which waits for it and cancels it with the others."""
    await call


class _Request(msgspec.Struct):
    """The fields of a request that its refusal needs."""

    id: str | int
    method: str


_read_request = msgspec.json.Decoder(_Request).decode


def _id_in(line: bytes) -> str | int | None:
    """The id of a request that is not decoded as a whole. Notifications and responses have none to answer to."""
    try:
        return _read_request(line).id
    except NOT_JSON:
        return find_request_id(line)


def _has_odd_id(message: dict[str, Any]) -> bool:
    """Whether a request has an invalid id. The SDK would take it for a notification and not answer."""
    request_id = message.get("id", "")
    return "method" in message and not is_request_id(request_id)


def _has_envelope(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def _lenient_json(line: bytes) -> dict[str, Any] | None:
    """NaN and half characters are read by the SDK's parser, which has its own answer to them."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


async def _read_line(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next line, and its end. Of one that is far too long only both ends are kept, which is enough to refuse it."""
    beginning = before = b""
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as overrun:
            skipped = await reader.readexactly(overrun.consumed)
            beginning, before = beginning or skipped, skipped[-_END_BYTES:]
            continue
        return beginning or line, (before + line)[-_END_BYTES:]


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop, a second one also ends what does not stop by itself, SIGHUP reopens log files."""
    loop = asyncio.get_running_loop()

    def hurry() -> None:
        _runner.hurry()
        soon_on(loop, stop)

    stop_on_signals(lambda: soon_on(loop, stop), hurry)
    hangup.tell_on(loop)
    with woken_by_signals(loop):
        yield


@asynccontextmanager
async def _pipes() -> AsyncIterator[tuple[asyncio.StreamReader, ByteWriter]]:
    """Our own descriptors for the conversation; what tools print goes to stderr, what they read is empty."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    reader = await open_reader(incoming, limit=MAX_BODY_BYTES)
    writer = await open_writer(outgoing)
    try:
        yield reader, writer
    finally:
        writer.close()
