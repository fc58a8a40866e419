"""The house rules, and those of the gate: scopes, the record, rates, and who is asked before something is destroyed."""

from contextlib import AbstractContextManager

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import AuthorizationError, DogubakoError, ReadOnlyError
from dogubako.contract.metadata import Effect
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.policy import Foresee, HousePolicy
from dogubako.gate.audit import AuditLog, unrecordable
from dogubako.gate.confirming import ask, can_ask
from dogubako.gate.rates import Crowd, RateLimits
from dogubako.gate.scopes import ADMIN, allows, allows_reading, needed_for, needed_to_read
from dogubako.settings import Confirmation


class GatePolicy(HousePolicy):
    """Looks at everything in one order.

    The caller's rate, the scope, the house rules, whether destruction is denied, the audit log, the tool's rate, a
    place among the running calls, and last the confirmation.
    """

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

    def missing_scope(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        if allows(caller.scopes, entry.metadata, entry.pack):
            return None
        return _missing(entry.name, needed_for(entry.metadata, entry.pack), caller)

    def missing_scope_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        if allows_reading(caller.scopes, pack):
            return None
        return _missing("This", needed_to_read(pack), caller)

    def forbidden(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        found = self.missing_scope(entry, caller) or super().forbidden(entry, caller)
        if found is None and self._confirmation == "deny" and entry.metadata.effect is Effect.DESTROY:
            message = f"Destructive tools are switched off on this server: {entry.name} was not run."
            return ReadOnlyError(message, hint="An operator can set DOGUBAKO_CONFIRM to ask or argument.")
        return found

    async def check_rate(self, call: ToolCall) -> None:
        # What a caller did not ask for itself belongs to the call that it did ask for.
        if self._rates is not None and call.via is None:
            await self._rates.count(call)

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        self.check_rules(entry, call)
        if self._rates is not None and not entry.passes_on:
            await self._rates.count_tool(call)

    def check_rules(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        super().check_rules(entry, call)
        if entry.metadata.writes:
            self._check_record(f"{entry.name} was not run.")

    def check_switching(self, entry: ToolRegistryEntry, caller: Caller) -> None:
        if (error := self.missing_scope(entry, caller)) is not None:
            raise error
        if ADMIN not in caller.scopes:
            raise _missing("Switching tools", ADMIN, caller)
        self._check_record("nothing was switched.")

    def _check_record(self, consequence: str) -> None:
        """What cannot be recorded must not be done."""
        if self._audit is not None and not self._audit.ready():
            raise unrecordable(consequence)

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        return self._confirmation == "ask" and entry.metadata.effect is Effect.DESTROY

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        # Who types `confirm=true` at a terminal is the person whom we would ask.
        typed_by_a_person = confirmed and call.door == "cli"
        if self.may_ask(entry) and can_ask(call) and not typed_by_a_person:
            await ask(call, await foresee(), entry.metadata.version)
        else:
            await super().confirm(entry, call, confirmed, foresee)

    def place(self, call: ToolCall) -> AbstractContextManager[None]:
        # A call that a tool makes runs in the place of the call around it, which waits for it.
        if self._crowd is None or call.within is not None:
            return super().place(call)
        return self._crowd.place(call.caller.identity)


def _missing(what: str, scope: str, caller: Caller) -> AuthorizationError:
    held = ", ".join(sorted(caller.scopes)) or "none"
    hint = (
        f"'{caller.name}' has: {held}. An operator can give it to a key (`dogubako keys create --scope {scope}`), "
        "or an authorization server to a token."
    )
    return AuthorizationError(f"{what} needs the scope {scope}.", scope=scope, hint=hint)
