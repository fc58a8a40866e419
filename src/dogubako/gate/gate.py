"""The gate: authentication, scopes, confirmation, rate limits and the audit log, as the settings say."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from dogubako._lazy import load
from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import ElicitRequest, ElicitResult
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import ConfirmationRequiredError, DogubakoError
from dogubako.contract.pack import HealthCheck
from dogubako.contract.redaction import Redactor
from dogubako.contract.storage import MemoryOnceStore, OnceStore
from dogubako.engine.policy import Policy
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.audit import AuditLog
from dogubako.gate.authentication import Authenticator, KeyAuthentication, NoAuthentication
from dogubako.gate.files import FileOnceStore, why_not_writable
from dogubako.gate.key_stores import FileKeys, Keys, keys_vault, shared_keys
from dogubako.gate.rate_limits import ConcurrencyLimits, RateLimits
from dogubako.gate.scopes import CallerScopes
from dogubako.settings import Confirmation, Settings

if TYPE_CHECKING:
    from dogubako.gate.audit_shipping import AuditShipping, AuditSink
    from dogubako.gate.shared_state import SharedPlaces
    from dogubako.outbound.shared_redis import SharedRedis

# Questions of tools have other names: an answer must not be taken for one to another question.
_QUESTION: Final = "dogubako_confirm"
_KEY: Final = "confirm"
# No field is required: a form that comes back empty is an answer that does not say yes.
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        _KEY: {"type": "boolean", "title": "Go on?", "description": "Whether this is to be done.", "default": False}
    },
}


def gate_policy(
    *,
    read_only: bool = False,
    confirmation: Confirmation = "ask",
    rates: RateLimits | None = None,
    concurrency: ConcurrencyLimits | None = None,
    places: "SharedPlaces | None" = None,
    audit: AuditLog | None = None,
    stale: Callable[[], DogubakoError | None] | None = None,
) -> Policy:
    """The policy of a server with a gate."""
    return Policy(
        read_only=read_only,
        deny_destruction=confirmation == "deny",
        scopes=CallerScopes(),
        ask=ask_person if confirmation == "ask" else None,
        rates=rates,
        concurrency=concurrency,
        shared_concurrency=places,
        unrecorded=audit.unrecorded if audit is not None else None,
        stale=stale,
    )


async def ask_person(call: ToolCall, what_would_happen: str, version: str) -> None:
    """Ask the person; anything but a clear yes is a no. A yes counts for this tool, version and arguments alone."""
    subject = json.dumps([call.name, version, dict(call.parameters)], sort_keys=True, default=str)
    request = ElicitRequest(message=f"{what_would_happen} Go on?", schema=_FORM, subject=subject)
    answer = (await call.conversation.request({_QUESTION: request}))[_QUESTION]
    if not (isinstance(answer, ElicitResult) and answer.accepted and answer.content.get(_KEY) is True):
        message = f"{what_would_happen} The user did not agree; nothing was done."
        raise ConfirmationRequiredError(message, hint="Do not try again unless the user asks for it.")


log = structlog.get_logger("dogubako.gate")


class Gate:
    """All parts of the gate of one server."""

    def __init__(
        self, settings: Settings, redactor: Redactor | None = None, shared: "SharedRedis | None" = None
    ) -> None:
        self._settings, self._shared = settings, shared
        self._shipping: AuditShipping | None = None
        salt = load("dogubako.gate.audit_stream").shared_salt(shared) if shared is not None else None
        self.audit = AuditLog(settings.data_dir, redactor, salt=salt) if settings.audited else None
        self.keys: Keys
        self.authenticator, self.keys = _authenticator(settings, shared)
        self.once = _once(settings, shared)
        self._rates = _rates(settings, shared)
        limited = settings.auth != "off"
        self._places: SharedPlaces | None = None
        if limited and shared is not None:
            self._places = load("dogubako.gate.shared_state").SharedPlaces(shared, settings.caller_concurrency)
        self.policy = gate_policy(
            read_only=settings.read_only,
            confirmation=settings.confirm,
            rates=self._rates,
            concurrency=ConcurrencyLimits(settings.caller_concurrency) if limited else None,
            places=self._places,
            audit=self.audit,
            stale=shared.stale if shared is not None and settings.shared_stale else None,
        )

    def ship_audit(self, *, stdout: bool) -> None:
        """Deliver the audit log to the sinks of the settings while the gate runs. `stdout` may be one of them."""
        settings = self._settings
        if self.audit is None or not (settings.audit_sinks or self._shared is not None):
            return
        shipping = load("dogubako.gate.audit_shipping")
        sinks: list[AuditSink] = []
        if settings.audit_sinks:
            found = load("dogubako.gate.audit_sinks").outputs(settings, stdout=stdout)
            sinks += [shipping.PositionedSink(one, settings.data_dir) for one in found]
        if self._shared is not None and settings.shared_audit_lines:
            stream = load("dogubako.gate.audit_stream")
            sinks.append(stream.StreamSink(self._shared, settings.data_dir, settings.shared_audit_lines))
        self._shipping = shipping.AuditShipping(settings.data_dir, sinks) if sinks else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the background work of the gate."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.authenticator.running())
            if self._shipping is not None:
                # Entered before the log, so that the log is closed when the last lines are delivered.
                await stack.enter_async_context(self._shipping.running())
            if self.audit is not None:
                # Warn the operator at the start, not when the first change is refused.
                _warn_of(_recording(self.audit))
                stack.callback(self.audit.close)
            if self._rates is not None:
                stack.push_async_callback(self._rates.aclose)
            if self._places is not None:
                await stack.enter_async_context(self._places.running())
            yield

    async def check(self) -> list[HealthCheck]:
        """Whether callers can authenticate, and whether changes can be recorded."""
        findings = await self.authenticator.check()
        if self.audit is not None:
            findings.append(_recording(self.audit))
        if self._shipping is not None:
            findings += self._shipping.check()
        if self._rates is not None:
            findings += await self._rates.check()
        return findings


def _warn_of(finding: HealthCheck) -> None:
    if not finding.ok:
        log.warning(finding.message, advice=finding.advice)


def _recording(audit: AuditLog) -> HealthCheck:
    begun = os.path.lexists(audit.path)
    if begun and audit.ready():
        return HealthCheck(ok=True, subject="audit log", message=str(audit.path))
    trouble = "the log has the reason" if begun else why_not_writable(audit.path.parent)
    if trouble is None:
        # A check must not create the file.
        return HealthCheck(ok=True, subject="audit log", message=f"{audit.path} begins with the first call")
    message = f"{audit.path} cannot be written, so tools that change something do not run."
    advice = f"Make DOGUBAKO_DATA_DIR writable, with room on its disk; {trouble}."
    return HealthCheck(ok=False, subject="audit log", message=message, advice=advice, severity="warning")


def _authenticator(settings: Settings, shared: "SharedRedis | None") -> tuple[Authenticator, Keys]:
    """Who authenticates callers, and the keys that administrators change."""
    in_folder, in_redis = KeyStore(settings.data_dir), shared_keys(settings, shared) if shared is not None else None
    keys: Keys = in_redis or FileKeys(in_folder)
    if settings.auth == "off":
        return NoAuthentication(), keys
    if settings.auth == "keys":
        if in_redis is not None:
            in_redis.follow()
        return KeyAuthentication(in_redis or in_folder, partial(_open_credential, settings)), keys
    # Slow to import, and needed only for OAuth.
    return load("dogubako.gate.oauth").token_authentication(settings), keys


def _open_credential(settings: Settings, key_id: str, service: str, sealed: str) -> Credential | None:
    return keys_vault(settings).open(key_id, service, sealed)


def _once(settings: Settings, shared: "SharedRedis | None") -> OnceStore:
    """The store of one-time ids. Only with a configured state key can another process use a state."""
    if shared is not None:
        store: OnceStore = load("dogubako.gate.shared_state").SharedOnceStore(shared)
        return store
    return MemoryOnceStore() if settings.request_state_key is None else FileOnceStore(settings.data_dir)


def _rates(settings: Settings, shared: "SharedRedis | None") -> RateLimits | None:
    if settings.rate_limit_max is None and settings.rate_limit_tool_max is None:
        return None
    return RateLimits(
        most=settings.rate_limit_max,
        window=settings.rate_limit_window,
        most_per_tool=settings.rate_limit_tool_max,
        storage=settings.rate_limit_storage,
        # A Redis of their own comes first.
        shared=shared if settings.rate_limit_storage == "memory" else None,
    )
