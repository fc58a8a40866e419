"""`ToolExecutor`: deadline, retry, concurrency, cache."""

import hashlib
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec
import structlog

from dogubako.contract.call import Resume, ToolCall, ToolResult
from dogubako.contract.errors import ToolTimeoutError
from dogubako.contract.metadata import Effect
from dogubako.contract.repetition import AttemptState, attempt_state
from dogubako.contract.state import Cache, NoCache
from dogubako.contract.tool import BaseTool, answered
from dogubako.engine.attempt import Attempt, TimedOut
from dogubako.engine.bulkhead import Bulkhead
from dogubako.engine.cached_answers import decode_answer, encode_answer
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.events import CallObserver
from dogubako.engine.limits import ExecutionLimits, Plan

log = structlog.get_logger("dogubako.engine")

_MAX_JITTER = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class PackLimits:
    """What a pack says of its service: how much at once, how often to try again, and whose answers may be shared."""

    # Without a service there is nothing to protect, and no bound.
    max_running: int | None = None
    max_wait_seconds: float = 10.0
    retry: int = 0
    # Holds the service's key, so that servers with other rights do not share; it is hashed and never shown.
    scope: str = field(default="", repr=False)


_ORDINARY = PackLimits()

Bind = Callable[[ToolRegistryEntry, ToolCall, Plan], BaseTool[Any, Any]]


