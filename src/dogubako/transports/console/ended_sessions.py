"""Sessions of the console that were signed out, for every process that shares the data folder.

A cookie carries its session, so a copy of it would work until it expires. Each session that was signed out leaves an
empty file in the data folder until then. Somebody who signs out very often leaves one file for all of his sessions.
"""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from dogubako.gate.files import open_no_follow

log = structlog.get_logger("dogubako.console")

FOLDER: Final = "ended_sessions"
# So many sessions of one subject are told apart. With the next one, all that were begun until then end.
MOST_PER_SUBJECT: Final = 200
_ALL: Final = "all"


class EndedSessions:
    """Remembers ended sessions: in files, and in this process where nothing can be written."""

    def __init__(self, data_dir: Path, seconds: float) -> None:
        """`seconds`: no session lasts longer."""
        self._folder = data_dir / FOLDER
        self._seconds = seconds
        # Those that could not be written, with the time from which nobody needs them.
        self._unwritten: dict[str, float] = {}

    def includes(self, subject: str, id_: str, begun: float) -> bool:
        """Whether this session has ended."""
        owner = _name(subject)
        marker = f"{owner}-{_name(id_)}"
        if marker in self._unwritten or os.path.lexists(self._folder / marker):
            return True
        try:
            return begun <= (self._folder / f"{owner}-{_ALL}").lstat().st_mtime
        except OSError:
            return False

    def add(self, subject: str, id_: str) -> bool:
        """End a session. False if only this process knows it, because it cannot be written."""
        owner = _name(subject)
        marker = f"{owner}-{_name(id_)}"
        try:
            self._write(owner, marker)
        except OSError as error:
            log.error("A session that was signed out cannot be recorded", folder=str(self._folder), reason=str(error))
            now = time.time()
            self._unwritten = {one: until for one, until in self._unwritten.items() if until > now}
            self._unwritten[marker] = now + self._seconds
            return False
        return True

    def _write(self, owner: str, marker: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = [name for name in self._unexpired() if name.startswith(owner) and not name.endswith(_ALL)]
        is_full = len(own) >= MOST_PER_SUBJECT and marker not in own
        path = self._folder / (f"{owner}-{_ALL}" if is_full else marker)
        os.close(open_no_follow(str(path), os.O_CREAT | os.O_WRONLY))
        # The clock of the file system may lag behind the one that sessions are begun by.
        os.utime(path, (now := time.time(), now), follow_symlinks=False)
        if is_full:
            for name in own:
                (self._folder / name).unlink(missing_ok=True)

    def _unexpired(self) -> list[str]:
        """The names of all files that are still needed; the others are removed."""
        needed, now = [], time.time()
        with os.scandir(self._folder) as entries:
            for entry in entries:
                # Another process may remove it meanwhile.
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime + self._seconds >= now:
                        needed.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        Path(entry.path).unlink()
        return needed


def _name(text: str) -> str:
    """A safe part of a file name for any text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
