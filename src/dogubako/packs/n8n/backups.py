"""Backups of workflows from before a change: the newest of each, in the server's data folder."""

import hashlib
import re
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext, ToolExecutionError
from dogubako.contract.timestamps import utc_text

log = structlog.get_logger("dogubako.n8n")

KEPT: Final = 20
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SHOWN: Final = 100
_NAME = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{8}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """One backup. `workflow` is n8n's answer, including tags and state."""

    id: str
    workflow_id: str
    saved_at: str
    reason: str
    workflow: dict[str, Any]


class Backups:
    """A folder per instance and workflow, a file per backup."""

    def __init__(self, folder: Path, instance: str) -> None:
        self._folder = folder / "n8n-backups" / hashlib.sha256(instance.encode()).hexdigest()[:12]
        self._lock = threading.Lock()
        self._last_ms = 0

    async def save(self, workflow: dict[str, Any], reason: str) -> Backup:
        """Store a backup. If that fails, the workflow must not be changed."""
        return await anyio.to_thread.run_sync(self._save, workflow, reason)

    async def discard(self, backup: Backup) -> None:
        """Remove the backup of a change that was refused."""
        await anyio.to_thread.run_sync(self._discard, backup)

    async def of(self, workflow_id: str | None = None) -> list[Backup]:
        """Backups, newest first; of one workflow, or of all."""
        return await anyio.to_thread.run_sync(self._list, workflow_id)

    async def get(self, workflow_id: str, backup_id: str | None) -> Backup:
        """The backup with this id, or the newest."""
        backups = await self.of(workflow_id)
        for backup in backups:
            if backup_id in (None, backup.id):
                return backup
        wanted = (backup_id or "")[:_LONGEST_SHOWN]
        context = NotFoundErrorContext(operation="restore workflow", resource_type="Backup", resource_id=wanted)
        hint = "list_workflow_backups shows which backups there are."
        what = f"Backup '{backup_id[:_LONGEST_SHOWN]}'" if backup_id else "A backup"
        raise NotFoundError(
            f"{what} of workflow '{workflow_id[:_LONGEST_SHOWN]}' not found", context=context, hint=hint
        )

    def _save(self, workflow: dict[str, Any], reason: str) -> Backup:
        saved_at = self._next_moment()
        stamp = re.sub(r"[-:.]", "", saved_at)
        backup = Backup(
            id=f"{stamp}-{secrets.token_hex(4)}",
            workflow_id=str(workflow["id"]),
            saved_at=saved_at,
            reason=reason,
            workflow=workflow,
        )
        folder = self._folder_of(backup.workflow_id)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished = folder / f"{backup.id}.part"
            unfinished.write_bytes(msgspec.json.encode(backup))
            unfinished.replace(folder / f"{backup.id}.json")
            for old in sorted(folder.glob("*.json"), reverse=True)[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            message = f"The workflow was not changed: no backup could be saved ({error.strerror})"
            raise ToolExecutionError(message, hint="An operator must make DOGUBAKO_DATA_DIR writable.") from error
        return backup

    def _next_moment(self) -> str:
        """Now, or the next millisecond after the last backup: the order of ids is the order of backups."""
        with self._lock:
            self._last_ms = max(time.time_ns() // 1_000_000, self._last_ms + 1)
            # The middle of the millisecond, so that rounding cannot leave it.
            return utc_text((self._last_ms + 0.5) / 1000)

    def _discard(self, backup: Backup) -> None:
        try:
            (self._folder_of(backup.workflow_id) / f"{backup.id}.json").unlink(missing_ok=True)
        except OSError as error:
            # One backup too many harms nobody; the refusal itself is what the caller has to see.
            log.warning("Backup not removed", backup=backup.id, reason=error.strerror)

    def _list(self, workflow_id: str | None) -> list[Backup]:
        folders = [self._folder_of(workflow_id)] if workflow_id else sorted(self._folder.glob("*"))
        files = [file for folder in folders for file in folder.glob("*.json") if _NAME.fullmatch(file.stem)]
        backups = (_read(file) for file in sorted(files, key=lambda file: file.stem, reverse=True))
        return [backup for backup in backups if backup is not None]

    def _folder_of(self, workflow_id: str) -> Path:
        # Ids come from outside; an unusual one must not choose a folder.
        name = workflow_id if _SAFE.fullmatch(workflow_id) else hashlib.sha256(workflow_id.encode()).hexdigest()
        return self._folder / name


def is_backup_id(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _read(file: Path) -> Backup | None:
    """Read a backup. None if the file is damaged, so that it does not hide the others."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Backup)
    except (OSError, ValueError):
        return None
