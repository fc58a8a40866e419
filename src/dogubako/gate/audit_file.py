"""The files of the audit log: its lines, which are only ever added to, and the salt of their hashes."""

import errno
import os
import secrets
import stat
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_SALT_BYTES: Final = 32
# So many lines wait for a disk that takes nothing; only calls that read add to them.
_MOST_OWED: Final = 10_000
_ENOUGH_ROOM: Final = 1_000_000
# Whether the file is still the one that has its name; before something is changed, it is looked at in any case.
_LOOK_AGAIN_SECONDS: Final = 1.0


class AuditFile:
    """Appends lines, and keeps those that the disk does not take until it does."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / FILE
        # Until the one of the folder can be read: a hash without a salt could be guessed by trying.
        self.salt = secrets.token_bytes(_SALT_BYTES)
        self._salt_path = data_dir / _SALT
        self._handle: int | None = None
        self._identity = (0, 0)
        self._looked = 0.0
        self._owed: deque[bytes] = deque(maxlen=_MOST_OWED)
        self._failing = False

    def ready(self) -> bool:
        """Whether nothing is owed and the next line can be written."""
        self._looked = 0.0
        return self._written() and self._handle is not None and self._has_room(self._handle)

    def open(self) -> bool:
        """Whether the file is open, after trying; from then on `salt` is the one that is kept."""
        return self._handle is not None or self._open()

    def append(self, lines: Iterable[bytes]) -> None:
        """Write the lines, or owe them."""
        self._owed.extend(lines)
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
            self._pay()
        except OSError as error:
            self._failed(error)
            return False
        self._failing = False
        return True

    def _pay(self) -> None:
        """One write to a file in append mode: lines of several workers do not mix."""
        assert self._handle is not None
        if not self._owed:
            return
        owed = b"".join(self._owed)
        written = os.write(self._handle, owed)
        if written == len(owed):
            self._owed.clear()
            return
        # A disk that became full took some; a line that it took half of is written again, on a line of its own.
        for _ in range(owed.count(b"\n", 0, written)):
            self._owed.popleft()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> bool:
        self._shut()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.salt = _kept_salt(self._salt_path)
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


def _kept_salt(path: Path) -> bytes:
    """Kept beside the log: equal arguments are equal in it, and cannot be guessed by trying."""
    if not path.exists():
        # Complete before it has its name: another worker must not read half of it.
        unfinished = path.with_name(f"{_SALT}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SALT_BYTES))
        try:
            os.link(unfinished, path)
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    salt = path.read_bytes()
    if len(salt) < _SALT_BYTES:
        raise OSError(errno.EINVAL, f"{_SALT} is damaged; remove it")
    return salt


def _end_last_line(handle: int, size: int) -> None:
    """A process that was killed while it wrote leaves half a line; the next one begins on a line of its own."""
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")
