"""One-time ids as marker files in the data folder, for several worker processes and across restarts."""

import hashlib
import os
import time
from pathlib import Path
from typing import Final

import anyio.to_thread
import structlog

from dogubako.contract.errors import ReadOnlyError
from dogubako.contract.state import check_room_for_id
from dogubako.gate.private_file import itself

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
            os.close(itself(str(self._folder / marker), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def _unexpired(self, ttl: float) -> set[str]:
        """The names of all markers that still count; the others are removed."""
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
    """A part of a file name, whatever the text is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
