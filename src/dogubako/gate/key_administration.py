"""Create, list and revoke API keys for a caller with the scope `admin`. Every change is recorded."""

from collections.abc import Sequence
from datetime import timedelta

from dogubako.contract.call import Caller, CallObserver, Door, ToolCall
from dogubako.contract.errors import AuthorizationError, ReadOnlyError, ValidationError
from dogubako.engine.events import CallObservers, observed
from dogubako.engine.policy import Policy
from dogubako.gate.api_keys import ApiKey, KeysError
from dogubako.gate.audit import AuditLog
from dogubako.gate.key_stores import Keys
from dogubako.gate.scopes import ADMIN, is_scope


def require_admin(caller: Caller, what: str) -> None:
    """Raise unless the caller has the scope `admin`. `what` begins the sentence."""
    if ADMIN not in caller.scopes:
        raise AuthorizationError(f"{what} needs the scope {ADMIN}.", scope=ADMIN, hint="Sign in with another key.")


class KeyAdministration:
    """What an administrator may do with the keys of this server."""

    def __init__(self, keys: Keys, policy: Policy, audit: AuditLog | None) -> None:
        self._keys = keys
        self._policy = policy
        self._audit = audit
        observer: CallObserver | None = audit
        self._observers = CallObservers(observer)

    async def list(self, caller: Caller) -> Sequence[ApiKey]:
        """All keys, the newest first."""
        require_admin(caller, "Reading keys")
        return sorted(await self._keys.all_keys(), key=lambda key: key.created, reverse=True)

    async def create(
        self, name: str, scopes: Sequence[str], expires_in: timedelta | None, *, caller: Caller, door: Door
    ) -> tuple[str, ApiKey]:
        """Create a key. The first part of the result is the only copy of its secret."""
        call = ToolCall(name="keys/create", caller=caller, door=door)
        with observed(self._observers, call, None, changing=True):
            await self._check(call)
            _check_key(name, scopes)
            try:
                return await self._keys.create(name, scopes, expires_in)
            except KeysError as error:
                raise ValidationError.of("name", error.message) from error

    async def revoke(self, key_id: str, *, caller: Caller, door: Door) -> ApiKey:
        """Revoke a key by its id."""
        call = ToolCall(name=f"keys/revoke/{key_id}", caller=caller, door=door)
        with observed(self._observers, call, None, changing=True):
            await self._check(call)
            try:
                return await self._keys.revoke(key_id)
            except KeysError as error:
                raise ValidationError.of("key", error.message) from error

    async def _check(self, call: ToolCall) -> None:
        await self._policy.check_rate(call)
        require_admin(call.caller, "Changing keys")
        if self._audit is not None and (error := self._audit.unrecorded("no key was changed.")) is not None:
            raise ReadOnlyError(error.message, hint=error.hint)


def _check_key(name: str, scopes: Sequence[str]) -> None:
    if not name or len(name) > 100 or not name.isprintable():
        raise ValidationError.of("name", "The name must have 1 to 100 printable characters.")
    if not scopes:
        raise ValidationError.of("scopes", "A key needs at least one scope.")
    if not all(map(is_scope, scopes)):
        raise ValidationError.of("scopes", "One of the scopes is unknown.")
