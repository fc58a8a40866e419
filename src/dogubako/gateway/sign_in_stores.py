"""Where the tokens of sign-ins are kept: in the data folder, or in the Redis that all processes share.

Tokens are encrypted like the credentials of callers (`gate/credential_vault.py`): one file or record for each server,
and one for each caller that signed in at it. It opens only for the server and the caller that it was made for.
"""

import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import structlog

from dogubako.contract.credentials import Credential
from dogubako.contract.errors import BusyError, DogubakoError
from dogubako.contract.storage import SharedStore
from dogubako.gateway.definitions import DefinitionStore, read_json, write_json

if TYPE_CHECKING:
    from dogubako.gate.credential_vault import CredentialVault
    from dogubako.outbound.sealed_records import SealedRecords
    from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.gateway")

_KIND: Final = "oauth"
# What is left of a sign-in after somebody signed out.
_NOTHING: Final = b"{}"
# The owner of the sign-in that all callers share. No caller has this id.
_OWNER: Final = "servers"
# How long a process waits while another one refreshes the same token.
_REFRESH_SECONDS: Final = 40.0


class Account(NamedTuple):
    """Whose sign-in at which server it is."""

    server: str
    # Empty for the sign-in that all callers share.
    caller: str = ""


class SignInStore(Protocol):
    """Keeps the tokens of sign-ins. Others may change them at any time."""

    def changed_at(self, account: Account) -> float:
        """When the tokens last changed; 0 if there are none."""
        ...

    def read(self, account: Account) -> dict[str, Any]:
        """What is stored; empty if there is nothing that can be decrypted."""
        ...

    async def write(self, account: Account, kept: dict[str, Any], *, refreshed: bool = False) -> None:
        """Store tokens, or raise OSError or a `DogubakoError`. Refreshed ones may be stored later."""
        ...

    async def remove(self, account: Account) -> None: ...

    async def forget(self, server: str) -> None:
        """Remove the tokens of all callers for a server that is no more."""
        ...

    def lock(self, account: Account) -> AbstractAsyncContextManager[None]:
        """Refresh the tokens inside: no other process that shares them does so meanwhile. They are up to date then."""
        ...

    def opened(self) -> AbstractAsyncContextManager[None]:
        """For one command: read what is stored, and close the connection at the end."""
        ...


class FileSignIns:
    """Files in the data folder, which other processes may use as well."""

    def __init__(self, store: DefinitionStore, open_vault: "Callable[[], CredentialVault]") -> None:
        self._store = store
        self._open_vault = open_vault

    @cached_property
    def _vault(self) -> "CredentialVault":
        # Opened late: cryptography is slow to import, and most servers want no sign-in.
        return self._open_vault()

    def changed_at(self, account: Account) -> float:
        try:
            return self._path(account).stat().st_mtime
        except OSError:
            return 0.0

    def read(self, account: Account) -> dict[str, Any]:
        sealed = read_json(self._path(account))
        owner = account.caller or _OWNER
        opened = self._vault.open(owner, account.server, sealed) if isinstance(sealed, str) else None
        return _decoded(opened.key.encode()) if opened is not None else {}

    async def write(self, account: Account, kept: dict[str, Any], *, refreshed: bool = False) -> None:
        secret = Credential(key=msgspec.json.encode(kept).decode())
        write_json(self._path(account), self._vault.seal(account.caller or _OWNER, account.server, secret))

    async def remove(self, account: Account) -> None:
        self._path(account).unlink(missing_ok=True)

    async def forget(self, server: str) -> None:
        self._store.forget(server)

    def lock(self, account: Account) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def opened(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def _path(self, account: Account) -> Path:
        if not account.caller:
            return self._store.path(account.server, _KIND)
        # An id may hold any character, of an OAuth subject for example.
        return self._store.path(account.server, f"{_KIND}-{hashlib.sha256(account.caller.encode()).hexdigest()[:32]}")


class SharedSignIns:
    """Sealed records in the shared Redis. Every process has a copy, so using a token asks nobody."""

    def __init__(self, shared: "SharedRedis", records: "SealedRecords", locks: SharedStore) -> None:
        self._shared = shared
        self._records = records
        self._locks = locks
        # Tokens that this process refreshed and could not store. The old refresh token may count no more.
        self._unstored: dict[str, bytes] = {}
        shared.refresh_with(self._store_again)

    def changed_at(self, account: Account) -> float:
        at = self._record(account).get("at", 0.0)
        return at if isinstance(at, float) else 0.0

    def read(self, account: Account) -> dict[str, Any]:
        kept = self._record(account).get("kept")
        return kept if isinstance(kept, dict) else {}

    def _record(self, account: Account) -> dict[str, Any]:
        name = _name(account)
        return _decoded(self._unstored.get(name) or self._records.get(name) or _NOTHING)

    async def write(self, account: Account, kept: dict[str, Any], *, refreshed: bool = False) -> None:
        record = msgspec.json.encode({"at": time.time(), "kept": kept})
        try:
            await self._put(_name(account), record)
        except DogubakoError:
            if not refreshed:
                raise
            self._unstored[_name(account)] = record
            log.warning("A refreshed token is not stored yet: the shared Redis does not answer", server=account.server)

    async def remove(self, account: Account) -> None:
        await self._put(_name(account), _NOTHING)

    async def forget(self, server: str) -> None:
        of_server = _hashed(server)
        for name, record in self._records.all().items():
            if name.startswith(of_server) and record != _NOTHING:
                await self._put(name, _NOTHING)

    async def _put(self, name: str, record: bytes) -> None:
        await self._records.put(name, record)
        self._unstored.pop(name, None)

    async def _store_again(self) -> None:
        for name, record in list(self._unstored.items()):
            try:
                await self._put(name, record)
            except DogubakoError:
                return
            log.info("A refreshed token is stored now")

    @asynccontextmanager
    async def lock(self, account: Account) -> AsyncIterator[None]:
        async with self._locks.lock(f"sign-in {_name(account)}", wait=_REFRESH_SECONDS):
            await self._records.read()
            yield

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        try:
            await self._shared.find_nodes()
            # Most commands need no sign-in.
            with suppress(BusyError):
                await self._records.read()
            yield
        finally:
            await self._shared.aclose()


def _name(account: Account) -> str:
    """Who signed in where is nobody's business who can read the Redis."""
    return f"{_hashed(account.server)}-{_hashed(account.caller)}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        kept = msgspec.json.decode(text)
    except msgspec.DecodeError:
        kept = {}
    return kept if isinstance(kept, dict) else {}
