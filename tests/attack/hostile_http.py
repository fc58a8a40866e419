"""A hostile MCP server over HTTP, of both eras and of the old transport, in a thread of the test.

The path is the name of a server: `modern…` speaks 2026-07-28, `sse…` the transport of 2024-11-05, every other one
2025-11-25. What it does is in `hostile_http_attacks.py`.
"""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

MODERN: Final = "2026-07-28"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
BLOCK: Final = 64 * 1024


Answer = Callable[["Exchange"], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """What the server does: to calls, to calls over the old transport, and to everything else by its path."""

    answers: Mapping[str, Answer]
    events: Mapping[str, Callable[["Exchange"], bytes]]
    # True for a request that the attack has answered.
    handshakes: Mapping[str, Callable[["Exchange", str], Awaitable[bool]]]


@dataclass
class Seen:
    """What reached the server."""

    methods: list[str] = field(default_factory=list)
    # Attacks that were called, one for each request that reached us.
    calls: list[str] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)


class Exchange:
    """One request and the connection to answer it on."""

    def __init__(self, server: "HostileHttp", writer: asyncio.StreamWriter, path: str, message: Any) -> None:
        self.server = server
        self.writer = writer
        self.path = path
        self.message = message if isinstance(message, dict) else {}
        self.id: Any = self.message.get("id")
        params = self.message.get("params") or {}
        self.params = params
        self.token = (params.get("_meta") or {}).get("progressToken", 0)
        self.modern = path.startswith("/modern")
        # The credential that came with the request.
        self.key = ""

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int = 200, kind: str = JSON, length: int | None = None, **headers: str) -> None:
        """The head of an answer; without a length its body is chunked."""
        size = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
        lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", size]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.write("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape"))

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.write(b"0\r\n\r\n")

    async def body(self, data: bytes, status: int = 200, kind: str = JSON, **headers: str) -> None:
        await self.head(status, kind, len(data), **headers)
        await self.write(data)

    async def status(self, status: int, **headers: str) -> None:
        await self.body(b"", status, **headers)

    def answer(self, result: Any = None, **more: Any) -> bytes:
        result = text("answered") if result is None else result
        kind = {"resultType": "complete"} if self.modern and isinstance(result, dict) else {}
        message = {"jsonrpc": "2.0", "id": self.id, "result": {**kind, **result} if kind else result}
        return json.dumps(message | more).encode()

    async def ok(self, result: Any = None, **headers: str) -> None:
        await self.body(self.answer(result), 200, JSON, **headers)

    def event(self, data: bytes) -> bytes:
        return b"data: " + data + b"\n\n"

    async def stream(self, *pieces: bytes) -> None:
        """A stream of events that begins with these bytes and ends with the answer."""
        await self.head(kind=EVENTS)
        for piece in pieces:
            await self.chunk(piece)
        await self.chunk(self.event(self.answer()))
        await self.end()

    async def flood(self, unit: bytes, *, kind: str = EVENTS, start: bytes = b"") -> None:
        """The same bytes until nobody reads them any more."""
        await self.head(kind=kind)
        if start:
            await self.chunk(start)
        block = unit * max(1, BLOCK // len(unit))
        while True:
            await self.chunk(block)

    async def drip(self, piece: bytes, *, kind: str) -> None:
        await self.head(kind=kind)
        while True:
            await self.chunk(piece)
            await asyncio.sleep(0.05)

    async def silence(self) -> None:
        await asyncio.Event().wait()

    def reset(self) -> None:
        """End the connection without a word."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"how": {"type": "string"}}}
    return {"name": name, "description": "Attacks.", "inputSchema": schema}


class HostileHttp:
    """The server. `other` is another origin, which must never get a credential."""

    def __init__(self, attacks: "Attacks") -> None:
        self.attacks = attacks
        self.seen = Seen()
        self.elsewhere = Seen()
        self.url = self.other = ""
        self.number = self.cookies = 0
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._queues: dict[str, asyncio.Queue[bytes]] = {}

    @contextmanager
    def running(self) -> Iterator["HostileHttp"]:
        async def start() -> None:
            for name, handler in (("url", self._serve), ("other", self._other)):
                server = await asyncio.start_server(handler, "127.0.0.1", 0, limit=1 << 20)
                self._servers.append(server)
                setattr(self, name, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        asyncio.run_coroutine_threadsafe(start(), self._loop).result(30)
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(30)
            self._loop.close()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _other(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.elsewhere.methods.append(head.decode("latin-1"))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *pairs = head.strip().split("\r\n")
        verb, path, _ = line.split(" ", 2)
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in pairs)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        ask = Exchange(self, writer, path, json.loads(body) if body else None)
        ask.key = headers.get("authorization", "").removeprefix("Bearer ")
        work = asyncio.ensure_future(self._answer(verb, ask, headers))
        while not work.done():
            # Nobody sends a request before the answer to the last: the end is all that can come.
            await asyncio.wait({work}, timeout=0.2)
            if reader.at_eof() or writer.is_closing():
                work.cancel()
        await work
        return True

    async def _answer(self, verb: str, ask: Exchange, headers: dict[str, str]) -> None:
        where = ask.path.partition("?")[0].strip("/")
        method = str(ask.message.get("method") or ("answer" if ask.message else verb))
        self.seen.methods.append(f"{where} {method}")
        handshakes = self.attacks.handshakes
        if where in handshakes and await handshakes[where](ask, method):
            return
        if verb == "GET" and where.startswith("sse"):
            await ask.head(kind=EVENTS)
            await ask.chunk(b"event: endpoint\ndata: /%s\n\n" % where.encode())
            queue = self._queues[where] = asyncio.Queue()
            while True:
                await ask.chunk(await queue.get())
        elif verb == "GET":
            self.seen.gets.append(headers.get("last-event-id", ""))
            if "last-event-id" in headers:
                self.number += 1
                await ask.body(b"id: %d\nretry: 0\ndata:\n\n" % self.number, kind=EVENTS)
            else:
                await ask.status(405)
        elif verb == "DELETE" or ask.id is None or method == "answer":
            await ask.status(202)
        else:
            await self._request(where, method, ask)

    async def _request(self, where: str, method: str, ask: Exchange) -> None:
        modern = ask.modern
        if method == "initialize" and not modern:
            info = {"serverInfo": {"name": "evil", "version": "1"}, "capabilities": {"tools": {}}}
            await self._result(ask, {"protocolVersion": "2025-11-25", **info}, mcp_session_id=f"s{where}")
        elif method == "server/discover" and modern:
            await ask.ok({"supportedVersions": [MODERN], "capabilities": {"tools": {"listChanged": True}}})
        elif method == "tools/list":
            await self._result(ask, {"tools": [tool(f"do_{where.replace('-', '_')}")]})
        elif method == "tools/call":
            how = ask.params["arguments"]["how"]
            self.seen.calls.append(how)
            if where.startswith("sse"):
                await ask.status(202)
                await self._queues[where].put(self.attacks.events[how](ask))
            else:
                await self.attacks.answers[how](ask)
        else:
            await ask.status(400)

    async def _result(self, ask: Exchange, result: Any, **headers: str) -> None:
        if ask.path.startswith("/sse"):
            await ask.status(202)
            await self._queues[ask.path.strip("/")].put(b"event: message\n" + ask.event(ask.answer(result)))
        else:
            await ask.ok(result, **headers)
