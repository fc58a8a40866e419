"""Append lines to a file that may be renamed, removed or unwritable while the process runs."""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

# How often the name is checked; a SIGHUP takes effect at once.
_LOOK_AGAIN_SECONDS: Final = 1.0
_NEVER: Final = float("-inf")
_NO_FILE: Final = (0, 0)


class _Requests:
    """Counts the requests to reopen all files."""

    count = 0


def reopen_files() -> None:
    """Reopen every file of this process before its next write. This only counts, so a signal handler may call it."""
    _Requests.count += 1


class AppendFile:
    """A file descriptor in append mode, and the check whether the path still names the same file."""

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self.path = path
        # A private file is regular, and only its owner may read it.
        self._private = private
        self._handle: int | None = None
        self._identity = _NO_FILE
        self._regular = True
        self._looked = _NEVER
        self._requests = 0

    def is_current(self) -> bool:
        """Whether the file is open, still has its name, and was not asked to reopen."""
        if self._handle is None or self._requests != _Requests.count:
            return False
        now = time.monotonic()
        if now - self._looked < _LOOK_AGAIN_SECONDS:
            return True
        self._looked = now
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def look_again(self) -> None:
        """Check the name at the next use, however recent the last check is."""
        self._looked = _NEVER

    def open(self) -> bool:
        """Open the file with this name, or create it. Returns whether it is another one than before."""
        self.close()
        before = self._identity
        requests = _Requests.count
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if self._private else 0o777)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        self._handle = os.open(self.path, flags, 0o600 if self._private else 0o666)
        status = os.fstat(self._handle)
        self._regular = stat.S_ISREG(status.st_mode)
        self._identity = (status.st_dev, status.st_ino)
        self._requests = requests
        if self._private:
            self._make_private()
        return before not in (_NO_FILE, self._identity)

    def append(self, data: bytes) -> int:
        """Write in one system call, so that lines of several processes do not mix; return the bytes written."""
        handle = self.fileno()
        ending = b"\n" if self._regular and _ends_in_half_a_line(handle) else b""
        return max(0, os.write(handle, ending + data) - len(ending))

    def fileno(self) -> int:
        if self._handle is None:
            raise OSError(errno.EBADF, "the file is not open")
        return self._handle

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _make_private(self) -> None:
        if not self._regular:
            raise OSError(errno.EINVAL, "not a regular file")
        os.fchmod(self.fileno(), 0o600)


def _ends_in_half_a_line(handle: int) -> bool:
    """Whether a full disk or a killed process truncated the last line, which the next one must not continue.

    A line that another process is writing looks the same, but makes the file grow between two checks.
    """
    looked_at = -1
    while (size := os.fstat(handle).st_size) != looked_at:
        if size == 0 or os.pread(handle, 1, size - 1) in (b"\n", b""):
            return False
        looked_at = size
    return True
