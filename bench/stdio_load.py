"""A client over stdio, as thin as can be: what is measured is the server."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.contenders import Contender
from bench.machine import ContenderError, Machine
from bench.processes import Process, cpu_per_call, cpu_seconds, piped, resting_bytes
from bench.results import Reading

_BATCH = 50
_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class StdioClient:
    """One conversation. Requests follow each other; nothing is sent before the last answer is there."""

    def __init__(self, name: str, process: Process) -> None:
        self._name = name
        self._process = process
        self._next_id = 0

    def open(self) -> None:
        """Shake hands and list the tools, as an agent's client does first."""
        self._ask("initialize", _INITIALIZE)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self._ask("tools/list", {})["tools"]
        if not any(tool["name"] == "echo" for tool in tools):
            raise ContenderError(f"{self._name} lists no echo tool")

    def call_for(self, seconds: float) -> Reading:
        """Calls per second: as many as fit into the time, and each answer is looked at."""
        used = cpu_seconds(self._process)
        made, started = 0, time.perf_counter()
        while (passed := time.perf_counter() - started) < seconds:
            for request in self._batch():
                self._send(request)
                if b'"hello"' not in (line := self._read()):
                    raise ContenderError(f"{self._name} answered {line[:200]!r}")
            made += _BATCH
        return Reading(value=made / passed, cpu_us=cpu_per_call(self._process, used, made))

    def cpu_seconds(self) -> float | None:
        """The processor time that the server has used since it was started."""
        return cpu_seconds(self._process)

    def resting_bytes(self) -> int | None:
        """The memory that the server has now."""
        return resting_bytes(self._process)

    def _batch(self) -> list[bytes]:
        first, self._next_id = self._next_id, self._next_id + _BATCH
        params = {"name": "echo", "arguments": {"text": "hello"}}
        return [_encoded(number, "tools/call", params) for number in range(first, first + _BATCH)]

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._send(_encoded(self._next_id, method, params))
        while (answer := self._message()).get("id") != self._next_id:
            # A notification; servers may send some at any time.
            continue
        self._next_id += 1
        if "result" not in answer:
            raise ContenderError(f"{self._name} refused {method}")
        return dict(answer["result"])

    def _write(self, message: dict[str, Any]) -> None:
        self._send(json.dumps(message).encode() + b"\n")

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            raise ContenderError(f"{self._name} does not listen any more: {error}") from error

    def _message(self) -> dict[str, Any]:
        line = self._read()
        try:
            return dict(json.loads(line))
        except ValueError as error:
            raise ContenderError(f"{self._name} wrote {line[:200]!r}") from error

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ContenderError(f"{self._name} closed its output")
        return line


@contextmanager
def conversation(machine: Machine, contender: Contender, *, seconds: float = 60.0) -> Iterator[StdioClient]:
    """A running server and its client. A server that falls silent is ended, which ends the reading."""
    with piped(machine, contender) as process:
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        try:
            yield StdioClient(contender.name, process)
        finally:
            watchdog.cancel()


def cold_start(machine: Machine, contender: Contender) -> Reading:
    """Milliseconds from starting the process to the first list of tools."""
    started = time.perf_counter()
    with conversation(machine, contender) as client:
        client.open()
        passed, used = time.perf_counter() - started, client.cpu_seconds()
        return Reading(value=passed * 1000, cpu_us=used * 1e6 if used is not None else None)


def _encoded(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
