"""A way for a pack into whatever service a test has made."""

from dataclasses import dataclass
from typing import Any

import httpx2

from dogubako_sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Through(Sandbox):
    """Stands where the sandbox would stand."""

    wire: httpx2.AsyncBaseTransport

    def transport(self) -> Any:
        return self.wire
