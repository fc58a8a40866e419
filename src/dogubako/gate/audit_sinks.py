"""Sinks of the audit log besides the shared Redis: standard output, syslog (RFC 5424), and OpenTelemetry logs."""

import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import anyio.to_thread

from dogubako._lazy import load
from dogubako.gate.audit import read_line
from dogubako.gate.audit_files import SentLine
from dogubako.gate.audit_shipping import LinesOut, SinkAway
from dogubako.settings import Settings, SettingsError

_SECONDS: Final = 5.0
# The facility "log audit", as RFC 5424 numbers it.
_FACILITY: Final = 13
_WARNING, _INFORMATIONAL = 4, 6
# The number that is reserved for examples; we have none of our own.
_DATA: Final = "dogubako@32473"
_PORTS: Final = {"udp": 514, "tcp": 601}


def outputs(settings: Settings, *, stdout: bool) -> list[LinesOut]:
    """The sinks that the settings name. Standard output may belong to MCP."""
    return [_output(name, stdout) for name in settings.audit_sinks]


def _output(name: str, stdout: bool) -> LinesOut:
    if name == "stdout":
        if not stdout:
            raise SettingsError("DOGUBAKO_AUDIT_SINKS names stdout, which belongs to MCP here: leave it out.")
        return StdoutLines()
    if name == "otlp":
        return OtlpLines()
    return SyslogLines(name)


class StdoutLines:
    """One JSON object per line, with its id first."""

    name = "stdout"

    async def write(self, lines: Sequence[SentLine]) -> None:
        text = b"".join(b'{"id":"%s",%b\n' % (line.id.encode(), line.raw[1:]) for line in lines)
        try:
            # Whoever reads a pipe may be slow.
            await anyio.to_thread.run_sync(_write_out, text, abandon_on_cancel=True)
        except OSError as error:
            raise SinkAway(error.strerror or "it is closed") from error

    async def close(self) -> None:
        """It belongs to the process."""


def _write_out(text: bytes) -> None:
    rest = memoryview(text)
    descriptor = sys.stdout.fileno()
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class OtlpLines:
    """Log records over OTLP/HTTP, with the variables `OTEL_EXPORTER_OTLP_…`."""

    name = "otlp"

    def __init__(self) -> None:
        try:
            self._logs: Any = load("dogubako.otlp").OtlpLogs(os.environ)
        except ImportError as error:
            message = "DOGUBAKO_AUDIT_SINKS=otlp needs the extra otel: pip install 'dogubako[otel]'."
            raise SettingsError(message) from error

    async def write(self, lines: Sequence[SentLine]) -> None:
        records = [(line.id, line.raw, _nanoseconds(line), _failed(line)) for line in lines]
        if not await anyio.to_thread.run_sync(partial(self._logs.send, records), abandon_on_cancel=True):
            raise SinkAway("the collector did not take them")

    async def close(self) -> None:
        self._logs.close()


class SyslogLines:
    """Messages of RFC 5424: a datagram each, or counted in a TCP stream (RFC 6587)."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.name = address
        self._kind = parts.scheme.removeprefix("syslog").removeprefix("+") or "unix"
        self._target: Any = parts.path if self._kind == "unix" else (parts.hostname, parts.port or _PORTS[self._kind])
        self._head = f"{_word(socket.gethostname(), 255)} dogubako {os.getpid()} audit"
        self._socket: socket.socket | None = None

    async def write(self, lines: Sequence[SentLine]) -> None:
        messages = [self._message(line) for line in lines]
        try:
            async with asyncio.timeout(_SECONDS):
                connected = self._socket or await self._connected()
                await self._send(connected, messages)
        except (OSError, TimeoutError) as error:
            await self.close()
            raise SinkAway(getattr(error, "strerror", None) or type(error).__name__) from error

    async def _connected(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        family, target = socket.AF_UNIX if self._kind == "unix" else socket.AF_INET, self._target
        kind = socket.SOCK_STREAM if self._kind == "tcp" else socket.SOCK_DGRAM
        if self._kind != "unix":
            family, *_, target = (await loop.getaddrinfo(*target, type=kind))[0]
        connected = self._socket = socket.socket(family, kind)
        connected.setblocking(False)
        await loop.sock_connect(connected, target)
        return connected

    async def _send(self, connected: socket.socket, messages: Sequence[bytes]) -> None:
        loop = asyncio.get_running_loop()
        if self._kind == "tcp":
            _raise_if_closed(connected)
            await loop.sock_sendall(connected, b"".join(b"%d %b" % (len(one), one) for one in messages))
            return
        for one in messages:
            await loop.sock_sendall(connected, one)

    async def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _message(self, line: SentLine) -> bytes:
        severity = _WARNING if _failed(line) else _INFORMATIONAL
        head = f'<{_FACILITY * 8 + severity}>1 {_moment(line)} {self._head} [{_DATA} id="{line.id}"] '
        return head.encode() + line.raw


def _raise_if_closed(connected: socket.socket) -> None:
    """A server that went away in peace is noticed before the next lines, not after them."""
    try:
        if connected.recv(1) == b"":
            raise ConnectionResetError("the connection was closed")
    except BlockingIOError:
        pass


def _failed(line: SentLine) -> bool:
    read = read_line(line.raw)
    return read is not None and read.failed and not read.started


def _moment(line: SentLine) -> str:
    read = read_line(line.raw)
    return read.time if read is not None else "-"


def _nanoseconds(line: SentLine) -> int:
    try:
        return round(datetime.fromisoformat(_moment(line)).timestamp() * 1_000) * 1_000_000
    except ValueError:
        return 0


def _word(text: str, longest: int) -> str:
    """A field of a header: visible characters without a blank."""
    return "".join(one for one in text if "!" <= one <= "~")[:longest] or "-"
