"""The sandbox of several processes: one of them runs the small copy of a service, and others send it their requests.

Whoever needs it first becomes its owner. When the owner ends, the next one begins with a fresh copy: what was changed
in the sandbox before is gone.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import httpx2
import msgspec
import structlog

from dogubako.contract.owners import Owners
from dogubako.contract.storage import NoReply, NotDelivered

log = structlog.get_logger("dogubako.outbound")

# A request waits this long for an owner: the lease of one that was killed has ended by then.
_MOVE_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.2
_READING: Final = frozenset({"GET", "HEAD"})

Headers = list[tuple[bytes, bytes]]


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    method: str
    url: str
    headers: Headers
    body: bytes


class _Answered(msgspec.Struct, frozen=True, array_like=True):
    status: int
    headers: Headers
    body: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode_asked = msgspec.msgpack.Decoder(_Asked).decode
_decode_answered = msgspec.msgpack.Decoder(_Answered).decode


class OwnedTransport(httpx2.AsyncBaseTransport):
    """The HTTP transport to a service that one process runs for all."""

    def __init__(self, name: str, start: Callable[[], httpx2.AsyncBaseTransport], owners: Owners) -> None:
        self._name = name
        self._topic = f"sandbox {name}"
        self._start = start
        self._owners = owners
        self._joined = False
        self._joining = asyncio.Lock()
        # The service, while this process runs it.
        self._local: httpx2.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self._join()
        asked = _Asked(request.method, str(request.url), request.headers.raw, await request.aread())
        until = time.monotonic() + _MOVE_SECONDS
        while (answer := await self._sent(asked)) is None:
            if time.monotonic() > until:
                raise httpx2.ConnectError("No process that runs the sandbox can be reached.", request=request)
            # Nothing was done: whoever owns it next gets the request.
            await asyncio.sleep(_LOOK_SECONDS)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=httpx2.ByteStream(answer.body), request=request
        )

    async def aclose(self) -> None:
        if self._joined:
            self._joined = False
            self._local = None
            await self._owners.leave(self._topic, self._moved)

    async def _join(self) -> None:
        async with self._joining:
            if not self._joined:
                self._joined = True
                self._owners.messages.handle(self._topic, self._hear)
                await self._owners.join(self._topic, self._moved)

    def _moved(self) -> None:
        self._local = None
        if self._owners.owns(self._topic):
            log.warning("This process runs the sandbox for all, and begins with a fresh copy", pack=self._name)
            self._local = self._start()

    async def _sent(self, asked: _Asked) -> _Answered | None:
        """The answer; None if nobody got the request."""
        if self._local is not None:
            return await _answered(self._local, asked) if self._may_answer(asked) else None
        owner = self._owners.owner_of(self._topic)
        if owner is None:
            return None
        try:
            reply = await self._owners.messages.request(owner, self._topic, _encode(asked))
        except NotDelivered:
            return None
        except NoReply:
            raise httpx2.ReadError("The process that runs the sandbox ended during the request.") from None
        return _decode_answered(reply) if reply else None

    async def _hear(self, payload: bytes, sender: str) -> bytes:
        """Answer another process; with nothing, if this one is no longer the owner."""
        local, asked = self._local, _decode_asked(payload)
        return b"" if local is None or not self._may_answer(asked) else _encode(await _answered(local, asked))

    def _may_answer(self, asked: _Asked) -> bool:
        """Whether what is changed here cannot be lost, because another process has a copy of its own by now."""
        return asked.method in _READING or self._owners.holds(self._topic)


async def _answered(service: httpx2.AsyncBaseTransport, asked: _Asked) -> _Answered:
    request = httpx2.Request(asked.method, asked.url, headers=asked.headers, content=asked.body)
    response = await service.handle_async_request(request)
    try:
        body = b"".join([part async for part in response.aiter_raw()])
    finally:
        await response.aclose()
    return _Answered(response.status_code, response.headers.raw, body)
