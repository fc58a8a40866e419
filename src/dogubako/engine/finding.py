"""Search tools on behalf of a caller."""

from dogubako.contract.call import Caller, Door, ToolCall
from dogubako.engine.entry import ListFilter
from dogubako.engine.events import CallObserver, CallObservers, observed
from dogubako.engine.policy import Policy
from dogubako.engine.registry import Matches, ToolRegistry


class Finder:
    """The search of a registry, for doors that have one of their own beside the tools that search."""

    def __init__(self, registry: ToolRegistry, policy: Policy, observer: CallObserver | None) -> None:
        self._registry = registry
        self._policy = policy
        self._observer = CallObservers(observer)

    async def find(self, query: str, wanted: ListFilter, *, caller: Caller, door: Door) -> Matches:
        """What fits, also if it is disabled, of what is there for the caller. It costs and counts like a call."""
        call = ToolCall(name="tools/search", parameters={"query": query}, caller=caller, door=door)
        with observed(self._observer, call, None):
            await self._policy.check_rate(call)
            return await self._registry.find(
                query, wanted, may_see=lambda one: self._policy.forbidden(one, caller) is None
            )
