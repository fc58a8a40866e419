"""Backups of workflows from before a change: the newest of each, in the data folder, and shared by all processes."""

import hashlib
import re
import secrets
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from dogubako.contract.errors import BusyError, NotFoundError, NotFoundErrorContext, ToolExecutionError
from dogubako.contract.storage import KeptBounds, SharedStore
from dogubako.contract.timestamps import utc_text

log = structlog.get_logger("dogubako.n8n")

KEPT: Final = 20
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_SHOWN: Final = 100
# Of what processes share: one backup, all backups of one workflow (compressed), and workflows of one n8n.
_MOST_BYTES: Final = 2 * 1024 * 1024
_MOST_BYTES_OF_A_WORKFLOW: Final = 4 * 1024 * 1024
_MOST_WORKFLOWS: Final = 500
_DAY_SECONDS: Final = 86_400
_AWAY: Final = "The Redis that all processes share does not answer."
_TRY_AGAIN: Final = "Try again in a moment; `dogubako doctor` says more."
_NAME = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{8}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """One backup. `workflow` is n8n's answer, including tags and state."""

    id: str
    workflow_id: str
    saved_at: str
    reason: str
    workflow: dict[str, Any]
    # What the change behind it touched: `nodes`, `settings.timezone`, `tags.<id>`, `published`. Empty: all of it.
    touched: tuple[str, ...] = ()
    # What the change made of those parts that no version holds: the name, single settings and pinned data.
    became: dict[str, Any] = field(default_factory=dict)
    # The version of n8n that the change made.
    made: str | None = None
    # The version that it published.
    published: str | None = None


