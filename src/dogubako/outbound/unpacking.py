"""Answers in pieces, and packed ones. Large ones are put together beside the loop: other calls get their turn."""

import zlib
from collections.abc import Sequence
from typing import Final

import anyio
import anyio.to_thread

ACCEPTED: Final = "gzip"
_GZIP: Final = ("gzip", "x-gzip")
_NOT_PACKED: Final = ("", "identity")
_WINDOW_OF_GZIP: Final = zlib.MAX_WBITS | 16
# Below this a thread costs more than it saves, even if the answer grows a thousandfold.
_SMALL: Final = 16 * 1024


class Unpacker:
    """One large answer at a time: many threads at once would take the processor away from the loop."""

    def __init__(self) -> None:
        self._one_thread = anyio.CapacityLimiter(1)

    async def unpack(self, pieces: Sequence[bytes], encoding: str, most_bytes: int) -> bytes:
        """The answer itself. ValueError when it is packed in another way than it says, or one that we do not know."""
        if sum(map(len, pieces)) <= _SMALL:
            return _unpacked(pieces, encoding, most_bytes)
        return await anyio.to_thread.run_sync(_unpacked, pieces, encoding, most_bytes, limiter=self._one_thread)


def _unpacked(pieces: Sequence[bytes], encoding: str, most_bytes: int) -> bytes:
    """At most one byte more than allowed, which tells that there is more: a few bytes can hold gigabytes."""
    body = b"".join(pieces)
    if encoding in _NOT_PACKED or not body:
        return body
    if encoding not in _GZIP:
        raise ValueError(f"unknown encoding {encoding}")
    try:
        return zlib.decompressobj(_WINDOW_OF_GZIP).decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise ValueError("not gzip") from error
