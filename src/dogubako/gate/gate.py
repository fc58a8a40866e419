"""The gate as settings describe it: who is who, who may, and what is recorded."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from dogubako.contract.pack import Finding
from dogubako.contract.secrets import Redactor
from dogubako.contract.state import MemoryOnceStore, OnceStore
from dogubako.gate.audit import AuditLog
from dogubako.gate.authentication import Authenticator, KeyAuthentication, NoAuthentication
from dogubako.gate.keys import KeyStore
from dogubako.gate.once_files import FileOnceStore
from dogubako.gate.policy import GatePolicy
from dogubako.gate.rates import Crowd, RateLimits
from dogubako.gate.writable import trouble_in
from dogubako.late import load
from dogubako.settings import Settings

log = structlog.get_logger("dogubako.gate")


class Gate:
    """All parts of the gate of one server."""

    def __init__(self, settings: Settings, redactor: Redactor | None = None) -> None:
        self.audit = AuditLog(settings.data_dir, redactor) if settings.audited else None
        self.authenticator = _authenticator(settings)
        self.once = _once(settings)
        self._rates = _rates(settings)
        self.policy = GatePolicy(
            read_only=settings.read_only,
            confirmation=settings.confirm,
            rates=self._rates,
            crowd=Crowd(settings.caller_concurrency) if settings.auth != "off" else None,
            audit=self.audit,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """For as long as the server runs."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.authenticator.running())
            if self.audit is not None:
                # An operator should hear it now, and not when the first change is refused.
                _warn_of(_recording(self.audit))
                stack.callback(self.audit.close)
            if self._rates is not None:
                stack.push_async_callback(self._rates.aclose)
            yield

    async def check(self) -> list[Finding]:
        """Whether callers can come in, and whether what they change can be recorded."""
        findings = await self.authenticator.check()
        if self.audit is not None:
            findings.append(_recording(self.audit))
        if self._rates is not None:
            findings += await self._rates.check()
        return findings


def _warn_of(finding: Finding) -> None:
    if not finding.ok:
        log.warning(finding.message, advice=finding.advice)


def _recording(audit: AuditLog) -> Finding:
    begun = os.path.lexists(audit.path)
    if begun and audit.ready():
        return Finding(ok=True, subject="audit log", message=str(audit.path))
    trouble = "the log has the reason" if begun else trouble_in(audit.path.parent)
    if trouble is None:
        # Looking must not begin it.
        return Finding(ok=True, subject="audit log", message=f"{audit.path} begins with the first call")
    message = f"{audit.path} cannot be written, so tools that change something do not run."
    advice = f"Make DOGUBAKO_DATA_DIR writable, with room on its disk; {trouble}."
    return Finding(ok=False, subject="audit log", message=message, advice=advice, severity="warning")


def _authenticator(settings: Settings) -> Authenticator:
    if settings.auth == "off":
        return NoAuthentication()
    if settings.auth == "keys":
        return KeyAuthentication(KeyStore(settings.data_dir))
    # Heavy, and only those who take tokens need it.
    tokens: Authenticator = load("dogubako.gate.oauth").token_authentication(settings)
    return tokens


def _once(settings: Settings) -> OnceStore:
    """Only with a key that others have too can a state reach another process, or this one after a restart."""
    return MemoryOnceStore() if settings.request_state_key is None else FileOnceStore(settings.data_dir)


def _rates(settings: Settings) -> RateLimits | None:
    if settings.rate_limit_max is None and settings.rate_limit_tool_max is None:
        return None
    return RateLimits(
        most=settings.rate_limit_max,
        window=settings.rate_limit_window,
        most_per_tool=settings.rate_limit_tool_max,
        storage=settings.rate_limit_storage,
    )
