"""Plain calls: what all calls of one tool by one caller have in common is found once.

A call is plain when nothing but its arguments decides what happens to it: the policy lets this caller call this tool,
however often; the tool asks nobody, replaces no other call, waits for no place at a service and is not repeated.
Any change of the registry (tools, versions, switches, packs) drops everything that was found.
"""

from collections.abc import Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from dogubako.contract.call import NO_OPTIONS, Caller, ToolCall, ToolResult
from dogubako.contract.call_steps import CallStep
from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.metadata import Effect
from dogubako.contract.tool import BaseTool
from dogubako.engine.attempt import Attempt, TimedOut
from dogubako.engine.contexts import ContextFactory
from dogubako.engine.executor import timed_out
from dogubako.engine.registration import ToolRegistryEntry

if TYPE_CHECKING:
    from dogubako.engine.pipeline import Pipeline

_MOST_KEPT: Final = 1_000


class PreparedCall:
    """A tool and a caller whose plain calls are allowed as long as the registry does not change."""

    __slots__ = ("_contexts", "_executor", "_observers", "_policy", "caller", "check", "entry", "seconds")

    def __init__(
        self, pipeline: "Pipeline", contexts: ContextFactory, entry: ToolRegistryEntry, call: ToolCall
    ) -> None:
        self._contexts = contexts
        self._executor = pipeline.executor
        self._observers = pipeline.observers
        self._policy = pipeline.policy
        self.entry = entry
        self.caller = call.caller
        self.check = entry.validator.check
        self.seconds = pipeline.executor.plan(entry, call).timeout

    def enter(self, call: ToolCall) -> AbstractContextManager[None]:
        """Take a place among the running calls of this caller. Whoever entered has to leave it."""
        place = self._policy.place(call)
        place.__enter__()
        return place

    def begin(self, args: Any, call: ToolCall) -> ToolResult | Coroutine[Any, Any, ToolResult]:
        """Start the tool. Return its result if it ends in its first step, else what waits for it."""
        for started in self._observers.on_started:
            started(call, self.entry.metadata)
        tool = self._contexts.bind(self.entry, call, None)
        steps: list[CallStep] | None = None if self._observers.steps is None else []
        waits = tool.name in self._executor.waiting
        attempt = Attempt(call, self.seconds, self._executor.memory, at_once=not waits)
        result = attempt.start(tool, args, steps)
        if result is None:
            return self._end(attempt, tool, args, call, steps)
        if steps:
            self._keep(steps, call)
        if result.cacheable:
            self._executor.check_cacheable(self.entry)
        return result

    async def _end(
        self, attempt: Attempt, tool: BaseTool[Any, Any], args: Any, call: ToolCall, steps: list[CallStep] | None
    ) -> ToolResult:
        try:
            result = await attempt.end(tool, args)
        except TimedOut:
            result = timed_out(tool, self.seconds, repeatable=attempt.repeatable)
        finally:
            if steps:
                self._keep(steps, call)
        if attempt.waited:
            self._executor.waiting.add(tool.name)
        if result.cacheable:
            self._executor.check_cacheable(self.entry)
        return result

    def _keep(self, steps: list[CallStep], call: ToolCall) -> None:
        if self._observers.steps is not None:
            self._observers.steps[call.id] = steps


class PreparedCalls:
    """Finds what was prepared for a tool and a caller, or prepares it."""

    def __init__(self, pipeline: "Pipeline", contexts: ContextFactory) -> None:
        self._pipeline = pipeline
        self._contexts = contexts
        # By the name of the tool and the identity of the caller, which is kept so that no other gets its id. None for
        # a tool whose calls are not plain.
        self._kept: dict[tuple[str, int], tuple[Caller, PreparedCall | None]] = {}
        self._generation = -1

    def find(self, call: ToolCall) -> PreparedCall | None:
        """What is prepared for this call; None if it is not plain."""
        if call.options is not NO_OPTIONS or call.version is not None or call.resume is not None:
            return None
        if call.via is not None or call.within is not None:
            return None
        generation = self._pipeline.registry.generation
        if generation != self._generation:
            self._kept.clear()
            self._generation = generation
        caller = call.caller
        kept = self._kept.get((call.name, id(caller)))
        if kept is not None and kept[0] is caller:
            return kept[1]
        return self._prepare(call)

    def _prepare(self, call: ToolCall) -> PreparedCall | None:
        # Callers that bring credentials are made for each request, and are not kept.
        if call.caller.credentials:
            return None
        try:
            entry = self._pipeline.registry.get(call.name)
        except ToolNotFoundError:
            return None
        prepared = PreparedCall(self._pipeline, self._contexts, entry, call) if self._is_plain(entry, call) else None
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[call.name, id(call.caller)] = (call.caller, prepared)
        return prepared

    def _is_plain(self, entry: ToolRegistryEntry, call: ToolCall) -> bool:
        tool = entry.implementation
        if tool.talks or entry.passes_on or isinstance(tool, EffectByCall) or entry.metadata.effect is Effect.DESTROY:
            return False
        if not self._pipeline.policy.always_allows(entry, call.caller):
            return False
        return self._pipeline.executor.runs_once(entry, call)
