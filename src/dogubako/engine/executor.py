"""`ToolExecutor`: time limits, retries, concurrency and cache of a call."""

import hashlib
import random
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

import anyio
import msgspec
import structlog

from dogubako.contract.call import NO_OPTIONS, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.call_steps import MOST_STEPS, CallStep, call_steps
from dogubako.contract.credentials import INSTANCE
from dogubako.contract.errors import BusyError, ToolTimeoutError, ValidationError, ValidationErrorContext
from dogubako.contract.metadata import Effect
from dogubako.contract.storage import Cache, NoCache
from dogubako.contract.tool import BaseTool
from dogubako.engine.answer_memory import AnswerMemory
from dogubako.engine.attempt import Attempt, TimedOut
from dogubako.engine.contexts import ContextFactory
from dogubako.engine.events import CallObservers
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.response.check import assert_mcp_tool_response
from dogubako.response.tokens import count_tokens, far_above


class _CachedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a successful answer."""

    content: tuple[dict[str, Any], ...]
    kind: Literal["json", "text", "blocks"]
    structured: Any
    tokens: int
    count: int | None
    trimmed: bool


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_CachedAnswer).decode


def encode_answer(result: ToolResult) -> bytes:
    return _encode(
        _CachedAnswer(
            content=result.content,
            kind=result.kind,
            structured=result.structured,
            tokens=result.tokens,
            count=result.count,
            trimmed=result.trimmed,
        )
    )


def decode_answer(value: bytes, max_tokens: int) -> ToolResult | None:
    """The answer, or None if it is not valid or does not fit: another version of this server may have written it."""
    try:
        kept = _decode(value)
        result = ToolResult(**msgspec.structs.asdict(kept), cacheable=True)
        assert_mcp_tool_response(result.to_mcp())
        # As REST and Python callers will read it.
        _ = result.value
    except (msgspec.DecodeError, UnicodeError, RecursionError, AssertionError, LookupError, TypeError):
        return None
    return result if _fits(result, max_tokens) else None


def _fits(result: ToolResult, max_tokens: int) -> bool:
    texts = [*_texts(result.content)]
    if result.structured is not None:
        texts.append(_encode(result.structured).decode())
    if any(far_above(text, max_tokens) for text in texts):
        return False
    return max(result.tokens, sum(map(count_tokens, texts))) <= max_tokens


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one call, in seconds and tokens."""

    timeout: float
    deadline: float
    retry: int
    retry_delay: float
    max_tokens: int | None


