"""Whether something could be written into a folder. Permissions alone do not tell: root has all of them."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

_ENOUGH_ROOM: Final = 1_000_000


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
