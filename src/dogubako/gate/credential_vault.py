"""Encrypt callers' credentials for services, so that `keys.json` and its backups hold none in plain text.

Loaded late: `cryptography` is slow to import, and most servers keep no credentials.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property, partial
from typing import Final

import msgspec

from dogubako.contract.credentials import Credential
from dogubako.gate.files import load_or_create_secret
from dogubako.key_ring import KeyRing, RingCipher
from dogubako.settings import Settings

_KEY_FILE: Final = "credentials.key"
_PURPOSE: Final = b"dogubako credentials of callers"


class CredentialVault:
    """Seals credentials. A sealed credential opens only for the API key and the service that it was made for."""

    def __init__(self, *read_secrets: Callable[[], bytes]) -> None:
        """The first secret seals, all of them open."""
        self._read_secrets = read_secrets

    @cached_property
    def _cipher(self) -> RingCipher:
        return RingCipher(KeyRing(read() for read in self._read_secrets), _PURPOSE)

    def seal(self, key_id: str, service: str, credential: Credential) -> str:
        """Encrypt a credential. Raises OSError if there is no encryption key and none can be created."""
        plain = msgspec.json.encode({"key": credential.key, "login": credential.login})
        return urlsafe_b64encode(self._cipher.seal(_owner(key_id, service), plain)).decode()

    def open(self, key_id: str, service: str, sealed: str) -> Credential | None:
        """Decrypt a credential; None if it was made with another encryption key, or for somebody else."""
        try:
            data, owner = b64decode(sealed, altchars=b"-_", validate=True), _owner(key_id, service)
            plain = self._cipher.open(owner, data) or self._cipher.open_without_id(owner, data)
            return Credential(**msgspec.json.decode(plain, type=dict[str, str])) if plain is not None else None
        except (ValueError, TypeError, OSError):
            return None


def vault_of(settings: Settings) -> CredentialVault:
    """The vault of this server: its key is set, or kept in the data folder."""
    secret = settings.credentials_key
    if secret is not None:
        return CredentialVault(secret.get_secret_value().encode)
    return CredentialVault(lambda: load_or_create_secret(settings.data_dir / _KEY_FILE))


def shared_vault(settings: Settings) -> CredentialVault:
    """The vault of credentials that all processes share: no key of one machine seals them."""
    ring = KeyRing.of_credentials(settings)
    return CredentialVault(*(partial(bytes, key.secret) for key in (ring.keys if ring is not None else ())))


def _owner(key_id: str, service: str) -> bytes:
    return f"{key_id}\n{service}".encode()
