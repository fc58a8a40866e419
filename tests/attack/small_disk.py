"""A disk that can be filled: a small tmpfs where we may mount one, else a limit on the size of files as a stand-in."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.doors.family import descendants

# Writes are refused when less than 1 MB is free.
_SIZE: Final = "4m"


class SmallDisk:
    """A folder on a disk of its own."""

    kind = "tmpfs"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, pid: int) -> None:
        """Leave no byte free."""
        with self._filler.open("wb", buffering=0) as file, suppress(OSError):
            for size in (65_536, 1):
                with suppress(OSError):
                    while file.write(b"x" * size):
                        pass

    def free(self, pid: int) -> None:
        self._filler.unlink()


class LimitedFiles(SmallDisk):
    """As on a full disk, the system takes no more bytes of the server's processes."""

    kind = "file size limit"

    def fill(self, pid: int) -> None:
        self._limit(pid, 1)

    def free(self, pid: int) -> None:
        self._limit(pid, resource.RLIM_INFINITY)

    def _limit(self, pid: int, size: int) -> None:
        for one in (pid, *descendants(pid)):
            _, hard = resource.prlimit(one, resource.RLIMIT_FSIZE)
            resource.prlimit(one, resource.RLIMIT_FSIZE, (size, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        yield LimitedFiles(folder)
        return
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: a process that is still ending may have a file open.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
