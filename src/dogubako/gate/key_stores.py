"""Where API keys are kept: in the data folder, or in the shared Redis if the settings name one."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from dogubako._lazy import load
from dogubako.contract.offload import offload
from dogubako.gate.api_keys import ApiKey, KeyStore
from dogubako.settings import Settings

if TYPE_CHECKING:
    from dogubako.gate.credential_vault import CredentialVault
    from dogubako.gate.shared_keys import SharedKeys
    from dogubako.outbound.shared_redis import SharedRedis


class Keys(Protocol):
    """Lists and changes keys. All methods raise KeysError, and those of shared keys BusyError."""

    async def all_keys(self) -> list[ApiKey]: ...

    async def meant(self, which: str) -> ApiKey:
        """The active key of this id or name."""

    async def create(self, name: str, scopes: Sequence[str], expires_in: timedelta | None) -> tuple[str, ApiKey]:
        """Create a key. The first part of the result is the only copy of its secret."""

    async def revoke(self, which: str) -> ApiKey: ...

    async def set_credential(self, which: str, service: str, sealed: Callable[[ApiKey], str] | None) -> ApiKey: ...


class FileKeys:
    """The keys of a data folder. Files are read and written in a worker thread."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store

    async def all_keys(self) -> list[ApiKey]:
        return await offload(self._store.all)

    async def meant(self, which: str) -> ApiKey:
        return await offload(self._store.meant, which)

    async def create(self, name: str, scopes: Sequence[str], expires_in: timedelta | None) -> tuple[str, ApiKey]:
        return await offload(self._store.create, name, scopes, expires_in)

    async def revoke(self, which: str) -> ApiKey:
        return await offload(self._store.revoke, which)

    async def set_credential(self, which: str, service: str, sealed: Callable[[ApiKey], str] | None) -> ApiKey:
        return await offload(self._store.set_credential, which, service, sealed)


def keys_vault(settings: Settings) -> "CredentialVault":
    """The vault of the credentials that are stored with keys."""
    vaults: Any = load("dogubako.gate.credential_vault")
    vault: CredentialVault = vaults.shared_vault(settings) if settings.shared else vaults.vault_of(settings)
    return vault


def shared_keys(settings: Settings, shared: "SharedRedis") -> "SharedKeys":
    keys: SharedKeys = load("dogubako.gate.shared_keys").SharedKeys(shared, partial(keys_vault, settings))
    return keys


@asynccontextmanager
async def opened_keys(settings: Settings) -> AsyncIterator[Keys]:
    """The keys of this server, for one command."""
    if settings.shared is None:
        yield FileKeys(KeyStore(settings.data_dir))
        return
    async with _opened_shared_keys(settings) as keys:
        yield keys


async def share_keys(settings: Settings, found: Sequence[ApiKey]) -> list[ApiKey]:
    """Add keys to those that all processes share. Returns the ones that were not there."""
    async with _opened_shared_keys(settings) as keys:
        return await keys.add_all(found)


@asynccontextmanager
async def _opened_shared_keys(settings: Settings) -> "AsyncIterator[SharedKeys]":
    connection: SharedRedis = load("dogubako.outbound.shared_redis").SharedRedis(settings)
    try:
        await connection.find_nodes()
        yield shared_keys(settings, connection)
    finally:
        await connection.aclose()
