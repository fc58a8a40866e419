"""Read a log as it grows, also while it is moved away and a new one is begun."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Self

from dogubako.gate.audit_line import whole_lines
from dogubako.settings import SettingsError

# The log, and the one before it: a server notices a moment later that its file was moved, and writes there until then.
_KEPT: Final = 2


class Following:
    """The lines of a log, each of them once. What is read is a file, not a name: it may have another one by now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep(0)

    @property
    def found(self) -> bool:
        """Whether there has been a log so far."""
        return bool(self._files)

    def lines(self) -> Iterator[bytes]:
        """What was added since the last time: first to the old log, then to the new one."""
        self._open_what_has_the_name_now()
        for file in self._files:
            position = file.tell()
            # A file that became shorter was cut, and begun again.
            file.seek(position if position <= file.seek(0, os.SEEK_END) else 0)
            yield from whole_lines(file)

    def _open_what_has_the_name_now(self) -> None:
        file = open_log(self._path)
        if file is None:
            return
        self._files.append(file)
        if any(os.path.sameopenfile(file.fileno(), known.fileno()) for known in self._files[:-1]):
            self._files.pop().close()
        self._keep(_KEPT)

    def _keep(self, count: int) -> None:
        while len(self._files) > count:
            self._files.pop(0).close()


def open_log(path: Path) -> IO[bytes] | None:
    """The log, or nothing where there is none yet."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The audit log {path} cannot be read: {error.strerror}.") from None
