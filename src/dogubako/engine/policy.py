"""May this caller do this now? One object answers for every door, list and search."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import (
    AuthorizationError,
    ConfirmationRequiredError,
    DogubakoError,
    ReadOnlyError,
    ToolDisabledError,
)
from dogubako.contract.metadata import Effect
from dogubako.engine.entry import ToolRegistryEntry

# What the call would do, found out only when somebody has to be told.
Foresee = Callable[[], Awaitable[str]]

_STRENGTH: Final = {Effect.READ: 0, Effect.WRITE: 1, Effect.DESTROY: 2}
_NO_BOUND: Final = nullcontext()


class Policy(Protocol):
    """Decides before something happens. A refusal is an error that says what would have to change."""

    def missing_scope(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        """What the caller lacks for this tool."""

    def missing_scope_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        """What the caller lacks for the resources and prompts of a pack."""

    def forbidden(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        """The rule by which the tool is not there for this caller, on any list. No switch changes it."""

    def refusal(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        """Why a call of this tool would be refused, whatever its arguments are."""

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        """Whether the tool belongs into a list of callable tools."""

    async def check_rate(self, call: ToolCall) -> None:
        """Count what a caller asks for, whatever will become of it, or raise."""

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        """Let this call pass, or raise."""

    def check_rules(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        """The part of `check` that may be asked again: it counts nothing."""

    def check_switching(self, entry: ToolRegistryEntry, caller: Caller) -> None:
        """Let the caller switch this tool on or off for everybody, or raise."""

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        """Whether a call of this tool may end in a question to the user; its door must be able to carry one."""

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        """Make sure that a destruction is meant, or raise. `confirmed` is what the call says."""

    def place(self, call: ToolCall) -> AbstractContextManager[None]:
        """A place among the calls that run; a caller who holds too many is refused."""


class HousePolicy:
    """The rules that hold without a gate: disabled is disabled, read-only is read-only, destruction is confirmed."""

    def __init__(self, *, read_only: bool = False) -> None:
        self.read_only = read_only

    def missing_scope(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        return None

    def missing_scope_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        return None

    def forbidden(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        if self.read_only and entry.metadata.writes:
            message = f"The server is read-only: {entry.name} was not run."
            hint = "An operator can start the server without --read-only (DOGUBAKO_READ_ONLY=false)."
            return ReadOnlyError(message, hint=hint)
        return None

    def refusal(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        found = self.forbidden(entry, caller)
        if found is None and not (status := entry.status).enabled:
            return ToolDisabledError(f"Tool is disabled: {entry.name}", hint=status.reason)
        return found

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        return self.refusal(entry, caller) is None

    async def check_rate(self, call: ToolCall) -> None:
        return None

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        self.check_rules(entry, call)

    def check_rules(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        if (error := self.refusal(entry, call.caller)) is not None:
            raise error
        if call.within is not None and _exceeds(entry.metadata.effect, call.within):
            message = f"{call.via} is a tool that can {call.within.value}; it must not call {entry.name}."
            raise AuthorizationError(
                message, hint=f"Its author has to declare the effect {entry.metadata.effect.name}."
            )

    def check_switching(self, entry: ToolRegistryEntry, caller: Caller) -> None:
        return None

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        return False

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        if not confirmed:
            raise ConfirmationRequiredError(await foresee(), hint="Call again with confirm: true to go on.")

    def place(self, call: ToolCall) -> AbstractContextManager[None]:
        return _NO_BOUND


def _exceeds(effect: Effect, allowed: Effect) -> bool:
    """A tool does no more than it says, not even through others: annotations and scopes would not be true."""
    # What passes calls on does nothing by itself, and the call that it passes on comes here again.
    return _STRENGTH.get(effect, 0) > _STRENGTH.get(allowed, 0)
