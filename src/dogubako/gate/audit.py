"""One line per call in a file of its own: who did what, when, and how it went. Never a value of an argument."""

import errno
import json
import os
import secrets
import stat
import time
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from dogubako.contract.call import ToolCall
from dogubako.contract.moment import utc_text
from dogubako.contract.secrets import Redactor
from dogubako.gate.audit_line import AuditLine
from dogubako.response.plain import clean_text

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_SALT_BYTES: Final = 32
_MOST_NAMES: Final = 50
_LONGEST_NAME: Final = 64
_LONGEST_LOOKED_AT: Final = 1_000
# So many lines wait for a disk that takes nothing; only calls that read add to them.
_MOST_OWED: Final = 10_000
_ENOUGH_ROOM: Final = 1_000_000
# Whether the file is still the one that has its name; before something is changed, it is looked at in any case.
_LOOK_AGAIN_SECONDS: Final = 1.0


class AuditLog:
    """Appends, and never changes what was written."""

    def __init__(self, data_dir: Path, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self.path = data_dir / FILE
        self._salt_path = data_dir / _SALT
        self._handle: int | None = None
        self._identity = (0, 0)
        self._looked = 0.0
        # Until the one of the folder can be read: a hash without a salt could be guessed by trying.
        self._salt = secrets.token_bytes(_SALT_BYTES)
        self._owed: deque[bytes] = deque(maxlen=_MOST_OWED)
        self._failing = False
        # The same few names come again and again.
        self._name = lru_cache(maxsize=1_000)(self._masked)

    def ready(self) -> bool:
        """Whether the next line can be written. What cannot be recorded must not be done."""
        self._looked = 0.0
        return self._written() and self._handle is not None and self._has_room(self._handle)

    def record(self, call: ToolCall, code: str, milliseconds: float, *, pack: str | None = None) -> None:
        """Write one line, at once: a process that is killed has lost nothing. What cannot be written waits."""
        if self._handle is None:
            self._open()
        line = AuditLine(
            time=utc_text(),
            caller=clean_text(call.caller.name),
            door=call.door,
            tool=self._name(call.name[:_LONGEST_LOOKED_AT]),
            arguments=self._names(call.parameters),
            hash=self._fingerprint(call.parameters),
            code=code,
            ms=milliseconds,
            call_id=call.id,
            via=call.via,
            pack=pack,
        )
        self._owed.append(line.encoded())
        self._written()

    def close(self) -> None:
        """Give the file back. A later line opens it again."""
        if self._owed and not self._written():
            log.error("Calls are missing from the audit log", file=str(self.path), lines=len(self._owed))
        self._shut()

    def _written(self) -> bool:
        """Whether everything is in the file, after trying."""
        if not self._is_still_there() and not self._open():
            return False
        try:
            while self._owed:
                self._append(self._owed[0])
                self._owed.popleft()
        except OSError as error:
            self._failed(error)
            return False
        self._failing = False
        return True

    def _append(self, line: bytes) -> None:
        assert self._handle is not None
        # One write to a file in append mode: lines of several workers do not mix.
        if os.write(self._handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> bool:
        self._shut()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._salt = self._read_salt()
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            found = os.fstat(self._handle)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            os.fchmod(self._handle, 0o600)
            _end_last_line(self._handle, found.st_size)
        except OSError as error:
            self._failed(error)
            return False
        self._identity = (found.st_dev, found.st_ino)
        return True

    def _is_still_there(self) -> bool:
        """Somebody may move the file away while we run; what comes then belongs into a new one."""
        if self._handle is None:
            return False
        now = time.monotonic()
        if now - self._looked < _LOOK_AGAIN_SECONDS:
            return True
        self._looked = now
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _read_salt(self) -> bytes:
        """Kept beside the log: equal arguments are equal in it, and cannot be guessed by trying."""
        if not self._salt_path.exists():
            # Complete before it has its name: another worker must not read half of it.
            unfinished = self._salt_path.with_name(f"{_SALT}.{os.getpid()}")
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_SALT_BYTES))
            try:
                os.link(unfinished, self._salt_path)
            except FileExistsError:
                pass
            finally:
                unfinished.unlink()
        salt = self._salt_path.read_bytes()
        if len(salt) < _SALT_BYTES:
            raise OSError(errno.EINVAL, f"{_SALT} is damaged; remove it")
        return salt

    def _names(self, parameters: Mapping[str, Any]) -> list[str]:
        names = map(str, parameters)
        first = sorted(names) if len(parameters) <= _MOST_NAMES else nsmallest(_MOST_NAMES, names)
        return [self._name(name[:_LONGEST_LOOKED_AT]) for name in first]

    def _masked(self, name: str) -> str:
        """A caller can put anything in place of a name, also what nobody may see."""
        return clean_text(self._redactor.mask(name)[:_LONGEST_NAME])

    def _fingerprint(self, parameters: Mapping[str, Any]) -> str:
        return blake2b(_canonical(parameters), key=self._salt, digest_size=8).hexdigest()

    def _has_room(self, handle: int) -> bool:
        found = os.fstatvfs(handle)
        if found.f_bavail * found.f_frsize > _ENOUGH_ROOM:
            return True
        self._failed(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return False

    def _failed(self, error: OSError) -> None:
        self._shut()
        if not self._failing:
            # Said once, not with every call until it is mended.
            self._failing = True
            log.error("The audit log cannot be written", file=str(self.path), reason=error.strerror)

    def _shut(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _canonical(parameters: Mapping[str, Any]) -> bytes:
    """The same bytes for the same arguments, in whatever order they were written."""
    try:
        return msgspec.json.encode(parameters, order="sorted")
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    try:
        # Takes half characters and numbers beyond all bounds, which a caller may send all the same.
        return json.dumps(parameters, sort_keys=True, default=str).encode()
    except (TypeError, ValueError, RecursionError):
        return b"?"


def _end_last_line(handle: int, size: int) -> None:
    """A process that was killed while it wrote leaves half a line; the next one begins on a line of its own."""
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")
