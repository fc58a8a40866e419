"""One line per call in a file of its own: who did what, when, and how it went. Never a value of an argument."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from dogubako.contract.call import ToolCall
from dogubako.contract.moment import utc_text
from dogubako.response.plain import encode

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_MOST_NAMES: Final = 50


class AuditLog:
    """Appends, and never changes what was written."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / FILE
        self._salt_path = data_dir / _SALT
        self._handle: int | None = None
        self._salt = b""

    def ready(self) -> bool:
        """Whether the next line can be written. What cannot be recorded must not be done."""
        if self._handle is None:
            self._open()
        return self._handle is not None and _has_room(self._handle)

    def record(self, call: ToolCall, code: str, milliseconds: float) -> None:
        """Write one line, at once: a process that is killed has lost nothing."""
        line = {
            "time": utc_text(),
            "caller": call.caller.name,
            "door": call.door,
            "tool": call.name[:64],
            **({"via": call.via} if call.via else {}),
            "arguments": sorted(str(name)[:64] for name in call.parameters)[:_MOST_NAMES],
            "hash": self._fingerprint(call.parameters),
            "code": code,
            "ms": milliseconds,
            "callId": call.id,
        }
        if self.ready():
            self._append(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _append(self, line: bytes) -> None:
        assert self._handle is not None
        try:
            # One write to a file in append mode: lines of several workers do not mix.
            written = os.write(self._handle, line)
        except OSError as error:
            self._failed(error)
            return
        if written < len(line):
            self._failed(OSError(None, "the disk is full"))

    def _open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._salt = self._read_salt()
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            _end_last_line(handle)
        except OSError as error:
            self._failed(error)
            return
        self._handle = handle

    def _read_salt(self) -> bytes:
        """Kept beside the log: equal arguments are equal in it, and cannot be guessed by trying."""
        try:
            with os.fdopen(os.open(self._salt_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
        except FileExistsError:
            pass
        return self._salt_path.read_bytes()

    def _fingerprint(self, parameters: Mapping[str, Any]) -> str:
        try:
            plain = encode(dict(sorted(parameters.items())))
        except (TypeError, ValueError, RecursionError):
            plain = "?"
        return hmac.new(self._salt, plain.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:16]

    def _failed(self, error: OSError) -> None:
        log.error("The audit log cannot be written", file=str(self.path), reason=error.strerror)
        self.close()


def _end_last_line(handle: int) -> None:
    """A process that was killed while it wrote leaves half a line; the next one begins on a line of its own."""
    size = os.lseek(handle, 0, os.SEEK_END)
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")


def _has_room(handle: int) -> bool:
    found = os.fstatvfs(handle)
    return found.f_bavail * found.f_frsize > 1_000_000
