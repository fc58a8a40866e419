"""The files of the audit log: its lines, which are only ever added to, and the salt of their hashes."""

import errno
import os
import secrets
import stat
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from dogubako.gate.private_file import complete
from dogubako.gate.writable import check_room

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_SALT_BYTES: Final = 32
# So many lines wait for a disk that takes nothing; only calls that read add to them.
_MOST_OWED: Final = 10_000
# Whether the file is still the one that has its name; before something is changed, it is looked at in any case.
_LOOK_AGAIN_SECONDS: Final = 1.0
_NEVER: Final = float("-inf")


class AuditFile:
    """Appends lines, and keeps those that the disk does not take until it does."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / FILE
        # Until the one of the folder can be read: a hash without a salt could be guessed by trying.
        self.salt = secrets.token_bytes(_SALT_BYTES)
        self._salt_path = data_dir / _SALT
        self._handle: int | None = None
        self._identity = (0, 0)
        self._looked = _NEVER
        self._owed: deque[bytes] = deque(maxlen=_MOST_OWED)
        self._lost = 0
        self._failing = False

    def ready(self) -> bool:
        """Whether nothing is owed and the next line can be written."""
        self._looked = _NEVER
        return self._written()

    def open(self) -> bool:
        """Whether the file is open, after trying; from then on `salt` is the one that is kept."""
        return self._handle is not None or self._open()

    def append(self, lines: Iterable[bytes]) -> None:
        """Write the lines, or owe them."""
        for line in lines:
            # The oldest gives way.
            self._lost += len(self._owed) == _MOST_OWED
            self._owed.append(line)
        self._written()

    def close(self) -> None:
        """Give the file back. A later line opens it again."""
        if self._owed:
            self._written()
        self._lost += len(self._owed)
        self._admit_loss()
        self._shut()

    def _written(self) -> bool:
        """Whether everything is in the file, after trying, and more would fit."""
        if not self._is_still_there() and not self._open():
            return False
        assert self._handle is not None
        try:
            self._pay(self._handle)
            check_room(self._handle)
        except OSError as error:
            self._failed(error)
            return False
        self._failing = False
        self._admit_loss()
        return True

    def _admit_loss(self) -> None:
        if self._lost:
            log.error("Calls are missing from the audit log", file=str(self.path), lines=self._lost)
            self._lost = 0

    def _pay(self, handle: int) -> None:
        """One write to a file in append mode: lines of several workers do not mix."""
        if not self._owed:
            return
        owed = b"".join(self._owed)
        written = os.write(handle, owed)
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
        # Another worker may be faster; then it is that one's.
        with complete(path, secrets.token_bytes(_SALT_BYTES)) as file, suppress(FileExistsError):
            os.link(file, path)
    salt = path.read_bytes()
    if len(salt) < _SALT_BYTES:
        raise OSError(errno.EINVAL, f"{_SALT} is damaged; remove it")
    return salt


def _end_last_line(handle: int, size: int) -> None:
    """A process that was killed while it wrote leaves half a line; the next one begins on a line of its own."""
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")
