"""Health of all packs for `/readyz` and the console, asked at most every two seconds."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from dogubako.contract.pack import HealthCheck

_KEPT_SECONDS: Final = 2.0
# While somebody asks the services, others get what was known before, unless it is older than this.
_STALE_SECONDS: Final = 30.0
_STOPPING: Final = HealthCheck(ok=False, subject="server", message="The server is stopping.")


class Readiness:
    """The last health checks, kept for a moment: probes of many balancers ask the services once."""

    def __init__(self, check: Callable[[], Awaitable[list[HealthCheck]]], *, discreet: bool) -> None:
        self._check = check
        self._discreet = discreet
        # The server takes calls for a last moment, and balancers should send no more.
        self.stopping = False
        self._asking = anyio.Lock()
        self._asked = float("-inf")
        self._findings: list[HealthCheck] = []

    async def report(self, *, for_administrator: bool = False) -> tuple[bool, dict[str, Any]]:
        """Whether the server is ready, and the body of the answer."""
        findings = [_STOPPING] if self.stopping else await self.findings()
        ready = all(finding.ok or finding.severity == "warning" for finding in findings)
        if self._discreet and not for_administrator:
            # Where the services are and what is wrong with them is not for everybody.
            return ready, {"ready": ready}
        return ready, {"ready": ready, "checks": [_shown(finding) for finding in findings]}

    async def findings(self) -> list[HealthCheck]:
        """All checks. A slow service delays one who asks, not all of them."""
        if self._asking.locked() and self._age() < _STALE_SECONDS:
            return self._findings
        async with self._asking:
            if self._age() >= _KEPT_SECONDS:
                self._findings = await self._check()
                self._asked = time.monotonic()
        return self._findings

    def _age(self) -> float:
        return time.monotonic() - self._asked


def _shown(finding: HealthCheck) -> dict[str, Any]:
    shown = {"ok": finding.ok, "subject": finding.subject, "message": finding.message}
    return shown | ({"advice": finding.advice} if finding.advice else {})
