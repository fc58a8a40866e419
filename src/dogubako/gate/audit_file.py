"""The files of the audit log: its lines, which are only ever added to, and the salt of their hashes."""

import errno
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import structlog

from dogubako.append_file import AppendFile
from dogubako.gate.private_file import kept_secret
from dogubako.gate.writable import check_room

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_SALT_BYTES: Final = 32
# So many lines wait for a disk that takes nothing; only calls that read add to them.
_MOST_OWED: Final = 10_000


class AuditFile:
    """Appends lines, and keeps those that the disk does not take until it does."""

    def __init__(self, data_dir: Path, *, carry_over: Callable[[], Iterable[bytes]] = tuple) -> None:
        # The lines that a new file begins with, when the one before it was moved away.
        self._carry_over = carry_over
        self.path = data_dir / FILE
        # Until the one of the folder can be read: a hash without a salt could be guessed by trying.
        self.salt = secrets.token_bytes(_SALT_BYTES)
        self._salt_path = data_dir / _SALT
        self._file = AppendFile(self.path, private=True)
        self._owed: deque[bytes] = deque(maxlen=_MOST_OWED)
        self._lost = 0
        self._failing = False

    def ready(self) -> bool:
        """Whether nothing is owed and the next line can be written."""
        self._file.look_again()
        return self._written()

    def open(self) -> bool:
        """Whether the file is open, after trying; from then on `salt` is the one that is kept."""
        return self._file.is_current() or self._open()

    def append(self, lines: Iterable[bytes]) -> bool:
        """Write the lines, or owe them. Whether they are in the file."""
        for line in lines:
            # The oldest gives way.
            self._lost += len(self._owed) == _MOST_OWED
            self._owed.append(line)
        return self._written()

    def close(self) -> None:
        """Give the file back. A later line opens it again."""
        if self._owed:
            self._written()
        self._lost += len(self._owed)
        self._admit_loss()
        self._file.close()

    def _written(self) -> bool:
        """Whether everything is in the file, after trying, and more would fit."""
        if not self._file.is_current() and not self._open():
            return False
        try:
            self._pay()
            check_room(self._file.fileno())
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

    def _pay(self) -> None:
        if not self._owed:
            return
        owed = b"".join(self._owed)
        written = self._file.append(owed)
        if written == len(owed):
            self._owed.clear()
            return
        # A disk that became full took some; a line that it took half of is written again, on a line of its own.
        for _ in range(owed.count(b"\n", 0, written)):
            self._owed.popleft()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> bool:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Kept beside the log: equal arguments are equal in it, and cannot be guessed by trying.
            self.salt = kept_secret(self._salt_path)
            replaced = self._file.open()
        except OSError as error:
            self._failed(error)
            return False
        if replaced:
            self._owed.extendleft(reversed([*self._carry_over()]))
        return True

    def _failed(self, error: OSError) -> None:
        self._file.close()
        if not self._failing:
            # Said once, not with every call until it is mended.
            self._failing = True
            log.error("The audit log cannot be written", file=str(self.path), reason=error.strerror)