class ExecutionLimits(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Defaults and maxima, in milliseconds as callers write them."""

    timeout: int = 30_000
    deadline: int = 120_000
    retry_delay: int = 1_000
    max_timeout: int = 120_000
    max_deadline: int = 600_000
    max_retry: int = 5
    max_retry_delay: int = 60_000
    max_tokens: int = 25_000
    # The default and the maximum of tasks, for one attempt and for all.
    task_timeout: int = 3_600_000

    @cached_property
    def of_tasks(self) -> "ExecutionLimits":
        """The limits of calls that run as tasks: nobody waits for them."""
        longest = self.task_timeout
        limits = {"timeout": longest, "deadline": longest, "max_timeout": longest, "max_deadline": longest}
        return msgspec.structs.replace(self, **limits)

    def plan(self, entry: ToolRegistryEntry, options: ExecutionOptions, pack_retry: int) -> Plan:
        """The caller's option, else the tool's, else the pack's, else the default. Too large an option is an error."""
        if options is not NO_OPTIONS:
            self._check(options)
        tool = entry.implementation
        tool_retry = pack_retry if tool.retry is None else tool.retry
        timeout = options.timeout or tool.timeout or self.timeout
        deadline = options.deadline or max(self.deadline, timeout)
        return Plan(
            timeout=timeout / 1000,
            deadline=deadline / 1000,
            retry=tool_retry if options.retry is None else options.retry,
            retry_delay=(self.retry_delay if options.retry_delay is None else options.retry_delay) / 1000,
            max_tokens=options.max_tokens,
        )

    def _check(self, options: ExecutionOptions) -> None:
        maxima = {
            "timeout": (options.timeout, self.max_timeout),
            "deadline": (options.deadline, self.max_deadline),
            "retry": (options.retry, self.max_retry),
            "retryDelay": (options.retry_delay, self.max_retry_delay),
            "maxTokens": (options.max_tokens, self.max_tokens),
        }
        errors = [
            ValidationErrorContext(
                field=f"options.{name}",
                message=f"Invalid value for parameter options.{name}: must be at most {most}",
                constraint=f"at most {most}",
            )
            for name, (wish, most) in maxima.items()
            if wish is not None and wish > most
        ]
        if errors:
            raise ValidationError(errors)


# What a refused caller is told to wait: it has waited already, so the service is slow.
_RETRY_AFTER_SECONDS: Final = 5.0


class Bulkhead:
    """A semaphore with a bounded wait. Waiting calls get their place in the order in which they came."""

    def __init__(self, name: str, *, max_running: int, max_wait_seconds: float) -> None:
        self._name = name
        self._slots = anyio.Semaphore(max_running, fast_acquire=True)
        self._max_wait_seconds = max_wait_seconds

    async def enter(self, seconds: float) -> None:
        """Take a place. Raise BusyError if none is free within `seconds`, or within what the pack allows.

        Whoever entered must `leave`.
        """
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait(min(seconds, self._max_wait_seconds))

    def leave(self) -> None:
        self._slots.release()

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._slots.acquire()
            return
        raise self._busy()

    def _busy(self) -> BusyError:
        return BusyError(
            f"Too many calls are waiting for {self._name}.",
            hint="Try again in a few seconds, or call less at once.",
            retry_after=_RETRY_AFTER_SECONDS,
        )


log = structlog.get_logger("dogubako.engine")

_MAX_JITTER = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class PackLimits:
    """The limits of a pack's service: calls at once, retries, and which servers may share cached answers."""

    # Without a service there is nothing to protect, and no bound.
    max_running: int | None = None
    max_wait_seconds: float = 10.0
    retry: int = 0
    # Holds the service's key, so that servers with other rights do not share; it is hashed and never shown.
    scope: str = field(default="", repr=False)


_ORDINARY = PackLimits()


class ToolExecutor:
    """Runs checked calls within their limits."""

    def __init__(
        self,
        *,
        limits: ExecutionLimits | None = None,
        packs: Mapping[str, PackLimits] | None = None,
        cache: Cache | None = None,
        make_bulkhead: Callable[..., Bulkhead] = Bulkhead,
    ) -> None:
        self.limits = limits or ExecutionLimits()
        self.cache = cache or NoCache()
        self._packs = dict(packs or {})
        self._make_bulkhead = make_bulkhead
        self._bulkheads: dict[str, Bulkhead | None] = {}
        self._undeclared: set[str] = set()
        # Tools that have waited for something before: to run their first step at once would gain nothing.
        self.waiting: set[str] = set()
        self._plans: dict[tuple[int | None, int | None, int], Plan] = {}
        self.memory = AnswerMemory()

    def set_pack_limits(self, pack: str, limits: PackLimits) -> None:
        self._packs[pack] = limits
        self._bulkheads.pop(pack, None)

    def plan(self, entry: ToolRegistryEntry, call: ToolCall) -> Plan:
        """How long and how often this call may try."""
        retry = self._packs.get(entry.pack, _ORDINARY).retry
        if call.task is not None:
            return self.limits.of_tasks.plan(entry, call.options, retry)
        if call.options is not NO_OPTIONS:
            return self.limits.plan(entry, call.options, retry)
        # Of the tool this depends on two numbers; most tools share them.
        key = (entry.implementation.timeout, entry.implementation.retry, retry)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self.limits.plan(entry, NO_OPTIONS, retry)
        return plan

    def run(
        self, entry: ToolRegistryEntry, args: Any, call: ToolCall, contexts: ContextFactory, observers: CallObservers
    ) -> Coroutine[Any, Any, ToolResult]:
        """Run one call, as often as it takes and is allowed."""
        plan = self.plan(entry, call)
        # Servers with other budgets may share the cache; an answer must fit where it is given.
        budget = min(plan.max_tokens or self.limits.max_tokens, self.limits.max_tokens)
        key = self._cache_key(entry, args, budget, call, contexts)
        attempts = self._attempts(entry, args, call, plan, contexts, observers)
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
        call: ToolCall,
        plan: Plan,
        contexts: ContextFactory,
        observers: CallObservers,
    ) -> ToolResult:
        # Waiting for a place takes its time from the call.
        deadline, repeated = time.monotonic() + plan.deadline, 0
        bulkhead = self._bulkhead(entry.pack, call.parameters.get(INSTANCE) if entry.implementation.instances else None)
        if bulkhead is not None:
            await bulkhead.enter(plan.deadline)
        outer = None if observers.steps is None else call_steps.set([])
        try:
            observers.started(call, entry.metadata, writes=entry.writes)
            while True:
                tool = contexts.bind(entry, call, plan.max_tokens)
                window = max(0.0, min(plan.timeout, deadline - time.monotonic()))
                waits = tool.name in self.waiting
                attempt = Attempt(call, window, self.memory if bulkhead is None else None, at_once=not waits)
                try:
                    result = await attempt.run(tool, args)
                except TimedOut:
                    result = timed_out(tool, window, repeatable=attempt.repeatable)
                if not waits and attempt.waited:
                    self.waiting.add(tool.name)
                failed = result.error is not None
                delay = _retry_delay(result, plan, repeated) if failed and entry.repeatable else None
                if delay is None or time.monotonic() + delay >= deadline:
                    if result.cacheable:
                        self.check_cacheable(entry)
                    return result
                repeated += 1
                milliseconds = round(delay * 1000)
                log.info("Tool retried", tool=entry.name, attempt=repeated, code=result.code, delay_ms=milliseconds)
                if (steps := call_steps.get()) is not None and len(steps) < MOST_STEPS:
                    steps.append(CallStep("retry", result.code, str(repeated), time.time(), milliseconds))
                await anyio.sleep(delay)
        finally:
            if outer is not None and observers.steps is not None:
                if steps := call_steps.get():
                    observers.steps[call.id] = steps
                call_steps.reset(outer)
            if bulkhead is not None:
                bulkhead.leave()

    def _bulkhead(self, pack: str, instance: str | None) -> Bulkhead | None:
        """The places of a service. A slow instance must not take those of another."""
        name = pack if instance is None else f"{pack}.{instance}"
        # Made by the first call, which has the loop that it belongs to.
        if name not in self._bulkheads:
            limits = self._packs.get(pack, _ORDINARY)
            self._bulkheads[name] = (
                self._make_bulkhead(name, max_running=limits.max_running, max_wait_seconds=limits.max_wait_seconds)
                if limits.max_running is not None
                else None
            )
        return self._bulkheads[name]

    def runs_once(self, entry: ToolRegistryEntry, call: ToolCall) -> bool:
        """Whether a call of this tool waits for no place, is not cached and has one attempt."""
        tool = entry.implementation
        if tool.instances or (tool.caches and not isinstance(self.cache, NoCache)):
            return False
        return self._bulkhead(entry.pack, None) is None and self.plan(entry, call).retry == 0

    def check_cacheable(self, entry: ToolRegistryEntry) -> None:
        """Warn, once, if a tool returns cacheable answers and does not declare it."""
        if not entry.implementation.caches and entry.name not in self._undeclared:
            self._undeclared.add(entry.name)
            log.warning("Tool returns cacheable answers without declaring caches=True; none is kept", tool=entry.name)

    def _cache_key(
        self, entry: ToolRegistryEntry, args: Any, budget: int, call: ToolCall, contexts: ContextFactory
    ) -> str | None:
        declared = entry.implementation.caches and entry.metadata.effect is Effect.READ
        if not declared or isinstance(self.cache, NoCache):
            return None
        said = args.model_dump_json() if hasattr(args, "model_dump_json") else msgspec.json.encode(args, order="sorted")
        # Servers of other services may share the cache; an answer must be true where it is given.
        scope = self._packs.get(entry.pack, _ORDINARY).scope
        if (access := contexts.access(entry, call)) is not None:
            scope = f"{scope}\n{access.cache_scope}"
        named = f"{scope}\n{entry.name}\n{entry.version}\n{budget}\n{call.resume}\n{said!r}"
        return f"dogubako:answer:{hashlib.sha256(named.encode()).hexdigest()}"


def _retry_delay(result: ToolResult, plan: Plan, attempt: int) -> float | None:
    """The seconds to wait before the next attempt, or None for no further attempt."""
    error = result.error
    if error is None or not error.transient or attempt >= plan.retry:
        return None
    backoff: float = plan.retry_delay * 2**attempt
    backoff += backoff * random.uniform(0, _MAX_JITTER)  # noqa: S311 - spreads load, guards nothing
    return max(backoff, error.retry_after or 0)


def timed_out(tool: BaseTool[Any, Any], window: float, *, repeatable: bool) -> ToolResult:
    """The answer to a call whose time was up."""
    if not tool.metadata.repeatable:
        hint = "It may have been done all the same: look first."
    elif repeatable:
        hint = "Try again, or ask for less at once."
    else:
        hint = "It would take as long again: ask for less at once, or allow more time."
    message = f"Execution timeout after {round(window * 1000)}ms"
    error = ToolTimeoutError(message, hint=hint, repeatable=tool.metadata.repeatable and repeatable)
    log.warning(f"[{tool.name}] Error", call_id=tool.context.call_id, code=error.code)
    return tool.context.responses.failure(error)
