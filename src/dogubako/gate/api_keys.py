"""API keys: created here, shown once, stored as hashes in the data folder."""

import errno
import fcntl
import hashlib
import hmac
import os
import secrets
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol

import msgspec

from dogubako.contract.call import TRUSTED
from dogubako.contract.errors import DogubakoError
from dogubako.gate.files import open_no_follow, write_temp_file

_PREFIX: Final = "dgb"
_FILE: Final = "keys.json"
_ROOT: Final = 0
# Not every file system can sync a folder; the file itself is synced on all of them.
_CANNOT_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)

# A key that another process revoked must stop working soon, but not every request may read the disk.
_LOOK_AGAIN_SECONDS: Final = 1.0


# Timestamps without a time zone cannot be compared with now.
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class KeysError(DogubakoError):
    """The keys cannot be read or written, or the named key does not exist."""


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one key, without its secret."""

    id: str
    name: str
    hash: str
    scopes: tuple[str, ...]
    created: Moment
    expires: Moment | None = None
    revoked: Moment | None = None
    # Credentials of its holder for services, encrypted, by pack or `pack.instance`.
    credentials: dict[str, str] = {}

    def state(self, now: datetime) -> Literal["active", "expired", "revoked"]:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"


class KeyLookup(Protocol):
    """Finds keys for authentication, without waiting. All methods raise KeysError while keys cannot be read."""

    # How to get the first key.
    advice: str

    def find(self, secret: str) -> ApiKey | None:
        """The key with this secret, in any state, or None."""

    def get(self, key_id: str) -> ApiKey | None:
        """The key with this id, in any state, or None."""

    def all(self) -> list[ApiKey]: ...

    def last_look(self) -> float | None:
        """What changes whenever a key may have changed; None when keys must be looked up again."""

    def trouble(self) -> str | None:
        """What an operator should know of the keys, besides their number."""


def new_key(name: str, scopes: Sequence[str], expires_in: timedelta | None) -> tuple[str, ApiKey]:
    """Make a key. The first part of the result is the only copy of its secret."""
    if name.strip().casefold() == TRUSTED.name:
        message = f"No key can be called '{name}': the audit log calls those so who need no key."
        raise KeysError(message, hint="Choose another name.")
    id_, now = secrets.token_hex(4), datetime.now(UTC)
    secret = f"{_PREFIX}_{id_}_{secrets.token_urlsafe(32)}"
    expires = now + expires_in if expires_in is not None else None
    names = tuple(sorted(set(scopes)))
    return secret, ApiKey(id=id_, name=name, hash=_hash(secret), scopes=names, created=now, expires=expires)


def check_name(keys: Iterable[ApiKey], name: str) -> None:
    """Raise if an active key has this name."""
    if any(one.name == name and one.state(datetime.now(UTC)) == "active" for one in keys):
        raise KeysError(f"There is an active key called '{name}' already.", hint="Choose another name.")


def revoked_key(keys: Sequence[ApiKey], which: str) -> ApiKey:
    """The key with this id or name as it is once it is revoked. It stays in the list, for the record."""
    now = datetime.now(UTC)
    return msgspec.structs.replace(meant_key(keys, which), revoked=now, credentials={})


def key_with_credential(
    keys: Sequence[ApiKey], which: str, service: str, sealed: Callable[[ApiKey], str] | None
) -> ApiKey:
    """The key with the encrypted credential of its holder for a service; None removes it."""
    key = meant_key(keys, which)
    credentials = {name: value for name, value in key.credentials.items() if name != service}
    if sealed is not None:
        credentials[service] = sealed(key)
    return msgspec.structs.replace(key, credentials=credentials)


def key_of_secret(keys: Mapping[str, ApiKey], secret: str) -> ApiKey | None:
    """The key with this secret among keys by their ids."""
    parts = secret.split("_", 2)
    key = keys.get(parts[1]) if len(parts) == 3 and parts[0] == _PREFIX else None
    # Constant-time comparison, also for an unknown id.
    fits = hmac.compare_digest(_hash(secret), key.hash if key else _hash(""))
    return key if fits else None


class KeyStore:
    """The keys of one server, in one file that only its owner can read."""

    advice = "`dogubako keys create --name … --scope …` makes one."

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FILE
        self._keys: dict[str, ApiKey] = {}
        self._stamp: tuple[int, ...] | None = None
        self._looked = float("-inf")
        self._unreadable: KeysError | None = None

    def create(self, name: str, scopes: Sequence[str], expires_in: timedelta | None = None) -> tuple[str, ApiKey]:
        """Create a key. The first part of the result is the only copy of its secret."""
        secret, key = new_key(name, scopes, expires_in)
        with self._changing() as keys:
            check_name(keys, name)
            keys.append(key)
        return secret, key

    def revoke(self, which: str) -> ApiKey:
        """Revoke a key by id or by name."""
        with self._changing() as keys:
            return _replaced(keys, revoked_key(keys, which))

    def set_credential(self, which: str, service: str, sealed: Callable[[ApiKey], str] | None) -> ApiKey:
        """Keep the encrypted credential of a key's holder for a service; None removes it."""
        with self._changing() as keys:
            return _replaced(keys, key_with_credential(keys, which, service, sealed))

    def all(self) -> list[ApiKey]:
        return self._read()

    def meant(self, which: str) -> ApiKey:
        """The active key of this id or name, or KeysError."""
        return meant_key(self._read(), which)

    def find(self, secret: str) -> ApiKey | None:
        """The key with this secret, in any state, or None."""
        self._look_again()
        return key_of_secret(self._keys, secret)

    def get(self, key_id: str) -> ApiKey | None:
        """The key with this id, in any state, or None."""
        self._look_again()
        return self._keys.get(key_id)

    def last_look(self) -> float | None:
        """When the file was last checked; None when it must be checked again."""
        return self._looked if time.monotonic() - self._looked < _LOOK_AGAIN_SECONDS else None

    def trouble(self) -> None:
        return None

    def _look_again(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_AGAIN_SECONDS:
            self._looked = now
            self._load()
        if self._unreadable is not None:
            # The unreadable file may revoke keys that worked before.
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
            status = self._path.lstat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _trouble(self._path, "read", error) from error
        # The change time (ctime) also covers owner and mode, and cannot be set back.
        return (status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size)

    def _read(self) -> list[ApiKey]:
        try:
            with open(self._path, "rb", opener=open_no_follow) as file:
                _check_who_can_write(self._path, os.fstat(file.fileno()))
                return msgspec.json.decode(file.read(), type=list[ApiKey])
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _trouble(self._path, "read", error) from error
        except (msgspec.DecodeError, UnicodeError) as error:
            hint = "Restore it from a backup, or move it away and make new keys."
            raise KeysError(f"{self._path} is damaged: it is not a list of keys.", hint=hint) from error

    @contextmanager
    def _changing(self) -> Iterator[list[ApiKey]]:
        """Hold a lock while the keys change, so that two commands at once lose no key."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self._path.with_name(f"{_FILE}.lock"), "ab", opener=open_no_follow) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                keys = self._read()
                yield keys
                self._write(keys)
        except OSError as error:
            raise _trouble(self._path, "written", error) from error

    def _write(self, keys: list[ApiKey]) -> None:
        content = msgspec.json.format(msgspec.json.encode(keys), indent=2)
        with write_temp_file(self._path, content) as file:
            file.replace(self._path)
        _sync_folder(self._path.parent)


def _replaced(keys: list[ApiKey], changed: ApiKey) -> ApiKey:
    keys[:] = [changed if key.id == changed.id else key for key in keys]
    return changed


def meant_key(keys: Sequence[ApiKey], which: str) -> ApiKey:
    """The key with this id, else the one with this name, if it can be revoked."""
    hint = "`dogubako keys list` shows ids and names."
    own = next((key for key in keys if key.id == which), None)
    if own is not None:
        if own.revoked is not None:
            # A repeated command must not revoke another key whose name equals this id.
            since = f"{own.revoked:%Y-%m-%d %H:%M} UTC"
            raise KeysError(f"'{own.name}' ({own.id}) is revoked already, since {since}.", hint=hint)
        return own
    named = [key for key in keys if key.revoked is None and key.name == which]
    if not named:
        raise KeysError("There is no such key that is not revoked.", hint=hint)
    # A name may be reused after its key expired; the active key is meant.
    now = datetime.now(UTC)
    return min(named, key=lambda one: one.state(now) != "active")


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new file name is on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(handle)


def _check_who_can_write(path: Path, status: os.stat_result) -> None:
    """Refuse a file that other users can write: they could add keys.

    Reading is harmless: the file has hashes, and a file mounted into a container is often readable by a group.
    """
    we, file = os.geteuid(), shlex.quote(str(path))
    if not stat.S_ISREG(status.st_mode):
        raise KeysError(f"{path} is not a file.", hint="Move it away and make new keys.")
    if status.st_uid not in (_ROOT, we):
        hint = f"Run dogubako as that user; or, if all keys in it are yours: chown {we} {file}"
        raise KeysError(f"{path} belongs to another user (id {status.st_uid}).", hint=hint)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        # A file of root that we read through a group must stay readable for us.
        mode = "600" if status.st_uid == we else "go-w"
        hint = f"Run: chmod {mode} {file}  Then see with `dogubako keys list` whether all keys in it are yours."
        raise KeysError(f"{path} can be written by others than its owner.", hint=hint)


def _trouble(path: Path, act: str, error: OSError) -> KeysError:
    if error.errno == errno.ELOOP:
        hint = "Put the file itself there, or set DOGUBAKO_DATA_DIR to the folder where it is."
        return KeysError(f"{error.filename or path} is a symbolic link, which is not followed.", hint=hint)
    return KeysError(f"{path} cannot be {act}: {error.strerror}.")


def _hash(secret: str) -> str:
    # The secret has 256 random bits, so a slow hash would add nothing.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
