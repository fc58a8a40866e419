"""The log file: reopened after trouble, and it says how many lines it lost."""

import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from dogubako.append_file import AppendFile

_TRY_AGAIN_SECONDS: Final = 1.0
_NEVER: Final = float("-inf")


class LogFile:
    """Writes lines, and counts those that the disk does not take. `lost_line` renders the count for the file."""

    def __init__(self, path: Path, *, tell: Callable[[str], None], lost_line: Callable[[int], bytes]) -> None:
        self._file = AppendFile(path)
        self._tell = tell
        self._lost_line = lost_line
        self._lost = 0
        self._failed_at = _NEVER
        self._failing = False

    def open(self) -> OSError | None:
        """Open the file now, so that what is wrong with it can be said at the start."""
        try:
            self._file.open()
        except OSError as error:
            self._fail()
            return error
        return None

    def write(self, lines: Sequence[bytes]) -> None:
        """Write the lines with one system call, or count them as lost. While the disk is full, try once a second."""
        lost = self._lost
        # Counted as lost until they are written.
        self._lost += len(lines)
        if time.monotonic() - self._failed_at < _TRY_AGAIN_SECONDS:
            return
        try:
            if not self._file.is_current():
                self._file.open()
            self._put(lines, lost)
        except OSError as error:
            if not self._failing:
                self._tell(f"The log file cannot be written: {error.strerror or error}")
            self._fail()

    def close(self) -> None:
        """Try once more to say what was lost, and close the file."""
        self._failed_at = _NEVER
        if self._lost:
            self.write([])
        if self._lost:
            self._tell(_sentence(self._lost))
        self._file.close()

    def _put(self, lines: Sequence[bytes], lost: int) -> None:
        data = b"".join([self._lost_line(lost), *lines] if lost else lines)
        taken = self._file.append(data)
        self._lost = _missing(self._lost, data, taken, told=lost > 0)
        if taken < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._failing = False
        if lost:
            self._tell(_sentence(lost))

    def _fail(self) -> None:
        self._failing = True
        self._failed_at = time.monotonic()
        self._file.close()


def _missing(lost: int, data: bytes, taken: int, *, told: bool) -> int:
    """How many lines the file has not heard of after `taken` bytes of `data`, whose first line may tell of loss."""
    written = data.count(b"\n", 0, taken)
    if told and written:
        return data.count(b"\n", taken)
    return lost - written


def _sentence(lost: int) -> str:
    return f"{lost:,} log {'line' if lost == 1 else 'lines'} could not be written"