class Backups:
    """A folder per instance and workflow, a file per backup. Several processes share copies of them."""

    def __init__(self, folder: Path, instance: str, shared: "SharedBackups | None" = None) -> None:
        self._folder = folder / "n8n-backups" / hashlib.sha256(instance.encode()).hexdigest()[:12]
        self._shared = shared
        self._lock = threading.Lock()
        self._last_ms = 0

    async def save(
        self,
        workflow: dict[str, Any],
        reason: str,
        touched: Iterable[str] = (),
        became: Mapping[str, Any] = MappingProxyType({}),
    ) -> Backup:
        """Store a backup. If that fails, the workflow must not be changed."""
        backup = await anyio.to_thread.run_sync(self._save, workflow, reason, tuple(touched), dict(became))
        if self._shared is not None:
            try:
                await self._shared.save(backup)
            except BusyError:
                await anyio.to_thread.run_sync(self._discard, backup)
                raise
        return backup

    async def note_made(self, backup: Backup, version_id: str | None, published: str | None = None) -> None:
        """Remember which version is ours alone, and which one we publish. The change itself is done already."""
        told = replace(backup, made=version_id, published=published)
        try:
            await anyio.to_thread.run_sync(self._write, told)
            if self._shared is not None:
                await self._shared.save(told)
        except (OSError, BusyError) as error:
            log.warning("Backup does not know its version", backup=backup.id, reason=str(error))

    async def is_ours(self, workflow_id: str, version_id: str | None) -> bool:
        """Whether a version was made by one of the changes of which there are backups."""
        return version_id is not None and any(one.made == version_id for one in await self.of(workflow_id))

    async def discard(self, backup: Backup) -> None:
        """Remove the backup of a change that was refused."""
        await anyio.to_thread.run_sync(self._discard, backup)
        if self._shared is not None:
            await self._shared.discard(backup)

    async def of(self, workflow_id: str | None = None) -> list[Backup]:
        """Backups, newest first; of one workflow, or of all."""
        found = await anyio.to_thread.run_sync(self._list, workflow_id)
        if self._shared is None:
            return found
        known = {backup.id: backup for backup in [*await self._shared.of(workflow_id), *found]}
        return _newest(known.values())

    async def get(self, workflow_id: str, backup_id: str | None) -> Backup:
        """The backup with this id, or the newest."""
        backups = await self.of(workflow_id)
        for backup in backups:
            if backup_id in (None, backup.id):
                return backup
        wanted = (backup_id or "")[:_LONGEST_SHOWN]
        context = NotFoundErrorContext(operation="restore workflow", resource_type="Backup", resource_id=wanted)
        hint = f"list_workflow_backups shows which backups there are. The newest {KEPT} of a workflow are kept."
        what = f"Backup '{backup_id[:_LONGEST_SHOWN]}'" if backup_id else "A backup"
        raise NotFoundError(
            f"{what} of workflow '{workflow_id[:_LONGEST_SHOWN]}' not found", context=context, hint=hint
        )

    def _save(self, workflow: dict[str, Any], reason: str, touched: tuple[str, ...], became: dict[str, Any]) -> Backup:
        saved_at = self._next_moment()
        stamp = re.sub(r"[-:.]", "", saved_at)
        backup = Backup(
            id=f"{stamp}-{secrets.token_hex(4)}",
            workflow_id=str(workflow["id"]),
            saved_at=saved_at,
            reason=reason,
            workflow=workflow,
            touched=touched,
            became=became,
        )
        folder = self._folder_of(backup.workflow_id)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(backup)
            for old in sorted(folder.glob("*.json"), reverse=True)[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            message = f"The workflow was not changed: no backup could be saved ({error.strerror})"
            raise ToolExecutionError(message, hint="An operator must make DOGUBAKO_DATA_DIR writable.") from error
        return backup

    def _write(self, backup: Backup) -> None:
        folder = self._folder_of(backup.workflow_id)
        unfinished = folder / f"{backup.id}.part"
        unfinished.write_bytes(msgspec.json.encode(backup))
        unfinished.replace(folder / f"{backup.id}.json")

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


def _newest(backups: Iterable[Backup]) -> list[Backup]:
    """The newest of each workflow, the newest first."""
    kept: list[Backup] = []
    counted: Counter[str] = Counter()
    for backup in sorted(backups, key=lambda one: one.id, reverse=True):
        counted[backup.workflow_id] += 1
        if counted[backup.workflow_id] <= KEPT:
            kept.append(backup)
    return kept


class SharedBackups:
    """Copies of backups that all processes of the server see, so that any of them can bring a workflow back."""

    def __init__(self, store: SharedStore, instance: str, days: float) -> None:
        self._store = store
        self._name = f"n8n backups {instance}"
        ttl = days * _DAY_SECONDS
        self._bounds = KeptBounds(most=KEPT, most_bytes=_MOST_BYTES_OF_A_WORKFLOW, ttl=ttl)
        self._workflows = KeptBounds(most=_MOST_WORKFLOWS, most_bytes=_MOST_BYTES_OF_A_WORKFLOW, ttl=ttl)

    async def save(self, backup: Backup) -> None:
        """Store a copy. Without it the next process could not bring the workflow back, so nothing may be changed."""
        packed = await anyio.to_thread.run_sync(_packed, backup)
        if len(packed) > _MOST_BYTES:
            log.warning("A backup is too large to be shared, and only in the data folder", backup=backup.id)
            return
        id_, entry = backup.workflow_id, hashlib.sha256(backup.workflow_id.encode()).hexdigest()[:32]
        if not (
            await self._store.keep(self._name_of(id_), backup.id, packed, bounds=self._bounds)
            and await self._store.keep(self._name, entry, id_.encode(), bounds=self._workflows)
        ):
            raise BusyError(f"The workflow was not changed: no backup could be saved. {_AWAY}", hint=_TRY_AGAIN)

    async def discard(self, backup: Backup) -> None:
        await self._store.drop(self._name_of(backup.workflow_id), backup.id)

    async def of(self, workflow_id: str | None) -> list[Backup]:
        """Copies of one workflow, or of all."""
        ids = [workflow_id] if workflow_id else [one.decode() for one in (await self._kept(self._name)).values()]
        entries = [entry for id_ in ids for entry in (await self._kept(self._name_of(id_))).values()]
        unpacked = await anyio.to_thread.run_sync(lambda: [_unpacked(entry) for entry in entries])
        return [backup for backup in unpacked if backup is not None]

    async def _kept(self, name: str) -> dict[str, bytes]:
        kept = await self._store.kept(name)
        if kept is None:
            # A list without those of other processes would be wrong.
            raise BusyError(f"The backups of all processes cannot be read. {_AWAY}", hint=_TRY_AGAIN)
        return kept

    def _name_of(self, workflow_id: str) -> str:
        return f"{self._name} {workflow_id}"


def _packed(backup: Backup) -> bytes:
    return zlib.compress(msgspec.json.encode(backup))


def _unpacked(entry: bytes) -> Backup | None:
    try:
        return msgspec.json.decode(zlib.decompress(entry), type=Backup)
    except (zlib.error, ValueError):
        return None
