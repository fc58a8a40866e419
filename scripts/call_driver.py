"""Make `echo` calls over each transport inside one process: bytes in, bytes out, and no socket in between.

What a call does there does not depend on the machine. `bench/profile.py` and `tests/test_call_budget.py` use it.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import structlog
import uvicorn
from uvicorn.server import ServerState

from dogubako import logs
from dogubako.app import Toolbox, build
from dogubako.contract.redaction import Redactor
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.http.uvicorn_protocol import LimitedHttpProtocol
from dogubako.transports.mcp.protocol import MAX_BODY_BYTES
from dogubako.transports.mcp.stdio import StdioServer

WORKBENCH: Final = Path(__file__).resolve().parent.parent / "examples" / "workbench.py"
_VERSION: Final = "2026-07-28"
_PREFIX: Final = "io.modelcontextprotocol/"
_META: Final = {
    f"{_PREFIX}protocolVersion": _VERSION,
    f"{_PREFIX}clientInfo": {"name": "driver", "version": "1.0"},
    f"{_PREFIX}clientCapabilities": {},
}
_INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "driver", "version": "1.0"},
}
_AS_IN_SERVER: Final[dict[str, Any]] = {
    "access_log": False,
    "log_config": None,
    "server_header": False,
    "proxy_headers": False,
}
_ACCEPT: Final = {"accept": "application/json, text/event-stream"}

# One call: it is answered when the coroutine ends.
Call = Callable[[], Awaitable[None]]


class _Transport(asyncio.Transport):
    """Keeps what is written, and tells when something was."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.writes = 0
        self.answered = asyncio.Event()
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self.writes += 1
        self.answered.set()

    def close(self) -> None:
        self._closing = True

    abort = close

    def is_closing(self) -> bool:
        return self._closing

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        return None

    resume_reading = pause_reading

    async def drain(self) -> None:
        return None


class HttpConnection:
    """One connection to our own HTTP protocol class, as uvicorn makes it."""

    def __init__(self, app: HttpApp) -> None:
        # As in server.py.
        config = uvicorn.Config(app, http=LimitedHttpProtocol, interface="asgi3", ws="none", **_AS_IN_SERVER)
        self._transport = _Transport()
        self._protocol = LimitedHttpProtocol(config, ServerState(), {})
        self._protocol.connection_made(self._transport)

    async def request(self, raw: bytes, responses: int = 1) -> bytes:
        """Send a request, or several, and return everything up to the end of the last response."""
        transport = self._transport
        self.send(raw)
        while transport.written.count(b"HTTP/1.1 ") < responses or not self._is_complete():
            transport.answered.clear()
            await transport.answered.wait()
        return bytes(transport.written)

    def send(self, raw: bytes) -> None:
        """Send bytes, and forget what was written before."""
        self._transport.written.clear()
        self._transport.writes = 0
        self._protocol.data_received(raw)

    @property
    def written(self) -> bytes:
        """What the server has written since."""
        return bytes(self._transport.written)

    @property
    def writes(self) -> int:
        """How often it wrote."""
        return self._transport.writes

    def close(self) -> None:
        self._protocol.connection_lost(None)

    def _is_complete(self) -> bool:
        last = bytes(self._transport.written).rpartition(b"HTTP/1.1 ")[2]
        head, separator, body = last.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head:
            return body.endswith(b"0\r\n\r\n")
        length = head.partition(b"content-length: ")[2].split(b"\r\n")[0]
        return bool(separator) and len(body) == int(length or b"0")


def post(path: str, body: Any, headers: Mapping[str, str]) -> bytes:
    """The bytes of a request."""
    content = json.dumps(body).encode()
    known = {"host": "127.0.0.1:3000", "content-type": "application/json", "content-length": str(len(content))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**known, **headers}.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + content


@contextmanager
def _toolbox() -> Iterator[Toolbox]:
    """A toolbox with `echo`, and a log at `info` to a file, as in `make bench`."""
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "stderr.txt").open("w") as stderr:
        # First the log: what is built keeps its logger.
        sinks = logs.configure("info", Path(folder), redactor, stderr=stderr)
        sources = Sources(overrides={"tools": (WORKBENCH,), "packs": ("core",)}, environ={}, env_file=None)
        try:
            yield build(sources, redactor=redactor)
        finally:
            sinks.close()
            structlog.reset_defaults()


@asynccontextmanager
async def http_calls() -> AsyncIterator[dict[str, Call]]:
    """Calls over `/mcp`, over `/mcp` with a session, and over REST."""
    with _toolbox() as box:
        app = HttpApp(box)
        async with app._lifespan(app):
            connection = HttpConnection(app)
            try:
                yield {
                    "/mcp": _repeated(connection, post("/mcp", _modern(), _modern_headers())),
                    "/mcp with a session": _repeated(connection, await _in_a_session(connection)),
                    "REST": _repeated(
                        connection, post("/v1/tools/call", {"name": "echo", "parameters": {"text": "hello"}}, {})
                    ),
                }
            finally:
                connection.close()


@asynccontextmanager
async def stdio_calls() -> AsyncIterator[dict[str, Call]]:
    """Calls over stdio, in an open conversation."""
    with _toolbox() as box:
        writer = _Transport()
        async with box.running(), anyio.create_task_group() as tasks:
            server, reader = StdioServer(box, writer, tasks), asyncio.StreamReader(limit=MAX_BODY_BYTES)

            async def send(message: dict[str, Any]) -> bytes:
                writer.written.clear()
                reader.feed_data(json.dumps(message).encode() + b"\n")
                while not writer.written.endswith(b"\n"):
                    writer.answered.clear()
                    await writer.answered.wait()
                return bytes(writer.written)

            tasks.start_soon(server.run, reader)
            await send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE})
            params = {"name": "echo", "arguments": {"text": "hello"}}

            async def call() -> None:
                answer = await send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
                assert b'"hello"' in answer, answer

            yield {"stdio": call}
            tasks.cancel_scope.cancel()


def _repeated(connection: HttpConnection, raw: bytes) -> Call:
    async def call() -> None:
        answer = await connection.request(raw)
        assert b'"hello"' in answer, answer

    return call


async def _in_a_session(connection: HttpConnection) -> bytes:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _INITIALIZE}
    head = (await connection.request(post("/mcp", hello, _ACCEPT))).partition(b"\r\n\r\n")[0]
    session = head.partition(b"mcp-session-id: ")[2].split(b"\r\n")[0].decode()
    headers = {**_ACCEPT, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    await connection.request(post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers))
    params = {"name": "echo", "arguments": {"text": "hello"}}
    return post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers)


def _modern() -> dict[str, Any]:
    params = {"name": "echo", "arguments": {"text": "hello"}, "_meta": _META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _modern_headers() -> dict[str, str]:
    return {**_ACCEPT, "mcp-protocol-version": _VERSION, "mcp-method": "tools/call", "mcp-name": "echo"}
