"""stdin and stdout as streams of lines, and the requests that are not answered yet."""

import asyncio
import os
import stat
import threading
from typing import Protocol

import anyio


class PendingRequests:
    """The ids of requests that are not answered yet."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._empty = anyio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, request_id: str | int) -> None:
        self._ids.add(request_id)

    def discard(self, request_id: str | int | None) -> None:
        if request_id in self._ids:
            self._ids.discard(request_id)
            if not self._ids:
                self._empty.set()

    async def all_answered(self) -> None:
        """Return when nothing is left to answer."""
        while self._ids:
            self._empty = anyio.Event()
            await self._empty.wait()


_CHUNK = 64 * 1024


class ByteWriter(Protocol):
    """Writes bytes to a stream."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


async def open_reader(descriptor: int, *, limit: int) -> asyncio.StreamReader:
    """Read a descriptor of any kind."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    if _is_plain_file(descriptor):
        # `dogubako stdio < requests.jsonl`: a plain file cannot be waited for.
        threading.Thread(target=_feed, args=(descriptor, reader, loop), daemon=True).start()
    else:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0))
    return reader


async def open_writer(descriptor: int) -> ByteWriter:
    """Write to a descriptor of any kind, without blocking on a full pipe."""
    if _is_plain_file(descriptor):
        return _PlainFile(descriptor)
    loop = asyncio.get_running_loop()
    file = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _PlainFile:
    """A regular file, to which every write succeeds at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def drain(self) -> None:
        return None

    def close(self) -> None:
        os.close(self._descriptor)


def _feed(descriptor: int, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    while data := os.read(descriptor, _CHUNK):
        loop.call_soon_threadsafe(reader.feed_data, data)
    loop.call_soon_threadsafe(reader.feed_eof)


def _is_plain_file(descriptor: int) -> bool:
    # /dev/null is a character device that select() does not know.
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor))
