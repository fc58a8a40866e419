"""Messages between the processes of one server, over the shared Redis.

Every process reads two streams: its own inbox, and one for all. A key that expires tells whether a process is alive;
sending looks at it in the same step, so a message to a process that is gone was certainly not delivered. Streams keep
messages while a connection is broken. Messages are encrypted, and bound to the stream that they were put into.
A request is taken out of the inbox before it is worked on. Whoever asked takes it back when the process is gone: only
one of the two succeeds, so a request that was taken back was certainly not done. A process works on each number of
another one once: whoever can write into Redis cannot have a request done again by copying it.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, Final

import msgspec
import structlog

from dogubako.contract.storage import MessageHandler, NoReply, NotDelivered
from dogubako.outbound.redis_cache import Unavailable, close, failures
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_redis import SharedRedis, end_tasks

log = structlog.get_logger("dogubako.outbound")

_PURPOSE: Final = b"dogubako messages between processes"
# A process that was killed counts as gone after this time.
ALIVE_SECONDS: Final = 10.0
_RENEW_SECONDS: Final = ALIVE_SECONDS / 4
# How long messages wait for a process whose connection is broken.
_INBOX_SECONDS: Final = 60.0
_BLOCK_MILLISECONDS: Final = 1_000
_READ_AT_ONCE: Final = 100
_PAUSE_SECONDS: Final = 0.5
# Messages that a stream keeps; a process that reads none of so many has lost its place.
_MOST_KEPT: Final = 10_000
# Larger ones would hold up all others.
MOST_BYTES: Final = 8 * 1024 * 1024
# Messages that were read are removed when they are so many bytes.
_MOST_READ_BYTES: Final = 1024 * 1024
# Requests of each other process whose numbers are remembered; older ones are refused.
_MOST_NUMBERS: Final = 1_000
# Requests that one process works on at the same time.
_MOST_HANDLED: Final = 1_000
# How often a reply is sent, until the process that asked can be reached.
_REPLY_TRIES: Final = 20
_BEGINNING: Final = b"0-0"
_FIELD: Final = b"message"
_REPLY: Final = "reply"
_FAILED: Final = "failed"
_CANCEL: Final = "cancel"

# Adds a message to an inbox if its process is alive.
_SEND: Final = """
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'message', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return id
"""
# Takes requests out of an inbox. Returns which of them were there.
_CLAIM: Final = """
local taken = {}
for i, id in ipairs(ARGV) do taken[i] = redis.call('XDEL', KEYS[1], id) end
return taken
"""


class _Message(msgspec.Struct, frozen=True, array_like=True):
    sender: str
    topic: str
    # The number of a request, which its reply repeats; 0 where none is expected.
    number: int
    payload: bytes

    @property
    def is_request(self) -> bool:
        """Whether a reply is expected."""
        return self.number != 0 and self.topic not in (_REPLY, _FAILED, _CANCEL)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Message).decode


class RedisMessages:
    """The messages of this process."""

    def __init__(self, shared: SharedRedis) -> None:
        self.process = secrets.token_hex(8)
        self._shared = shared
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._send_script = shared.client.register_script(_SEND)
        self._claim_script = shared.client.register_script(_CLAIM)
        self._inbox, self._all = shared.name("inbox", self.process), shared.name("inbox")
        self._alive = shared.name("process", self.process)
        self._handlers: dict[str, MessageHandler] = {}
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        # The last requests of each process.
        self._numbers_of: dict[str, deque[int]] = {}
        # How many bytes are read until those that were read are removed.
        self._unread = _MOST_READ_BYTES
        # Running handlers by who asked and the number of the request.
        self._working: dict[tuple[str, int], asyncio.Task[None]] = {}

    def handle(self, topic: str, handler: MessageHandler) -> None:
        self._handlers[topic] = handler

    async def send(self, process: str, topic: str, payload: bytes) -> None:
        await self._send(process, topic, 0, payload)

    async def broadcast(self, topic: str, payload: bytes) -> None:
        message = self._sealed(self._all, topic, 0, payload)
        client = self._shared.client
        try:
            await self._shared.run(
                lambda: client.xadd(self._all, {_FIELD: message}, maxlen=_MOST_KEPT, approximate=True)
            )
        except Unavailable:
            raise NotDelivered from None

    async def request(self, process: str, topic: str, payload: bytes) -> bytes:
        number = next(self._numbers)
        reply = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            id_ = await self._send(process, topic, number, payload)
            return await self._replied(process, id_, reply)
        except asyncio.CancelledError:
            with suppress(NotDelivered):
                await self._send(process, _CANCEL, number, b"")
            raise
        finally:
            del self._waiting[number]

    async def _replied(self, process: str, id_: bytes, reply: "asyncio.Future[bytes]") -> bytes:
        while True:
            await asyncio.wait([reply], timeout=_RENEW_SECONDS)
            if reply.done():
                return reply.result()
            if not await self.is_alive(process):
                with suppress(Unavailable):
                    if await self._claim(self._shared.name("inbox", process), [id_]):
                        # Nobody read it, and nobody will.
                        raise NotDelivered
                raise NoReply

    async def _claim(self, inbox: str, ids: list[bytes]) -> set[bytes]:
        """Take requests out of an inbox, or raise Unavailable. Returns those that were still there."""
        taken = await self._shared.run(lambda: self._claim_script(keys=[inbox], args=ids), inbox)
        return {id_ for id_, was_there in zip(ids, taken, strict=True) if was_there}

    async def is_alive(self, process: str) -> bool:
        try:
            return bool(
                await self._shared.run(lambda: self._shared.client.exists(self._shared.name("process", process)))
            )
        except Unavailable:
            return True

    async def _send(self, process: str, topic: str, number: int, payload: bytes) -> bytes:
        inbox = self._shared.name("inbox", process)
        message = self._sealed(inbox, topic, number, payload)
        keys = [inbox, self._shared.name("process", process)]
        lifetime = round(_INBOX_SECONDS * 1000)
        try:
            args = [message, _MOST_KEPT, lifetime]
            sent = await self._shared.run(lambda: self._send_script(keys=keys, args=args), inbox)
        except Unavailable:
            raise NotDelivered from None
        if not isinstance(sent, bytes):
            raise NotDelivered
        return sent

    def _sealed(self, stream: str, topic: str, number: int, payload: bytes) -> bytes:
        if len(payload) > MOST_BYTES:
            raise NotDelivered
        return self._cipher.seal(stream, _encode(_Message(self.process, topic, number, payload)))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be alive, and read messages."""
        with suppress(Unavailable):
            await self._renew()
        reader = self._shared.waiting_client()
        tasks = [asyncio.create_task(self._stay_alive()), asyncio.create_task(self._read(reader))]
        try:
            yield
        finally:
            await end_tasks(*tasks, *self._working.values())
            for reply in self._waiting.values():
                if not reply.done():
                    reply.set_exception(NoReply())
            with suppress(Unavailable):
                await self._shared.run(lambda: self._shared.client.delete(self._alive, self._inbox))
            await close(reader)

    async def _stay_alive(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            with suppress(Unavailable):
                await self._renew()

    async def _renew(self) -> None:
        lifetime = round(ALIVE_SECONDS * 1000)
        await self._shared.run(lambda: self._shared.client.set(self._alive, b"1", px=lifetime))

    async def _read(self, reader: Any) -> None:
        last: dict[str, bytes] | None = None
        broken: tuple[type[Exception], ...] = (OSError, *failures())
        while True:
            try:
                if last is None:
                    newest = await reader.xrevrange(self._all, count=1)
                    last = {self._inbox: _BEGINNING, self._all: newest[0][0] if newest else _BEGINNING}
                found = await reader.xread(last, block=_BLOCK_MILLISECONDS, count=_READ_AT_ONCE)
            except broken:
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            for stream, entries in found or ():
                name = stream.decode()
                last[name] = entries[-1][0]
                messages = [(id_, fields.get(_FIELD, b"")) for id_, fields in entries]
                self._unread -= sum(len(sealed) for _, sealed in messages) if name == self._inbox else 0
                await self._take_all(name, messages)
            if self._unread < 0:
                self._unread = _MOST_READ_BYTES
                with suppress(*broken):
                    # Nobody else reads this inbox; what was read would fill the Redis.
                    await reader.xtrim(self._inbox, minid=last[self._inbox], approximate=False)

    async def _take_all(self, stream: str, messages: list[tuple[bytes, bytes]]) -> None:
        opened = [(id_, message) for id_, sealed in messages if (message := self._opened(stream, sealed)) is not None]
        requests = [id_ for id_, message in opened if message.is_request]
        taken = await self._claimed(requests) if requests else set()
        for id_, message in opened:
            if not message.is_request or (id_ in taken and self._is_first(message)):
                self._take(message)

    def _is_first(self, message: _Message) -> bool:
        """Whether no request of this number came from its process before."""
        numbers = self._numbers_of.setdefault(message.sender, deque(maxlen=_MOST_NUMBERS))
        if message.number in numbers or (len(numbers) == _MOST_NUMBERS and message.number < min(numbers)):
            log.error("A request of another process came twice, and is not done again", topic=message.topic)
            return False
        numbers.append(message.number)
        return True

    async def _claimed(self, requests: list[bytes]) -> set[bytes]:
        """Take requests out of the inbox of this process, as soon as Redis answers."""
        while True:
            with suppress(Unavailable):
                return await self._claim(self._inbox, requests)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _opened(self, stream: str, sealed: bytes) -> _Message | None:
        plain = self._cipher.open(stream, sealed)
        try:
            return _decode(plain) if plain is not None else None
        except msgspec.DecodeError:
            return None

    def _take(self, message: _Message) -> None:
        if message.topic in (_REPLY, _FAILED):
            self._settle(message)
        elif message.topic == _CANCEL:
            if (task := self._working.get((message.sender, message.number))) is not None:
                task.cancel()
        else:
            self._start(message)

    def _settle(self, message: _Message) -> None:
        reply = self._waiting.get(message.number)
        if reply is None or reply.done():
            return
        if message.topic == _REPLY:
            reply.set_result(message.payload)
        else:
            reply.set_exception(NoReply())

    def _start(self, message: _Message) -> None:
        # Messages that nobody has to reply to have numbers of their own.
        key = (message.sender, message.number or -next(self._numbers))
        if len(self._working) >= _MOST_HANDLED:
            log.warning("Too many messages of other processes at once; one is refused", topic=message.topic)
            handler: MessageHandler | None = None
        else:
            handler = self._handlers.get(message.topic)
        task = self._working[key] = asyncio.create_task(self._work(message, handler))
        task.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: tuple[str, int], task: "asyncio.Task[None]") -> None:
        self._working.pop(key, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A message of another process could not be handled", exc_info=error)

    async def _work(self, message: _Message, handler: MessageHandler | None) -> None:
        """Handle one message. Whoever sent a request is told also if it fails."""
        reply: bytes | None = None
        try:
            if handler is not None:
                reply = await handler(message.payload, message.sender)
        finally:
            if message.number:
                await self._reply(message, reply)

    async def _reply(self, request: _Message, reply: bytes | None) -> None:
        """Reply to a request. A Redis that is away for a moment must not cost an answer that is there."""
        fits = reply is not None and len(reply) <= MOST_BYTES
        topic, payload = (_REPLY, reply or b"") if fits else (_FAILED, b"")
        for _ in range(_REPLY_TRIES):
            try:
                await self._send(request.sender, topic, request.number, payload)
            except NotDelivered:
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return
        log.warning("A reply did not reach the process that asked", topic=request.topic)
