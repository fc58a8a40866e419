"""Encrypt callers' credentials for services, so that `keys.json` and its backups hold none in plain text.

Loaded late: `cryptography` is slow to import, and most servers keep no credentials.
"""

import os
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dogubako.contract.credentials import Credential
from dogubako.gate.files import load_or_create_secret
from dogubako.settings import Settings

_KEY_FILE: Final = "credentials.key"
_NONCE_BYTES: Final = 12
_PURPOSE: Final = b"dogubako credentials of callers"


class CredentialVault:
    """AES-256-GCM with one key. A sealed credential opens only for the API key and the service that it was made for."""

    def __init__(self, read_secret: Callable[[], bytes]) -> None:
        self._read_secret = read_secret

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(self._read_secret()))

    def seal(self, key_id: str, service: str, credential: Credential) -> str:
        """Encrypt a credential. Raises OSError if there is no encryption key and none can be created."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = msgspec.json.encode({"key": credential.key, "login": credential.login})
        return urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, plain, _owner(key_id, service))).decode()

    def open(self, key_id: str, service: str, sealed: str) -> Credential | None:
        """Decrypt a credential; None if it was made with another encryption key, or for somebody else."""
        try:
            data = b64decode(sealed, altchars=b"-_", validate=True)
            plain = self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], _owner(key_id, service))
            return Credential(**msgspec.json.decode(plain, type=dict[str, str]))
        except (InvalidTag, ValueError, TypeError, OSError):
            return None


def vault_of(settings: Settings) -> CredentialVault:
    """The vault of this server: its key is set, or kept in the data folder."""
    secret = settings.credentials_key
    if secret is not None:
        return CredentialVault(secret.get_secret_value().encode)
    return CredentialVault(lambda: load_or_create_secret(settings.data_dir / _KEY_FILE))


def _owner(key_id: str, service: str) -> bytes:
    return f"{key_id}\n{service}".encode()
