"""Other processes of the same server: who they are, and what they would not hear of.

A server process holds a shared lock on a file of the data folder for as long as it runs. Whoever can turn it into an
exclusive one is alone. Record locks (`fcntl`) are turned in one step, end with their process, and work over NFS.
"""

import fcntl
import os
from typing import Final

import structlog

from dogubako.contract.errors import ReadOnlyError
from dogubako.settings import Settings

_FILE: Final = "serving.lock"

log = structlog.get_logger("dogubako.gate")

# What processes with one data folder do not share, and what all of them do not share even with a Redis.
_NOT_SHARED: Final = (
    "tool switches, changes of other servers and tasks (refused), rate limits, running calls per caller, "
    "news of changes, kept answers of other servers, locks of workflows, calls in the console"
)
_NOT_SHARED_YET: Final = (
    "connections of single callers to other servers, kept answers above 4 MB, arguments and answers in the console"
)


class Processes:
    """Knows whether other processes serve the same tools, and refuses changes of which they would not hear."""

    def __init__(self, settings: Settings, *, sole_process: bool = True) -> None:
        self._path = settings.data_dir / _FILE
        self._sole_process = sole_process
        self._shares = settings.shared is not None
        self._file: int | None = None

    def join(self, workers: int = 1) -> None:
        """Take part from now on, and say what the processes of this server do not share."""
        # Also for one that shares: another server on this folder may not.
        self.hold()
        if self._shares:
            log.info("Other processes share this server through DOGUBAKO_SHARED", not_shared=_NOT_SHARED_YET)
            return
        if workers > 1:
            log.warning("Workers are not one server without DOGUBAKO_SHARED=redis://…", not_shared=_NOT_SHARED)
        if not self.alone:
            folder = str(self._path.parent)
            message = "Another server uses this data folder; without DOGUBAKO_SHARED=redis://… they are not one server"
            log.warning(message, folder=folder, not_shared=_NOT_SHARED)

    def hold(self) -> None:
        """Hold the lock for as long as this process lives. Where nothing can be locked, it counts as alone."""
        if self._file is not None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Record locks end when any descriptor of the file is closed; nobody else in this process opens it.
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_SH)
        except OSError:
            self.release()

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def alone(self) -> bool:
        """Whether no other server process uses the data folder."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.lockf(self._file, fcntl.LOCK_SH)
        return True

    def check_switch(self, act: str) -> None:
        """Raise if another process would not hear that a tool was switched."""
        if not self._shares:
            self._check(act, "choose tools with DOGUBAKO_PACKS")

    def check_servers(self, act: str) -> None:
        """Raise if another process would not hear that another MCP server was changed."""
        if not self._shares:
            self._check(act, "use `dogubako servers` and start again")

    def _check(self, act: str, instead: str) -> None:
        if not self._sole_process:
            message = f"Several processes serve this address, and only one would hear of it: {act} was not done."
            raise ReadOnlyError(message, hint=f"Set DOGUBAKO_SHARED, serve with one worker, or {instead}.")
        if not self.alone:
            message = f"Another server uses the same data folder, and would not hear of it: {act} was not done."
            hint = f"Set DOGUBAKO_SHARED for both, give each a DOGUBAKO_DATA_DIR of its own, or {instead}."
            raise ReadOnlyError(message, hint=hint)
