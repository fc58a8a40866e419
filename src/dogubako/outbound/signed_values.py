"""Signed values: whoever can write into a shared store cannot make us believe what he put there."""

import hmac
from hashlib import blake2b
from typing import Final

_TAG_BYTES: Final = 32
OVERHEAD_BYTES: Final = _TAG_BYTES


class ValueSigner:
    """Signs values for the names under which they are stored, with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        # Tells keys apart without telling anything about them.
        self.key_id = blake2b(b"key id", key=key, digest_size=8).hexdigest()

    def sign(self, name: str, value: bytes) -> bytes:
        return self._tag(name, value) + value

    def verified(self, name: str, signed: bytes) -> bytes | None:
        """The value, or None for one that was not signed with this key for this name."""
        tag, value = signed[:_TAG_BYTES], signed[_TAG_BYTES:]
        return value if hmac.compare_digest(tag, self._tag(name, value)) else None

    def _tag(self, name: str, value: bytes) -> bytes:
        spelled = name.encode()
        digest = blake2b(len(spelled).to_bytes(8), key=self._key, digest_size=_TAG_BYTES)
        digest.update(spelled)
        digest.update(value)
        return digest.digest()
