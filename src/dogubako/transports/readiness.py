"""Whether the server can do its work. Anybody may ask, so the services behind it are asked only now and then."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from dogubako.contract.pack import Finding

_KEPT_SECONDS: Final = 2.0


class Readiness:
    """Asks all packs how they are, once for everybody who wants to know at about the same time."""

    def __init__(self, check: Callable[[], Awaitable[list[Finding]]], *, discreet: bool) -> None:
        self._check = check
        self._discreet = discreet
        self._asking = anyio.Lock()
        self._asked = float("-inf")
        self._findings: list[Finding] = []

    async def report(self) -> tuple[bool, dict[str, Any]]:
        """Ready or not, and the body that says so."""
        findings = await self._fresh()
        ready = all(finding.ok or finding.severity == "warning" for finding in findings)
        if self._discreet:
            # Where the services are and what is wrong with them is for `doctor`.
            return ready, {"ready": ready}
        return ready, {"ready": ready, "checks": [_shown(finding) for finding in findings]}

    async def _fresh(self) -> list[Finding]:
        async with self._asking:
            if time.monotonic() - self._asked >= _KEPT_SECONDS:
                self._findings = await self._check()
                self._asked = time.monotonic()
        return self._findings


def _shown(finding: Finding) -> dict[str, Any]:
    shown = {"ok": finding.ok, "subject": finding.subject, "message": finding.message}
    return shown | ({"advice": finding.advice} if finding.advice else {})
