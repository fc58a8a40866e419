"""The worker process that reads descriptions: what is large or hostile cannot hold up the server or fill its memory."""

from typing import Final

import anyio
import anyio.to_process
import msgspec

from dogubako.openapi.description import Described, Wanted, read_description
from dogubako.openapi.document import DescriptionError
from dogubako.outbound.parsing.pool import PYTHON, WorkerPool
from dogubako.outbound.parsing.process import serve
from dogubako.outbound.parsing.protocol import MEGABYTE, Limits, ParseFailure, sendable

_REQUESTS: Final = msgspec.msgpack.Decoder(Wanted)
_REPLIES: Final = msgspec.msgpack.Decoder(Described | ParseFailure)
# Twenty megabytes of YAML need more than a gigabyte; and 5,000 tools take up to this many bytes.
_LIMITS: Final = Limits(address_space=2048 * MEGABYTE, reply_bytes=48 * MEGABYTE)
_SECONDS: Final = 60.0
_IDLE_SECONDS: Final = 30.0
_SENTENCES: Final = {
    "time": f"Reading the description takes longer than {_SECONDS:g} seconds.",
    "memory": "Reading the description takes too much memory.",
    "crash": "The description cannot be read: the reader failed on it.",
}


def perform(request: Wanted, body: bytes) -> Described | ParseFailure:
    """Read. May take unlimited time and memory: call it only under limits."""
    try:
        return read_description(msgspec.structs.replace(request, content=body))
    except DescriptionError as error:
        return ParseFailure(reason="refused", message=sendable(str(error)))
    except RecursionError:
        return ParseFailure(reason="refused", message="The description is nested too deeply.")
    except MemoryError:
        return ParseFailure(reason="memory")


class DescriptionReader:
    """Reads one description, in several rounds if it refers to others. The process ends with it."""

    def __init__(self) -> None:
        command = (*PYTHON, "dogubako.openapi.worker")
        self._pool = WorkerPool(command=command, replies=_REPLIES, size=1, idle_seconds=_IDLE_SECONDS, limits=_LIMITS)

    async def __aenter__(self) -> "DescriptionReader":
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._pool.__aexit__(None, None, None)

    async def read(self, wanted: Wanted) -> Described:
        """What the description offers. DescriptionError if nothing of it can be used."""
        request = msgspec.structs.replace(wanted, content=b"")
        # Many services may start at once.
        async with anyio.to_process.current_default_process_limiter():
            reply = await self._pool.run(request, wanted.content, _SECONDS)
        if isinstance(reply, Described):
            return reply
        raise DescriptionError(reply.message or _SENTENCES.get(reply.reason, _SENTENCES["crash"]))


def _load() -> None:
    # An extra that is missing is reported when a description needs it.
    try:
        __import__("yaml")
    except ImportError:
        return


if __name__ == "__main__":
    serve(perform, _REQUESTS, _load, _LIMITS)
