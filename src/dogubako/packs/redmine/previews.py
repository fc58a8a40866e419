"""Previews of bulk changes, kept until they are used or expire: in the shared store, or else in the data folder."""

import hashlib
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import msgspec

from dogubako.contract.errors import BusyError, ConflictError, ToolExecutionError
from dogubako.contract.storage import SharedStore
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
    """All processes of a server see a preview; only the same caller can use it, once, for the same call."""

    def __init__(self, folder: Path, owner: str, shared: SharedStore | None = None) -> None:
        self._folder = folder / "redmine-previews"
        self._owner = owner
        self._shared = shared

    async def save(
        self, call: JsonObject, caller: str, bodies: dict[str, JsonObject], issues: list[PlannedIssue]
    ) -> str:
        """Store a preview, and return its token."""
        expires = time.time() + KEPT_MINUTES * 60
        preview = Preview(bound_to=self._bound(call, caller), expires=expires, bodies=bodies, issues=issues)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        body = msgspec.json.encode(preview)
        if self._shared is None:
            await anyio.to_thread.run_sync(self._save, token, body)
        elif not await self._shared.put(_name(token), body, ttl=KEPT_MINUTES * 60):
            raise BusyError(
                "The preview could not be stored: the shared Redis does not answer", hint="Try again later."
            )
        return token

    async def take(self, token: str, call: JsonObject, caller: str) -> Preview:
        """The preview of this token, which nobody can take again."""
        bound_to = self._bound(call, caller)
        if self._shared is None:
            return await anyio.to_thread.run_sync(self._take, token, bound_to)
        found = await self._shared.get(_name(token))
        preview = _checked(found, bound_to)
        # Of two calls at once, only one can take it.
        if await self._shared.take(_name(token)) != found:
            raise _unknown()
        return preview

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
            preview = _checked(file.read_bytes(), bound_to)
            # Of two calls at once, only one can remove the file.
            file.unlink()
        except OSError:
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


def _name(token: str) -> str:
    return f"redmine preview {token[:_LONGEST_TOKEN]}"


def _checked(body: bytes | None, bound_to: str) -> Preview:
    """The preview, if it is one of this caller and call that has not expired."""
    try:
        preview = msgspec.json.decode(body or b"", type=Preview)
    except (msgspec.DecodeError, UnicodeError):
        raise _unknown() from None
    if not secrets.compare_digest(preview.bound_to, bound_to) or preview.expires < time.time():
        raise _unknown()
    return preview


def _unknown() -> ConflictError:
    message = "This preview does not exist, was used already, has expired, or belongs to another caller or call"
    hint = "Nothing was written. Call update_issues without preview and with dry_run: true, and use the new one."
    return ConflictError(message, hint=hint)
