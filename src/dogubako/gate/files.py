"""Files of the data folder: atomic writes, private modes, checks of disk space and permissions."""

import errno
import hashlib
import os
import secrets
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import anyio.to_thread
import structlog

from dogubako.contract.errors import ReadOnlyError
from dogubako.contract.storage import check_room_for_id

_SECRET_BYTES: Final = 32


def open_no_follow(path: str, flags: int) -> int:
    """Open a file without following a link (O_NOFOLLOW), and without waiting if it is a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


@contextmanager
def write_temp_file(path: Path, content: bytes) -> Iterator[Path]:
    """Write a complete, synced file beside `path`, to be renamed to it. It is removed if it is not renamed."""
    # An unpredictable name and a new file: nothing can be waiting in its place.
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    with open(unfinished, "xb", opener=open_no_follow) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)


def load_or_create_secret(path: Path) -> bytes:
    """The random bytes in this file, which is created if missing. All processes get the same bytes."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Another process may be faster; then its file counts.
        with write_temp_file(path, secrets.token_bytes(_SECRET_BYTES)) as file, suppress(FileExistsError):
            os.link(file, path)
    secret = path.read_bytes()
    if len(secret) < _SECRET_BYTES:
        raise OSError(errno.EINVAL, f"{path.name} is damaged; remove it")
    return secret


_ENOUGH_ROOM: Final = 1_000_000
_ROOT: Final = 0


def check_room(handle: int) -> None:
    """Raise if the disk of an open file is nearly full."""
    status = os.fstatvfs(handle)
    if status.f_bavail * status.f_frsize <= _ENOUGH_ROOM:
        raise OSError(errno.ENOSPC, "less than 1 MB is free on its disk")


def why_not_writable(folder: Path) -> str | None:
    """Why the folder cannot be written, or could not after it is created. Leaves nothing behind."""
    whole = folder.absolute()
    # A dangling link exists too, and no folder can be created in its place.
    nearest = next(path for path in (whole, *whole.parents) if os.path.lexists(path))
    try:
        # On most systems this file never has a name.
        with TemporaryFile(dir=nearest) as file:
            check_room(file.fileno())
    except OSError as error:
        return error.strerror
    return None


def foreign_writable_paths(folder: Path) -> Iterator[tuple[str, str]]:
    """Paths in a folder that other users can write, the folder first: a sentence and the command that fixes it."""
    for path, status in ((folder, folder.stat()), *((one, one.lstat()) for one in sorted(folder.iterdir()))):
        quoted = shlex.quote(str(path))
        if status.st_uid not in (_ROOT, os.geteuid()):
            yield f"{path} belongs to another user (id {status.st_uid}).", f"chown {os.geteuid()} {quoted}"
        elif not stat.S_ISLNK(status.st_mode) and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = "700" if stat.S_ISDIR(status.st_mode) else "600"
            yield f"Others may write to {path}.", f"chmod {mode} {quoted}"


log = structlog.get_logger("dogubako.gate")

_FOLDER: Final = "used_states"
_REFUSED: Final = "The answer of the user cannot be recorded as used, so it does not count: nothing was done with it."
_HINT: Final = "The server's log says why. An operator must make DOGUBAKO_DATA_DIR writable, with room on its disk."


class FileOnceStore:
    """Creates one empty file per used id. The file system decides which of two processes was first."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / _FOLDER

    async def use(self, id_: str, *, owner: str, ttl: float) -> bool:
        try:
            return await anyio.to_thread.run_sync(self._use, _name(owner), _name(id_), ttl)
        except OSError as error:
            log.error("A used request state cannot be recorded", folder=str(self._folder), reason=error.strerror)
            raise ReadOnlyError(_REFUSED, hint=_HINT) from error

    def _use(self, owner: str, id_: str, ttl: float) -> bool:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = self._unexpired(ttl)
        marker = f"{owner}-{id_}"
        if marker in names:
            return False
        check_room_for_id(sum(name.startswith(owner) for name in names), len(names))
        try:
            os.close(open_no_follow(str(self._folder / marker), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def _unexpired(self, ttl: float) -> set[str]:
        """The names of all unexpired markers; the others are removed."""
        names, now = set(), time.time()
        with os.scandir(self._folder) as entries:
            for entry in entries:
                try:
                    if entry.stat(follow_symlinks=False).st_mtime + ttl >= now:
                        names.add(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        Path(entry.path).unlink()
                except FileNotFoundError:
                    # Another process removed it meanwhile.
                    continue
        return names


def _name(text: str) -> str:
    """A safe part of a file name for any text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
