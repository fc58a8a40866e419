"""API keys: made here, shown once, kept as hashes in the data folder."""

import fcntl
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import msgspec

from dogubako.contract.errors import DogubakoError

_PREFIX: Final = "dgb"
_FILE: Final = "keys.json"

# A key that was revoked at another process must stop working soon, and not every request may look at the disk.
_LOOK_AGAIN_SECONDS: Final = 1.0


# Moments without a time zone cannot be compared with now.
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class KeysError(DogubakoError):
    """The keys cannot be read or written, or a key was named that is not there."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """One key, without the key itself."""

    id: str
    name: str
    hash: str
    scopes: tuple[str, ...]
    created: Moment
    expires: Moment | None = None
    revoked: Moment | None = None

    def state(self, now: datetime) -> str:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"


class KeyStore:
    """The keys of one server, in one file that only its owner can read."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FILE
        self._keys: dict[str, ApiKey] = {}
        self._stamp: tuple[int, ...] | None = None
        self._looked = float("-inf")
        self._unreadable: KeysError | None = None

    def create(self, name: str, scopes: Sequence[str], expires_in: timedelta | None = None) -> tuple[str, ApiKey]:
        """Make a key; the first part of the answer is the only copy of it."""
        id_, now = secrets.token_hex(4), datetime.now(UTC)
        secret = f"{_PREFIX}_{id_}_{secrets.token_urlsafe(32)}"
        expires = now + expires_in if expires_in is not None else None
        key = ApiKey(
            id=id_, name=name, hash=_hash(secret), scopes=tuple(sorted(set(scopes))), created=now, expires=expires
        )
        with self._changing() as keys:
            if any(one.name == name and one.state(now) == "active" for one in keys):
                raise KeysError(f"There is an active key called '{name}' already.", hint="Choose another name.")
            keys.append(key)
        return secret, key

    def revoke(self, which: str) -> ApiKey:
        """End a key, by id or by name. It stays in the list, for the record."""
        now = datetime.now(UTC)
        with self._changing() as keys:
            meant = [key for key in keys if key.revoked is None and which in (key.id, key.name)]
            # A name may have been given again after a key of it expired; the one that still opens is meant.
            for key in sorted(meant, key=lambda one: (one.id != which, one.state(now) != "active"))[:1]:
                ended = keys[keys.index(key)] = msgspec.structs.replace(key, revoked=now)
                return ended
        raise KeysError("There is no such key that is not revoked.", hint="`dogubako keys list` shows ids and names.")

    def all(self) -> list[ApiKey]:
        return self._read()

    def find(self, secret: str) -> ApiKey | None:
        """The key that this is, whatever its state; nothing for anything else."""
        self._look_again()
        parts = secret.split("_", 2)
        key = self._keys.get(parts[1]) if len(parts) == 3 and parts[0] == _PREFIX else None
        # Compared in constant time, also where there is no such id.
        fits = hmac.compare_digest(_hash(secret), key.hash if key else _hash(""))
        return key if fits else None

    def last_look(self) -> float | None:
        """When the file was last looked at; nothing when it is time to look again."""
        return self._looked if time.monotonic() - self._looked < _LOOK_AGAIN_SECONDS else None

    def _look_again(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_AGAIN_SECONDS:
            self._looked = now
            self._load()
        if self._unreadable is not None:
            # Who was let in a moment ago may have been revoked by what we cannot read.
            raise self._unreadable

    def _load(self) -> None:
        try:
            stamp = self._stamp_of_file()
            if stamp != self._stamp:
                self._keys = {key.id: key for key in self._read()}
            self._stamp, self._unreadable = stamp, None
        except KeysError as error:
            self._stamp, self._unreadable = None, error

    def _stamp_of_file(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise KeysError(f"{self._path} cannot be read: {error.strerror}.") from error
        return (found.st_mtime_ns, found.st_ino, found.st_size)

    def _read(self) -> list[ApiKey]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[ApiKey])
        except FileNotFoundError:
            return []
        except OSError as error:
            raise KeysError(f"{self._path} cannot be read: {error.strerror}.") from error
        except (msgspec.DecodeError, UnicodeError) as error:
            hint = "Restore it from a backup, or move it away and make new keys."
            raise KeysError(f"{self._path} is damaged: it is not a list of keys.", hint=hint) from error

    @contextmanager
    def _changing(self) -> Iterator[list[ApiKey]]:
        """Two commands at once must not lose a key: one waits for the other."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with (self._path.parent / f"{_FILE}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                keys = self._read()
                yield keys
                self._write(keys)
        except OSError as error:
            raise KeysError(f"{self._path} cannot be written: {error.strerror}.") from error

    def _write(self, keys: list[ApiKey]) -> None:
        unfinished = self._path.with_suffix(".part")
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(keys), indent=2))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)


def _hash(secret: str) -> str:
    # The secret has 256 random bits; there is nothing that a slow hash would have to protect.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
