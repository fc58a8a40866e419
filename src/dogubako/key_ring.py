"""The keys that all processes of one server have, and what is sealed with them.

`DOGUBAKO_REQUEST_STATE_KEY` seals and signs. It and those of `DOGUBAKO_REQUEST_STATE_KEYS_OLD` open and verify, so a
key can be replaced while processes with the old one still run. A key is known by an id that says nothing about it, and
a sealed value begins with the id of its key.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from dogubako.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_ID_PURPOSE: Final = b"dogubako key id"


class RingKey:
    """One key, and the keys that are derived from it."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self.id_bytes = self.derive(_ID_PURPOSE)[:_ID_BYTES]
        self.id = self.id_bytes.hex()

    def derive(self, purpose: bytes) -> bytes:
        """A key of 32 bytes for one purpose: HKDF with SHA-256 (RFC 5869), which has one round for that length."""
        extracted = hmac.digest(bytes(hashlib.sha256().digest_size), self.secret, "sha256")
        return hmac.digest(extracted, purpose + b"\x01", "sha256")


class KeyRing:
    """The keys of one server: the first one seals, all of them open."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self.keys = tuple(RingKey(secret) for secret in dict.fromkeys(secrets))
        self.sealing = self.keys[0]
        self.ids = tuple(key.id for key in self.keys)

    @classmethod
    def of(cls, settings: Settings) -> "KeyRing | None":
        """The ring of the settings; None if they have no key."""
        if settings.request_state_key is None:
            return None
        secrets = (settings.request_state_key, *settings.request_state_keys_old)
        return cls(secret.get_secret_value().encode() for secret in secrets)

    @classmethod
    def of_credentials(cls, settings: Settings) -> "KeyRing | None":
        """The ring of credentials that processes share: a key of their own, if one is set, comes first."""
        own, ring = settings.credentials_key, cls.of(settings)
        secrets = [own.get_secret_value().encode()] if own is not None else []
        secrets += [key.secret for key in ring.keys] if ring is not None else []
        return cls(secrets) if secrets else None


class RingCipher:
    """AES-256-GCM with the keys of a ring for one purpose. A sealed value is bound to a name."""

    def __init__(self, ring: KeyRing, purpose: bytes) -> None:
        self._ring = ring
        self._purpose = purpose

    def seal(self, name: bytes, value: bytes) -> bytes:
        """Encrypt a value that opens under this name only."""
        key = self._ring.sealing
        nonce = os.urandom(_NONCE_BYTES)
        return key.id_bytes + nonce + self._ciphers[key.id_bytes].encrypt(nonce, value, name)

    def open(self, name: bytes, sealed: bytes) -> bytes | None:
        """Decrypt a value; None if no key of the ring sealed it under this name."""
        cipher = self._ciphers.get(sealed[:_ID_BYTES])
        return None if cipher is None else _opened(cipher, name, sealed[_ID_BYTES:])

    def open_without_id(self, name: bytes, sealed: bytes) -> bytes | None:
        """Decrypt a value of a release whose values did not begin with an id."""
        opened = (_opened(cipher, name, sealed) for cipher in self._ciphers.values())
        return next((value for value in opened if value is not None), None)

    @cached_property
    def _ciphers(self) -> "dict[bytes, AESGCM]":
        # Slow to import, and needed by few calls.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        return {key.id_bytes: AESGCM(key.derive(self._purpose)) for key in self._ring.keys}


def key_id_of(sealed: bytes) -> str:
    """The id of the key that sealed a value."""
    return sealed[:_ID_BYTES].hex()


def _opened(cipher: "AESGCM", name: bytes, sealed: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    try:
        return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name)
    except (InvalidTag, ValueError):
        return None
