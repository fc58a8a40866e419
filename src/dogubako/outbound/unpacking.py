"""Put the pieces of an answer together and unpack them; large ones in a worker thread."""

import zlib
from collections.abc import Sequence
from typing import Final

from dogubako.contract.offload import offload
from dogubako.outbound.bounds import MEGABYTE, Bound
from dogubako.process_memory import return_large_blocks

ACCEPTED: Final = "gzip"
_GZIP: Final = ("gzip", "x-gzip")
_NOT_PACKED: Final = ("", "identity")
_WINDOW_OF_GZIP: Final = zlib.MAX_WBITS | 16
# Below this a thread costs more than it saves, even if the answer grows a thousandfold.
_SMALL: Final = 16 * 1024


async def unpack(pieces: Sequence[bytes], encoding: str, at_most: Bound) -> tuple[bytes, str | None]:
    """The answer and the limit that it exceeds, if it exceeds one. ValueError when it is not packed as it says."""
    if sum(map(len, pieces)) <= _SMALL:
        return _unpacked(pieces, encoding, at_most)
    return await offload(_unpacked, pieces, encoding, at_most)


def _unpacked(pieces: Sequence[bytes], encoding: str, at_most: Bound) -> tuple[bytes, str | None]:
    body = b"".join(pieces)
    if len(body) > MEGABYTE:
        return_large_blocks()
    if encoding not in _NOT_PACKED and body:
        body = _decompressed(body, encoding, at_most.most_bytes)
    exceeded = at_most.exceeded_by(body)
    return (body, None) if exceeded is None else (b"", exceeded)


def _decompressed(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """At most one byte more than allowed, which tells that there is more: a few bytes can hold gigabytes."""
    if encoding not in _GZIP:
        raise ValueError(f"unknown encoding {encoding}")
    try:
        return zlib.decompressobj(_WINDOW_OF_GZIP).decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise ValueError("not gzip") from error
