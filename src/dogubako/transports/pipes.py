"""Standard streams on the event loop: pipes and terminals without threads, plain files with one."""

import asyncio
import os
import stat
import threading
from typing import Protocol

_CHUNK = 64 * 1024


class Output(Protocol):
    """Where lines go."""

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


async def open_writer(descriptor: int) -> Output:
    """Write to a descriptor of any kind, without blocking on a pipe that nobody reads."""
    if _is_plain_file(descriptor):
        return _PlainFile(descriptor)
    loop = asyncio.get_running_loop()
    file = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _PlainFile:
    """A plain file takes whatever we write, at once."""

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
