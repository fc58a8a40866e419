"""Previews of bulk changes: kept in the server's data folder until they are used, or expire."""

import hashlib
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import msgspec

from dogubako.contract.errors import ConflictError, ToolExecutionError
from dogubako.packs.redmine.models import JsonObject

KEPT_MINUTES: Final = 15
_TOKEN_BYTES: Final = 9
_LONGEST_TOKEN: Final = 100


class PlannedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """One issue of a preview, as it was then. A refused one is not written."""

    id: int
    subject: str
    project: int
    updated_on: str
    refused: str = ""
    unchanged: bool = False


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a bulk change would write: the body for each project, and the issues."""

    bound_to: str
    expires: float
    bodies: dict[str, dict[str, Any]]
    issues: list[PlannedIssue]


class Previews:
    """A file per preview. All workers of a server see it; only the same caller can use it, once, for the same call."""

    def __init__(self, folder: Path, owner: str) -> None:
        self._folder = folder / "redmine-previews"
        self._owner = owner

    async def save(
        self, call: JsonObject, caller: str, bodies: dict[str, JsonObject], issues: list[PlannedIssue]
    ) -> str:
        """Store a preview, and return its token."""
        expires = time.time() + KEPT_MINUTES * 60
        preview = Preview(bound_to=self._bound(call, caller), expires=expires, bodies=bodies, issues=issues)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        await anyio.to_thread.run_sync(self._save, token, msgspec.json.encode(preview))
        return token

    async def take(self, token: str, call: JsonObject, caller: str) -> Preview:
        """The preview of this token, which nobody can take again."""
        return await anyio.to_thread.run_sync(self._take, token, self._bound(call, caller))

    def _save(self, token: str, body: bytes) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_expired()
            file = self._file(token)
            file.touch(mode=0o600)
            file.write_bytes(body)
        except OSError as error:
            raise ToolExecutionError("The preview could not be stored in the server's data folder") from error

    def _take(self, token: str, bound_to: str) -> Preview:
        file = self._file(token)
        try:
            preview = msgspec.json.decode(file.read_bytes(), type=Preview)
            if not secrets.compare_digest(preview.bound_to, bound_to) or preview.expires < time.time():
                raise _unknown()
            # Of two calls at once, only one can remove the file.
            file.unlink()
        except (OSError, msgspec.DecodeError, UnicodeError):
            raise _unknown() from None
        return preview

    def _remove_expired(self) -> None:
        for file in self._folder.glob("*.json"):
            # Another worker may remove it at the same moment.
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < time.time() - KEPT_MINUTES * 60:
                    file.unlink()

    def _file(self, token: str) -> Path:
        # A token comes from outside; it must not choose a path.
        return self._folder / f"{hashlib.sha256(token[:_LONGEST_TOKEN].encode()).hexdigest()[:40]}.json"

    def _bound(self, call: JsonObject, caller: str) -> str:
        written = msgspec.json.encode([self._owner, caller, call], order="sorted")
        return hashlib.sha256(written).hexdigest()


def _unknown() -> ConflictError:
    message = "This preview does not exist, was used already, has expired, or belongs to another caller or call"
    hint = "Nothing was written. Call update_issues without preview and with dry_run: true, and use the new one."
    return ConflictError(message, hint=hint)
