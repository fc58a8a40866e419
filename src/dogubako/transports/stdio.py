"""MCP over stdin and stdout.

The first answers come from `opening.py` and `express.py`, so that an agent sees the tools at once; the SDK is loaded
when a message needs it, and is then told everything that it missed.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import anyio
import msgspec
import structlog

from dogubako import ending
from dogubako.contract.call import TRUSTED
from dogubako.signals import hangup, soon_on, stop_on_signals, woken_by_signals
from dogubako.transports.express import CANCELLED, Express, PlainCall
from dogubako.transports.inside import Inside
from dogubako.transports.opening import Opening
from dogubako.transports.outstanding import Outstanding
from dogubako.transports.pipes import Output, open_reader, open_writer
from dogubako.transports.stdio_sdk import SdkPeer
from dogubako.transports.wire import (
    INVALID_REQUEST,
    MAX_BODY_BYTES,
    NOT_JSON,
    PARSE_ERROR,
    TOO_MANY_PROTOCOL_VALUES,
    TOO_MANY_VALUES,
    UNREADABLE,
    VERSION_KEY,
    Refusal,
    encode_message,
    has_too_many_protocol_values,
    has_too_many_values,
    is_request_id,
)

log = structlog.get_logger("dogubako.stdio")

_decode = msgspec.json.Decoder().decode

# When stdin ends, loading the SDK on a busy machine does not count as grace time.
_LOADING_SECONDS: Final = 20.0


async def serve_stdio(inside: Inside) -> None:
    """Serve one client until it closes stdin or we are told to stop."""
    async with _pipes() as (reader, writer), inside.running(), anyio.create_task_group() as tasks:
        door = StdioDoor(inside, writer, tasks)
        with _signals(door.stop):
            await door.run(reader)
        tasks.cancel_scope.cancel()


class StdioDoor:
    """Sorts incoming messages: answer here, hand to the SDK, or refuse."""

    def __init__(self, inside: Inside, writer: Output, tasks: anyio.abc.TaskGroup) -> None:
        self._writer = writer
        self._tasks = tasks
        self._express = Express(inside)
        self._opening = Opening(inside)
        self._outstanding = Outstanding()
        self._sdk = SdkPeer(inside, tasks, self._write_encoded, self._outstanding)
        self._modern: bool | None = None
        self._listening = anyio.CancelScope()
        self._input_ended = False
        self._grace = inside.settings.shutdown_grace
        self._unsubscribe = [
            inside.registry.subscribe(lambda _: self._tell("tools")),
            inside.catalog.subscribe(lambda change: self._tell(change.kind)),
        ]

    async def run(self, reader: asyncio.StreamReader) -> None:
        try:
            with self._listening:
                while line := await _read_line(reader):
                    if line.strip():
                        await self._take(line)
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
                log.info("End of input", running_calls=len(self._outstanding), grace_seconds=self._grace)
            with anyio.move_on_after(_LOADING_SECONDS):
                await self._sdk.loaded()
        with anyio.move_on_after(self._grace):
            await self._outstanding.all_answered()

    def stop(self) -> None:
        """Take no more messages; what is running may finish. Told twice, or after the end of input, stop at once."""
        if self._listening.cancel_called or self._input_ended:
            self._tasks.cancel_scope.cancel()
        self._listening.cancel()

    async def _take(self, line: bytes) -> None:
        if len(line) > MAX_BODY_BYTES:
            await self._refuse(line, f"The message is larger than {MAX_BODY_BYTES:,} bytes.")
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
        elif has_too_many_protocol_values(message):
            await self._refuse(line, f"The message has {TOO_MANY_PROTOCOL_VALUES}.", request_id=_id_in(line))
        else:
            await self._take_message(line, message)

    async def _take_message(self, line: bytes, message: dict[str, Any]) -> None:
        if self._modern is None and "method" in message and "id" in message:
            self._modern = message["method"] != "initialize" and _has_envelope(message)
        if self._modern is False and (answer := self._opening.answer(message)) is not None:
            self._sdk.catch_up(message, line)
            await self._write(answer)
        elif message.get("method") == "notifications/cancelled" and self._cancel(message):
            return
        elif (call := self._plain(message)) is not None:
            self._outstanding.add(call.id)
            self._tasks.start_soon(self._answer, call)
        else:
            await self._sdk.send(line, message)

    async def _take_oddity(self, line: bytes, message: Any) -> None:
        """What is no JSON object gets an answer too: silence would leave a client waiting."""
        if isinstance(message, list):
            await self._refuse(line, "Batches are not supported; send one message per line.")
        elif isinstance(message, dict):
            await self._refuse(line, "The id of a request must be a string or an integer.")
        elif message is not UNREADABLE:
            await self._refuse(line, "A message must be a JSON object.")
        elif (lenient := _lenient_json(line)) is None:
            await self._refuse(line, "Parse error", PARSE_ERROR)
        elif has_too_many_protocol_values(lenient):
            await self._refuse(line, f"The message has {TOO_MANY_PROTOCOL_VALUES}.")
        else:
            await self._sdk.send(line, lenient)

    async def _refuse(
        self, line: bytes, reason: str, code: int = INVALID_REQUEST, *, request_id: str | int | None = None
    ) -> None:
        log.warning("Malformed message", bytes=len(line))
        await self._write(Refusal(code, reason, None).answer(request_id))

    def _plain(self, message: dict[str, Any]) -> PlainCall | None:
        if self._modern is None or (not self._modern and not self._opening.opened):
            return None
        return self._express.recognise(message, modern=self._modern)

    def _cancel(self, message: dict[str, Any]) -> bool:
        params = message.get("params")
        return isinstance(params, dict) and self._express.cancel("", params.get("requestId"))

    def _tell(self, kind: str) -> None:
        """A client that has shaken hands hears of changes from us, until the SDK is here to tell them."""
        if self._modern is False and self._opening.opened and not self._sdk.here and kind != "updated":
            notice = {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}
            self._tasks.start_soon(self._write, notice)

    async def _answer(self, call: PlainCall) -> None:
        try:
            response = await self._express.answer(call, door="stdio", caller=TRUSTED)
            # Over stdio a cancelled request gets no answer at all.
            if response.get("error") != CANCELLED.as_json():
                await self._write(response)
        finally:
            self._outstanding.discard(call.id)

    async def _write(self, message: dict[str, Any]) -> None:
        await self._write_encoded(encode_message(message))

    async def _write_encoded(self, encoded: bytes) -> None:
        try:
            self._writer.write(encoded + b"\n")
            await self._writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            # Nobody reads any more: stop, and stop what is running for them.
            self._tasks.cancel_scope.cancel()


class _Request(msgspec.Struct):
    """As much of a request as its refusal needs."""

    id: str | int
    method: str


_read_request = msgspec.json.Decoder(_Request).decode


def _id_in(line: bytes) -> str | int | None:
    """The id of a request that is not decoded as a whole. Notifications and responses have none to answer to."""
    try:
        return _read_request(line).id
    except NOT_JSON:
        return None


def _has_odd_id(message: dict[str, Any]) -> bool:
    """Whether a request has an id that nobody may use; the SDK would take it for a notification and stay silent."""
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


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """The next line. Of one that is far too long only the beginning is kept, which says enough to refuse it."""
    beginning = b""
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as overrun:
            skipped = await reader.readexactly(overrun.consumed)
            beginning = beginning or skipped
            continue
        return beginning or line


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop, a second one also ends what does not stop by itself, SIGHUP reopens log files."""
    loop = asyncio.get_running_loop()

    def hurry() -> None:
        ending.hurry()
        soon_on(loop, stop)

    stop_on_signals(lambda: soon_on(loop, stop), hurry)
    hangup.tell_on(loop)
    with woken_by_signals(loop):
        yield


@asynccontextmanager
async def _pipes() -> AsyncIterator[tuple[asyncio.StreamReader, Output]]:
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
