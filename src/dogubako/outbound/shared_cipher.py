"""Encrypt what the processes of one server keep in the shared Redis, bound to its name.

Who can read the Redis learns nothing, and who can write into it can only remove values: a planted or moved value does
not open.
"""

import structlog

from dogubako.key_ring import RingCipher
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")


class SharedCipher:
    """Seals values for one purpose with the key ring of the server."""

    def __init__(self, shared: SharedRedis, purpose: bytes) -> None:
        self._cipher = RingCipher(shared.ring, purpose)

    def seal(self, name: str, value: bytes) -> bytes:
        """Encrypt a value that is to be found under this name."""
        return self._cipher.seal(name.encode(), value)

    def open(self, name: str, sealed: bytes) -> bytes | None:
        """Decrypt a value; None if no process of this server sealed it under this name."""
        value = self._cipher.open(name.encode(), sealed)
        if value is None:
            log.warning("A value in the shared Redis is not one of this server, and is ignored")
        return value
