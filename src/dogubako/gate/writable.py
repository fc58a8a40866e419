"""Who can write into a folder. For ourselves permissions alone do not tell: root has all of them."""

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_ENOUGH_ROOM: Final = 1_000_000
_ROOT: Final = 0


def check_room(handle: int) -> None:
    """Raise where the disk of an open file is nearly full."""
    found = os.fstatvfs(handle)
    if found.f_bavail * found.f_frsize <= _ENOUGH_ROOM:
        raise OSError(errno.ENOSPC, "less than 1 MB is free on its disk")


def trouble_in(folder: Path) -> str | None:
    """Why nothing could be written there, now or after it was made. Nothing is left behind by finding out."""
    whole = folder.absolute()
    # A link that leads nowhere is there too, and no folder can be made in its place.
    nearest = next(path for path in (whole, *whole.parents) if os.path.lexists(path))
    try:
        # Where the system can do it, this file never has a name.
        with TemporaryFile(dir=nearest) as file:
            check_room(file.fileno())
    except OSError as error:
        return error.strerror
    return None


def others_who_write(folder: Path) -> Iterator[tuple[str, str]]:
    """What in a folder other users can write, the folder itself first: a sentence and the command that ends it."""
    for path, found in ((folder, folder.stat()), *((one, one.lstat()) for one in sorted(folder.iterdir()))):
        quoted = shlex.quote(str(path))
        if found.st_uid not in (_ROOT, os.geteuid()):
            yield f"{path} belongs to another user (id {found.st_uid}).", f"chown {os.geteuid()} {quoted}"
        elif not stat.S_ISLNK(found.st_mode) and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
            yield f"Others may write to {path}.", f"chmod {mode} {quoted}"
