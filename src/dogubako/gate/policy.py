"""May this caller run this tool now? The house rules, and those of the gate."""

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import AuthorizationError, ReadOnlyError
from dogubako.contract.metadata import Effect
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.policy import Foresee, HousePolicy
from dogubako.gate.audit import AuditLog
from dogubako.gate.confirming import Confirmation, ask, can_ask
from dogubako.gate.rates import Crowd, RateLimits
from dogubako.gate.scopes import allows, allows_reading, needed_for


class GatePolicy(HousePolicy):
    """Scope, house rules, audit log and rate, in this order; then, for what destroys, the confirmation."""

    def __init__(
        self,
        *,
        read_only: bool = False,
        confirmation: Confirmation = "ask",
        rates: RateLimits | None = None,
        crowd: Crowd | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        super().__init__(read_only=read_only)
        self._confirmation = confirmation
        self._rates = rates
        self._crowd = crowd
        self._audit = audit

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        if not allows(call.caller.scopes, entry.metadata, entry.pack):
            needed = needed_for(entry.metadata, entry.pack)
            message = f"{entry.name} needs the scope {needed}."
            raise AuthorizationError(message, scope=needed, hint=_who_gives(call.caller))
        self.check_house(entry)
        if self._confirmation == "deny" and entry.metadata.effect is Effect.DESTROY:
            message = f"Destructive tools are switched off on this server: {entry.name} was not run."
            raise ReadOnlyError(message, hint="An operator can set DOGUBAKO_CONFIRM to ask or argument.")
        if self._audit is not None and entry.metadata.writes and not self._audit.ready():
            message = f"The audit log cannot be written, so nothing may be changed: {entry.name} was not run."
            raise ReadOnlyError(message, hint="An operator must make DOGUBAKO_DATA_DIR writable.")
        if self._rates is not None and entry.metadata.effect is not Effect.DELEGATE:
            await self._rates.count(call)

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        if self.may_ask(entry) and can_ask(call) and not (confirmed and call.door == "cli"):
            await ask(call, await foresee())
        else:
            await super().confirm(entry, call, confirmed, foresee)

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        return self._confirmation == "ask" and entry.metadata.effect is Effect.DESTROY

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        denied = self._confirmation == "deny" and entry.metadata.effect is Effect.DESTROY
        return not denied and allows(caller.scopes, entry.metadata, entry.pack) and super().shows(entry, caller)

    def may_read(self, pack: str, caller: Caller) -> bool:
        return allows_reading(caller.scopes, pack)

    def enter(self, call: ToolCall) -> None:
        if self._crowd is not None:
            self._crowd.enter(call.caller.name)

    def leave(self, call: ToolCall) -> None:
        if self._crowd is not None:
            self._crowd.leave(call.caller.name)


def _who_gives(caller: Caller) -> str:
    held = ", ".join(sorted(caller.scopes)) or "none"
    return f"'{caller.name}' has: {held}. An operator can make a key with more (`dogubako keys create --scope …`)."
