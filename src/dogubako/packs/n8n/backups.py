"""Copies of workflows from before they were changed: the newest of each, in the server's data folder."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext, ToolExecutionError
from dogubako.contract.moment import utc_text

KEPT: Final = 20
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SHOWN: Final = 100
_NAME = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{8}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """One copy. `workflow` is what n8n gave out, tags and state included."""

    id: str
    workflow_id: str
    saved_at: str
    reason: str
    workflow: dict[str, Any]


class Backups:
    """A folder per instance and workflow, a file per copy."""

    def __init__(self, folder: Path, instance: str) -> None:
        self._folder = folder / "n8n-backups" / hashlib.sha256(instance.encode()).hexdigest()[:12]

    async def save(self, workflow: dict[str, Any], reason: str) -> Backup:
        """Keep a copy. When that fails, whatever was to be changed must not be changed."""
        return await anyio.to_thread.run_sync(self._save, workflow, reason)

    async def of(self, workflow_id: str | None = None) -> list[Backup]:
        """Newest first; of one workflow, or of all."""
        return await anyio.to_thread.run_sync(self._list, workflow_id)

    async def get(self, workflow_id: str, backup_id: str | None) -> Backup:
        """The one that is meant, or the newest."""
        found = await self.of(workflow_id)
        for backup in found:
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
        encoded = msgspec.json.encode(workflow)
        saved_at = utc_text()
        stamp = re.sub(r"[-:.]", "", saved_at)
        backup = Backup(
            id=f"{stamp}-{hashlib.sha256(encoded).hexdigest()[:8]}",
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

    def _list(self, workflow_id: str | None) -> list[Backup]:
        folders = [self._folder_of(workflow_id)] if workflow_id else sorted(self._folder.glob("*"))
        files = [file for folder in folders for file in folder.glob("*.json") if _NAME.fullmatch(file.stem)]
        found = (_read(file) for file in sorted(files, key=lambda file: file.stem, reverse=True))
        return [backup for backup in found if backup is not None]

    def _folder_of(self, workflow_id: str) -> Path:
        # Ids come from outside; one that is no plain word must not choose a folder.
        name = workflow_id if _SAFE.fullmatch(workflow_id) else hashlib.sha256(workflow_id.encode()).hexdigest()
        return self._folder / name


def _read(file: Path) -> Backup | None:
    """Nothing when the file is damaged: it must not hide the others."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Backup)
    except (OSError, ValueError):
        return None
