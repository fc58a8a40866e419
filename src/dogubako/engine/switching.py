"""Switch tools on and off for everybody, on the word of somebody who may."""

import structlog

from dogubako.contract.call import Caller, Door, ToolCall
from dogubako.contract.errors import ReadOnlyError
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.events import CallObserver, CallObservers, observed
from dogubako.engine.policy import Policy
from dogubako.engine.registry import ToolRegistry

log = structlog.get_logger("dogubako.engine")


class Switchboard:
    """The switches of a registry, for callers of a server."""

    def __init__(self, registry: ToolRegistry, policy: Policy, observer: CallObserver | None) -> None:
        self._registry = registry
        self._policy = policy
        self._observer = CallObservers(observer)
        # Switches live in one process; where several serve one address, they would disagree.
        self.alone = True

    async def switch(self, name: str, enabled: bool, *, caller: Caller, door: Door) -> None:
        """Enable or disable all versions of a tool. It is counted and recorded like a call, also when refused."""
        act = "enable" if enabled else "disable"
        call = ToolCall(name=f"tools/{act}/{name}", caller=caller, door=door)
        with observed(self._observer, call, None, changing=True):
            await self._policy.check_rate(call)
            self._policy.check_switching(self._named(name, caller), caller)
            if not self.alone:
                message = f"Several processes serve this address, and only one would hear of it: {act} was not done."
                raise ReadOnlyError(message, hint="Serve with one worker, or choose tools with DOGUBAKO_PACKS.")
            (self._registry.enable if enabled else self._registry.disable)(name)
        log.info("Tool switched", tool=name, enabled=enabled, caller=caller.name)

    def _named(self, name: str, caller: Caller) -> ToolRegistryEntry:
        return self._registry.get(name, may_see=lambda one: self._policy.missing_scope(one, caller) is None)
