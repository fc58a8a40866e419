"""Streams of events (SSE). The reader of the HTTP library is not used.

It lets nobody else run while one chunk expands, decodes with whatever charset the server names, and keeps ids and
pauses that cannot be sent or slept.
"""

import re
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from dogubako.gateway.http_client import http_library
from dogubako.gateway.link import AnswerTooLong, Message, UpstreamLost
from dogubako.gateway.response_body import LONGEST_ANSWER, MEGABYTES, decoded_in_turn, pieces_of
from dogubako.outbound.json_answers import BYTE_ORDER_MARK

if TYPE_CHECKING:
    import httpx2

log = structlog.get_logger("dogubako.gateway")

# Of a stream that stays open while the server runs.
SMALL_SHARE: Final = 0.05
RESUME_SECONDS: Final = 1.0
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 60.0
# What may stand in a header.
_SENDABLE: Final = re.compile(rb"[\x21-\x7e]{1,1000}\Z")
_MILLISECONDS: Final = re.compile(rb"[0-9]{1,9}\Z")
_KIND: Final = "text/event-stream"


class Event(NamedTuple):
    """One event. `id` and `pause` are None where it does not change them."""

    kind: str
    data: bytes
    id: str | None
    pause: float | None


class EventParser:
    """Finds the events in the bytes of a stream."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data = bytearray()
        self._kind = ""
        self._id: str | None = None
        self._pause: float | None = None
        # Whether a line of data has begun and not ended.
        self._in_data = False
        self._is_first = True
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end in this piece. Raises `AnswerTooLong` for an event that exceeds the limit."""
        if self._is_first:
            piece, self._is_first = piece.removeprefix(BYTE_ORDER_MARK), False
        if self._after_return and piece[:1] == b"\n":
            piece = piece[1:]
        self._after_return = piece[-1:] == b"\r"
        for part in piece.splitlines(keepends=True):
            text = part.rstrip(b"\r\n")
            is_whole = len(text) < len(part)
            if self._in_data or not is_whole:
                self._take_part(text, is_whole)
            elif text or self._line:
                self._take(bytes(self._line + text) if self._line else text)
                self._line.clear()
            elif (event := self._ended()) is not None:
                yield event
            if len(self._line) + len(self._data) > LONGEST_ANSWER:
                raise AnswerTooLong(f"The answer is larger than {MEGABYTES} MB.")

    def _take_part(self, text: bytes, ends: bool) -> None:
        """Take a part of a line. A long line of data is not copied again when it ends."""
        if self._in_data:
            self._data += text
            if ends:
                self._data += b"\n"
                self._in_data = False
            return
        self._line += text
        if len(self._line) > len(b"data: ") and self._line.startswith(b"data:"):
            self._data += self._line[len(b"data:") :].removeprefix(b" ")
            self._line.clear()
            self._in_data = True

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data += value + b"\n"
        elif name == b"event":
            self._kind = value[:100].decode(errors="replace")
        elif name == b"id":
            # A stream cannot be continued from an id that cannot be sent.
            self._id = value.decode() if _SENDABLE.match(value) else ""
        elif name == b"retry" and _MILLISECONDS.match(value):
            self._pause = min(max(int(value) / 1000, _SHORTEST_PAUSE), _LONGEST_PAUSE)

    def _ended(self) -> Event | None:
        if not self._data and not self._kind and self._id is None and self._pause is None:
            return None
        del self._data[-1:]
        event = Event(self._kind or "message", bytes(self._data), self._id, self._pause)
        self._data, self._kind, self._id, self._pause = bytearray(), "", None, None
        return event


async def events_of(response: "httpx2.Response", share: float = 1.0) -> AsyncIterator[Event]:
    """The events of a response, until it ends."""
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        raise UpstreamLost("The answer is no stream of events.")
    parser = EventParser()
    async for piece in pieces_of(response, share):
        for event in parser.feed(piece):
            yield event


async def message_in(event: Event) -> Any:
    """The value of an event; None for what is no JSON. Bytes that are no UTF-8 are replaced."""
    message = await decoded_in_turn(event.data)
    if message is None and event.data and not _is_utf8(event.data):
        message = await decoded_in_turn(event.data.decode(errors="replace").encode())
    return message


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Events:
    """The messages of a stream of events, with the id and the pause to continue it."""

    def __init__(self, response: "httpx2.Response", before: "Events | None" = None, share: float = 1.0) -> None:
        self._response = response
        self._share = share
        self.last_id: str = before.last_id if before is not None else ""
        self.pause: float = before.pause if before is not None else RESUME_SECONDS
        self.has_new_id = False

    async def __aiter__(self) -> AsyncIterator[Message]:
        library = http_library()
        try:
            async for event in events_of(self._response, self._share):
                if event.id is not None:
                    self.last_id, self.has_new_id = event.id, bool(event.id)
                if event.pause is not None:
                    self.pause = event.pause
                if event.kind == "message" and event.data:
                    message = await message_in(event)
                    if isinstance(message, dict):
                        yield message
        except library.TransportError as error:
            log.debug("A stream of events ended", error=type(error).__name__)