class ToolExecutor:
    """Runs checked calls within their limits."""

    def __init__(
        self,
        *,
        limits: ExecutionLimits | None = None,
        packs: Mapping[str, PackLimits] | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.limits = limits or ExecutionLimits()
        self.cache = cache or NoCache()
        self._packs = dict(packs or {})
        self._bulkheads: dict[str, Bulkhead | None] = {}
        self._undeclared: set[str] = set()

    def set_pack_limits(self, pack: str, limits: PackLimits) -> None:
        self._packs[pack] = limits
        self._bulkheads.pop(pack, None)

    def plan(self, entry: ToolRegistryEntry, call: ToolCall) -> Plan:
        """How long and how often this call may try."""
        return self.limits.plan(entry, call.options, self._packs.get(entry.pack, _ORDINARY).retry)

    def run(
        self, entry: ToolRegistryEntry, args: Any, call: ToolCall, bind: Bind, observer: CallObserver
    ) -> Coroutine[Any, Any, ToolResult]:
        """One call, as often as it takes and is allowed. `bind` makes the tool ready, once the plan is known."""
        plan = self.plan(entry, call)
        # Servers with other budgets may share the cache; an answer must fit where it is given.
        budget = min(plan.max_tokens or self.limits.max_tokens, self.limits.max_tokens)
        key = self._cache_key(entry, args, budget, call.resume)
        attempts = self._attempts(
            entry, args, plan, lambda: bind(entry, call, plan), lambda: observer.started(call, entry)
        )
        return attempts if key is None else self._cached(key, attempts, budget)

    async def _cached(self, key: str, attempts: Coroutine[Any, Any, ToolResult], budget: int) -> ToolResult:
        try:
            if (value := await self.cache.get(key)) is not None:
                if (kept := decode_answer(value, budget)) is not None:
                    return kept
                await self.cache.delete(key)
            result = await attempts
        finally:
            attempts.close()
        if result.cacheable and not result.is_error:
            await self.cache.put(key, encode_answer(result))
        return result

    async def _attempts(
        self,
        entry: ToolRegistryEntry,
        args: Any,
        plan: Plan,
        bound: Callable[[], BaseTool[Any, Any]],
        starting: Callable[[], None],
    ) -> ToolResult:
        # Waiting for a place takes its time from the call.
        deadline, attempt = time.monotonic() + plan.deadline, 0
        bulkhead = self._bulkhead(entry.pack)
        if bulkhead is not None:
            await bulkhead.enter(plan.deadline)
        try:
            starting()
            while True:
                tool = bound()
                window = max(0.0, min(plan.timeout, deadline - time.monotonic()))
                result = await _tried(tool, args, window)
                delay = _pause(result, plan, attempt) if entry.metadata.repeatable else None
                if delay is None or time.monotonic() + delay >= deadline:
                    if result.cacheable and not tool.caches:
                        self._warn_of_undeclared(entry)
                    return result
                attempt += 1
                milliseconds = round(delay * 1000)
                log.info("Tool retried", tool=entry.name, attempt=attempt, code=result.code, delay_ms=milliseconds)
                await anyio.sleep(delay)
        finally:
            if bulkhead is not None:
                bulkhead.leave()

    def _bulkhead(self, pack: str) -> Bulkhead | None:
        # Made by the first call, which has the loop that it belongs to.
        if pack not in self._bulkheads:
            limits = self._packs.get(pack, _ORDINARY)
            self._bulkheads[pack] = (
                Bulkhead(pack, max_running=limits.max_running, max_wait_seconds=limits.max_wait_seconds)
                if limits.max_running is not None
                else None
            )
        return self._bulkheads[pack]

    def _warn_of_undeclared(self, entry: ToolRegistryEntry) -> None:
        if entry.name not in self._undeclared:
            self._undeclared.add(entry.name)
            log.warning("Tool returns cacheable answers without declaring caches=True; none is kept", tool=entry.name)

    def _cache_key(self, entry: ToolRegistryEntry, args: Any, budget: int, resume: Resume | None) -> str | None:
        declared = entry.implementation.caches and entry.metadata.effect is Effect.READ
        if not declared or isinstance(self.cache, NoCache):
            return None
        said = args.model_dump_json() if hasattr(args, "model_dump_json") else msgspec.json.encode(args, order="sorted")
        # Servers of other services may share the cache; an answer must be true where it is given.
        scope = self._packs.get(entry.pack, _ORDINARY).scope
        named = f"{scope}\n{entry.name}\n{entry.version}\n{budget}\n{resume}\n{said!r}"
        return f"dogubako:answer:{hashlib.sha256(named.encode()).hexdigest()}"


async def _tried(tool: BaseTool[Any, Any], args: Any, window: float) -> ToolResult:
    running = Attempt(window, tool.name)
    if tool.talks:
        tool.context.conversation = running.patient(tool.context.conversation)
    with attempt_state() as state:
        try:
            return await running.run(_handled(tool, args))
        except TimedOut:
            return _timed_out(tool, window, state)


def _handled(tool: BaseTool[Any, Any], args: Any) -> Coroutine[Any, Any, ToolResult]:
    """What the tool's handler returns; the result of a handler that is not ours is built and checked again."""
    handler = tool.handler
    if getattr(handler, "__func__", None) is BaseTool.handler:
        return handler(args)
    return answered(tool, handler, args)


def _pause(result: ToolResult, plan: Plan, attempt: int) -> float | None:
    """How long to wait before the next attempt, or nothing when there should be none."""
    error = result.error
    if error is None or not error.transient or attempt >= plan.retry:
        return None
    backoff: float = plan.retry_delay * 2**attempt
    backoff += backoff * random.uniform(0, _MAX_JITTER)  # noqa: S311 - spreads load, guards nothing
    return max(backoff, error.retry_after or 0)


def _timed_out(tool: BaseTool[Any, Any], window: float, state: AttemptState) -> ToolResult:
    if not tool.metadata.repeatable:
        hint = "It may have been done all the same: look first."
    elif state.repeatable:
        hint = "Try again, or ask for less at once."
    else:
        hint = "It would take as long again: ask for less at once, or allow more time."
    message = f"Execution timeout after {round(window * 1000)}ms"
    error = ToolTimeoutError(message, hint=hint, repeatable=tool.metadata.repeatable and state.repeatable)
    log.warning(f"[{tool.name}] Error", call_id=tool.context.call_id, code=error.code)
    return tool.context.responses.failure(error)
