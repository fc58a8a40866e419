"""Clients under load: each keeps a connection, calls in turn by every door, and now and then vanishes in the middle."""

import asyncio
import json
import socket
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

Wanted = tuple[str, dict[str, Any], str]

# A tool, its arguments, and the outcome that was asked for: own tools, reads and writes of services, and failures.
CALLS: Final[tuple[Wanted, ...]] = (
    ("echo", {"text": "道具箱 " * 20}, "OK"),
    ("echo", {"text": "x" * 5_000}, "OK"),
    ("big", {"items": 200}, "OK"),
    ("picture", {}, "OK"),
    ("slow", {"seconds": 0.01}, "OK"),
    ("describe_tool", {"name": "list_issues"}, "OK"),
    ("list_issues", {"limit": 10}, "OK"),
    ("list_workflows", {}, "OK"),
    ("list_executions", {"limit": 10}, "OK"),
    ("update_issue", {"id": 1, "done_ratio": 30}, "OK"),
    ("echo", {}, "VALIDATION_ERROR"),
    ("fail", {"kind": "NOT_FOUND"}, "NOT_FOUND"),
)
DOORS: Final = ("rest", "2026", "2025")
_SLOW: Final[Wanted] = ("slow", {"seconds": 0.2}, "OK")
_ENVELOPE: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_PATIENCE: Final = 30.0
# Linger on, for no seconds.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass
class Tally:
    """What all visitors together have seen."""

    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    surprises: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    vanished: int = 0
    unanswered: int = 0
    stopping: bool = False


class Visitor:
    """One connection at a time, with a key."""

    def __init__(self, port: int, key: str, number: int, tally: Tally) -> None:
        self._port, self._key, self._number = port, key, number
        self._tally = tally
        self._random = Random(number)
        self._session = ""
        self._calls = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def run(self, until: float, pause: float, vanishing: float) -> None:
        """Call until it is time, or until the server stops."""
        await asyncio.sleep(self._random.uniform(0, pause))
        while time.monotonic() < until:
            try:
                await asyncio.wait_for(self._visit(vanishing), _PATIENCE)
            except (OSError, EOFError, TimeoutError) as error:
                self._hang_up()
                if self._tally.stopping:
                    self._tally.unanswered += 1
                    return
                self._tally.surprises[type(error).__name__] += 1
            await asyncio.sleep(self._random.uniform(0, 2 * pause))
        self._hang_up()

    async def _visit(self, vanishing: float) -> None:
        self._calls += 1
        door = DOORS[(self._calls + self._number) % len(DOORS)]
        if self._random.random() < vanishing:
            await self._send(door, _SLOW)
            await asyncio.sleep(self._random.uniform(0, 0.1))
            self._tally.vanished += 1
            self._hang_up(reset=self._random.random() < 0.5)
            return
        wanted = self._random.choice(CALLS)
        started = time.perf_counter()
        await self._send(door, wanted)
        status, _, body = await self._receive()
        self._tally.seconds.append(time.perf_counter() - started)
        code = outcome(body)
        self._tally.answered[wanted[0], code] += 1
        if code != wanted[2] and not (self._tally.stopping and code == "CANCELLED"):
            self._tally.surprises[f"{door} {wanted[0]}: {status} {code}"] += 1

    async def _send(self, door: str, wanted: Wanted) -> None:
        name, arguments, _ = wanted
        if door == "rest":
            await self._post("/v1/tools/call", {"name": name, "parameters": arguments}, {})
            return
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        headers = {"accept": "application/json, text/event-stream"}
        if door == "2026":
            params["_meta"] = _ENVELOPE
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name}
        else:
            await self._shake_hands(headers)
            headers |= {"mcp-protocol-version": "2025-11-25", "mcp-session-id": self._session}
        message = {"jsonrpc": "2.0", "id": self._calls, "method": "tools/call", "params": params}
        await self._post("/mcp", message, headers)

    async def _shake_hands(self, headers: dict[str, str]) -> None:
        if self._session:
            return
        info = {"name": "load", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        await self._post("/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, headers)
        _, answered, _ = await self._receive()
        self._session = answered["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._post("/mcp", ready, {**headers, "mcp-session-id": self._session})
        await self._receive()

    async def _post(self, path: str, body: Any, headers: dict[str, str]) -> None:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        content = json.dumps(body).encode()
        said = {
            "host": f"127.0.0.1:{self._port}",
            "x-api-key": self._key,
            "content-type": "application/json",
            "content-length": str(len(content)),
            **headers,
        }
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items()), "", ""]
        self._writer.write("\r\n".join(lines).encode() + content)
        await self._writer.drain()

    async def _receive(self) -> tuple[int, dict[str, str], bytes]:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        try:
            size = headers.get("content-length")
            body = await (self._read_chunks() if size is None else self._reader.readexactly(int(size)))
        except EOFError:
            # Not even a server that stops may leave an answer half said.
            self._tally.surprises["an answer was cut off"] += 1
            raise
        if headers.get("connection") == "close":
            self._hang_up()
        return int(head[0].split()[1]), headers, body

    async def _read_chunks(self) -> bytes:
        assert self._reader is not None
        body = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")
        return body

    def _hang_up(self, *, reset: bool = False) -> None:
        """Close the connection. After a reset the server knows at once that nobody will read the answer."""
        if self._writer is not None:
            if reset:
                self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._writer.close()
        self._reader = self._writer = None


def outcome(body: bytes) -> str:
    """The code of an answer, by whatever door and in whatever form it came."""
    text = body.decode()
    if not text.startswith("{"):
        # The last message of a stream of events is the answer.
        said = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        text = next((one for one in reversed(said) if one), "{}")
    answer = json.loads(text)
    if "success" in answer:
        return "OK" if answer["success"] else str(answer["code"])
    if "error" in answer:
        return str((answer["error"].get("data") or {}).get("code", answer["error"]["code"]))
    result = answer.get("result", {"isError": True})
    return str(result.get("_meta", {}).get("code", "?")) if result["isError"] else "OK"
