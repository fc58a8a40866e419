"""Credentials of a call for a service: the key of the settings, or one of the caller."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

import msgspec

# The argument that names the instance of a service. Tools have it only where there are several.
INSTANCE: Final = "instance"


# shared: every caller uses the key of the settings. own: every caller over HTTP needs a credential of its own.
# own-or-shared: its own if it has one. switch-user: the service acts as the caller's login, with the settings' key.
CredentialMode = Literal["shared", "own", "own-or-shared", "switch-user"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    """What one caller signs in to one service with: an API key, or a login that the service acts as."""

    key: str = field(default="", repr=False)
    login: str = ""

    @property
    def fingerprint(self) -> str:
        """Names the credential in keys of caches and in folders, without telling it."""
        return hashlib.sha256(f"{self.key}\n{self.login}".encode()).hexdigest()[:32]


class ServiceAccess(msgspec.Struct, frozen=True, kw_only=True):
    """A service as one call uses it."""

    # The client that signs in for this call.
    client: Any
    # The settings of the instance.
    settings: Any
    # The name of the instance; empty where there is only one.
    instance: str = ""
    # None for the key of the settings.
    credential: Credential | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What answers and errors of this call must not show."""
        return (self.credential.key,) if self.credential and self.credential.key else ()

    @property
    def cache_scope(self) -> str:
        """What the keys of cached answers must hold, so that no answer reaches another caller or instance."""
        return f"{self.instance} {self.credential.fingerprint if self.credential else ''}"


class Accesses(Protocol):
    """Chooses the access of each call, for a pack with several instances or with credentials of callers."""

    def access(self, caller: Any, door: str, instance: str | None) -> ServiceAccess:
        """Raises `CredentialRequiredError` if the caller has no credential and needs one."""
