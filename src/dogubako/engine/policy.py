"""Decide what a caller may do now: one policy for every transport, list and search.

A rule returns the error that refuses a call, or nothing. `RULES` has all of them in order; lists and searches ask only
the first ones. The gate brings scopes, questions, rate limits and the audit log; without it these rules say yes.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, Protocol

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import (
    AuthorizationError,
    ConfirmationRequiredError,
    DogubakoError,
    ReadOnlyError,
    ToolDisabledError,
    ToolExecutionError,
)
from dogubako.contract.metadata import Effect
from dogubako.engine.registration import ToolRegistryEntry

# Describes what the call would do. It is called only if somebody has to be asked.
Foresee = Callable[[], Awaitable[str]]
# Asks the person behind a call: what would happen, and the version of the tool. It raises unless the answer is yes.
AskPerson = Callable[[ToolCall, str, str], Awaitable[None]]
# Returns the error for a change that cannot be recorded, given the sentence that says what was not done.
Unrecorded = Callable[[str], DogubakoError | None]
# Returns the error while this process does not know whether its keys and switches are still those in force.
Stale = Callable[[], DogubakoError | None]

_STRENGTH: Final = {Effect.READ: 0, Effect.WRITE: 1, Effect.DESTROY: 2}
_MOST_SHOWN: Final = 1_000
_MOST_LEVELS: Final = 8


class Scopes(Protocol):
    """Compares the scopes of a caller with those that something needs."""

    def missing(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller lacks the scope for this tool."""

    def missing_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller lacks the scope for the resources and prompts of a pack."""

    def missing_to_switch(self, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller may not switch tools on and off."""

    def missing_to_administer(self, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller may not look after other MCP servers."""


class Rates(Protocol):
    """Counts calls against the rate limits."""

    async def count(self, call: ToolCall) -> None:
        """Count a call of this caller, or raise RateLimitError."""

    async def count_tool(self, call: ToolCall) -> None:
        """Count a call of this tool, or raise RateLimitError."""


class Place(Protocol):
    """A place among the running calls of a caller. It may be entered again, for another call, before it is left."""

    def check(self) -> None:
        """Raise what entering would raise. A call that ends before anything else happens need not enter."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class _NoLimit(nullcontext[None]):
    """The place of callers without a limit, here and among all processes."""

    def check(self) -> None: ...


NO_LIMIT: Final = _NoLimit()


class Concurrency(Protocol):
    """Limits the calls that one caller runs at the same time."""

    def place(self, identity: str) -> Place:
        """Hold a place while inside. Entering raises BusyError if the caller holds too many."""


class SharedConcurrency(Protocol):
    """Limits the calls that one caller runs at the same time in all processes."""

    def place(self, identity: str) -> AbstractAsyncContextManager[None]:
        """Hold a place while inside. Entering raises BusyError if the caller holds too many."""

    def place_at_hand(self, identity: str) -> Place:
        """The same with places that this process keeps. Entering raises NoPlaceAtHand if it keeps none."""


class NoPlaceAtHand(Exception):  # noqa: N818 - a signal to the pipeline, which asks the other processes then
    """Whether there is a place has to be asked."""


class _BothPlaces:
    """A place in this process and one among all."""

    __slots__ = ("_here", "_shared")

    def __init__(self, here: Place, shared: Place) -> None:
        self._here = here
        self._shared = shared

    def check(self) -> None:
        self._here.check()
        self._shared.check()

    def __enter__(self) -> None:
        self._here.__enter__()
        try:
            self._shared.__enter__()
        except NoPlaceAtHand:
            self._here.__exit__(None, None, None)
            raise

    def __exit__(self, *_: object) -> None:
        self._here.__exit__(None, None, None)
        self._shared.__exit__(None, None, None)


class _FreshPlace:
    """A place that is at hand only while this process knows the keys and switches in force."""

    __slots__ = ("_place", "_stale")

    def __init__(self, place: Place, stale: Stale) -> None:
        self._place = place
        self._stale = stale

    def check(self) -> None:
        if self._stale() is not None:
            # The rules say why.
            raise NoPlaceAtHand
        self._place.check()

    def __enter__(self) -> None:
        self._place.__enter__()

    def __exit__(self, *_: object) -> None:
        self._place.__exit__(None, None, None)


class Policy:
    """Refuses calls by rules, limits their rate, and has destructive calls confirmed."""

    def __init__(
        self,
        *,
        read_only: bool = False,
        deny_destruction: bool = False,
        scopes: Scopes | None = None,
        ask: AskPerson | None = None,
        rates: Rates | None = None,
        concurrency: Concurrency | None = None,
        shared_concurrency: SharedConcurrency | None = None,
        unrecorded: Unrecorded | None = None,
        stale: Stale | None = None,
    ) -> None:
        self._read_only = read_only
        self._deny_destruction = deny_destruction
        self._scopes = scopes
        self._ask = ask
        self._rates = rates
        # Whether there are rate limits.
        self.counts_calls = rates is not None
        self._concurrency = concurrency
        self._shared_concurrency = shared_concurrency
        # Whether running calls are counted in all processes together.
        self.shares_places = shared_concurrency is not None
        self._unrecorded = unrecorded
        self._stale = stale
        # Kept with the ids, so that an id is not used again.
        self._shown: dict[tuple[int, int], tuple[ToolRegistryEntry, Caller]] = {}

    def _missing_scope(self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None) -> DogubakoError | None:
        return self._scopes.missing(entry, caller) if self._scopes is not None else None

    def _server_is_read_only(
        self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None
    ) -> DogubakoError | None:
        if not (self._read_only and entry.writes):
            return None
        message = f"The server is read-only: {entry.name} was not run."
        hint = "An operator can start the server without --read-only (DOGUBAKO_READ_ONLY=false)."
        return ReadOnlyError(message, hint=hint)

    def _destruction_denied(
        self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None
    ) -> DogubakoError | None:
        if not (self._deny_destruction and entry.metadata.effect is Effect.DESTROY):
            return None
        message = f"Destructive tools are switched off on this server: {entry.name} was not run."
        return ReadOnlyError(message, hint="An operator can set DOGUBAKO_CONFIRM to ask or argument.")

    def _tool_disabled(self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None) -> DogubakoError | None:
        status = entry.status_of(entry)
        return None if status.enabled else ToolDisabledError(f"Tool is disabled: {entry.name}", hint=status.reason)

    def _exceeds_outer_effect(
        self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None
    ) -> DogubakoError | None:
        """A tool must not do through others what its annotations and scopes do not say."""
        if call is None or call.within is None:
            return None
        # A tool that passes calls on does nothing by itself. The call that it passes on is checked on its own.
        effect = entry.metadata.effect
        if _STRENGTH.get(effect, 0) <= _STRENGTH.get(call.within, 0):
            return None
        message = f"{call.via} is a tool that can {call.within.value}; it must not call {entry.name}."
        return AuthorizationError(message, hint=f"Its author has to declare the effect {effect.name}.")

    def _called_too_deep(self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None) -> DogubakoError | None:
        """Tools that call each other without end would fill the memory before their time is over."""
        if call is None or call.depth <= _MOST_LEVELS:
            return None
        message = f"Tools call each other more than {_MOST_LEVELS} levels deep."
        return ToolExecutionError(message, hint=f"The last one was {call.via}, which called {entry.name}.")

    def _cannot_be_recorded(
        self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None
    ) -> DogubakoError | None:
        if self._unrecorded is None or not entry.writes:
            return None
        return self._unrecorded(f"{entry.name} was not run.")

    def _state_is_stale(self, entry: ToolRegistryEntry, caller: Caller, call: ToolCall | None) -> DogubakoError | None:
        return self._stale() if self._stale is not None else None

    # The first three hide a tool from every list; no switch changes that.
    RULES = (
        _missing_scope,
        _server_is_read_only,
        _destruction_denied,
        _tool_disabled,
        _exceeds_outer_effect,
        _called_too_deep,
        _cannot_be_recorded,
        _state_is_stale,
    )
    HIDING = RULES[:3]
    LISTING = RULES[:4]
    CHANGING = RULES[3:]

    def forbidden(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        """Return the rule that hides the tool from this caller on every list."""
        for rule in self.HIDING:
            if (error := rule(self, entry, caller, None)) is not None:
                return error
        return None

    def refusal(self, entry: ToolRegistryEntry, caller: Caller) -> DogubakoError | None:
        """Return the error of a call of this tool, if it would be refused whatever its arguments are."""
        for rule in self.LISTING:
            if (error := rule(self, entry, caller, None)) is not None:
                return error
        return None

    def shows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        """Whether the tool belongs to the callable tools of this caller."""
        return self.refusal(entry, caller) is None

    def check_rules(self, entry: ToolRegistryEntry, call: ToolCall) -> None:
        """Raise the first error of all rules. It counts nothing, so it may be asked again."""
        rules = self.CHANGING if self._is_shown_for_good(entry, call.caller) else self.RULES
        for rule in rules:
            if (error := rule(self, entry, call.caller, call)) is not None:
                raise error

    def _is_shown_for_good(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        """Whether no rule hides the tool from this caller. It is remembered: neither of them ever changes.

        A tool that is registered again is another entry, and a key with other scopes is another caller. What changes
        in between (switches, the audit log) is asked with every call.
        """
        key = (id(entry), id(caller))
        known = self._shown.get(key)
        if known is not None and known[0] is entry and known[1] is caller:
            return True
        # Callers that bring credentials are made for each request, and are not kept.
        if caller.credentials or self.forbidden(entry, caller) is not None:
            return False
        if len(self._shown) >= _MOST_SHOWN:
            self._shown.clear()
        self._shown[key] = (entry, caller)
        return True

    def always_allows(self, entry: ToolRegistryEntry, caller: Caller) -> bool:
        """Whether this caller may call this tool however often, until the registry changes."""
        # A policy of another kind is asked about every call.
        if type(self) is not Policy or self.counts_calls:
            return False
        if self.refusal(entry, caller) is not None:
            return False
        # Whether a change can be recorded is asked before each one.
        return self._unrecorded is None or not entry.writes

    async def check_rate(self, call: ToolCall) -> None:
        """Count a request of the caller against its rate limit, whatever becomes of it, or raise."""
        # A call that a tool makes belongs to the call that the caller made.
        # A task was counted when it was created.
        if self._rates is not None and call.via is None and call.task is None:
            await self._rates.count(call)

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> Place:
        """Raise if the call is refused; return its place among the running calls, to be entered before it runs."""
        self.check_rules(entry, call)
        if self._rates is not None and not entry.passes_on and call.task is None:
            await self._rates.count_tool(call)
        return self.place(call)

    def place(self, call: ToolCall) -> Place:
        """A place among the running calls. Entering it raises BusyError if the caller holds too many."""
        # A call that a tool makes runs in the place of the call around it, which waits for it. Tasks have own limits.
        if self._concurrency is None or call.within is not None or call.task is not None:
            return NO_LIMIT
        return self._concurrency.place(call.caller.identity)

    def place_at_hand(self, call: ToolCall) -> Place:
        """The place of a call that waits for nobody, also among those of all processes. Entered as often as wanted."""
        place = self.place(call)
        if self._shared_concurrency is not None:
            place = _BothPlaces(place, self._shared_concurrency.place_at_hand(call.caller.identity))
        return place if self._stale is None else _FreshPlace(place, self._stale)

    def shared_place(self, call: ToolCall) -> AbstractAsyncContextManager[None]:
        """A place among the running calls of all processes, besides the one in this process."""
        if self._shared_concurrency is None or call.within is not None or call.task is not None:
            return NO_LIMIT
        return self._shared_concurrency.place(call.caller.identity)

    def missing_scope(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller lacks the scope for this tool."""
        return self._scopes.missing(entry, caller) if self._scopes is not None else None

    def missing_scope_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        """Return the error if the caller lacks the scope for the resources and prompts of a pack."""
        return self._scopes.missing_to_read(pack, caller) if self._scopes is not None else None

    def check_fresh(self) -> None:
        """Raise while this process does not know whether its keys are still in force."""
        if self._stale is not None and (error := self._stale()) is not None:
            raise error

    def check_switching(self, entry: ToolRegistryEntry, caller: Caller) -> None:
        """Raise if the caller may not switch this tool on or off for everybody."""
        if self._scopes is not None:
            error = self._scopes.missing(entry, caller) or self._scopes.missing_to_switch(caller)
            if error is not None:
                raise error
        if self._unrecorded is not None and (unrecorded := self._unrecorded("nothing was switched.")) is not None:
            raise unrecorded

    def check_administration(self, caller: Caller, *, changing: bool = False) -> None:
        """Raise if the caller may not look after other MCP servers, or if a change cannot be recorded."""
        if self._scopes is not None and (error := self._scopes.missing_to_administer(caller)) is not None:
            raise error
        if changing and self._unrecorded is not None and (unrecorded := self._unrecorded("nothing was changed.")):
            raise unrecorded

    def administers(self, caller: Caller) -> bool:
        """Whether the caller is an administrator."""
        return self._scopes is None or self._scopes.missing_to_administer(caller) is None

    def may_ask(self, entry: ToolRegistryEntry) -> bool:
        """Whether a call of this tool may end in a question to the user, which the transport has to carry."""
        return self._ask is not None and entry.metadata.effect is Effect.DESTROY

    async def confirm(self, entry: ToolRegistryEntry, call: ToolCall, confirmed: bool, foresee: Foresee) -> None:
        """Make sure that a destructive call is meant, or raise. `confirmed` is the call's own argument `confirm`."""
        # `confirm=true` at a terminal was typed by the person whom we would ask.
        typed_by_a_person = confirmed and call.door == "cli"
        if self._ask is not None and call.conversation.supports("elicitation") and not typed_by_a_person:
            await self._ask(call, await foresee(), entry.metadata.version)
        elif not confirmed:
            raise ConfirmationRequiredError(await foresee(), hint="Call again with confirm: true to go on.")
