"""Search tools, and enable and disable them, for transports that offer it."""

from collections.abc import Callable

import structlog

from dogubako.contract.call import Caller, CallObserver, Door, ToolCall
from dogubako.engine.events import CallObservers, observed
from dogubako.engine.policy import Policy
from dogubako.engine.registration import ListFilter, ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search import SearchResult
from dogubako.engine.search.learning import learner_of

log = structlog.get_logger("dogubako.engine")


class Finder:
    """Tool search for transports that offer it besides the tool `search_tools`."""

    def __init__(self, registry: ToolRegistry, policy: Policy, observer: CallObserver | None) -> None:
        self._registry = registry
        self._policy = policy
        self._observer = CallObservers(observer)

    async def find(
        self, query: str, wanted: ListFilter, *, caller: Caller, door: Door, explain: bool = False
    ) -> SearchResult:
        """Matching tools that the caller may see, disabled ones too. It is counted and recorded like a call."""
        call = ToolCall(name="tools/search", parameters={"query": query}, caller=caller, door=door)
        with observed(self._observer, call, None):
            await self._policy.check_rate(call)
            return await self._registry.find(
                query,
                wanted,
                may_see=lambda one: self._policy.forbidden(one, caller) is None,
                explain=explain,
                learner=learner_of(call),
            )


class Switchboard:
    """Switches tools on and off for callers of a server."""

    def __init__(
        self, registry: ToolRegistry, policy: Policy, observer: CallObserver | None, *, check: Callable[[str], None]
    ) -> None:
        self._registry = registry
        self._policy = policy
        self._observer = CallObservers(observer)
        # Raises where other processes would not hear of it, and the server would disagree with itself.
        self._check = check

    async def switch(self, name: str, enabled: bool, *, caller: Caller, door: Door) -> None:
        """Enable or disable all versions of a tool. It is counted and recorded like a call, also when refused."""
        act = "enable" if enabled else "disable"
        call = ToolCall(name=f"tools/{act}/{name}", caller=caller, door=door)
        with observed(self._observer, call, None, changing=True):
            await self._policy.check_rate(call)
            self._policy.check_switching(self._named(name, caller), caller)
            self._check(act)
            await self._registry.switch(name, enabled)
        log.info("Tool enabled or disabled", tool=name, enabled=enabled, caller=caller.name)

    def _named(self, name: str, caller: Caller) -> ToolRegistryEntry:
        return self._registry.get(name, may_see=lambda one: self._policy.missing_scope(one, caller) is None)
