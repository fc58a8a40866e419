"""Notice over HTTP that a server is behind itself: it would list its own tools again and again.

A gateway tells the servers behind it its own id, and the ids of the gateways that use it. A server that finds its own
id there refuses the request. Whichever of two servers asks second is refused, so one has the tools of the other.
"""

import hashlib
import re
import secrets
from typing import Final

from dogubako.contract.errors.base import GatewayLoopError

GATEWAYS_HEADER: Final = "dogubako-gateways"

_ID: Final = re.compile(r"[0-9a-f]{16}")
# Gateways in front of one another. More would make the header longer than servers take.
_MOST_IDS: Final = 32
_PURPOSE: Final = b"dogubako gateway id"


class GatewayIds:
    """The id of this server, and those of the gateways that use it."""

    def __init__(self, shared_key: str | None = None) -> None:
        """Processes with the same key are one server."""
        digest = hashlib.blake2b(_PURPOSE, key=shared_key.encode()[:64], digest_size=8) if shared_key else None
        self._own = secrets.token_hex(8) if digest is None else digest.hexdigest()
        self._users: dict[str, None] = {}

    @property
    def header(self) -> str:
        """What the servers behind this one are told."""
        return ",".join([self._own, *self._users])

    def check(self, header: str) -> None:
        """Remember the gateways of a request. Raises GatewayLoopError if this server is one of them."""
        ids = _ID.findall(header)[:_MOST_IDS]
        if self._own in ids:
            raise GatewayLoopError(
                "This gateway leads back to itself.", hint="Remove the server from the settings of the gateway."
            )
        for one in ids:
            # The newest are kept: after a restart a gateway has another id.
            self._users.pop(one, None)
            self._users[one] = None
        while len(self._users) >= _MOST_IDS:
            del self._users[next(iter(self._users))]
