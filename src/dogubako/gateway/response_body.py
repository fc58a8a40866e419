"""Read the bodies of a server's responses: within bounds, in small pieces, and with turns for everybody else."""

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

from dogubako.contract.offload import offload
from dogubako.gateway.link import AnswerTooLong, UpstreamError, UpstreamLost
from dogubako.gateway.messages import decoded

if TYPE_CHECKING:
    import httpx2

LONGEST_ANSWER: Final = 32 * 1024 * 1024
MEGABYTES: Final = LONGEST_ANSWER // 1024**2
ACCEPTED: Final = "gzip"
_LARGE: Final = 256 * 1024
# What is not read is read to its end up to this length, so that the connection can be used again.
_SHORT: Final = 16 * 1024
_PIECE: Final = 16 * 1024
# After this time others get their turn: a body may come in very many chunks, or expand a thousandfold.
_TURN_SECONDS: Final = 0.01
_LONGEST_REST: Final = 5.0
_NOT_PACKED: Final = ("", "identity")
_PACKED: Final = ("gzip", "x-gzip")
_WINDOW_OF_GZIP: Final = zlib.MAX_WBITS | 16


async def pieces_of(response: "httpx2.Response", share: float = 1.0) -> AsyncIterator[bytes]:
    """The unpacked bytes of a body. `share` is the part of the time that its reader may work.

    A stream that stays open for as long as the server runs has a small share: a flood of it is read slowly.
    """
    unpack = _unpacker(response.headers.get("content-encoding", "").strip().lower())
    began, rest = time.perf_counter(), 0.0
    async for chunk in response.aiter_raw():
        for piece in unpack(chunk):
            worked = time.perf_counter()
            yield piece
            now = time.perf_counter()
            rest += (now - worked) * (1 / share - 1)
            if now - began > _TURN_SECONDS:
                await asyncio.sleep(min(rest, _LONGEST_REST))
                began, rest = time.perf_counter(), 0.0


def _unpacker(encoding: str) -> Any:
    if encoding in _NOT_PACKED:
        return _slices
    if encoding not in _PACKED:
        raise UpstreamLost("The answer is packed in a way that nobody asked for.")
    expander = zlib.decompressobj(_WINDOW_OF_GZIP)

    def expanded(chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk:
                if piece := expander.decompress(chunk, _PIECE):
                    yield piece
                chunk = expander.unconsumed_tail
        except zlib.error as error:
            raise UpstreamLost("The answer is not packed as it says.") from error

    return expanded


def _slices(chunk: bytes) -> Iterator[bytes]:
    return (chunk[start : start + _PIECE] for start in range(0, len(chunk), _PIECE))


async def json_of(response: "httpx2.Response") -> Any:
    """The JSON of an answer."""
    message = await decoded_in_turn(await _body(response))
    if message is None:
        raise UpstreamLost("The answer is no JSON.")
    return message


async def error_of(response: "httpx2.Response") -> UpstreamError | None:
    """The JSON-RPC error in the body of a refusal."""
    body = await decoded_in_turn(await _body(response))
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return None
    return UpstreamError(error["code"], str(error.get("message") or ""), error.get("data"))


async def _body(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for piece in pieces_of(response):
        body += piece
        if len(body) > LONGEST_ANSWER:
            raise AnswerTooLong(f"The answer is larger than {MEGABYTES} MB.")
    return bytes(body)


async def decoded_in_turn(body: bytes) -> Any:
    """JSON; None for what is none. A large text is decoded in a worker thread."""
    return decoded(body) if len(body) <= _LARGE else await offload(decoded, body)


async def discard(response: "httpx2.Response") -> None:
    """Read a short body that nobody needs. The connection of a long one is closed instead."""
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > _SHORT:
            return
