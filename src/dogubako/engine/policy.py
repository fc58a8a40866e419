"""May this caller run this tool now?"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import ConfirmationRequiredError, ReadOnlyError, ToolDisabledError
from dogubako.engine.entry import ToolRegistryEntry

# What the call would do, found out only when somebody has to be told.
Foresee = Callable[[], Awaitable[str]]


class Policy(Protocol):
    """Decides before a tool runs. A refusal is an error that says what would have to change."""

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None: ...

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        """Is this destruction meant? `confirmed` is what the call says."""

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool: ...

    def may_read(self, pack: str, caller: Caller) -> bool: ...

    def may_ask(self, entry: ToolRegistryEntry) -> bool: ...

    def enter(self, call: ToolCall) -> None: ...

    def leave(self, call: ToolCall) -> None: ...


class HousePolicy:
    """The rules that hold without a gate: disabled is disabled, read-only is read-only, destruction is confirmed."""

    def __init__(self, *, read_only: bool = False) -> None:
        self.read_only = read_only

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        self.check_house(entry)

    def check_house(self, entry: ToolRegistryEntry) -> None:
        """What holds for every caller alike."""
        status = entry.status
        if not status.enabled:
            raise ToolDisabledError(f"Tool is disabled: {entry.name}", hint=status.reason)
        if self.read_only and entry.metadata.writes:
            raise ReadOnlyError(
                f"The server is read-only: {entry.name} was not run.",
                hint="An operator can start the server without --read-only (DOGUBAKO_READ_ONLY=false).",
            )

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        if not confirmed:
            raise ConfirmationRequiredError(await foresee(), hint="Call again with confirm: true to go on.")

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        """Whether the tool belongs into a list of callable tools."""
        return entry.enabled and not (self.read_only and entry.metadata.writes)

    def may_read(self, pack: str, caller: Caller) -> bool:
        """Whether the pack's resources and prompts may be read."""
        return True

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        """Whether a call of this tool may end in a question, for which the caller must be able to hear."""
        return False

    def enter(self, call: ToolCall) -> None:
        """The call begins to run; a caller who has too many of them is refused."""

    def leave(self, call: ToolCall) -> None:
        """The call has ended."""
