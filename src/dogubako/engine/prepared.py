"""Plain calls: what all calls of one tool by one caller have in common is found once.

A call is plain when nothing but its arguments decides what happens to it: the policy lets this caller call this tool,
however often; the tool asks nobody, replaces no other call, waits for no place at a service and is not repeated.
Any change of the registry (tools, versions, switches, packs) drops everything that was found.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dogubako.contract.call import NO_OPTIONS, Caller, ToolCall, ToolResult
from dogubako.contract.call_steps import CallStep
from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.metadata import Effect
from dogubako.contract.tool import BaseTool
from dogubako.engine.attempt import Attempt, TimedOut
from dogubako.engine.contexts import ContextFactory
from dogubako.engine.executor import timed_out
from dogubako.engine.policy import Place
from dogubako.engine.registration import ToolRegistryEntry

if TYPE_CHECKING:
    from dogubako.engine.pipeline import Pipeline

_MOST_KEPT: Final = 1_000


class PreparedCall:
    """A tool and a caller whose plain calls are allowed as long as the registry does not change."""

    __slots__ = (
        "_contexts",
        "_executor",
        "_name",
        "_observers",
        "_writes",
        "caller",
        "check",
        "entry",
        "place",
        "seconds",
    )

    def __init__(
        self, pipeline: "Pipeline", contexts: ContextFactory, entry: ToolRegistryEntry, call: ToolCall
    ) -> None:
        self._contexts = contexts
        self._executor = pipeline.executor
        self._observers = pipeline.observers
        # Among the running calls of this caller: every call enters and leaves the same one.
        self.place = pipeline.policy.place_at_hand(call)
        self._name, self._writes = entry.name, entry.writes
        self.entry = entry
        self.caller = call.caller
        self.check = entry.validator.arguments
        self.seconds = pipeline.executor.plan(entry, call).timeout

    def begin(self, args: Any, call: ToolCall) -> "ToolResult | StartedTool":
        """Start the tool. Return its result if it ends in its first step."""
        self._observers.started(call, self.entry.metadata, writes=self._writes)
        tool = self._contexts.bind(self.entry, call, None)
        steps: list[CallStep] | None = None if self._observers.steps is None else []
        waits = self._name in self._executor.waiting
        attempt = Attempt(call, self.seconds, self._executor.memory, at_once=not waits)
        result = attempt.start(tool, args, steps)
        if result is None:
            return StartedTool(self, attempt, tool, args, call, steps)
        if steps:
            self.keep(steps, call)
        if result.cacheable:
            self._executor.check_cacheable(self.entry)
        return result

    def ended(self, attempt: Attempt, result: ToolResult) -> None:
        """Note what a tool did that did not end in its first step."""
        if attempt.waited:
            self._executor.waiting.add(self._name)
        if result.cacheable:
            self._executor.check_cacheable(self.entry)

    def keep(self, steps: list[CallStep], call: ToolCall) -> None:
        """Leave the steps of a call for its observers."""
        if self._observers.steps is not None:
            self._observers.steps[call.id] = steps


class StartedTool(msgspec.Struct, frozen=True):
    """A tool that did not end in its first step."""

    prepared: PreparedCall
    attempt: Attempt
    tool: BaseTool[Any, Any]
    args: Any
    call: ToolCall
    steps: list[CallStep] | None

    async def end(self) -> ToolResult:
        """Wait for its result."""
        try:
            result = await self.attempt.end(self.tool, self.args)
        except TimedOut:
            result = timed_out(self.tool, self.prepared.seconds, repeatable=self.attempt.repeatable)
        finally:
            if self.steps:
                self.prepared.keep(self.steps, self.call)
        self.prepared.ended(self.attempt, result)
        return result

    def take(self) -> ToolResult | None:
        """Its result, if it has ended by itself and has no question."""
        result = self.attempt.take()
        if result is not None:
            if self.steps:
                self.prepared.keep(self.steps, self.call)
            self.prepared.ended(self.attempt, result)
        return result


class BegunCall(msgspec.Struct, eq=False):
    """A plain call that has begun, in its place, and did not end at once.

    Either await `outcome`, or wait for `when_ended` and take the result. Whoever took None awaits `outcome`.
    """

    _pipeline: "Pipeline"
    call: ToolCall
    entry: ToolRegistryEntry
    _place: Place
    _answer: "ToolResult | StartedTool | Exception"
    started: float

    def outcome(self) -> Coroutine[Any, Any, ToolResult]:
        """Wait for the answer."""
        return self._pipeline.outcome(self.call, self)

    async def result(self) -> ToolResult:
        """Wait for what the tool returned, and leave the place. For the pipeline, which makes it the outcome."""
        try:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer if isinstance(self._answer, ToolResult) else await self._answer.end()
        finally:
            self._place.__exit__(None, None, None)

    def when_ended(self, told: Callable[[], None]) -> bool:
        """Call back when the tool has ended. Returns False if only `outcome` has the answer."""
        if not isinstance(self._answer, StartedTool):
            return False
        self._answer.attempt.when_ended(told)
        return True

    def take(self) -> ToolResult | None:
        """The answer, once the tool has ended; None if only `outcome` has it."""
        result = self._answer.take() if isinstance(self._answer, StartedTool) else None
        if result is None:
            return None
        if result.unfinished:
            self._answer = result
            return None
        self._place.__exit__(None, None, None)
        self._pipeline.completed(self.call, self.entry, result.code, self.started, result)
        return result


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
        if call.via is not None or call.within is not None or call.task is not None:
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
        if entry.load is not None:
            # Its modules are imported by a call that may wait.
            return None
        prepared = PreparedCall(self._pipeline, self._contexts, entry, call) if self._is_plain(entry, call) else None
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[call.name, id(call.caller)] = (call.caller, prepared)
        return prepared

    def _is_plain(self, entry: ToolRegistryEntry, call: ToolCall) -> bool:
        tool = entry.implementation
        if tool.talks or tool.long_running is not False or entry.passes_on or isinstance(tool, EffectByCall):
            return False
        if entry.metadata.effect is Effect.DESTROY:
            return False
        if not self._pipeline.policy.always_allows(entry, call.caller):
            return False
        return self._pipeline.executor.runs_once(entry, call)
