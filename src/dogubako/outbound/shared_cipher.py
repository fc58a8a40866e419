"""Encrypt what the processes of one server keep in the shared Redis, bound to its name.

Who can read the Redis learns nothing, and who can write into it can only remove values: a planted or moved value does
not open.
"""

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final

import structlog

from dogubako.outbound.shared_redis import SharedRedis

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

log = structlog.get_logger("dogubako.outbound")

_NONCE_BYTES: Final = 12


class SharedCipher:
    """AES-256-GCM with a key for one purpose, derived from `DOGUBAKO_REQUEST_STATE_KEY`."""

    def __init__(self, shared: SharedRedis, purpose: bytes) -> None:
        self._shared = shared
        self._purpose = purpose

    def seal(self, name: str, value: bytes) -> bytes:
        """Encrypt a value that is to be found under this name."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes | None:
        """Decrypt a value; None if no process of this server sealed it under this name."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
        except (InvalidTag, ValueError):
            log.warning("A value in the shared Redis is not one of this server, and is ignored")
            return None

    @cached_property
    def _cipher(self) -> "AESGCM":
        # Slow to import, and needed by few calls.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        return AESGCM(self._shared.derived_key(self._purpose))
